# mypy: disable-error-code="no-untyped-def"
"""Numba kernels on plain arrays; `reference` holds their NumPy twins.

Every kernel works on rows ``start`` to ``stop`` and writes to those rows of ``out`` alone.
Storage may be float32; sums are always taken in float64.
"""

from __future__ import annotations

import numpy as np

from .blocks import block_product, block_products, cholesky_blocks, invert_blocks, lower_products
from .jit import fast

__all__ = [
    "affine_sums",
    "block_product",
    "block_products",
    "cholesky_blocks",
    "gram_blocks",
    "gram_product",
    "invert_blocks",
    "lower_products",
    "row_sums",
    "squared_residuals",
    "weighted_sums",
]


@fast
def row_sums(indptr, indices, S, out, start, stop):
    """out_i = Σ_{j∈Ω_i} S_j: S (n, w), out (m, w)."""
    width = S.shape[1]
    for i in range(start, stop):
        acc = out[i]
        for q in range(width):
            acc[q] = 0.0
        p, end = indptr[i], indptr[i + 1]
        while p + 4 <= end:
            a, b = S[indices[p]], S[indices[p + 1]]
            c, d = S[indices[p + 2]], S[indices[p + 3]]
            for q in range(width):
                acc[q] += (np.float64(a[q]) + np.float64(b[q])) + (
                    np.float64(c[q]) + np.float64(d[q])
                )
            p += 4
        while p < end:
            a = S[indices[p]]
            for q in range(width):
                acc[q] += a[q]
            p += 1


@fast
def gram_blocks(indptr, indices, F, out, start, stop):
    """out_i = Σ_{j∈Ω_i} f_j f_jᵀ, packed: F (n, k), out (m, k(k+1)/2)."""
    k = F.shape[1]
    for i in range(start, stop):
        acc = out[i]
        for q in range(acc.shape[0]):
            acc[q] = 0.0
        p, end = indptr[i], indptr[i + 1]
        while p + 4 <= end:
            a, b = F[indices[p]], F[indices[p + 1]]
            c, d = F[indices[p + 2]], F[indices[p + 3]]
            t = 0
            for r in range(k):
                ar, br, cr, dr = a[r], b[r], c[r], d[r]
                for s in range(r + 1):
                    acc[t + s] += (ar * a[s] + br * b[s]) + (cr * c[s] + dr * d[s])
                t += r + 1
            p += 4
        while p < end:
            a = F[indices[p]]
            t = 0
            for r in range(k):
                ar = a[r]
                for s in range(r + 1):
                    acc[t + s] += ar * a[s]
                t += r + 1
            p += 1


@fast
def weighted_sums(indptr, indices, values, F, out, start, stop):
    """out_i = Σ_{j∈Ω_i} x_ij f_j: F (n, k), out (m, k)."""
    for i in range(start, stop):
        acc = out[i]
        for q in range(len(acc)):
            acc[q] = 0.0
        _add_sums(indices, values, F, acc, indptr[i], indptr[i + 1], 1.0)


@fast
def affine_sums(indptr, indices, values, F, own, X, scale, out, start, stop):
    """out_i = own_i x_i + scale Σ_{j∈Ω_i} x_ij f_j: own (m,), X and out (m, k)."""
    for i in range(start, stop):
        acc, x = out[i], X[i]
        c = acc.dtype.type(own[i])
        for q in range(len(acc)):
            acc[q] = c * x[q]
        _add_sums(indices, values, F, acc, indptr[i], indptr[i + 1], scale)


@fast
def _add_sums(indices, values, F, acc, p, end, scale):
    # Four neighbours at a time: the sum is read and written once for all of them. Weights take
    # the vectors' precision, or float32 vectors would be widened one by one.
    kind = acc.dtype.type
    while p + 4 <= end:
        a, b = F[indices[p]], F[indices[p + 1]]
        c, d = F[indices[p + 2]], F[indices[p + 3]]
        wa, wb = kind(scale * values[p]), kind(scale * values[p + 1])
        wc, wd = kind(scale * values[p + 2]), kind(scale * values[p + 3])
        for q in range(len(acc)):
            acc[q] += (wa * a[q] + wb * b[q]) + (wc * c[q] + wd * d[q])
        p += 4
    while p < end:
        a, w = F[indices[p]], kind(scale * values[p])
        for q in range(len(acc)):
            acc[q] += w * a[q]
        p += 1


@fast
def gram_product(indptr, indices, F, X, out, start, stop):
    """out_i = Σ_{j∈Ω_i} f_j (f_j·x_i), without forming the Gram blocks."""
    k = F.shape[1]
    for i in range(start, stop):
        acc, x = out[i], X[i]
        for q in range(k):
            acc[q] = 0.0
        p, end = indptr[i], indptr[i + 1]
        while p + 4 <= end:
            a, b = F[indices[p]], F[indices[p + 1]]
            c, d = F[indices[p + 2]], F[indices[p + 3]]
            ax = bx = cx = dx = 0.0
            for q in range(k):
                ax += a[q] * x[q]
                bx += b[q] * x[q]
                cx += c[q] * x[q]
                dx += d[q] * x[q]
            for q in range(k):
                acc[q] += (ax * a[q] + bx * b[q]) + (cx * c[q] + dx * d[q])
            p += 4
        while p < end:
            a = F[indices[p]]
            ax = 0.0
            for q in range(k):
                ax += a[q] * x[q]
            for q in range(k):
                acc[q] += ax * a[q]
            p += 1


@fast
def squared_residuals(indptr, indices, values, U, V, out, start, stop):
    """out_i = Σ_{j∈Ω_i} (x_ij − u_i·v_j)²: out (m,)."""
    k = U.shape[1]
    for i in range(start, stop):
        u = U[i]
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            v = V[indices[p]]
            dot = 0.0
            for q in range(k):
                dot += u[q] * v[q]
            total += (values[p] - dot) * (values[p] - dot)
        out[i] = total
