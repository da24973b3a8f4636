"""Large observation sets with power-law rows and columns, written straight into place."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numba import njit
from numpy.typing import NDArray

from bmcg.observations import Observations, View
from bmcg.observations.grouping import transpose

PLANTED_RANK = 8


def power_law_observations(n_observed: int, m: int, n: int, seed: int = 0) -> Observations:
    """At least n_observed entries of a planted low-rank m×n matrix with unit noise.

    Rows have Pareto-distributed numbers of entries, and column j is chosen with a probability
    falling as a power of j. Next to no memory beyond the result is used.

    Parameters
    ----------
    n_observed, m, n : int
    seed : int

    Returns
    -------
    Observations
    """
    rng = np.random.default_rng(seed)
    counts = _row_counts(rng, n_observed, m, n)
    U = rng.standard_normal((m, PLANTED_RANK)) / PLANTED_RANK**0.5
    V = rng.standard_normal((n, PLANTED_RANK))
    indptr = np.zeros(m + 1, dtype=np.int64)
    indices = np.empty(int(counts.sum()), dtype=np.int32)
    values = np.empty(len(indices))
    _draw(counts, n, U, V, seed, indptr, indices, values)
    by_row = View(indptr, indices, values)
    return Observations((m, n), by_row, View(*transpose(*by_row, n)))


def _row_counts(rng: np.random.Generator, total: int, m: int, n: int) -> NDArray[np.int64]:
    weight = rng.pareto(1.5, m) + 0.3
    counts = np.maximum(1, weight * (total / weight.sum())).astype(np.int64)
    most = n // 2
    # What the cap takes from the longest rows is spread over the others.
    for _ in range(20):
        counts = np.minimum(counts, most)
        short = total - int(counts.sum())
        open_rows = counts < most
        if short <= 0 or not open_rows.any():
            break
        counts[open_rows] += 1 + (short * counts[open_rows]) // int(counts[open_rows].sum())
    return np.minimum(counts, most)


@njit(cache=True)
def _draw(counts, n, U, V, seed, indptr, indices, values):  # type: ignore[no-untyped-def]
    # Compiled code has NumPy's old generator alone; its state is its own, not Python's.
    np.random.seed(seed)  # noqa: NPY002
    used = 0
    taken_by = np.full(n, -1, np.int32)
    for i in range(len(counts)):
        drawn = indices[used : used + counts[i]]
        p = 0
        while p < counts[i]:
            j = int(n * np.random.random() ** 1.5)  # noqa: NPY002
            if taken_by[j] != i:
                taken_by[j] = i
                drawn[p] = j
                p += 1
        drawn.sort()
        for j in drawn:
            dot = np.random.standard_normal()  # noqa: NPY002
            for q in range(U.shape[1]):
                dot += U[i, q] * V[j, q]
            values[used] = dot
            used += 1
        indptr[i + 1] = used


def ring_graph(n: int, degree: int) -> sp.csr_array:
    """Each node tied to its `degree` nearest on a circle, degree even, unit weights."""
    nodes = np.arange(n, dtype=np.int64)
    steps = np.arange(1, degree // 2 + 1)
    heads = np.repeat(nodes, len(steps))
    tails = (heads + np.tile(steps, n)) % n
    upper = sp.coo_array((np.ones(len(heads)), (heads, tails)), shape=(n, n))
    return sp.csr_array(upper + upper.T)
