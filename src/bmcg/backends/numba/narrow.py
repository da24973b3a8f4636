# mypy: disable-error-code="no-untyped-def"
"""Draws of the rows of a narrow table: sums, factor and draw of many rows side by side.

Weights and weighted values lie filled up with zeros in (groups, columns, LANES), so that every
step, from the sums over columns to the draw, runs along rows and fills the vector unit. A group's
blocks stay in the cache; none is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels import exact, fast
from ..base import Array, SparseRows, Weights
from ..packed import outer_packed
from . import tables
from .lanes import factor, solve_lower, solve_upper

OverRows = Callable[[Callable[[int, int], Any], NDArray[np.int64]], list[Any]]

# Rows side by side: loops over fewer cost more than the cache gains. And columns up to which zeros
# cost less than finding one's way around them.
LANES, COLUMNS = 128, 32


def is_narrow(rows: SparseRows, V: Array) -> bool:
    """Whether these rows are those of a table of few columns."""
    n_other = len(V)
    return n_other <= COLUMNS and rows.n * n_other <= tables.KEPT and tables.is_table(rows, V)


def draw(
    over: OverRows,
    rows: SparseRows,
    V: Array,
    biased: bool,
    tau: float,
    own: Array,
    lam: Array,
    z: Array,
    weights: Weights,
    bounds: NDArray[np.int64],
) -> Array:
    """`Backend.draw_untied`, over bounds of groups."""
    W, Q = _filled(rows, len(V), weights)
    F, bias = (V.copy(), V[:, -1].copy()) if biased else (V, np.zeros(len(V)))
    if biased:
        F[:, -1] = 1.0
    S, out = np.ascontiguousarray(outer_packed(F).T), np.empty(z.shape)
    given = W, Q, S, np.ascontiguousarray(F.T), bias, tau, own, lam, z, out
    over(lambda a, b: draw_groups(*given, a, b), bounds)
    return out


def _filled(rows: SparseRows, n_other: int, weights: Weights) -> tuple[Array, Array]:
    """Σ w and Σ w x of every cell, (groups, n_other, LANES) each; kept where w is one."""
    key = "side by side", n_other
    if weights is None and key in rows.memo and rows.memo[key][0] is rows.values:
        _, W, Q = rows.memo[key]
        return W, Q
    W, Q = np.zeros((2, -(-rows.n // LANES), n_other, LANES))
    fill(rows.indptr, rows.indices, rows.values, weights, W, Q)
    if weights is None:
        rows.memo[key] = rows.values, W, Q
    return W, Q


@exact
def fill(indptr, indices, values, weights, W, Q):
    """Entries into their cells; those that stand twice are added up."""
    lanes = W.shape[2]
    for i in range(len(indptr) - 1):
        g, t = i // lanes, i % lanes
        for p in range(indptr[i], indptr[i + 1]):
            w = 1.0 if weights is None else weights[p]
            W[g, indices[p], t] += w
            Q[g, indices[p], t] += w * values[p]


@fast
def draw_groups(W, Q, S, F, bias, tau, own, lam, z, out, start, stop):
    """x_i = P_i⁻¹ τh_i + L_i⁻ᵀ z_i with P_i = τG_i + own_i Λ = L_i L_iᵀ; NaN where that fails.

    G_i = Σ_j w_ij s_j and h_i = Σ_j w_ij (x_ij − c_j) f_j: S (k(k+1)/2, n_other), F (k, n_other).
    """
    k, n, lanes = len(F), W.shape[1], W.shape[2]
    L, X, T = np.empty((1, len(S), lanes)), np.empty((1, k, lanes)), np.empty((n, lanes))
    A, x = L[0], X[0]
    for g in range(start, stop):
        count = min(lanes, len(out) - g * lanes)
        weights = W[g]
        for j in range(n):
            t, w, q, c = T[j], weights[j], Q[g, j], bias[j]
            for b in range(len(t)):
                t[b] = q[b] - c * w[b]
        _sums(S, weights, tau, A)
        _sums(F, T, tau, x)
        for r in range(k):
            pivot = A[r * (r + 1) // 2 + r]
            for b in range(count):
                pivot[b] += own[g * lanes + b] * lam[r]
            for b in range(count, lanes):
                pivot[b] = 1.0
        factor(L, k)
        solve_lower(L, k, X)
        for b in range(count):
            for r in range(k):
                x[r, b] += z[g * lanes + b, r]
        solve_upper(L, k, X)
        for b in range(count):
            for r in range(k):
                out[g * lanes + b, r] = x[r, b]


@fast
def _sums(S, W, tau, out):
    """τ Σ_j s_rj w_j for every r."""
    n = W.shape[0]
    for r in range(len(S)):
        s, acc, j = S[r], out[r], 0
        for b in range(len(acc)):
            acc[b] = 0.0
        while j + 4 <= n:
            p, q, u, v = s[j], s[j + 1], s[j + 2], s[j + 3]
            c, d, e, f = W[j], W[j + 1], W[j + 2], W[j + 3]
            for b in range(len(acc)):
                acc[b] += (p * c[b] + q * d[b]) + (u * e[b] + v * f[b])
            j += 4
        while j < n:
            p, c = s[j], W[j]
            for b in range(len(acc)):
                acc[b] += p * c[b]
            j += 1
        for b in range(len(acc)):
            acc[b] *= tau
