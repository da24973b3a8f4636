"""Loops over a binary pattern that find the rows most similar to each row.

A score of rows i and r is Σ_{j in both} idf_j² / ‖r‖: the cosine without the factor 1/‖i‖,
which does not change the order for row i. `near` and `best`, both of shape (m, k), keep the k
best rows and their scores, best first; rows `begin` to `end` are written.
"""

from __future__ import annotations

import numpy as np

from ..kernels import exact


@exact
def _mix(a, b):  # type: ignore[no-untyped-def]
    """A fixed pseudo-random number of an unordered pair, to settle ties without hubs."""
    low, high = np.uint64(min(a, b)), np.uint64(max(a, b))
    z = low * np.uint64(0x9E3779B97F4A7C15) + high * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(31))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(29))


@exact
def _insert(i, r, score, near, best):  # type: ignore[no-untyped-def]
    """Put row r, of a positive score, in its place among the best of row i, if it has one."""
    last = len(best) - 1
    if score < best[last]:
        return
    key = _mix(i, r)
    if score == best[last] and key <= _mix(i, near[last]):
        return
    at = last
    while at > 0 and (
        score > best[at - 1] or (score == best[at - 1] and key > _mix(i, near[at - 1]))
    ):
        best[at] = best[at - 1]
        near[at] = near[at - 1]
        at -= 1
    best[at] = score
    near[at] = r


@exact
def scan_all(  # type: ignore[no-untyped-def]
    begin, end, row_start, row_cols, col_start, col_rows, idf2, inv_norm, near, best
):
    m = len(inv_norm)
    shared = np.zeros(m)
    for i in range(begin, end):
        if inv_norm[i] == 0.0:
            continue
        for p in range(row_start[i], row_start[i + 1]):
            j = row_cols[p]
            weight = idf2[j]
            for q in range(col_start[j], col_start[j + 1]):
                shared[col_rows[q]] += weight
        shared[i] = 0.0
        least = best[i, -1]
        for r in range(m):
            score = shared[r] * inv_norm[r]
            shared[r] = 0.0
            if score > 0.0 and score >= least:
                _insert(i, r, score, near[i], best[i])
                least = best[i, -1]


@exact
def _overlap(r, row_start, row_cols, weight):  # type: ignore[no-untyped-def]
    total = 0.0
    for p in range(row_start[r], row_start[r + 1]):
        total += weight[row_cols[p]]
    return total


@exact
def _weigh(i, row_start, row_cols, idf2, weight, on):  # type: ignore[no-untyped-def]
    """Write row i into a dense vector over columns, or wipe it out again."""
    for p in range(row_start[i], row_start[i + 1]):
        weight[row_cols[p]] = idf2[row_cols[p]] if on else 0.0


@exact
def scan_rare(  # type: ignore[no-untyped-def]
    begin, end, row_start, row_cols, col_start, col_rows, idf2, inv_norm, budget, width, near, best
):
    m = len(inv_norm)
    # Single precision ranks candidates well enough and leaves more of them in the cache.
    shared = np.zeros(m, dtype=np.float32)
    touched = np.empty(m, dtype=np.int32)
    weight = np.zeros(len(idf2))
    for i in range(begin, end):
        if inv_norm[i] == 0.0:
            continue
        n_touched = 0
        left = budget
        for p in range(row_start[i], row_start[i + 1]):
            j = row_cols[p]
            if idf2[j] == 0.0:
                break
            size = col_start[j + 1] - col_start[j]
            n_read = min(size, left)
            # A column longer than what is left of the budget is read from a place that
            # depends on the row, so that rows do not all meet the same part of it.
            q = 0 if n_read == size else np.int64(_mix(i, j) % np.uint64(size))
            for _ in range(n_read):
                r = col_rows[col_start[j] + q]
                if shared[r] == 0.0:
                    touched[n_touched] = r
                    n_touched += 1
                shared[r] += idf2[j]
                q += 1
                if q == size:
                    q = 0
            left -= n_read
            if left == 0:
                break
        candidate = np.full(width, -1, dtype=np.int32)
        partial = np.zeros(width)
        for t in range(n_touched):
            r = touched[t]
            score = shared[r] * inv_norm[r]
            shared[r] = 0.0
            if r != i and score > 0.0 and score >= partial[-1]:
                _insert(i, r, score, candidate, partial)
        _weigh(i, row_start, row_cols, idf2, weight, True)
        for r in candidate:
            if r >= 0:
                score = _overlap(r, row_start, row_cols, weight) * inv_norm[r]
                _insert(i, r, score, near[i], best[i])
        _weigh(i, row_start, row_cols, idf2, weight, False)


@exact
def refine(  # type: ignore[no-untyped-def]
    begin, end, row_start, row_cols, idf2, inv_norm, start, linked, near, best
):
    seen = np.full(len(inv_norm), -1, dtype=np.int32)
    weight = np.zeros(len(idf2))
    for i in range(begin, end):
        seen[i] = i
        for r in near[i]:
            if r >= 0:
                seen[r] = i
        _weigh(i, row_start, row_cols, idf2, weight, True)
        for a in range(start[i], start[i + 1]):
            middle = linked[a]
            for b in range(start[middle] - 1, start[middle + 1]):
                # The position before the first stands for the middle row itself.
                r = middle if b < start[middle] else linked[b]
                if seen[r] != i:
                    seen[r] = i
                    score = _overlap(r, row_start, row_cols, weight) * inv_norm[r]
                    if score > 0.0:
                        _insert(i, r, score, near[i], best[i])
        _weigh(i, row_start, row_cols, idf2, weight, False)
