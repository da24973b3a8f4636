# mypy: disable-error-code="no-untyped-def"
"""Numba kernels over the entries of sparse rows.

Every kernel works on rows ``start`` to ``stop`` and writes to those rows of ``out`` alone.
Storage may be float32; sums are always taken in float64.
"""

from __future__ import annotations

import numpy as np

from ...kernels import fast


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
def squared_residuals(indptr, indices, values, weights, U, V, out, start, stop):
    """out_i = Σ_{j∈Ω_i} w_ij (x_ij − u_i·v_j)²: weights (n_entries,) or None, out (m,)."""
    k = U.shape[1]
    for i in range(start, stop):
        u = U[i]
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            v = V[indices[p]]
            dot = 0.0
            for q in range(k):
                dot += u[q] * v[q]
            if weights is None:
                total += (values[p] - dot) * (values[p] - dot)
            else:
                total += weights[p] * (values[p] - dot) * (values[p] - dot)
        out[i] = total


@fast
def entry_products(indptr, indices, U, V, out, start, stop):
    """out_p = u_i·v_j at entry p = (i, j): out (n_entries,)."""
    k = U.shape[1]
    for i in range(start, stop):
        u = U[i]
        for p in range(indptr[i], indptr[i + 1]):
            v = V[indices[p]]
            dot = 0.0
            for q in range(k):
                dot += u[q] * v[q]
            out[p] = dot


@fast
def residual_sums(indptr, indices, values, U, V, out, squares, start, stop):
    """out_i = Σ_{j∈Ω_i} e_ij v_j and squares_i = Σ_{j∈Ω_i} e_ij², e_ij = x_ij − u_i·v_j."""
    k = U.shape[1]
    for i in range(start, stop):
        acc, u, total = out[i], U[i], 0.0
        for q in range(k):
            acc[q] = 0.0
        p, end = indptr[i], indptr[i + 1]
        while p + 4 <= end:
            a, b = V[indices[p]], V[indices[p + 1]]
            c, d = V[indices[p + 2]], V[indices[p + 3]]
            ae, be, ce, de = values[p], values[p + 1], values[p + 2], values[p + 3]
            for q in range(k):
                ae -= a[q] * u[q]
                be -= b[q] * u[q]
                ce -= c[q] * u[q]
                de -= d[q] * u[q]
            for q in range(k):
                acc[q] += (ae * a[q] + be * b[q]) + (ce * c[q] + de * d[q])
            total += (ae * ae + be * be) + (ce * ce + de * de)
            p += 4
        while p < end:
            a, ae = V[indices[p]], values[p]
            for q in range(k):
                ae -= a[q] * u[q]
            for q in range(k):
                acc[q] += ae * a[q]
            total += ae * ae
            p += 1
        squares[i] = total


@fast
def rank_one_moments(indptr, indices, E, order, a, b, c, d, start, stop):
    """c_i = Σ_j (e_ij + a_i b_j) b_j and d_i = Σ_j b_j²; entry p of the rows is E[order[p]]."""
    for i in range(start, stop):
        first, second = 0.0, 0.0
        for p in range(indptr[i], indptr[i + 1]):
            x = b[indices[p]]
            first += E[order[p]] * x
            second += x * x
        c[i] = first + a[i] * second
        d[i] = second


@fast
def rank_one_shift(indptr, indices, order, change, b, E, start, stop):
    """e_ij −= change_i b_j."""
    for i in range(start, stop):
        for p in range(indptr[i], indptr[i + 1]):
            E[order[p]] -= change[i] * b[indices[p]]
