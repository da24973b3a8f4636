"""Where the cases' data come from: the loaders, and small stand-ins for a quick run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import datasets
from ..datasets import Dataset
from ..datasets.dataset import add_noise, complete_dataset, random_mask
from ..graphs import chain_graph, knn_graph

Source = Callable[[Mapping[str, Any], int], Dataset]

STRIP_WIDTH, STRIP_PERIOD = 4, 32


def cross_mask(shape: tuple[int, int]) -> NDArray[np.bool_]:
    """True where a pixel is observed: all but strips of whole rows and whole columns.

    Parameters
    ----------
    shape : (int, int)

    Returns
    -------
    ndarray of bool, shape (m, n)
    """
    kept = [(np.arange(size) - STRIP_PERIOD // 2) % STRIP_PERIOD >= STRIP_WIDTH for size in shape]
    return np.logical_and.outer(kept[0], kept[1])


def _cross_image(options: Mapping[str, Any], seed: int) -> Dataset:
    shape = datasets.load_image(options["name"]).observations.shape
    return datasets.load_image(options["name"], snr_db=None, mask=cross_mask(shape), seed=seed)


def _shaped(generator: Callable[..., Dataset]) -> Source:
    return lambda options, seed: generator(
        **{**options, "shape": tuple(options["shape"])}, seed=seed
    )


# Published splits ignore the seed: it is the method's alone.
SOURCES: dict[str, Source] = {
    "flixster": lambda options, seed: datasets.load_flixster(graphs=options["graphs"]),
    "douban": lambda options, seed: datasets.load_douban(),
    "ml-100k": lambda options, seed: datasets.load_monti_movielens(),
    "ml-1m": lambda options, seed: datasets.load_movielens_1m(seed=seed),
    "monti-netflix": lambda options, seed: datasets.load_synthetic_netflix(),
    "chr22": lambda options, seed: datasets.load_chr22(**options, seed=seed),
    "image": lambda options, seed: datasets.load_image(options["name"], seed=seed),
    "cross-image": _cross_image,
    "random-low-rank": _shaped(datasets.random_low_rank),
    "graph-low-rank": _shaped(datasets.graph_low_rank),
    "netflix-like": _shaped(datasets.netflix_like),
}


def load(source: str, options: Mapping[str, Any], seed: int, quick: bool) -> Dataset:
    """The data of a case under one seed.

    Parameters
    ----------
    source : str
        Key of `SOURCES`.
    options : dict
    seed : int
    quick : bool
        Draw a small stand-in where the data would be read from files.
    """
    if quick and source in _STAND_INS:
        return _STAND_INS[source](options, seed)
    return SOURCES[source](options, seed)


def _ratings(options: Mapping[str, Any], seed: int) -> Dataset:
    return datasets.netflix_like(0.3, seed, shape=(20, 24), n_groups=(3, 4))


def _haplotypes(options: Mapping[str, Any], seed: int) -> Dataset:
    """Zeros and ones from a few founders, row graph as the genotypes' loader builds it."""
    rng = np.random.default_rng(seed)
    founders = rng.random((30, 4)) < 0.4
    M = founders[:, rng.integers(0, 4, size=16)].astype(np.float64)
    mask = random_mask(M.shape, options["observed"], rng)
    known = M if options["graph"] == "complete" else np.where(mask, M, 0.5)
    return complete_dataset(
        "haplotypes",
        M,
        mask,
        row_graph=knn_graph(known, n_neighbors=5, weights="binary"),
        provenance=f"Generated stand-in for Chr22, seed {seed}.",
        licence="Generated data, free of any.",
    )


def _picture(options: Mapping[str, Any], seed: int) -> Dataset:
    """A smooth hill with an edge, 24 × 24, in grey levels."""
    y, x = np.mgrid[0:24, 0:24] / 24.0
    truth = 90.0 + 80.0 * np.sin(3.0 * x) * np.cos(2.0 * y) + 50.0 * (x + y > 1.1)
    rng = np.random.default_rng(seed)
    return complete_dataset(
        "hill",
        np.clip(truth, 0.0, 255.0),
        random_mask(truth.shape, 0.3, rng),
        measured=add_noise(truth, 5.0, rng),
        row_graph=chain_graph(24),
        col_graph=chain_graph(24),
        provenance=f"Generated stand-in for an image, seed {seed}.",
        licence="Generated data, free of any.",
    )


def _cross_picture(options: Mapping[str, Any], seed: int) -> Dataset:
    whole = _picture(options, seed)
    assert whole.truth is not None
    return complete_dataset(
        whole.name,
        whole.truth,
        cross_mask(whole.truth.shape),
        row_graph=whole.row_graph,
        col_graph=whole.col_graph,
        provenance="Generated stand-in for an image, strips missing.",
        licence=whole.licence,
    )


_STAND_INS: dict[str, Source] = {
    **dict.fromkeys(("flixster", "douban", "ml-100k", "ml-1m", "monti-netflix"), _ratings),
    "chr22": _haplotypes,
    "image": _picture,
    "cross-image": _cross_picture,
}
