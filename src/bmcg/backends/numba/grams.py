# mypy: disable-error-code="no-untyped-def"
"""Gram blocks and sums of every row in one pass, entries weighted or not.

Rows with many observations are gathered, transposed, into a block that stays in the first-level
cache; each pair of its lines is then a dot product along the observations, which fills the
vector unit at any rank. The observed values are one more line of the block. Weights enter by
their roots, so that a product of two lines has each weight once.
"""

from __future__ import annotations

import math

import numpy as np

from ...kernels import fast, inlined

# Observations gathered at a time, and how many a row needs for that to pay.
BLOCK, LEAST = 128, 24


@fast
def gram_and_sums(indptr, indices, values, weights, F, blocks, sums, start, stop):
    """blocks_i = Σ_{j∈Ω_i} w_ij f_j f_jᵀ, packed, and sums_i = Σ_{j∈Ω_i} w_ij x_ij f_j."""
    k = F.shape[1]
    # Tiles are two lines by four: room for the values and for whole tiles.
    lines = (k + 4) // 4 * 4
    T, S = np.zeros((lines, BLOCK)), np.empty((lines, lines))
    for i in range(start, stop):
        first, end = indptr[i], indptr[i + 1]
        if end - first < LEAST:
            _few(indices, values, weights, F, blocks[i], sums[i], first, end)
            continue
        S[:] = 0.0
        while first < end:
            count = min(BLOCK, end - first)
            gather(indices, values, F, T, first, count)
            if weights is not None:
                weigh(weights, T, first, count)
            for r in range(0, k + 1, 2):
                for s in range(0, r + 2, 4):
                    tile(T, S, r, s, count)
            first += count
        t = 0
        for r in range(k):
            sums[i, r] = S[k, r]
            for s in range(r + 1):
                blocks[i, t + s] = S[r, s]
            t += r + 1


@inlined
def _few(indices, values, weights, F, block, total, first, end):
    k = F.shape[1]
    block[:] = 0.0
    total[:] = 0.0
    for p in range(first, end):
        f, x, t = F[indices[p]], values[p], 0
        for r in range(k):
            fr = f[r] if weights is None else weights[p] * f[r]
            total[r] += x * fr
            for s in range(r + 1):
                block[t + s] += fr * f[s]
            t += r + 1


@inlined
def gather(indices, values, F, T, first, count):
    """Factors and values of some observations as columns of T: four at a time, then the rest."""
    k = F.shape[1]
    p = 0
    while p + 4 <= count:
        at = first + p
        a, b, c, d = F[indices[at]], F[indices[at + 1]], F[indices[at + 2]], F[indices[at + 3]]
        for q in range(k):
            aq, bq, cq, dq = a[q], b[q], c[q], d[q]
            T[q, p], T[q, p + 1], T[q, p + 2], T[q, p + 3] = aq, bq, cq, dq
        for q in range(4):
            T[k, p + q] = values[at + q]
        p += 4
    while p < count:
        f = F[indices[first + p]]
        for q in range(k):
            T[q, p] = f[q]
        T[k, p] = values[first + p]
        p += 1


@inlined
def weigh(weights, T, first, count):
    for p in range(count):
        root = math.sqrt(weights[first + p])
        for q in range(T.shape[0]):
            T[q, p] *= root


@inlined
def tile(T, S, r, s, count):
    """S[r:r+2, s:s+4] += T[r:r+2] T[s:s+4]ᵀ over the first `count` columns."""
    a, b, w, x, y, z = T[r], T[r + 1], T[s], T[s + 1], T[s + 2], T[s + 3]
    aw = ax = ay = az = bw = bx = by = bz = 0.0
    for p in range(count):
        ap, bp = a[p], b[p]
        aw += ap * w[p]
        ax += ap * x[p]
        ay += ap * y[p]
        az += ap * z[p]
        bw += bp * w[p]
        bx += bp * x[p]
        by += bp * y[p]
        bz += bp * z[p]
    S[r, s] += aw
    S[r, s + 1] += ax
    S[r, s + 2] += ay
    S[r, s + 3] += az
    S[r + 1, s] += bw
    S[r + 1, s + 1] += bx
    S[r + 1, s + 2] += by
    S[r + 1, s + 3] += bz
