# mypy: disable-error-code="no-untyped-def"
"""Numba kernels on packed blocks side by side: factors, inverses and solves of many at once.

`LANES` blocks lie side by side in (groups, k(k+1)/2, LANES), vectors in (groups, k, LANES): the
innermost loop runs over blocks and fills the vector unit. Its length is read off an array, because
the compiler unrolls short loops of known length instead. Each step is a kernel of its own, called
one after the other on groups that stay in the cache: what inverses and draws share is compiled
once.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...kernels import fast

LANES = 32

Array = NDArray[np.float64]


def side_by_side(rows: Array, start: int, stop: int) -> Array:
    """Rows from `start` to `stop` of (m, w) as (groups, w, LANES), the last repeated to the end."""
    out = np.empty((-(-(stop - start) // LANES), rows.shape[1], LANES))
    load(rows, out, start, stop)
    return out


def invert(P: Array, k: int, out: Array, log_det: Array, start: int, stop: int) -> None:
    """Inverses (m, k(k+1)/2) and log-determinants (m,) of some blocks; NaN if not positive."""
    L = side_by_side(P, start, stop)
    factor(L, k)
    logs = log_dets(L, k)
    invert_lower(L, k)
    self_product(L, k)
    unload(L, out, start, stop)
    log_det[start:stop] = logs.ravel()[: stop - start]


def solve(P: Array, h: Array, out: Array, log_det: Array, start: int, stop: int) -> None:
    """P_i⁻¹ h_i (m, k) and log-determinants (m,) of some blocks; NaN if not positive."""
    k, L, x = h.shape[1], side_by_side(P, start, stop), side_by_side(h, start, stop)
    factor(L, k)
    solve_lower(L, k, x)
    solve_upper(L, k, x)
    unload(x, out, start, stop)
    log_det[start:stop] = log_dets(L, k).ravel()[: stop - start]


def draw(P: Array, h: Array, z: Array, out: Array, start: int, stop: int) -> None:
    """P_i⁻¹ h_i + L_i⁻ᵀ z_i with P_i = L_i L_iᵀ: all (m, k) but P (m, k(k+1)/2)."""
    k, L, x = h.shape[1], side_by_side(P, start, stop), side_by_side(h, start, stop)
    factor(L, k)
    solve_lower(L, k, x)
    x += side_by_side(z, start, stop)
    solve_upper(L, k, x)
    unload(x, out, start, stop)


def log_dets(L: Array, k: int) -> Array:
    """log|L Lᵀ| (groups, LANES), from the reciprocals on the diagonal."""
    r = np.arange(k)
    logs: Array = -2.0 * np.log(L[:, r * (r + 3) // 2]).sum(axis=1)
    return logs


@fast
def load(rows, out, start, stop):
    """Rows of (m, w) side by side."""
    for g in range(out.shape[0]):
        for b in range(out.shape[2]):
            row = rows[min(start + g * out.shape[2] + b, stop - 1)]
            for q in range(len(row)):
                out[g, q, b] = row[q]


@fast
def unload(lanes, out, start, stop):
    """The inverse of `load`."""
    for i in range(start, stop):
        g, b, row = (i - start) // lanes.shape[2], (i - start) % lanes.shape[2], out[i]
        for q in range(len(row)):
            row[q] = lanes[g, q, b]


@fast
def factor(A, k):
    """A = L Lᵀ in place, the reciprocal of the diagonal stored on it; NaN if not positive."""
    for g in range(A.shape[0]):
        L = A[g]
        for r in range(k):
            tr = r * (r + 1) // 2
            for s in range(r + 1):
                ts, q, acc = s * (s + 1) // 2, 0, L[tr + s]
                while q + 4 <= s:
                    a, b, c, d = L[tr + q], L[tr + q + 1], L[tr + q + 2], L[tr + q + 3]
                    e, f, u, v = L[ts + q], L[ts + q + 1], L[ts + q + 2], L[ts + q + 3]
                    for t in range(len(acc)):
                        acc[t] -= (a[t] * e[t] + b[t] * f[t]) + (c[t] * u[t] + d[t] * v[t])
                    q += 4
                while q < s:
                    a, e = L[tr + q], L[ts + q]
                    for t in range(len(acc)):
                        acc[t] -= a[t] * e[t]
                    q += 1
                own = L[ts + s]
                if s < r:
                    for t in range(len(acc)):
                        acc[t] *= own[t]
            pivot = L[tr + r]
            for t in range(len(pivot)):
                pivot[t] = 1.0 / math.sqrt(pivot[t]) if pivot[t] > 0.0 else math.nan


@fast
def invert_lower(A, k):
    """L⁻¹ in place, from L with the reciprocal of its diagonal on it."""
    for g in range(A.shape[0]):
        L = A[g]
        for r in range(k):
            tr = r * (r + 1) // 2
            for s in range(r):
                # Row r of the inverse up to s: entries q < s are not needed any more for column s.
                ts, q, acc = s * (s + 1) // 2, s + 1, L[tr + s]
                own = L[ts + s]
                for t in range(len(acc)):
                    acc[t] *= own[t]
                while q + 4 <= r:
                    j = q * (q + 1) // 2 + s
                    a, b, c, d = L[tr + q], L[tr + q + 1], L[tr + q + 2], L[tr + q + 3]
                    e, f, u, v = L[j], L[j + q + 1], L[j + 2 * q + 3], L[j + 3 * q + 6]
                    for t in range(len(acc)):
                        acc[t] += (a[t] * e[t] + b[t] * f[t]) + (c[t] * u[t] + d[t] * v[t])
                    q += 4
                while q < r:
                    a, e = L[tr + q], L[q * (q + 1) // 2 + s]
                    for t in range(len(acc)):
                        acc[t] += a[t] * e[t]
                    q += 1
            own = L[tr + r]
            for s in range(r):
                acc = L[tr + s]
                for t in range(len(acc)):
                    acc[t] *= -own[t]


@fast
def self_product(A, k):
    """A⁻¹ = L⁻ᵀ L⁻¹ in place."""
    for g in range(A.shape[0]):
        L = A[g]
        for r in range(k):
            tr, q = r * (r + 1) // 2, r + 1
            for s in range(r + 1):
                acc, own = L[tr + s], L[tr + r]
                for t in range(len(acc)):
                    acc[t] *= own[t]
            while q + 4 <= k:
                i = q * (q + 1) // 2
                i1, i2, i3 = i + q + 1, i + 2 * q + 3, i + 3 * q + 6
                a, b, c, d = L[i + r], L[i1 + r], L[i2 + r], L[i3 + r]
                for s in range(r + 1):
                    acc, e, f, u, v = L[tr + s], L[i + s], L[i1 + s], L[i2 + s], L[i3 + s]
                    for t in range(len(acc)):
                        acc[t] += (a[t] * e[t] + b[t] * f[t]) + (c[t] * u[t] + d[t] * v[t])
                q += 4
            while q < k:
                i = q * (q + 1) // 2
                for s in range(r + 1):
                    acc, a, e = L[tr + s], L[i + r], L[i + s]
                    for t in range(len(acc)):
                        acc[t] += a[t] * e[t]
                q += 1


@fast
def solve_lower(A, k, X):
    """L⁻¹ x in place; the diagonal of L is stored as its reciprocal."""
    for g in range(A.shape[0]):
        L, x = A[g], X[g]
        for r in range(k):
            t, acc = r * (r + 1) // 2, x[r]
            for s in range(r):
                l, other = L[t + s], x[s]
                for b in range(len(acc)):
                    acc[b] -= l[b] * other[b]
            own = L[t + r]
            for b in range(len(acc)):
                acc[b] *= own[b]


@fast
def solve_upper(A, k, X):
    """L⁻ᵀ x in place."""
    for g in range(A.shape[0]):
        L, x = A[g], X[g]
        for r in range(k - 1, -1, -1):
            t, known = r * (r + 1) // 2, x[r]
            own = L[t + r]
            for b in range(len(known)):
                known[b] *= own[b]
            for s in range(r):
                l, acc = L[t + s], x[s]
                for b in range(len(known)):
                    acc[b] -= l[b] * known[b]
