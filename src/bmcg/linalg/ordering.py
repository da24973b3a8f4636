"""Fill-reducing elimination orderings.

The eliminated graph is kept as a quotient graph (George & Liu 1981): an eliminated node becomes an
*element*, the clique of its remaining neighbours, so storage never exceeds that of the input.
Degrees are the upper bounds of Amestoy, Davis & Duff (1996), cheap to update and close to exact.
Nodes with the same neighbourhood are merged and eliminated together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

_FREE, _ELEMENT, _DEAD = 0, 1, 2


class _Quotient(NamedTuple):
    """Quotient graph: the list of i is store[start[i]:start[i] + length[i]], elements first."""

    start: Int64
    length: Int64
    elements: Int64  # how many entries at the head of a variable's list are elements
    status: NDArray[np.int8]
    weight: Int64  # nodes merged into i; negative while i belongs to the current pivot's clique
    degree: Int64  # variables: bound on the external degree; elements: weight of the clique
    mark: Int64  # against a rising flag: weight of an element outside the current clique
    merged: Int32  # the node that i was merged into, -1 for none
    head: Int32  # degree buckets, doubly linked
    after: Int32
    before: Int32
    hash_head: Int32  # buckets of nodes whose neighbourhoods may be equal
    hash_next: Int32
    hash_of: Int32


def minimum_degree(
    indptr: NDArray[np.integer], indices: NDArray[np.integer], max_fill: int | None = None
) -> Int64 | None:
    """Order the nodes of a graph so that the Cholesky factor stays sparse.

    Parameters
    ----------
    indptr : (n + 1,) integer array
    indices : (nnz,) integer array
        Symmetric sparsity pattern in CSR form without duplicates; a diagonal is ignored.
    max_fill : int, optional
        Give up as soon as the factor is known to need more entries than this.

    Returns
    -------
    (n,) int64 array or None
        ``order[p]`` is the node eliminated in step p; None when `max_fill` was exceeded.
    """
    n = len(indptr) - 1
    limit = np.iinfo(np.int64).max if max_fill is None else max_fill
    store, graph = _quotient(np.asarray(indptr, np.int64), np.asarray(indices, np.int32))
    pivots = np.empty(n, np.int32)
    if not _eliminate(store, graph, pivots, limit):
        return None
    return _expand(graph.merged, pivots)


@njit(cache=True, nogil=True)
def _quotient(indptr, indices):  # type: ignore[no-untyped-def]
    """Copy the off-diagonal pattern, with room for new cliques, and fill the degree buckets."""
    n = len(indptr) - 1
    store = np.empty(len(indices) + len(indices) // 5 + 2 * n + 1, np.int32)
    g = _Quotient(
        np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int8),
        np.ones(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64),
        np.full(n, -1, np.int32), np.full(n + 1, -1, np.int32), np.full(n, -1, np.int32),
        np.full(n, -1, np.int32), np.full(n, -1, np.int32), np.full(n, -1, np.int32),
        np.zeros(n, np.int32),
    )  # fmt: skip
    end = 0
    for i in range(n):
        g.start[i] = end
        for e in range(indptr[i], indptr[i + 1]):
            if indices[e] != i:
                store[end] = indices[e]
                end += 1
        g.length[i] = end - g.start[i]
        g.degree[i] = g.length[i]
    for i in range(n - 1, -1, -1):
        _push(g, i, g.degree[i])
    return store, g


@njit(cache=True, nogil=True)
def _push(g, i, degree):  # type: ignore[no-untyped-def]
    first = g.head[degree]
    g.after[i] = first
    g.before[i] = -1
    if first >= 0:
        g.before[first] = i
    g.head[degree] = i


@njit(cache=True, nogil=True)
def _remove(g, i):  # type: ignore[no-untyped-def]
    if g.before[i] >= 0:
        g.after[g.before[i]] = g.after[i]
    else:
        g.head[g.degree[i]] = g.after[i]
    if g.after[i] >= 0:
        g.before[g.after[i]] = g.before[i]


@njit(cache=True, nogil=True)
def _defer_hubs(store, g, pivots):  # type: ignore[no-untyped-def]
    """Put nodes of very high degree last: every neighbour's elimination would scan their lists."""
    n = len(g.start)
    bound = max(16.0, 10.0 * np.sqrt(n))
    hubs = 0
    for i in range(n):
        if g.degree[i] > bound:
            _remove(g, i)
            hubs += 1
            pivots[n - hubs] = i
            g.status[i] = _DEAD
    if hubs == 0:
        return 0
    for i in range(n):
        if g.status[i] == _DEAD:
            g.weight[i] = 0
            continue
        _remove(g, i)
        kept = g.start[i]
        for e in range(g.start[i], g.start[i] + g.length[i]):
            if g.status[store[e]] != _DEAD:
                store[kept] = store[e]
                kept += 1
        g.length[i] = kept - g.start[i]
        g.degree[i] = g.length[i]
        _push(g, i, g.degree[i])
    return hubs


@njit(cache=True, nogil=True)
def _compact(store, g):  # type: ignore[no-untyped-def]
    """Close the gaps that dead lists left; returns the end of what is in use."""
    old = store.copy()
    end = 0
    for i in range(len(g.start)):
        live = g.weight[i] != 0 if g.status[i] == _FREE else g.status[i] == _ELEMENT
        if live:
            begin = g.start[i]
            g.start[i] = end
            for e in range(begin, begin + g.length[i]):
                store[end] = old[e]
                end += 1
    return end


@njit(cache=True, nogil=True)
def _join(g, i):  # type: ignore[no-untyped-def]
    """Take variable i into the pivot's clique; returns its weight, 0 if it is not eligible."""
    weight = g.weight[i]
    if weight <= 0:
        return 0
    g.weight[i] = -weight
    _remove(g, i)
    return weight


@njit(cache=True, nogil=True)
def _build_clique(store, g, p, end):  # type: ignore[no-untyped-def]
    """Turn pivot p into an element: the union of its variables and its elements' cliques."""
    begin, size, total = g.start[p], 0, 0
    weight = g.weight[p]
    g.weight[p] = -weight
    out = end if g.elements[p] > 0 else begin
    for q in range(begin, begin + g.elements[p]):
        e = store[q]
        for t in range(g.start[e], g.start[e] + g.length[e]):
            joined = _join(g, store[t])
            if joined > 0:
                store[out + size] = store[t]
                size += 1
                total += joined
        g.status[e] = _DEAD
    for q in range(begin + g.elements[p], begin + g.length[p]):
        i = store[q]
        joined = _join(g, i)
        if joined > 0:
            store[out + size] = i
            size += 1
            total += joined
    if g.elements[p] > 0:
        end += size
    g.start[p], g.length[p], g.elements[p] = out, size, 0
    g.status[p], g.degree[p] = _ELEMENT, total
    return end


@njit(cache=True, nogil=True)
def _measure_overlaps(store, g, p, flag):  # type: ignore[no-untyped-def]
    """mark[e] - flag = weight of element e outside p's clique, for every e that touches it."""
    for t in range(g.start[p], g.start[p] + g.length[p]):
        i = store[t]
        for q in range(g.start[i], g.start[i] + g.elements[i]):
            e = store[q]
            if g.status[e] == _ELEMENT:
                if g.mark[e] < flag:
                    g.mark[e] = flag + g.degree[e]
                g.mark[e] += g.weight[i]  # negative inside the clique


@njit(cache=True, nogil=True)
def _update_variable(store, g, p, i, flag):  # type: ignore[no-untyped-def]
    """Rewrite i's list as [p, other elements, variables outside the clique], bound its degree.

    Returns True when nothing but p is left: i can be eliminated together with p.
    """
    begin, degree, key = g.start[i], 0, np.int64(p)
    # p, or an element that p absorbed, leaves the list: there is always room for p in front.
    kept_elements = np.int64(0)
    first_variable = begin + g.elements[i]
    last = begin + g.length[i]
    spare = np.int64(-1)
    for q in range(begin, first_variable):
        e = store[q]
        if g.status[e] != _ELEMENT:
            continue
        outside = g.mark[e] - flag
        if outside > 0:
            store[begin + kept_elements] = e
            kept_elements += 1
            degree += outside
            key += e
        else:
            g.status[e] = _DEAD  # every variable of e is in p's clique
    out = begin + kept_elements
    # Variables move behind one free place; the first of them waits while p takes its slot.
    for q in range(first_variable, last):
        j = store[q]
        if g.weight[j] > 0:
            degree += g.weight[j]
            key += j
            if spare < 0:
                spare = j
            else:
                out += 1
                store[out] = j
    if spare >= 0:
        out += 1
        store[out] = spare
    store[begin + kept_elements] = store[begin]
    store[begin] = p
    g.elements[i] = kept_elements + 1
    g.length[i] = out + 1 - begin
    g.degree[i] = min(g.degree[i], degree)
    g.hash_of[i] = key % len(g.start)
    return degree == 0


@njit(cache=True, nogil=True)
def _update_clique(store, g, p, flag):  # type: ignore[no-untyped-def]
    """New degree bounds for the clique; its variables go into hash buckets or join the pivot."""
    for t in range(g.start[p], g.start[p] + g.length[p]):
        i = store[t]
        if _update_variable(store, g, p, i, flag):
            g.degree[p] += g.weight[i]
            g.weight[p] += g.weight[i]
            g.weight[i] = 0
            g.merged[i] = p
        else:
            key = g.hash_of[i]
            g.hash_next[i] = g.hash_head[key]
            g.hash_head[key] = i


@njit(cache=True, nogil=True)
def _same_neighbours(store, g, j, flag):  # type: ignore[no-untyped-def]
    last = g.start[j] + g.length[j]
    q = g.start[j] + 1  # the first entry is the pivot in every list of the clique
    while q < last and g.mark[store[q]] == flag:
        q += 1
    return q == last


@njit(cache=True, nogil=True)
def _merge_twins(store, g, p, flag):  # type: ignore[no-untyped-def]
    """Merge variables of the clique with equal lists: they stay equal for ever."""
    for t in range(g.start[p], g.start[p] + g.length[p]):
        key = g.hash_of[store[t]]
        i = g.hash_head[key] if g.weight[store[t]] != 0 else -1
        g.hash_head[key] = -1
        while i >= 0 and g.hash_next[i] >= 0:
            flag += 1
            for q in range(g.start[i] + 1, g.start[i] + g.length[i]):
                g.mark[store[q]] = flag
            previous, j = i, g.hash_next[i]
            while j >= 0:
                following = g.hash_next[j]
                if (
                    g.length[i] == g.length[j]
                    and g.elements[i] == g.elements[j]
                    and _same_neighbours(store, g, j, flag)
                ):
                    g.weight[i] += g.weight[j]
                    g.weight[j] = 0
                    g.merged[j] = i
                    g.hash_next[previous] = following
                else:
                    previous = j
                j = following
            i = g.hash_next[i]
    return flag


@njit(cache=True, nogil=True)
def _restore_clique(store, g, p, left):  # type: ignore[no-untyped-def]
    """Return the surviving variables to the degree buckets; returns the lowest degree."""
    kept, lowest = g.start[p], left
    for t in range(g.start[p], g.start[p] + g.length[p]):
        i = store[t]
        if g.weight[i] == 0:
            continue
        weight = -g.weight[i]
        g.weight[i] = weight
        g.degree[i] = min(g.degree[i] + g.degree[p] - weight, left - weight)
        _push(g, i, g.degree[i])
        lowest = min(lowest, g.degree[i])
        store[kept] = i
        kept += 1
    g.length[p] = kept - g.start[p]
    if g.length[p] == 0:
        g.status[p] = _DEAD
    return lowest


@njit(cache=True, nogil=True)
def _eliminate(store, g, pivots, limit):  # type: ignore[no-untyped-def]
    """Eliminate everything; pivots[0:] in order, filled from the back with deferred hubs."""
    n = len(g.start)
    hubs = _defer_hubs(store, g, pivots)
    left, count, lowest, flag = n - hubs, 0, 0, np.int64(1)
    fill = hubs * (hubs + 1) // 2
    end = g.start[n - 1] + g.length[n - 1] if n > 0 else 0
    while left > 0:
        while g.head[lowest] < 0:
            lowest += 1
        p = g.head[lowest]
        _remove(g, p)
        if g.elements[p] > 0 and end + left > len(store):
            end = _compact(store, g)
        end = _build_clique(store, g, p, end)
        _measure_overlaps(store, g, p, flag)
        _update_clique(store, g, p, flag)
        weight = -g.weight[p]
        pivots[count] = p
        count += 1
        left -= weight
        fill += weight * g.degree[p] + weight * (weight + 1) // 2
        flag = _merge_twins(store, g, p, flag + n + 1) + 1
        g.weight[p] = 0
        lowest = min(lowest, _restore_clique(store, g, p, left))
        # Each node left has at least `lowest` neighbours now and in the filled graph, which so
        # has at least lowest / 2 edges a node (up to the slack of the degree bounds).
        if fill + left * (lowest + 2) // 2 > limit:
            return False
    for q in range(count, n - hubs):
        pivots[q] = -1
    return True


@njit(cache=True, nogil=True)
def _expand(merged, pivots):  # type: ignore[no-untyped-def]
    """Replace each pivot by itself and all nodes merged into it, directly or not."""
    n = len(merged)
    child, sibling = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    for i in range(n):
        if merged[i] >= 0:
            sibling[i] = child[merged[i]]
            child[merged[i]] = i
    order, stack = np.empty(n, np.int64), np.empty(n, np.int64)
    count = 0
    for p in pivots:
        if p < 0:
            continue
        stack[0], top = p, 1
        while top > 0:
            top -= 1
            i = stack[top]
            order[count] = i
            count += 1
            c = child[i]
            while c >= 0:
                stack[top] = c
                top += 1
                c = sibling[c]
    return order
