"""One Gaussian draw for every row, from its precision block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .blocks import LANES, _cholesky_lanes
from .jit import fast
from .passes import _lane_bounds
from .threads import Workers

Array = NDArray[np.float64]


def draw_rows(pool: Workers, P: Array, h: Array, z: Array) -> Array:
    """x_i = P_i⁻¹ h_i + L_i⁻ᵀ z_i with P_i = L_i L_iᵀ: a draw of N(P_i⁻¹ h_i, P_i⁻¹).

    Parameters
    ----------
    pool : Workers
    P : ndarray of shape (n, k(k+1)/2)
        Packed precisions.
    h, z : ndarray of shape (n, k)
        Precision times mean, and standard normal numbers; z = 0 gives the means.

    Returns
    -------
    ndarray of shape (n, k)
        NaN in rows whose block is not positive definite.
    """
    out = np.empty(h.shape)
    work = P.shape[1] * h.shape[1]
    pool.over_rows(lambda a, b: _draw_rows(P, h, z, out, a, b), _lane_bounds(len(h), work))
    return out


@fast
def _draw_rows(P, h, z, out, start, stop):  # type: ignore[no-untyped-def]
    width, k = P.shape[1], h.shape[1]
    L, x, unused = np.zeros((width, LANES)), np.zeros((k, LANES)), np.zeros(LANES)
    for first in range(start, stop, LANES):
        count = min(LANES, stop - first)
        for b in range(L.shape[1]):
            i = first + min(b, count - 1)
            for q in range(width):
                L[q, b] = P[i, q]
            for q in range(k):
                x[q, b] = h[i, q]
        _cholesky_lanes(L, k, unused, 0, count)
        _forward_lanes(L, k, x)
        for b in range(count):
            for q in range(k):
                x[q, b] += z[first + b, q]
        _backward_lanes(L, k, x)
        for b in range(count):
            for q in range(k):
                out[first + b, q] = x[q, b]


@fast
def _forward_lanes(L, k, x):  # type: ignore[no-untyped-def]
    """L⁻¹ x in place; the diagonal of L is stored as its reciprocal."""
    for r in range(k):
        t = r * (r + 1) // 2
        for s in range(r):
            for b in range(L.shape[1]):
                x[r, b] -= L[t + s, b] * x[s, b]
        for b in range(L.shape[1]):
            x[r, b] *= L[t + r, b]


@fast
def _backward_lanes(L, k, x):  # type: ignore[no-untyped-def]
    """L⁻ᵀ x in place."""
    for r in range(k - 1, -1, -1):
        t = r * (r + 1) // 2
        for b in range(L.shape[1]):
            x[r, b] *= L[t + r, b]
        for s in range(r):
            for b in range(L.shape[1]):
                x[s, b] -= L[t + s, b] * x[r, b]
