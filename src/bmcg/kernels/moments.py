"""Passes over the k×k blocks of all rows: made from means and covariances, or summed against them.

Blocks are packed lower triangles, (n, k(k+1)/2). Each pass reads and writes once what NumPy would
pass over several times.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .jit import fast
from .threads import Workers, even_bounds

Array = NDArray[np.float64]


def second_moments(
    pool: Workers, F: Array, C: Array, storage: type[np.floating[Any]] = np.float64
) -> NDArray[Any]:
    """f_i f_iᵀ + C_i, stored as asked: F (n, k), C and the result (n, k(k+1)/2)."""
    out = np.empty(C.shape, storage)
    pool.over_rows(
        lambda a, b: _second_moments(F, C, out, a, b), even_bounds(len(C), 2 * C.shape[1])
    )
    return out


def expected_trace(pool: Workers, G: Array, F: Array, C: Array) -> float:
    """Σ_i tr(G_i (f_i f_iᵀ + C_i)): G and C (n, k(k+1)/2), F (n, k)."""
    bounds = even_bounds(len(G), 4 * G.shape[1])
    return float(sum(pool.over_rows(lambda a, b: _expected_trace(G, F, C, a, b), bounds)))


def precision_blocks(pool: Workers, tau: float, G: Array, own: Array, lam: Array) -> Array:
    """τ G_i + own_i Λ for every row: G (n, k(k+1)/2), own (n,), lam (k,)."""
    out = np.empty(G.shape)
    pool.over_rows(
        lambda a, b: _precision_blocks(tau, G, own, lam, out, a, b),
        even_bounds(len(G), G.shape[1]),
    )
    return out


def log_diagonals(pool: Workers, P: Array, k: int) -> Array:
    """Σ_i log P_i,rr for every r, shape (k,): P (n, k(k+1)/2)."""
    parts = pool.over_rows(
        lambda a, b: _log_diagonals(P, k, a, b), even_bounds(len(P), 8 * max(1, k))
    )
    return np.sum(parts, axis=0) if parts else np.zeros(k)


@fast
def _log_diagonals(P, k, start, stop):  # type: ignore[no-untyped-def]
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
def _second_moments(F, C, out, start, stop):  # type: ignore[no-untyped-def]
    k = F.shape[1]
    for i in range(start, stop):
        f, c, o = F[i], C[i], out[i]
        t = 0
        for r in range(k):
            for s in range(r + 1):
                o[t + s] = f[r] * f[s] + c[t + s]
            t += r + 1


@fast
def _expected_trace(G, F, C, start, stop):  # type: ignore[no-untyped-def]
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
def _precision_blocks(tau, G, own, lam, out, start, stop):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        g, o = G[i], out[i]
        for t in range(g.shape[0]):
            o[t] = tau * g[t]
        t = 0
        for r in range(lam.shape[0]):
            o[t + r] += own[i] * lam[r]
            t += r + 1
