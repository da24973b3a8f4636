"""The three cases of the demo, drawn from nothing but a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..datasets import Dataset, graph_low_rank
from ..datasets.dataset import add_noise, complete_dataset, random_mask
from ..graphs import chain_graph, knn_graph

Array = NDArray[np.float64]

_LICENCE = "Generated data, free of any."


@dataclass(frozen=True)
class Case:
    """One matrix to complete, and what to tell about it.

    Attributes
    ----------
    name : str
        Of its files.
    title, story : str
    data : Dataset
        With its truth.
    again : ndarray of shape (n_test,)
        The held-out entries observed once more, with fresh noise: what intervals must hold.
    rank, noise : int and float, or None
        What the matrix was drawn with, where there is such a thing.
    measure : {"rmse", "error rate", "psnr"}
    rows, cols : str
        What the two sides are.
    """

    name: str
    title: str
    story: str
    data: Dataset
    again: Array
    rank: int | None
    noise: float | None
    measure: Literal["rmse", "error rate", "psnr"]
    rows: str
    cols: str


def draw_cases(seed: int) -> tuple[Case, ...]:
    """All three cases."""
    return ratings(seed), haplotypes(seed), picture(seed)


def ratings(seed: int) -> Case:
    """Ratings drawn from the model itself, with a graph on the users and one on the films."""
    shape, rank, observed, snr_db = (160, 120), 4, 0.15, 10.0
    data = graph_low_rank(rank, observed, snr_db, seed, shape=shape, ridge=0.01)
    return Case(
        name="ratings",
        title="Ratings",
        story=(
            f"{shape[0]} users and {shape[1]} films, {100 * observed:g} % of the ratings known, "
            "with noise of a tenth of their variance. Users and films sit on lines of taste: "
            f"neighbours on a line are joined, and {rank} factors were drawn along them."
        ),
        data=data,
        again=_observed_again(data, snr_db, seed),
        rank=rank,
        noise=_noise_std(data, snr_db),
        measure="rmse",
        rows="users",
        cols="films",
    )


def haplotypes(seed: int) -> Case:
    """Haplotypes that are mosaics of a few founders; a reference panel gives the row graph."""
    n_sites, n_study, n_panel, n_founders, observed = 200, 100, 100, 6, 0.2
    rng = np.random.default_rng([seed, 1])
    everyone = mosaics(n_sites, n_study + n_panel, n_founders, rng)
    study, panel = everyone[:, :n_study], everyone[:, n_study:]
    # Haplotypes that begin alike side by side: the picture shows the mosaic.
    study = study[:, np.lexsort(study[::-1])]
    data = complete_dataset(
        "mosaic-haplotypes",
        study,
        random_mask(study.shape, observed, rng),
        row_graph=knn_graph(panel, n_neighbors=10),
        provenance=f"Generated, mosaics of founders, seed {seed}. Graph: from other haplotypes.",
        licence=_LICENCE,
    )
    return Case(
        name="haplotypes",
        title="Haplotypes",
        story=(
            f"{n_study} haplotypes at {n_sites} sites, {100 * observed:g} % of the alleles known. "
            f"Each haplotype is a mosaic of {n_founders} founders. The graph joins sites that look "
            f"alike in a reference panel of {n_panel} others; it has seen no entry of this matrix. "
            "Alleles are zeros and ones, not Gaussian: intervals hold less than they say."
        ),
        data=data,
        again=data.test_values,
        rank=None,
        noise=None,
        measure="error rate",
        rows="sites",
        cols="haplotypes",
    )


def picture(seed: int) -> Case:
    """A drawn picture with most pixels missing and noise on the rest, on chain graphs."""
    truth = draw_scene(128)
    snr_db = 12.0
    rng = np.random.default_rng([seed, 2])
    data = complete_dataset(
        "drawn-picture",
        truth,
        random_mask(truth.shape, 0.2, rng),
        measured=add_noise(truth, snr_db, rng),
        row_graph=chain_graph(truth.shape[0]),
        col_graph=chain_graph(truth.shape[1]),
        provenance=f"Generated scene, seed {seed}. Graphs: chains, which have seen no pixel.",
        licence=_LICENCE,
    )
    return Case(
        name="picture",
        title="Picture",
        story=(
            "A drawn scene of 128 x 128 pixels of which 80 % are missing and the rest is noisy "
            f"({snr_db:g} dB). The graphs join neighbouring rows and neighbouring columns."
        ),
        data=data,
        again=_observed_again(data, snr_db, seed),
        rank=None,
        noise=_noise_std(data, snr_db),
        measure="psnr",
        rows="lines",
        cols="columns",
    )


def mosaics(
    n_sites: int,
    n_haplotypes: int,
    n_founders: int,
    rng: np.random.Generator,
    *,
    switch: float = 0.005,
    mutation: float = 0.003,
) -> Array:
    """Haplotypes as mosaics of founders, after the copying model of Li and Stephens (2003).

    Along the sites a haplotype copies one founder and changes to another at random; a few
    alleles mutate on the way.

    Parameters
    ----------
    n_sites, n_haplotypes, n_founders : int
    rng : numpy.random.Generator
    switch, mutation : float
        Probabilities at each site.

    Returns
    -------
    ndarray of shape (n_sites, n_haplotypes)
        Zeros and ones; one is the rarer allele among the founders.
    """
    frequency = rng.beta(0.8, 1.2, size=n_sites)
    founders = rng.random((n_sites, n_founders)) < frequency[:, None]
    founders ^= founders.mean(axis=1, keepdims=True) > 0.5
    source = np.empty((n_sites, n_haplotypes), dtype=np.int64)
    source[0] = rng.integers(n_founders, size=n_haplotypes)
    for site in range(1, n_sites):
        moves = rng.random(n_haplotypes) < switch
        source[site] = np.where(
            moves, rng.integers(n_founders, size=n_haplotypes), source[site - 1]
        )
    copied = np.take_along_axis(founders, source, axis=1)
    return (copied ^ (rng.random(copied.shape) < mutation)).astype(np.float64)


def draw_scene(size: int) -> Array:
    """A house at dusk: gradients, discs, straight and slanted edges, repeated windows.

    Returns
    -------
    ndarray of shape (size, size)
        Grey levels from 0 to 255.
    """
    y, x = np.mgrid[0:size, 0:size] / (size - 1.0)
    scene = 90.0 + 110.0 * (1.0 - y)
    scene += 60.0 * np.exp(-((x - 0.78) ** 2 + (y - 0.22) ** 2) / 0.05)
    scene[(x - 0.78) ** 2 + (y - 0.22) ** 2 < 0.09**2] = 250.0
    scene[y > 0.62 + 0.06 * np.sin(5.0 * x + 0.5)] = 95.0
    ground = y > 0.78
    scene[ground] = (55.0 + 60.0 * (y - 0.78) / 0.22)[ground]
    scene[(abs(x - 0.38) < 0.24) & (y > 0.46) & (y < 0.86)] = 165.0
    scene[(abs(x - 0.38) < 1.15 * (y - 0.22)) & (y < 0.46)] = 60.0
    scene[(abs(x - 0.52) < 0.03) & (y > 0.22) & (y < 0.36)] = 75.0
    for column in (0.22, 0.38, 0.54):
        for row in (0.54, 0.68):
            scene[(abs(x - column) < 0.045) & (abs(y - row) < 0.045)] = 235.0
            scene[(abs(x - column) < 0.006) & (abs(y - row) < 0.045)] = 90.0
    scene[(abs(x - 0.38) < 0.045) & (y > 0.74) & (y < 0.86)] = 40.0
    fence = (y > 0.80) & (y < 0.90) & (x > 0.66) & (np.floor(x * size / 4.0) % 2 == 0)
    scene[fence] = 205.0
    return np.clip(scene, 0.0, 255.0)


def _noise_std(data: Dataset, snr_db: float) -> float:
    assert data.truth is not None
    return float(data.truth.std()) * 10.0 ** (-snr_db / 20.0)


def _observed_again(data: Dataset, snr_db: float, seed: int) -> Array:
    assert data.truth is not None
    noisy = add_noise(data.truth, snr_db, np.random.default_rng([seed, 3]))
    return noisy[data.test_rows, data.test_cols]
