"""Symbolic analysis: where a graph's Cholesky factor has entries, decided once per graph.

Neighbouring columns of the factor with (nearly) the same rows form a *supernode* and are stored
as one dense panel. A supernode's *front* is the small dense matrix over its own columns and the
later rows they touch; every kernel works on fronts, from the leaves of the tree to the roots
(factor) or back (inverse).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...kernels import exact
from .ordering import minimum_degree

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


class Fronts(NamedTuple):
    """Supernodes in postorder, as the kernels read them.

    Attributes
    ----------
    first : (S + 1,) int64
        Supernode s owns the columns first[s]:first[s + 1] of the permuted matrix.
    children : (S,) int64
        Number of children in the tree of supernodes.
    row_ptr : (S + 1,) int64
    rows : (row_ptr[-1],) int32
        Rows of each front in increasing order, the supernode's own columns first.
    relative : (row_ptr[-1],) int32
        Place of each row in the parent's front; -1 for own columns.
    panel_ptr : (S + 1,) int64
        Panel s is panels[panel_ptr[s]:panel_ptr[s + 1]], rows × columns, row by row.
    front_size, stack_size : int
        Entries of the largest front, and of all pending child contributions at the worst moment.
    """

    first: Int64
    children: Int64
    row_ptr: Int64
    rows: Int32
    relative: Int32
    panel_ptr: Int64
    front_size: int
    stack_size: int

    def expand(self, k: int) -> Fronts:
        """Fronts of the matrix in which every entry has become a dense k × k block."""
        within = np.arange(k, dtype=np.int32)
        relative = np.where(
            self.relative[:, None] < 0, np.int32(-1), self.relative[:, None] * np.int32(k) + within
        )
        return Fronts(
            self.first * k,
            self.children,
            self.row_ptr * k,
            (self.rows[:, None] * np.int32(k) + within).ravel(),
            relative.ravel(),
            self.panel_ptr * k * k,
            self.front_size * k * k,
            self.stack_size * k * k,
        )


@dataclass(frozen=True)
class Symbolic:
    """Pattern of the Cholesky factor of a graph's precision under a fill-reducing ordering.

    Attributes
    ----------
    indptr, indices : CSR pattern that was analysed, rows sorted
    order : (n,) int64
        order[p] is the node eliminated in step p.
    parent : (n,) int64
        Elimination tree over steps, -1 at roots.
    column_counts : (n,) int64
        Entries of each column of the factor, the diagonal included, before padding.
    fronts : Fronts
    entry_position : (nnz,) int64
        Place in the panels of each CSR entry; (i, j) and (j, i) share one.
    diagonal_position : (n,) int64
        Place in the panels of each node's diagonal entry.
    """

    indptr: Int64
    indices: Int32
    order: Int64
    parent: Int64
    column_counts: Int64
    fronts: Fronts
    entry_position: Int64
    diagonal_position: Int64

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.order)

    @property
    def nnz_factor(self) -> int:
        """Entries of the factor, diagonal included."""
        return int(self.column_counts.sum())

    @property
    def panel_size(self) -> int:
        """Entries stored by a numeric factor, explicit zeros included."""
        return int(self.fronts.panel_ptr[-1])

    @property
    def flops(self) -> float:
        """Floating-point operations of one factor and one selected inverse, about 3 Σ count²."""
        return float(3.0 * np.sum(self.column_counts.astype(np.float64) ** 2))


def analyse(
    indptr: NDArray[np.integer], indices: NDArray[np.integer], max_fill: int | None = None
) -> Symbolic | None:
    """Order a graph and lay out its Cholesky factor.

    Parameters
    ----------
    indptr : (n + 1,) integer array
    indices : (nnz,) integer array
        Symmetric pattern in CSR form, rows sorted and without duplicates. Diagonal entries may
        be missing.
    max_fill : int, optional
        Largest acceptable number of entries in the factor.

    Returns
    -------
    Symbolic or None
        None when the factor would have more than `max_fill` entries.
    """
    ptr, ind = np.asarray(indptr, np.int64), np.asarray(indices, np.int32)
    mirror = _mirror(ptr, ind)
    n = len(ptr) - 1
    if max_fill is not None and (n + len(ind)) // 2 > max_fill:
        return None
    order = minimum_degree(ptr, ind, max_fill)
    if order is None:
        return None
    limit = np.iinfo(np.int64).max if max_fill is None else max_fill
    parent, counts = _tree(ptr, ind, order, limit)
    if len(counts) < n:
        return None
    post = _postorder(parent, np.argsort(-counts, kind="stable"))
    order, counts = order[post], counts[post]
    place = np.empty(n + 1, np.int64)
    place[post], place[n] = np.arange(n), -1
    parent = place[np.where(parent[post] < 0, n, parent[post])]
    fronts, position, diagonal = _lay_out(ptr, ind, mirror, order, parent, counts)
    return Symbolic(ptr, ind, order, parent, counts, fronts, position, diagonal)


def _mirror(indptr: Int64, indices: Int32) -> Int64:
    """Index of entry (j, i) for each entry (i, j); refuses patterns that are not symmetric."""
    n, nnz = len(indptr) - 1, len(indices)
    if nnz != indptr[-1] or (nnz and (indices.min() < 0 or indices.max() >= n)):
        raise ValueError(
            f"indices: {nnz} entries for indptr ending in {indptr[-1]} and {n} nodes; "
            "pass the indptr and indices of one square CSR matrix"
        )
    transposed = sp.csr_array((np.arange(nnz), indices, indptr), shape=(n, n)).tocsc()
    same = np.array_equal(transposed.indptr, indptr)
    if not same or not np.array_equal(transposed.indices, indices):
        raise ValueError(
            "indices: the pattern is not symmetric with sorted rows; "
            "add the transpose, then call sum_duplicates() and sort_indices()"
        )
    return np.asarray(transposed.data, np.int64)


@exact
def _tree(indptr, indices, order, limit):  # type: ignore[no-untyped-def]
    """Elimination tree and column counts; the counts are empty when they exceed the limit."""
    n = len(order)
    place = np.empty(n, np.int64)
    for p in range(n):
        place[order[p]] = p
    parent, ancestor = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for p in range(n):
        for e in range(indptr[order[p]], indptr[order[p] + 1]):
            q = place[indices[e]]
            while q >= 0 and q < p:
                above = ancestor[q]
                ancestor[q] = p
                if above < 0:
                    parent[q] = p
                q = above
    # Row p of the factor is the union of the tree paths from its neighbours up to p.
    counts, seen, total = np.ones(n, np.int64), np.full(n, -1, np.int64), n
    for p in range(n):
        seen[p] = p
        for e in range(indptr[order[p]], indptr[order[p] + 1]):
            q = place[indices[e]]
            while q < p and seen[q] != p:
                seen[q] = p
                counts[q] += 1
                total += 1
                q = parent[q]
        if total > limit:
            return parent, counts[:0]
    return parent, counts


@exact
def _postorder(parent, by_count):  # type: ignore[no-untyped-def]
    """Children before parents, the child with the longest column right before its parent."""
    n = len(parent)
    child, sibling = np.full(n + 1, -1, np.int64), np.full(n, -1, np.int64)
    for p in by_count:
        up = parent[p] if parent[p] >= 0 else n
        sibling[p] = child[up]
        child[up] = p
    post, stack = np.empty(n, np.int64), np.empty(n + 1, np.int64)
    stack[0], top, count = n, 1, 0
    while top > 0:
        p = stack[top - 1]
        if child[p] >= 0:
            stack[top] = child[p]
            top += 1
            child[p] = sibling[child[p]]
        else:
            top -= 1
            if p < n:
                post[count] = p
                count += 1
    return post


@exact
def _worth_merging(width, zeros, entries):  # type: ignore[no-untyped-def]
    """Whether fewer, larger fronts make up for storing and multiplying explicit zeros."""
    if width <= 8:
        return zeros <= 0.15 * entries
    return zeros <= (0.1 if width <= 32 else 0.05) * entries


@exact
def _supernodes(parent, counts):  # type: ignore[no-untyped-def]
    """First columns of the supernodes and the height of each front."""
    n = len(parent)
    first, height, real = np.empty(n + 1, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    s = 0
    for p in range(n):
        first[s], height[s], real[s] = p, counts[p], counts[p]
        while s > 0 and parent[first[s] - 1] >= first[s]:
            # The previous supernode ends just before this one; only its parent may absorb it.
            if parent[first[s] - 1] > p:
                break
            width, gain = p + 1 - first[s - 1], first[s] - first[s - 1]
            entries = width * (height[s] + gain) - width * (width - 1) // 2
            if not _worth_merging(width, entries - real[s] - real[s - 1], entries):
                break
            height[s - 1] = height[s] + gain
            real[s - 1] += real[s]
            s -= 1
        s += 1
    first[s] = n
    return first[: s + 1].copy(), height[:s].copy()


@exact
def _fill_rows(indptr, indices, order, place, parent, fronts):  # type: ignore[no-untyped-def]
    """Rows of all fronts: row p meets the supernodes on the tree paths from its neighbours."""
    n, S = len(order), len(fronts.children)
    owner, above = np.empty(n, np.int64), np.full(S, -1, np.int64)
    for s in range(S):
        for p in range(fronts.first[s], fronts.first[s + 1]):
            owner[p] = s
    for s in range(S):
        up = parent[fronts.first[s + 1] - 1]
        if up >= 0:
            above[s] = owner[up]
            fronts.children[owner[up]] += 1
    end, seen = fronts.row_ptr[:-1].copy(), np.full(S, -1, np.int64)
    for p in range(n):
        seen[owner[p]] = p
        fronts.rows[end[owner[p]]] = p
        end[owner[p]] += 1
        for e in range(indptr[order[p]], indptr[order[p] + 1]):
            q = place[indices[e]]
            s = owner[q] if q < p else owner[p]
            while seen[s] != p:
                seen[s] = p
                fronts.rows[end[s]] = p
                end[s] += 1
                s = above[s]


@exact
def _place_entries(indptr, indices, mirror, order, place, fronts, s, local, position, diagonal):  # type: ignore[no-untyped-def]
    """Panel positions of the matrix entries in the columns of supernode s."""
    width = fronts.first[s + 1] - fronts.first[s]
    for p in range(fronts.first[s], fronts.first[s + 1]):
        column = fronts.panel_ptr[s] + p - fronts.first[s]
        diagonal[order[p]] = column + local[p] * width
        for e in range(indptr[order[p]], indptr[order[p] + 1]):
            q = place[indices[e]]
            if q >= p:
                position[e] = column + local[q] * width
                position[mirror[e]] = position[e]


@exact
def _empty_fronts(parent, counts):  # type: ignore[no-untyped-def]
    """Fronts with their sizes settled and their rows still to be filled in."""
    first, height = _supernodes(parent, counts)
    S = len(height)
    row_ptr, panel_ptr = np.zeros(S + 1, np.int64), np.zeros(S + 1, np.int64)
    front_size = 0
    for s in range(S):
        row_ptr[s + 1] = row_ptr[s] + height[s]
        panel_ptr[s + 1] = panel_ptr[s] + height[s] * (first[s + 1] - first[s])
        front_size = max(front_size, height[s] ** 2)
    rows, relative = np.empty(row_ptr[S], np.int32), np.full(row_ptr[S], -1, np.int32)
    children = np.zeros(S, np.int64)
    return Fronts(first, children, row_ptr, rows, relative, panel_ptr, front_size, 0)


@exact
def _lay_out(indptr, indices, mirror, order, parent, counts):  # type: ignore[no-untyped-def]
    """Fill in the fronts; returns them with the panel positions of entries and diagonal."""
    n = len(order)
    f = _empty_fronts(parent, counts)
    position, diagonal = np.empty(len(indices), np.int64), np.empty(n, np.int64)
    place, local = np.empty(n, np.int64), np.empty(n, np.int64)
    for p in range(n):
        place[order[p]] = p
    _fill_rows(indptr, indices, order, place, parent, f)
    pending = np.empty(len(f.children), np.int64)  # supernodes that wait for their parent
    top, stack, stack_size = 0, 0, 0
    for s in range(len(f.children)):
        for t in range(f.row_ptr[s], f.row_ptr[s + 1]):
            local[f.rows[t]] = t - f.row_ptr[s]
        for _ in range(f.children[s]):
            top -= 1
            tail = f.row_ptr[pending[top]] + f.first[pending[top] + 1] - f.first[pending[top]]
            stack -= (f.row_ptr[pending[top] + 1] - tail) ** 2
            for t in range(tail, f.row_ptr[pending[top] + 1]):
                f.relative[t] = local[f.rows[t]]
        _place_entries(indptr, indices, mirror, order, place, f, s, local, position, diagonal)
        rest = f.row_ptr[s + 1] - f.row_ptr[s] - (f.first[s + 1] - f.first[s])
        if rest > 0:
            pending[top] = s
            top += 1
            stack += rest**2
            stack_size = max(stack_size, stack)
    return _with_stack(f, stack_size), position, diagonal


@exact
def _with_stack(f, stack_size):  # type: ignore[no-untyped-def]
    return Fronts(f.first, f.children, f.row_ptr, f.rows, f.relative, f.panel_ptr, f.front_size,
                  stack_size)  # fmt: skip
