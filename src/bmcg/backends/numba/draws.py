# mypy: disable-error-code="no-untyped-def"
"""Draws of rows that nothing ties: sums, factor and draw of one row after the other.

A row's block stays in the first-level cache from its first entry to its draw; none is written.
"""

from __future__ import annotations

import math

import numpy as np

from ...kernels import fast, inlined
from .grams import BLOCK, LEAST, gather, tile, weigh

# Numbers of all blocks together: up to here arrays between kernels would take longer than the work.
SMALL = 1 << 15


@fast
def draw_untied(
    indptr,
    indices,
    values,
    weights,
    V,
    biased,
    tau,
    own,
    lam,
    z,
    lacks,
    whole,
    sums,
    out,
    start,
    stop,
):
    """x_i = P_i⁻¹ τh_i + L_i⁻ᵀ z_i with P_i = τG_i + own_i Λ = L_i L_iᵀ, NaN where that fails.

    G_i = Σ w f fᵀ and h_i = Σ w (x − c) f of f = (v, 1), V having (v, c); or f = v, without c.
    Rows may be of what is missing (lacks_i), and then `whole` holds the sums over all columns, G
    with −Σ c f below it; their values are zero, and `sums` has Σ x f of the entries.
    """
    k = V.shape[1]
    lines = (k + 4) // 4 * 4
    T, S, h = np.zeros((lines, BLOCK)), np.empty((lines, lines)), np.empty(k)
    for i in range(start, stop):
        first, end = indptr[i], indptr[i + 1]
        S[:] = 0.0
        if end - first < LEAST:
            _few(indices, values, weights, V, biased, S, first, end)
            first = end
        while first < end:
            count = min(BLOCK, end - first)
            gather(indices, values, V, T, first, count)
            if biased:
                for p in range(count):
                    T[k, p] -= T[k - 1, p]
                    T[k - 1, p] = 1.0
            if weights is not None:
                weigh(weights, T, first, count)
            for r in range(0, k + 1, 2):
                for s in range(0, r + 2, 4):
                    tile(T, S, r, s, count)
            first += count
        if lacks is not None:
            for r in range(k + 1):
                for s in range(min(r + 1, k)):
                    S[r, s] = whole[r, s] - S[r, s] if lacks[i] else S[r, s]
            for r in range(k):
                S[k, r] += sums[i, r]
        for r in range(k):
            h[r] = tau * S[k, r]
            for s in range(r + 1):
                S[r, s] *= tau
            S[r, r] += own[i] * lam[r]
        if _factor(S, k):
            _solve(S, k, h, z[i], out[i])
        else:
            out[i] = np.nan


@inlined
def _few(indices, values, weights, V, biased, S, first, end):
    """S = Σ w f fᵀ, with Σ w x f in the line below."""
    k = V.shape[1]
    for p in range(first, end):
        f, x = V[indices[p]], values[p]
        w = 1.0 if weights is None else weights[p]
        last = f[k - 1]
        if biased:
            x -= last
            last = 1.0
        for r in range(k):
            fr = w * (last if r == k - 1 else f[r])
            line = S[r]
            for s in range(r):
                line[s] += fr * f[s]
            line[r] += fr * (last if r == k - 1 else f[r])
            S[k, r] += x * fr


@inlined
def _factor(S, k):
    """The lower factor in place, its diagonal as reciprocals; whether there is one."""
    for r in range(k):
        line = S[r]
        for s in range(r):
            other, total = S[s], line[s]
            for q in range(s):
                total -= line[q] * other[q]
            line[s] = total * other[s]
        pivot = line[r]
        for q in range(r):
            pivot -= line[q] * line[q]
        if not pivot > 0.0:
            return False
        line[r] = 1.0 / math.sqrt(pivot)
    return True


@inlined
def _solve(L, k, h, z, x):
    """L⁻ᵀ (L⁻¹ h + z)."""
    for r in range(k):
        line, total = L[r], h[r]
        for q in range(r):
            total -= line[q] * h[q]
        h[r] = total * line[r]
    for r in range(k):
        h[r] += z[r]
    for r in range(k - 1, -1, -1):
        line = L[r]
        known = h[r] * line[r]
        x[r] = known
        for q in range(r):
            h[q] -= line[q] * known
