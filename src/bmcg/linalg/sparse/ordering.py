"""Fill-reducing elimination orderings.

The eliminated graph is kept as a quotient graph (George & Liu 1981): an eliminated node becomes an
*element*, the clique of its remaining neighbours, so storage never exceeds that of the input.
Degrees are the upper bounds of Amestoy, Davis & Duff (1996), cheap to update and close to exact.
Nodes with the same neighbourhood are merged and eliminated together.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...kernels import exact

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

_FREE, _ELEMENT, _DEAD = 0, 1, 2


# Rows of the one table that holds the quotient graph. The list of node i is
# store[start:start + length], its elements first.
_START, _LENGTH = 0, 1
_ELEMENTS = 2  # how many entries at the head of a variable's list are elements
_STATUS = 3
_WEIGHT = 4  # nodes merged into i; negative while i belongs to the current pivot's clique
_DEGREE = 5  # variables: bound on the external degree; elements: weight of the clique
_MARK = 6  # against a rising flag: weight of an element outside the current clique
_MERGED = 7  # the node that i was merged into, -1 for none
_HEAD, _AFTER, _BEFORE = 8, 9, 10  # degree buckets, doubly linked
_HASH_HEAD, _HASH_NEXT, _HASH_OF = 11, 12, 13  # buckets of possibly equal neighbourhoods
_FIELDS = 14


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
    A = sp.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(n, n))
    limit = np.iinfo(np.int64).max if max_fill is None else max_fill
    # Nodes of very high degree come last: every neighbour's elimination would scan their lists.
    is_hub = np.diff(A.indptr) > max(16.0, 10.0 * np.sqrt(n))
    rest, hubs = np.flatnonzero(~is_hub), np.flatnonzero(is_hub)
    if len(hubs):
        A = A[rest][:, rest]
    store, graph = _quotient(A.indptr.astype(np.int64), A.indices.astype(np.int32))
    place = np.empty(len(rest), np.int64)
    if not _eliminate(store, graph, place, limit - len(hubs) * (len(hubs) + 1) // 2):
        return None
    # A merged node comes right after the pivot that it was merged into, directly or not.
    merged = graph[_MERGED, :-1]
    pivot = np.where(merged < 0, np.arange(len(rest)), merged)
    while not np.array_equal(pivot, pivot[pivot]):
        pivot = pivot[pivot]
    return np.append(rest[np.lexsort((merged >= 0, place[pivot]))], hubs)


@exact
def _quotient(indptr, indices):  # type: ignore[no-untyped-def]
    """Copy the off-diagonal pattern, with room for new cliques, and fill the degree buckets."""
    n = len(indptr) - 1
    store = np.empty(len(indices) + len(indices) // 5 + 2 * n + 1, np.int32)
    g = np.zeros((_FIELDS, n + 1), np.int64)  # degrees run to n
    g[_WEIGHT] = 1
    for field in (_MERGED, _HEAD, _AFTER, _BEFORE, _HASH_HEAD, _HASH_NEXT):
        g[field] = -1
    end = 0
    for i in range(n):
        g[_START, i] = end
        for e in range(indptr[i], indptr[i + 1]):
            if indices[e] != i:
                store[end] = indices[e]
                end += 1
        g[_LENGTH, i] = end - g[_START, i]
        g[_DEGREE, i] = g[_LENGTH, i]
    for i in range(n - 1, -1, -1):
        _push(g, i, g[_DEGREE, i])
    return store, g


@exact
def _push(g, i, degree):  # type: ignore[no-untyped-def]
    first = g[_HEAD, degree]
    g[_AFTER, i] = first
    g[_BEFORE, i] = -1
    if first >= 0:
        g[_BEFORE, first] = i
    g[_HEAD, degree] = i


@exact
def _remove(g, i):  # type: ignore[no-untyped-def]
    if g[_BEFORE, i] >= 0:
        g[_AFTER, g[_BEFORE, i]] = g[_AFTER, i]
    else:
        g[_HEAD, g[_DEGREE, i]] = g[_AFTER, i]
    if g[_AFTER, i] >= 0:
        g[_BEFORE, g[_AFTER, i]] = g[_BEFORE, i]


@exact
def _compact(store, g):  # type: ignore[no-untyped-def]
    """Close the gaps that dead lists left; returns the end of what is in use."""
    old = store.copy()
    end = 0
    for i in range(g.shape[1] - 1):
        live = g[_WEIGHT, i] != 0 if g[_STATUS, i] == _FREE else g[_STATUS, i] == _ELEMENT
        if live:
            begin = g[_START, i]
            g[_START, i] = end
            for e in range(begin, begin + g[_LENGTH, i]):
                store[end] = old[e]
                end += 1
    return end


@exact
def _join(g, i):  # type: ignore[no-untyped-def]
    """Take variable i into the pivot's clique; returns its weight, 0 if it is not eligible."""
    weight = g[_WEIGHT, i]
    if weight <= 0:
        return 0
    g[_WEIGHT, i] = -weight
    _remove(g, i)
    return weight


@exact
def _build_clique(store, g, p, end):  # type: ignore[no-untyped-def]
    """Turn pivot p into an element: the union of its variables and its elements' cliques."""
    begin, size, total = g[_START, p], 0, 0
    weight = g[_WEIGHT, p]
    g[_WEIGHT, p] = -weight
    out = end if g[_ELEMENTS, p] > 0 else begin
    for q in range(begin, begin + g[_ELEMENTS, p]):
        e = store[q]
        for t in range(g[_START, e], g[_START, e] + g[_LENGTH, e]):
            joined = _join(g, store[t])
            if joined > 0:
                store[out + size] = store[t]
                size += 1
                total += joined
        g[_STATUS, e] = _DEAD
    for q in range(begin + g[_ELEMENTS, p], begin + g[_LENGTH, p]):
        i = store[q]
        joined = _join(g, i)
        if joined > 0:
            store[out + size] = i
            size += 1
            total += joined
    if g[_ELEMENTS, p] > 0:
        end += size
    g[_START, p], g[_LENGTH, p], g[_ELEMENTS, p] = out, size, 0
    g[_STATUS, p], g[_DEGREE, p] = _ELEMENT, total
    return end


@exact
def _measure_overlaps(store, g, p, flag):  # type: ignore[no-untyped-def]
    """mark[e] - flag = weight of element e outside p's clique, for every e that touches it."""
    for t in range(g[_START, p], g[_START, p] + g[_LENGTH, p]):
        i = store[t]
        for q in range(g[_START, i], g[_START, i] + g[_ELEMENTS, i]):
            e = store[q]
            if g[_STATUS, e] == _ELEMENT:
                if g[_MARK, e] < flag:
                    g[_MARK, e] = flag + g[_DEGREE, e]
                g[_MARK, e] += g[_WEIGHT, i]  # negative inside the clique


@exact
def _update_variable(store, g, p, i, flag):  # type: ignore[no-untyped-def]
    """Rewrite i's list as [p, other elements, variables outside the clique], bound its degree.

    Returns True when nothing but p is left: i can be eliminated together with p.
    """
    begin, degree, key = g[_START, i], 0, np.int64(p)
    # p, or an element that p absorbed, leaves the list: there is always room for p in front.
    kept_elements = np.int64(0)
    first_variable = begin + g[_ELEMENTS, i]
    last = begin + g[_LENGTH, i]
    spare = np.int64(-1)
    for q in range(begin, first_variable):
        e = store[q]
        if g[_STATUS, e] != _ELEMENT:
            continue
        outside = g[_MARK, e] - flag
        if outside > 0:
            store[begin + kept_elements] = e
            kept_elements += 1
            degree += outside
            key += e
        else:
            g[_STATUS, e] = _DEAD  # every variable of e is in p's clique
    out = begin + kept_elements
    # Variables move behind one free place; the first of them waits while p takes its slot.
    for q in range(first_variable, last):
        j = store[q]
        if g[_WEIGHT, j] > 0:
            degree += g[_WEIGHT, j]
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
    g[_ELEMENTS, i] = kept_elements + 1
    g[_LENGTH, i] = out + 1 - begin
    g[_DEGREE, i] = min(g[_DEGREE, i], degree)
    g[_HASH_OF, i] = key % (g.shape[1] - 1)
    return degree == 0


@exact
def _update_clique(store, g, p, flag):  # type: ignore[no-untyped-def]
    """New degree bounds for the clique; its variables go into hash buckets or join the pivot."""
    for t in range(g[_START, p], g[_START, p] + g[_LENGTH, p]):
        i = store[t]
        if _update_variable(store, g, p, i, flag):
            g[_DEGREE, p] += g[_WEIGHT, i]
            g[_WEIGHT, p] += g[_WEIGHT, i]
            g[_WEIGHT, i] = 0
            g[_MERGED, i] = p
        else:
            key = g[_HASH_OF, i]
            g[_HASH_NEXT, i] = g[_HASH_HEAD, key]
            g[_HASH_HEAD, key] = i


@exact
def _same_neighbours(store, g, j, flag):  # type: ignore[no-untyped-def]
    last = g[_START, j] + g[_LENGTH, j]
    q = g[_START, j] + 1  # the first entry is the pivot in every list of the clique
    while q < last and g[_MARK, store[q]] == flag:
        q += 1
    return q == last


@exact
def _merge_twins(store, g, p, flag):  # type: ignore[no-untyped-def]
    """Merge variables of the clique with equal lists: they stay equal for ever."""
    for t in range(g[_START, p], g[_START, p] + g[_LENGTH, p]):
        key = g[_HASH_OF, store[t]]
        i = g[_HASH_HEAD, key] if g[_WEIGHT, store[t]] != 0 else -1
        g[_HASH_HEAD, key] = -1
        while i >= 0 and g[_HASH_NEXT, i] >= 0:
            flag += 1
            for q in range(g[_START, i] + 1, g[_START, i] + g[_LENGTH, i]):
                g[_MARK, store[q]] = flag
            previous, j = i, g[_HASH_NEXT, i]
            while j >= 0:
                following = g[_HASH_NEXT, j]
                if (
                    g[_LENGTH, i] == g[_LENGTH, j]
                    and g[_ELEMENTS, i] == g[_ELEMENTS, j]
                    and _same_neighbours(store, g, j, flag)
                ):
                    g[_WEIGHT, i] += g[_WEIGHT, j]
                    g[_WEIGHT, j] = 0
                    g[_MERGED, j] = i
                    g[_HASH_NEXT, previous] = following
                else:
                    previous = j
                j = following
            i = g[_HASH_NEXT, i]
    return flag


@exact
def _restore_clique(store, g, p, left):  # type: ignore[no-untyped-def]
    """Return the surviving variables to the degree buckets; returns the lowest degree."""
    kept, lowest = g[_START, p], left
    for t in range(g[_START, p], g[_START, p] + g[_LENGTH, p]):
        i = store[t]
        if g[_WEIGHT, i] == 0:
            continue
        weight = -g[_WEIGHT, i]
        g[_WEIGHT, i] = weight
        g[_DEGREE, i] = min(g[_DEGREE, i] + g[_DEGREE, p] - weight, left - weight)
        _push(g, i, g[_DEGREE, i])
        lowest = min(lowest, g[_DEGREE, i])
        store[kept] = i
        kept += 1
    g[_LENGTH, p] = kept - g[_START, p]
    if g[_LENGTH, p] == 0:
        g[_STATUS, p] = _DEAD
    return lowest


@exact
def _eliminate(store, g, place, limit):  # type: ignore[no-untyped-def]
    """Eliminate everything; place[p] is the turn of pivot p. False where the fill is too much."""
    n = g.shape[1] - 1
    left, count, lowest, flag, fill = n, 0, 0, np.int64(1), 0
    end = g[_START, n - 1] + g[_LENGTH, n - 1] if n > 0 else 0
    while left > 0:
        while g[_HEAD, lowest] < 0:
            lowest += 1
        p = g[_HEAD, lowest]
        _remove(g, p)
        if g[_ELEMENTS, p] > 0 and end + left > len(store):
            end = _compact(store, g)
        end = _build_clique(store, g, p, end)
        _measure_overlaps(store, g, p, flag)
        _update_clique(store, g, p, flag)
        weight = -g[_WEIGHT, p]
        place[p] = count
        count += 1
        left -= weight
        fill += weight * g[_DEGREE, p] + weight * (weight + 1) // 2
        flag = _merge_twins(store, g, p, flag + n + 1) + 1
        g[_WEIGHT, p] = 0
        lowest = min(lowest, _restore_clique(store, g, p, left))
        # Each node left has at least `lowest` neighbours now and in the filled graph, which so
        # has at least lowest / 2 edges a node (up to the slack of the degree bounds).
        if fill + left * (lowest + 2) // 2 > limit:
            return False
    return True
