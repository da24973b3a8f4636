"""Sums over the entries of a table's rows as matrix products.

Where a good share of a matrix is observed, Σ_{j∈Ω_i} w_ij s_j for all rows is W S with W = Ω∘w
filled up with zeros: three times the arithmetic at a share of one third, at the speed of a matrix
product, which is that much higher. The same holds where the whole matrix is small, whatever its
share: no kernel has to be loaded then.

W is formed in slabs of at most `SLAB` numbers, or kept if it has at most `KEPT`; nothing larger
is made of a matrix. Entries that stand twice are added up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..base import Array, Floats, Pair, SparseRows, Weights
from ..packed import outer_packed

Bounds = NDArray[np.int64]
OverRows = Callable[[Callable[[int, int], Any], Bounds], list[Any]]

# Share of the cells that must be entries, and cells below which any share does.
SHARE = 0.3
SMALL = 1 << 16
# Cells of a slab, 2 MiB, and of a matrix that is kept, 32 MiB.
SLAB = 1 << 18
KEPT = 1 << 22


def is_table(rows: SparseRows, F: Floats) -> bool:
    """Whether sums of the lines of F (n_other, w) over these rows are best made by products."""
    few = len(rows.indices) < SHARE * rows.n * len(F)
    return is_small(rows, F) or (F.dtype == np.float64 and not few)


def is_small(rows: SparseRows, F: Floats) -> bool:
    """Whether a matrix of these rows and as many columns as F has lines is small altogether."""
    return rows.n * len(F) <= SMALL


def sums(over: OverRows, rows: SparseRows, F: Floats, values: Array | None) -> Floats:
    """Σ_{j∈Ω_i} x_ij f_j, ones for values that are None: F (n_other, w) to (n, w)."""
    out = np.empty((rows.n, F.shape[1]), F.dtype)

    def chunk(a: int, b: int) -> None:
        np.matmul(W(a, b), F, out=out[a:b], casting="same_kind")

    W, bounds = _slabs(over, rows, len(F), values)
    over(chunk, bounds)
    return out


def gram_and_sums(over: OverRows, rows: SparseRows, F: Array, weights: Weights) -> Pair:
    """Σ_{j∈Ω_i} w_ij f_j f_jᵀ, packed, and Σ_{j∈Ω_i} w_ij x_ij f_j."""
    x = rows.values if weights is None else weights * rows.values
    return sums(over, rows, outer_packed(F), weights), sums(over, rows, F, x)


def entry_products(over: OverRows, rows: SparseRows, U: Array, V: Array) -> Array:
    """u_i·v_j at every entry, in the rows' order, shape (n_entries,)."""
    if rows.n * len(V) <= SLAB and U.dtype == V.dtype == np.float64:
        return (U @ V.T).ravel().take(_cells(rows, len(V)))
    out = np.empty(len(rows.indices))

    def chunk(a: int, b: int) -> None:
        at = slice(int(rows.indptr[a]), int(rows.indptr[b]))
        line = np.repeat(np.arange(b - a), np.diff(rows.indptr[a : b + 1]))
        out[at] = (U[a:b] @ V.T)[line, rows.indices[at]]

    over(chunk, _bounds(rows.n, len(V)))
    return out


def _cells(rows: SparseRows, n_other: int) -> NDArray[np.intp]:
    """The place of each entry in a full matrix of few cells, kept."""
    key = "cells", n_other
    if key not in rows.memo or rows.memo[key][0] is not rows.indices:
        rows.memo[key] = rows.indices, rows.owners * n_other + rows.indices
    cells: NDArray[np.intp] = rows.memo[key][1]
    return cells


def _slabs(
    over: OverRows, rows: SparseRows, n_other: int, values: Array | None
) -> tuple[Callable[[int, int], Array], Bounds]:
    """W's rows from a to b, as a function of these, and the bounds of slabs."""
    bounds = _bounds(rows.n, n_other)

    def slab(a: int, b: int) -> Array:
        first, last = int(rows.indptr[a]), int(rows.indptr[b])
        x = np.ones(last - first) if values is None else values[first:last]
        # Its sums over entries that stand twice are those of the kernels.
        held = sp.csr_array(
            (x, rows.indices[first:last], rows.indptr[a : b + 1] - first), shape=(b - a, n_other)
        )
        return held.toarray()

    # A matrix is remembered with the values it was made of: others may share the memo.
    kept = values is None or values is rows.values
    if not kept or rows.n * n_other > KEPT:
        return slab, bounds
    key = "table of ones" if values is None else "table of values"
    if key not in rows.memo or rows.memo[key][0] is not values or rows.memo[key][1] != n_other:
        rows.memo[key] = values, n_other, np.concatenate(over(slab, bounds) or [slab(0, 0)])
    whole = rows.memo[key][2]
    return lambda a, b: whole[a:b], bounds


def _bounds(n: int, n_other: int) -> Bounds:
    step = max(1, SLAB // max(1, n_other))
    return np.append(np.arange(0, n, step), n).astype(np.int64)
