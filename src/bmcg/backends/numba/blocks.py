# mypy: disable-error-code="no-untyped-def"
"""Numba kernels on packed k×k blocks, one for each row: products and factors.

Entry (r, s), s <= r, of a block lies at r(r+1)/2 + s. Every kernel works on rows ``start`` to
``stop`` and writes to those rows of ``out`` alone.
"""

from __future__ import annotations

import math

import numpy as np

from ...kernels import fast

# Vectors side by side below which a loop over them is too short to pay.
FEW_VECTORS = 8


@fast
def block_product(B, X, out, start, stop):
    """out_i = B_i x_i for packed symmetric blocks: B (m, k(k+1)/2), X and out (m, k)."""
    for i in range(start, stop):
        _symmetric_product(B[i], X[i], out[i])


@fast
def _symmetric_product(b, x, y):
    # Four rows of the triangle at a time: their common part reads x and writes y once.
    k, t, r = len(x), 0, 0
    while r + 4 <= k:
        t1, t2, t3 = t + r + 1, t + 2 * r + 3, t + 3 * r + 6
        x0, x1, x2, x3 = x[r], x[r + 1], x[r + 2], x[r + 3]
        d0 = d1 = d2 = d3 = 0.0
        for s in range(r):
            b0, b1, b2, b3 = b[t + s], b[t1 + s], b[t2 + s], b[t3 + s]
            d0 += b0 * x[s]
            d1 += b1 * x[s]
            d2 += b2 * x[s]
            d3 += b3 * x[s]
            y[s] += (b0 * x0 + b1 * x1) + (b2 * x2 + b3 * x3)
        b10, b20, b21 = b[t1 + r], b[t2 + r], b[t2 + r + 1]
        b30, b31, b32 = b[t3 + r], b[t3 + r + 1], b[t3 + r + 2]
        y[r] = d0 + (b[t + r] * x0 + b10 * x1) + (b20 * x2 + b30 * x3)
        y[r + 1] = d1 + (b10 * x0 + b[t1 + r + 1] * x1) + (b21 * x2 + b31 * x3)
        y[r + 2] = d2 + (b20 * x0 + b21 * x1) + (b[t2 + r + 2] * x2 + b32 * x3)
        y[r + 3] = d3 + (b30 * x0 + b31 * x1) + (b32 * x2 + b[t3 + r + 3] * x3)
        t, r = t3 + r + 4, r + 4
    while r < k:
        xr, dot = x[r], 0.0
        for s in range(r):
            dot += b[t + s] * x[s]
            y[s] += b[t + s] * xr
        y[r] = dot + b[t + r] * xr
        t, r = t + r + 1, r + 1


@fast
def block_products(B, X, out, start, stop):
    """out_i = B_i X_i for packed symmetric blocks and many vectors: X and out (m, k, s)."""
    # Inner loops run over the vectors where they fill a register, else along the block.
    if X.shape[2] < FEW_VECTORS:
        _few_products(B, X, out, start, stop)
    else:
        _many_products(B, X, out, start, stop)


@fast
def _many_products(B, X, out, start, stop):
    k, width = X.shape[1], X.shape[2]
    kind = out.dtype.type
    for i in range(start, stop):
        b, x, y = B[i], X[i], out[i]
        t = 0
        for r in range(k):
            c = kind(b[t + r])
            for q in range(width):
                y[r, q] = c * x[r, q]
            for s in range(r):
                c = kind(b[t + s])
                for q in range(width):
                    y[r, q] += c * x[s, q]
                    y[s, q] += c * x[r, q]
            t += r + 1


@fast
def _few_products(B, X, out, start, stop):
    k, width = X.shape[1], X.shape[2]
    x, y = np.empty((width, k), out.dtype), np.empty((width, k), out.dtype)
    for i in range(start, stop):
        for r in range(k):
            for q in range(width):
                x[q, r] = X[i, r, q]
        for q in range(width):
            _symmetric_product(B[i], x[q], y[q])
        for r in range(k):
            for q in range(width):
                out[i, r, q] = y[q, r]


@fast
def lower_products(L, X, out, start, stop):
    """out_i = L_i X_i for packed lower triangles and many vectors: X and out (m, k, s)."""
    k, width = X.shape[1], X.shape[2]
    for i in range(start, stop):
        t = 0
        for r in range(k):
            for q in range(width):
                out[i, r, q] = 0.0
            for s in range(r + 1):
                c = L[i, t + s]
                for q in range(width):
                    out[i, r, q] += c * X[i, s, q]
            t += r + 1


@fast
def cholesky_blocks(P, out, start, stop):
    """Lower Cholesky factors of packed positive semidefinite blocks.

    P and out (m, k(k+1)/2). A pivot lost in rounding gives a zero column, so a block of zeros
    has the factor zero.
    """
    width = P.shape[1]
    k = int((math.sqrt(8.0 * width + 1.0) - 1.0) / 2.0 + 0.5)
    for i in range(start, stop):
        L, A = out[i], P[i]
        for r in range(k):
            tr = r * (r + 1) // 2
            for s in range(r + 1):
                ts = s * (s + 1) // 2
                total = A[tr + s]
                for q in range(s):
                    total -= L[tr + q] * L[ts + q]
                if s < r:
                    L[tr + s] = total / L[ts + s] if L[ts + s] > 0.0 else 0.0
                else:
                    L[tr + r] = math.sqrt(total) if total > 1e-14 * A[tr + r] else 0.0
