"""Dense kernels on one front: partial Cholesky factor and partial inverse.

Two layouts. `lanes`: (f, f, K) arrays hold the fronts of K matrices with the same pattern side by
side, and the innermost loop runs over the K lanes. `dense`: (f, f) arrays hold one front, and the
work is cut into matrix products. Fronts of width w split into own columns 1 and later rows 2.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_BLOCK = 48  # columns factored by plain loops between two matrix products
_STRIP = 192  # rows of a product whose upper triangle is not needed

_jit = njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})


@_jit
def factor_lanes(F, w, lanes):  # type: ignore[no-untyped-def]
    """Factor the first w columns of the (f, f, K) front in place; lower triangle only.

    Returns the first column with a pivot that is not positive, -1 if there is none.
    """
    f = F.shape[0]
    scale = np.empty(len(lanes))
    for j in range(w):
        for r in range(len(lanes)):
            if not F[j, j, r] > 0.0:
                return j
            F[j, j, r] = np.sqrt(F[j, j, r])
            scale[r] = 1.0 / F[j, j, r]
        for i in range(j + 1, f):
            for r in range(len(lanes)):
                F[i, j, r] *= scale[r]
        for i in range(j + 1, f):
            for l in range(j + 1, i + 1):
                for r in range(len(lanes)):
                    F[i, l, r] -= F[i, j, r] * F[l, j, r]
    return -1


@_jit
def inverse_lanes(F, L, lanes):  # type: ignore[no-untyped-def]
    """Takahashi's recursion on one front.

    F is (f, f, K) with the inverse over the later rows in place, both triangles; L is the
    factor's (f, w, K) panel. Fills the rest of F: with y = L_j / L_jj, z_j = -Z y and
    Z_jj = 1 / L_jj² - yᵀ z_j.
    """
    f, w = L.shape[0], L.shape[1]
    K = len(lanes)
    y, z = np.empty((f, K)), np.empty((f, K))
    for j in range(w - 1, -1, -1):
        for i in range(j + 1, f):
            for r in range(K):
                y[i, r] = L[i, j, r] / L[j, j, r]
                z[i, r] = 0.0
        for l in range(j + 1, f):
            for i in range(j + 1, f):
                for r in range(K):
                    z[i, r] -= F[l, i, r] * y[l, r]
        for r in range(K):
            F[j, j, r] = 1.0 / (L[j, j, r] * L[j, j, r])
        for i in range(j + 1, f):
            for r in range(K):
                F[j, j, r] -= y[i, r] * z[i, r]
                F[i, j, r] = z[i, r]
                F[j, i, r] = z[i, r]


@_jit
def _factor_block(A):  # type: ignore[no-untyped-def]
    """Cholesky factor of a small (b, b) matrix in place, by rows; -1 or the failing column."""
    b = A.shape[0]
    for j in range(b):
        for l in range(j + 1):
            t = A[j, l]
            for q in range(l):
                t -= A[j, q] * A[l, q]
            if l < j:
                A[j, l] = t / A[l, l]
            elif t > 0.0:
                A[j, j] = np.sqrt(t)
            else:
                return j
    return -1


@_jit
def _invert_block(L, T):  # type: ignore[no-untyped-def]
    """T = L⁻¹ for a small lower-triangular L, both (b, b), by rows of T."""
    b = L.shape[0]
    for i in range(b):
        for l in range(b):
            T[i, l] = 0.0
        for q in range(i):
            for l in range(q + 1):
                T[i, l] -= L[i, q] * T[q, l]
        for l in range(i):
            T[i, l] /= L[i, i]
        T[i, i] = 1.0 / L[i, i]


@_jit
def _factor_strip(F, o0, o1):  # type: ignore[no-untyped-def]
    """Factor columns o0:o1 of F, all rows below included, leaving later columns alone."""
    f = F.shape[0]
    for j0 in range(o0, o1, _BLOCK):
        j1 = min(o1, j0 + _BLOCK)
        A = F[j0:j1, j0:j1].copy()
        failed = _factor_block(A)
        if failed >= 0:
            return j0 + failed
        F[j0:j1, j0:j1] = A
        if j1 == f:
            break
        T = np.empty_like(A)
        _invert_block(A, T)
        B = np.dot(F[j1:, j0:j1].copy(), T.T.copy())
        F[j1:, j0:j1] = B
        if j1 < o1:
            F[j1:, j1:o1] -= np.dot(B, B[: o1 - j1].T.copy())
    return -1


@_jit
def factor_dense(F, w):  # type: ignore[no-untyped-def]
    """Factor the first w columns of the (f, f) front in place; lower triangle only."""
    f = F.shape[0]
    for o0 in range(0, w, _STRIP):
        o1 = min(w, o0 + _STRIP)
        failed = _factor_strip(F, o0, o1)
        if failed >= 0:
            return failed
        if o1 < f:
            B = F[o1:, o0:o1].copy()
            Bt = B.T.copy()
            for i0 in range(o1, f, _STRIP):
                i1 = min(f, i0 + _STRIP)
                F[i0:i1, o1:i1] -= np.dot(B[i0 - o1 : i1 - o1], Bt[:, : i1 - o1].copy())
    return -1


@_jit
def _invert_rows(L, T, i0, i1, step):  # type: ignore[no-untyped-def]
    """Rows i0:i1 of T = L⁻¹ left of their diagonal block, which T already holds."""
    D = T[i0:i1, i0:i1].copy()
    for c0 in range(0, i0, step):
        c1 = min(i0, c0 + step)
        above = np.dot(L[i0:i1, c0:i0].copy(), T[c0:i0, c0:c1].copy())
        T[i0:i1, c0:c1] = -np.dot(D, above)


@_jit
def _invert_triangle(L):  # type: ignore[no-untyped-def]
    """L⁻¹ of a lower-triangular (w, w) matrix: diagonal strips by blocks, then the rest."""
    w = L.shape[0]
    T = np.zeros((w, w))
    for o0 in range(0, w, _STRIP):
        o1 = min(w, o0 + _STRIP)
        strip, inverse = L[o0:o1, o0:o1], T[o0:o1, o0:o1]
        for i0 in range(0, o1 - o0, _BLOCK):
            i1 = min(o1 - o0, i0 + _BLOCK)
            _invert_block(strip[i0:i1, i0:i1], inverse[i0:i1, i0:i1])
            _invert_rows(strip, inverse, i0, i1, _STRIP)
        _invert_rows(L, T, o0, o1, _STRIP)
    return T


@_jit
def inverse_dense(F, L):  # type: ignore[no-untyped-def]
    """As `inverse_lanes` for one matrix: F is (f, f), L the factor's (f, w) panel.

    With T = L₁₁⁻¹ and Y = L₂₁T: Z₂₁ = -Z₂₂Y and Z₁₁ = TᵀT - YᵀZ₂₁.
    """
    f, w = L.shape
    T = _invert_triangle(L[:w])
    for i0 in range(0, w, _STRIP):
        i1 = min(w, i0 + _STRIP)
        F[i0:i1, :i1] = np.dot(T[i0:, i0:i1].T.copy(), T[i0:, :i1].copy())
    if f > w:
        Y = np.dot(L[w:].copy(), T)
        Z = np.dot(F[w:, w:].copy(), Y)
        F[w:, :w] = -Z
        F[:w, w:] = F[w:, :w].T
        F[:w, :w] += np.dot(Y.T.copy(), Z)
    for i in range(w):
        for l in range(i):
            F[l, i] = F[i, l]
