"""Nearest rows of a binary pattern under the idf-weighted cosine.

Row i is the vector with idf_j at each column j it observed, idf_j = log(m / df_j) for m rows of
which df_j observed column j. The similarity of rows a and b is

    s_ab = Σ_{j in both} idf_j² · ‖a‖⁻¹ ‖b‖⁻¹,    ‖a‖² = Σ_{j in a} idf_j².

Rows are scanned one at a time against an inverted index (rows of each column), so memory is
that of the pattern plus one number for each row and thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends import NumbaBackend, open_backend
from .build import symmetric_graph
from .pattern_kernels import refine, scan_all, scan_rare

# Entries of the inverted index read for a row in the approximate search, rare columns first.
SCAN_BUDGET = 20_000
# Candidates of a row that are compared exactly, for each neighbour sought.
CANDIDATES = 5
# Rounds in which neighbours of neighbours are compared exactly.
ROUNDS = 2


@dataclass(frozen=True)
class Pattern:
    """A binary pattern with its inverted index; columns are numbered from rare to popular.

    Attributes
    ----------
    row_start, row_cols : ndarray of int64 (m + 1,) and int32 (n_observed,)
    col_start, col_rows : ndarray of int64 (n + 1,) and int32 (n_observed,)
    idf2 : ndarray of shape (n,)
        Squared inverse document frequency.
    inv_norm : ndarray of shape (m,)
        1/‖row‖, zero where the norm is.
    """

    row_start: NDArray[np.int64]
    row_cols: NDArray[np.int32]
    col_start: NDArray[np.int64]
    col_rows: NDArray[np.int32]
    idf2: NDArray[np.float64]
    inv_norm: NDArray[np.float64]

    @classmethod
    def from_csr(
        cls, indptr: NDArray[np.int64], indices: NDArray[np.int32], n_cols: int
    ) -> Pattern:
        """Pattern of compressed rows, each column at most once in a row."""
        m = len(indptr) - 1
        count = np.bincount(indices, minlength=n_cols)
        rank = np.empty(n_cols, dtype=np.int32)
        rank[np.argsort(count, kind="stable")] = np.arange(n_cols, dtype=np.int32)
        ones = np.ones(len(indices), dtype=np.int8)
        rows = sp.csr_array((ones, rank[indices], indptr), shape=(m, n_cols))
        rows.sort_indices()
        cols = rows.tocsc()
        idf2 = np.square(np.log(m / np.maximum(np.sort(count), 1)))
        owner = np.repeat(np.arange(m, dtype=np.int32), np.diff(indptr))
        norm = np.sqrt(np.bincount(owner, weights=idf2[rows.indices], minlength=m))
        inv_norm = np.divide(1.0, norm, out=np.zeros(m), where=norm > 0)
        return cls(
            rows.indptr.astype(np.int64),
            rows.indices.astype(np.int32),
            cols.indptr.astype(np.int64),
            cols.indices.astype(np.int32),
            idf2,
            inv_norm,
        )


def nearest_patterns(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    n_cols: int,
    n_neighbors: int,
    *,
    approximate: bool,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The rows most similar to each row, itself excluded.

    Exact search reads Σ_j df_j² entries. The approximate one reads at most `SCAN_BUDGET` for a
    row, rare columns first because they say most for the least work, compares the best
    candidates exactly, and then neighbours of neighbours, `ROUNDS` times. Its similarities are
    exact, its neighbours may not be the nearest.

    Parameters
    ----------
    indptr, indices : ndarray of shape (m + 1,) and (n_observed,)
        Observed columns of each row.
    n_cols : int
    n_neighbors : int
        At least one.
    approximate : bool
    n_jobs : int, optional

    Returns
    -------
    near : ndarray of int32, shape (m, n_neighbors)
        Best first; −1 where a row has fewer neighbours of positive similarity.
    similarity : ndarray of shape (m, n_neighbors)
        In [0, 1], zero where `near` is −1.
    """
    p = Pattern.from_csr(indptr, indices, n_cols)
    m = len(p.inv_norm)
    near = np.full((m, n_neighbors), -1, dtype=np.int32)
    similarity = np.zeros((m, n_neighbors))
    with open_backend(n_jobs) as backend:
        # A thread owns arrays as long as the pattern has rows: few chunks, for few of them.
        bounds = np.unique(np.linspace(0, m, min(m, 64) + 1).astype(np.int64))
        arrays = (p.row_start, p.row_cols, p.col_start, p.col_rows, p.idf2, p.inv_norm)
        if not approximate:
            backend.over_rows(lambda a, b: scan_all(a, b, *arrays, near, similarity), bounds)
        else:
            width = CANDIDATES * n_neighbors
            backend.over_rows(
                lambda a, b: scan_rare(a, b, *arrays, SCAN_BUDGET, width, near, similarity), bounds
            )
            for _ in range(ROUNDS):
                _improve(p, near, similarity, backend, bounds)
    return near, np.minimum(similarity * p.inv_norm[:, None], 1.0)


def _improve(
    p: Pattern,
    near: NDArray[np.int32],
    similarity: NDArray[np.float64],
    backend: NumbaBackend,
    bounds: NDArray[np.int64],
) -> None:
    """Compare each row with the neighbours of its neighbours, in place."""
    start, linked = _linked(near, similarity * p.inv_norm[:, None], 2 * near.shape[1])
    rows = (p.row_start, p.row_cols, p.idf2, p.inv_norm)
    backend.over_rows(lambda a, b: refine(a, b, *rows, start, linked, near, similarity), bounds)


def _linked(
    near: NDArray[np.int32], similarity: NDArray[np.float64], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Neighbours in either direction, the `limit` most similar of each row, compressed."""
    graph = neighbor_graph(near, similarity)
    owner = np.repeat(np.arange(len(near)), np.diff(graph.indptr))
    order = np.lexsort((graph.indices, -graph.data, owner))
    inside = np.arange(len(owner)) - graph.indptr[owner] < limit
    start = np.concatenate(([0], np.cumsum(np.minimum(np.diff(graph.indptr), limit))))
    return start.astype(np.int64), graph.indices[order][inside].astype(np.int32)


def neighbor_graph(near: NDArray[np.int32], similarity: NDArray[np.float64]) -> sp.csr_array:
    """Graph of all pairs of which one is a neighbour of the other.

    Parameters
    ----------
    near : ndarray of shape (m, n_neighbors)
        −1 for no neighbour.
    similarity : ndarray of shape (m, n_neighbors)
        Zero for no neighbour.

    Returns
    -------
    csr_array of shape (m, m)
    """
    m, k = near.shape
    return symmetric_graph(m, np.repeat(np.arange(m), k), near.ravel(), similarity.ravel())
