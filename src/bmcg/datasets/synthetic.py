"""Matrices drawn from known models, for experiments whose truth is known."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from ..checks import check_choice
from ..graphs import chain_graph, edge_graph, knn_graph
from ..observations import Observations
from ._observed_graph import observed_value_graph, transposed
from .dataset import Dataset, Floats, add_noise, complete_dataset, random_mask

_LICENCE = "Generated data, free of any."
_N_NEIGHBORS = 10


def random_low_rank(
    rank: int = 10,
    observed: float = 0.2,
    snr_db: float | None = 10.0,
    seed: int = 0,
    *,
    shape: tuple[int, int] = (500, 500),
    graphs: Literal["complete", "observed"] = "complete",
) -> Dataset:
    """A product of two factors with independent standard normal entries, and noise.

    The paper's first synthetic setting. It joins 10 nearest neighbours, but does not say of
    what; its other experiments take the original matrix, and so does the default here.

    Parameters
    ----------
    rank : int
    observed : float
        Share of observed entries, chosen at random.
    snr_db : float or None
        10·log10(var(vec X)/σ²) of the observed entries; None for no noise.
    seed : int
    shape : (int, int)
    graphs : {"complete", "observed"}
        ``"complete"``: neighbours among rows and columns of the complete noisy matrix, which
        has seen the held-out entries. ``"observed"``: neighbours by the observed entries alone.

    Returns
    -------
    Dataset
        Held out are all entries that are not observed, without noise.
    """
    check_choice("graphs", graphs, ("complete", "observed"))
    _check_rank(rank, shape)
    rng = np.random.default_rng(seed)
    m, n = shape
    truth = rng.standard_normal((m, rank)) @ rng.standard_normal((n, rank)).T
    measured = add_noise(truth, snr_db, rng)
    mask = random_mask(shape, observed, rng)
    if graphs == "complete":
        row_graph = knn_graph(measured, n_neighbors=_N_NEIGHBORS)
        col_graph = knn_graph(measured.T, n_neighbors=_N_NEIGHBORS)
        seen = "the complete noisy matrix, held-out entries included"
    else:
        entries = Observations.from_any(np.where(mask, measured, np.nan))
        row_graph = observed_value_graph(entries, _N_NEIGHBORS)
        col_graph = observed_value_graph(transposed(entries), _N_NEIGHBORS)
        seen = "the observed entries alone"
    provenance = (
        f"Generated, {m} x {n}, rank {rank}, i.i.d. factors, {_conditions(observed, snr_db)}, "
        f"seed {seed}. Graphs: 10 nearest neighbours in {seen}."
    )
    given = {"measured": measured, "row_graph": row_graph, "col_graph": col_graph}
    name = f"random-low-rank-{rank}"
    return complete_dataset(name, truth, mask, **given, provenance=provenance, licence=_LICENCE)


def graph_low_rank(
    rank: int = 10,
    observed: float = 0.2,
    snr_db: float | None = 10.0,
    seed: int = 0,
    *,
    shape: tuple[int, int] = (500, 500),
    scale: float = math.sqrt(3.0),
    ridge: float = 1e-6,
) -> Dataset:
    """A product of two factors that are smooth along chains, and noise.

    The paper's second synthetic setting: each column of a factor is drawn from N(0, L⁻¹) with
    L = D − A + ridge·I and A_ij = exp(−|i − j|²/scale²). The small ridge makes the constant
    part of a column large: standard deviation (n·ridge)^(−1/2), 45 with the defaults.

    Parameters
    ----------
    rank : int
    observed : float
        Share of observed entries, chosen at random.
    snr_db : float or None
        10·log10(var(vec X)/σ²) of the observed entries; None for no noise.
    seed : int
    shape : (int, int)
    scale : float
        Length over which the weights of the chains decay, θ in the paper.
    ridge : float
        Added to the Laplacian's diagonal, a precision.

    Returns
    -------
    Dataset
        Its graphs are the chains the factors were drawn from. Held out are all entries that
        are not observed, without noise.
    """
    _check_rank(rank, shape)
    if not (np.isfinite(ridge) and ridge > 0.0):
        raise ValueError(f"ridge={ridge!r} must be positive: without one the draw has no scale")
    rng = np.random.default_rng(seed)
    m, n = shape
    row_graph, col_graph = chain_graph(m, scale), chain_graph(n, scale)
    U, V = (_draw_smooth(graph, ridge, rank, rng) for graph in (row_graph, col_graph))
    truth = U @ V.T
    measured = add_noise(truth, snr_db, rng)
    return complete_dataset(
        f"graph-low-rank-{rank}",
        truth,
        random_mask(shape, observed, rng),
        measured=measured,
        row_graph=row_graph,
        col_graph=col_graph,
        provenance=(
            f"Generated, {m} x {n}, rank {rank}, factors smooth along chains (scale {scale:.4g}, "
            f"ridge {ridge:g}), {_conditions(observed, snr_db)}, seed {seed}. "
            "Graphs: those chains, which have seen no entry."
        ),
        licence=_LICENCE,
    )


def netflix_like(
    observed: float = 0.2,
    seed: int = 0,
    *,
    shape: tuple[int, int] = (100, 200),
    n_groups: tuple[int, int] = (10, 12),
    within: float = 0.8,
    between: float = 0.002,
) -> Dataset:
    """Whole-number ratings from 1 to 5 that are constant on communities of users and movies.

    Of the kind of Kalofolias et al. 2014 and Monti et al. 2017, whose graphs join about 85 %
    of the pairs inside a community and very few across.

    Parameters
    ----------
    observed : float
        Share of observed entries, chosen at random.
    seed : int
    shape : (int, int)
    n_groups : (int, int)
        Communities of users and of movies; the smaller number bounds the rank.
    within, between : float
        Probability of an edge inside and across communities.

    Returns
    -------
    Dataset
        Without noise; held out are all entries that are not observed.
    """
    for size, groups, side in zip(shape, n_groups, ("rows", "columns"), strict=True):
        if not 1 <= groups <= size:
            raise ValueError(f"n_groups={n_groups!r}: {groups} communities for {size} {side}")
    for argument, value in (("within", within), ("between", between)):
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"{argument}={value!r} must be a probability")
    rng = np.random.default_rng(seed)
    row_group, col_group = (_assign(s, g, rng) for s, g in zip(shape, n_groups, strict=True))
    ratings = rng.integers(1, 6, size=n_groups).astype(np.float64)
    row_graph, col_graph = (
        _community_graph(group, within, between, rng) for group in (row_group, col_group)
    )
    return complete_dataset(
        "netflix-like",
        ratings[np.ix_(row_group, col_group)],
        random_mask(shape, observed, rng),
        row_graph=row_graph,
        col_graph=col_graph,
        provenance=(
            f"Generated, {shape[0]} x {shape[1]}, ratings 1 to 5 constant on "
            f"{n_groups[0]} x {n_groups[1]} communities, {_conditions(observed, None)}, "
            f"seed {seed}. Graphs: drawn from the true communities (edge probability {within:g} "
            f"inside, {between:g} across), not from entries."
        ),
        licence=_LICENCE,
    )


def _check_rank(rank: int, shape: tuple[int, int]) -> None:
    if not 1 <= rank <= min(shape):
        raise ValueError(f"rank={rank!r}: choose 1 to {min(shape)} for shape {shape}")


def _conditions(observed: float, snr_db: float | None) -> str:
    noise = "no noise" if snr_db is None else f"SNR {snr_db:g} dB"
    return f"{100.0 * observed:g} % observed, {noise}"


def _draw_smooth(graph: sp.csr_array, ridge: float, k: int, rng: np.random.Generator) -> Floats:
    """Columns from N(0, L⁻¹), shape (n, k), by a banded Cholesky factor of L = Cᵀ C."""
    n = graph.shape[0]
    diagonal = np.asarray(graph.sum(axis=1)).ravel() + ridge
    laplacian = sp.dia_array(sp.diags_array(diagonal) - graph)
    reach = int(laplacian.offsets.max(initial=0))
    bands = np.zeros((reach + 1, n))
    for offset in range(reach + 1):
        bands[reach - offset, offset:] = laplacian.diagonal(offset)
    C = scipy.linalg.cholesky_banded(bands)
    return scipy.linalg.solve_banded((0, reach), C, rng.standard_normal((n, k)))


def _assign(size: int, n_groups: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A community for each node, none of them empty, shape (size,)."""
    rest = rng.integers(0, n_groups, size=size - n_groups)
    return rng.permutation(np.concatenate([np.arange(n_groups), rest]))


def _community_graph(
    group: NDArray[np.int64], within: float, between: float, rng: np.random.Generator
) -> sp.csr_array:
    i, j = np.triu_indices(len(group), k=1)
    chance = np.where(group[i] == group[j], within, between)
    chosen = rng.random(len(i)) < chance
    return edge_graph(np.column_stack([i[chosen], j[chosen]]), n_nodes=len(group))
