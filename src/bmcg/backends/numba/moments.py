# mypy: disable-error-code="no-untyped-def"
"""Numba kernels over the packed k×k blocks of all rows.

Each reads and writes once what NumPy would pass over several times.
"""

from __future__ import annotations

import math

import numpy as np

from ...kernels import fast


@fast
def log_diagonals(P, k, start, stop):
    """Σ_i log P_i,rr for every r, shape (k,)."""
    total, product = np.zeros(k), np.ones(k)
    for i in range(start, stop):
        for r in range(k):
            product[r] *= P[i, r * (r + 1) // 2 + r]
        # One logarithm for several rows, or before the product leaves the range of numbers.
        if (i - start) % 4 == 3 or i == stop - 1:
            for r in range(k):
                total[r] += math.log(product[r])
                product[r] = 1.0
    return total


@fast
def second_moments(F, C, out, start, stop):
    """out_i = f_i f_iᵀ + C_i."""
    k = F.shape[1]
    for i in range(start, stop):
        f, c, o = F[i], C[i], out[i]
        t = 0
        for r in range(k):
            for s in range(r + 1):
                o[t + s] = f[r] * f[s] + c[t + s]
            t += r + 1


@fast
def expected_trace(G, F, C, start, stop):
    """Σ_i tr(G_i (f_i f_iᵀ + C_i))."""
    k = F.shape[1]
    total = 0.0
    for i in range(start, stop):
        g, f, c = G[i], F[i], C[i]
        t = 0
        for r in range(k):
            row = 0.0
            for s in range(r):
                row += g[t + s] * (f[r] * f[s] + c[t + s])
            total += 2.0 * row + g[t + r] * (f[r] * f[r] + c[t + r])
            t += r + 1
    return total


@fast
def precision_blocks(tau, G, own, lam, out, start, stop):
    """out_i = τ G_i + own_i Λ."""
    for i in range(start, stop):
        g, o = G[i], out[i]
        for t in range(g.shape[0]):
            o[t] = tau * g[t]
        t = 0
        for r in range(lam.shape[0]):
            o[t + r] += own[i] * lam[r]
            t += r + 1
