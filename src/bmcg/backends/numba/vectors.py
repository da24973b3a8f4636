# mypy: disable-error-code="no-untyped-def"
"""Numba kernels on the vectors of conjugate gradients, in few passes over memory.

Vectors are (n, w), float64 or float32: inner products are summed in float64 all the same.
"""

from __future__ import annotations

import numpy as np

from ...kernels import fast


@fast
def couple(Y, X, own, lam, out, start, stop):
    """out_i += λ (y_i − own_i x_i): Y, X and out (m, w), own (m,), lam (w,)."""
    for i in range(start, stop):
        y, x, acc = Y[i], X[i], out[i]
        c = acc.dtype.type(own[i])
        for q in range(len(acc)):
            acc[q] += lam[q] * (y[q] - c * x[q])


@fast
def inner(A, B, out, start, stop):
    """out_q += Σ_i a_iq b_iq: A and B (m, w), out (w,) in float64."""
    part = np.zeros(A.shape[1], A.dtype)
    for i in range(start, stop):
        a, b = A[i], B[i]
        for q in range(len(part)):
            part[q] += a[q] * b[q]
        # Short sums in the vectors' own precision, their sum in float64.
        if (i - start) % 16 == 15 or i == stop - 1:
            for q in range(len(part)):
                out[q] += part[q]
                part[q] = 0.0


@fast
def advance(x, r, p, q, alpha, start, stop):
    """x += α p and r −= α q: all (m, w), alpha (w,)."""
    for i in range(start, stop):
        xi, ri, pi, qi = x[i], r[i], p[i], q[i]
        for t in range(len(alpha)):
            xi[t] += alpha[t] * pi[t]
            ri[t] -= alpha[t] * qi[t]


@fast
def redirect(p, z, more, beta, start, stop):
    """p = z + more + β p: p, z and more (m, w), beta (w,); `more` may be None."""
    for i in range(start, stop):
        pi, zi = p[i], z[i]
        for t in range(len(beta)):
            step = zi[t] if more is None else zi[t] + more[i, t]
            pi[t] = step + beta[t] * pi[t]
