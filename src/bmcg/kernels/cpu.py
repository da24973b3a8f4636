# mypy: disable-error-code="no-untyped-def"
"""Numba kernels on plain arrays; `reference` holds their NumPy twins.

Every kernel works on rows ``start`` to ``stop`` and writes to those rows of ``out`` alone.
Symmetric k×k blocks are stored packed: entry (r, s), s <= r, lies at r(r+1)/2 + s.
Storage may be float32; sums are always taken in float64.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# Vectors side by side below which a loop over them is too short to pay.
FEW_VECTORS = 8
# Sums may be reordered and contracted, but infinities and NaN keep their meaning.
_fast = njit(
    cache=True,
    nogil=True,
    fastmath={"contract", "reassoc", "nsz", "arcp"},
    error_model="numpy",
)
# Blocks factored side by side: the innermost loop runs over them and fills the vector unit.
LANES = 8


@_fast
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


@_fast
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


@_fast
def weighted_sums(indptr, indices, values, F, out, start, stop):
    """out_i = Σ_{j∈Ω_i} x_ij f_j: F (n, k), out (m, k)."""
    for i in range(start, stop):
        acc = out[i]
        for q in range(len(acc)):
            acc[q] = 0.0
        _add_sums(indices, values, F, acc, indptr[i], indptr[i + 1], 1.0)


@_fast
def affine_sums(indptr, indices, values, F, own, X, scale, out, start, stop):
    """out_i = own_i x_i + scale Σ_{j∈Ω_i} x_ij f_j: own (m,), X and out (m, k)."""
    for i in range(start, stop):
        acc, x = out[i], X[i]
        c = acc.dtype.type(own[i])
        for q in range(len(acc)):
            acc[q] = c * x[q]
        _add_sums(indices, values, F, acc, indptr[i], indptr[i + 1], scale)


@_fast
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


@_fast
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


@_fast
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


@_fast
def block_product(B, X, out, start, stop):
    """out_i = B_i x_i for packed symmetric blocks: B (m, k(k+1)/2), X and out (m, k)."""
    for i in range(start, stop):
        _symmetric_product(B[i], X[i], out[i])


@_fast
def _symmetric_product(b, x, y):
    t = 0
    for r in range(len(x)):
        xr, dot = x[r], 0.0
        for s in range(r):
            dot += b[t + s] * x[s]
            y[s] += b[t + s] * xr
        y[r] = dot + b[t + r] * xr
        t += r + 1


@_fast
def block_products(B, X, out, start, stop):
    """out_i = B_i X_i for packed symmetric blocks and many vectors: X and out (m, k, s)."""
    # Inner loops run over the vectors where they fill a register, else along the block.
    if X.shape[2] < FEW_VECTORS:
        _few_products(B, X, out, start, stop)
    else:
        _many_products(B, X, out, start, stop)


@_fast
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


@_fast
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


@_fast
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


@_fast
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


@_fast
def invert_blocks(P, out, logdet, start, stop):
    """Inverse and log-determinant of packed SPD blocks, `LANES` at a time.

    P and out (m, k(k+1)/2) may be the same array; logdet (m,) is NaN where a block is not
    positive definite.
    """
    width = P.shape[1]
    k = int((math.sqrt(8.0 * width + 1.0) - 1.0) / 2.0 + 0.5)
    L = np.zeros((width, LANES))
    for first in range(start, stop, LANES):
        count = min(LANES, stop - first)
        for b in range(LANES):
            source = P[first + min(b, count - 1)]
            for q in range(width):
                L[q, b] = source[q]
        _cholesky_lanes(L, k, logdet, first, count)
        _invert_lower_lanes(L, k)
        _self_product_lanes(L, k)
        for b in range(count):
            target = out[first + b]
            for q in range(width):
                target[q] = L[q, b]


@_fast
def _cholesky_lanes(L, k, logdet, first, count):
    """A = L Lᵀ in place, the reciprocal of the diagonal stored on it."""
    logs = np.zeros(LANES)
    for r in range(k):
        tr = r * (r + 1) // 2
        for s in range(r + 1):
            ts = s * (s + 1) // 2
            for q in range(s):
                for b in range(LANES):
                    L[tr + s, b] -= L[tr + q, b] * L[ts + q, b]
            if s < r:
                for b in range(LANES):
                    L[tr + s, b] *= L[ts + s, b]
        for b in range(LANES):
            pivot = L[tr + r, b]
            logs[b] += math.log(pivot) if pivot > 0.0 else math.nan
            L[tr + r, b] = 1.0 / math.sqrt(pivot) if pivot > 0.0 else math.nan
    for b in range(count):
        logdet[first + b] = logs[b]


@_fast
def _invert_lower_lanes(L, k):
    """L⁻¹ in place, from L with the reciprocal of its diagonal on it."""
    for r in range(k):
        tr = r * (r + 1) // 2
        for s in range(r):
            # Row r of the inverse up to s: entries q < s are not needed any more for column s.
            ts = s * (s + 1) // 2
            for b in range(LANES):
                L[tr + s, b] *= L[ts + s, b]
            for q in range(s + 1, r):
                tq = q * (q + 1) // 2
                for b in range(LANES):
                    L[tr + s, b] += L[tr + q, b] * L[tq + s, b]
        for s in range(r):
            for b in range(LANES):
                L[tr + s, b] *= -L[tr + r, b]


@_fast
def _self_product_lanes(L, k):
    """A⁻¹ = L⁻ᵀ L⁻¹ in place."""
    for r in range(k):
        tr = r * (r + 1) // 2
        for s in range(r + 1):
            for b in range(LANES):
                L[tr + s, b] *= L[tr + r, b]
        for q in range(r + 1, k):
            tq = q * (q + 1) // 2
            for s in range(r + 1):
                for b in range(LANES):
                    L[tr + s, b] += L[tq + r, b] * L[tq + s, b]
