"""Dense kernels on one front: partial Cholesky factor and partial inverse.

Two layouts. `lanes`: (f, f, K) arrays hold the fronts of K matrices with the same pattern side by
side, and the innermost loop runs over the K lanes. `dense`: (f, f) arrays hold one front, and the
work is cut into matrix products. Fronts of width w split into own columns 1 and later rows 2.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel

_BLOCK = 48  # columns factored by plain loops between two matrix products
_STRIP = 192  # rows of a product whose upper triangle is not needed

_jit = kernel(fastmath={"contract", "reassoc", "nsz"})


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
def _invert_block(L):  # type: ignore[no-untyped-def]
    """L⁻¹ for a small lower-triangular (b, b) matrix, row by row."""
    T = np.zeros(L.shape)
    for i in range(L.shape[0]):
        for q in range(i):
            for l in range(q + 1):
                T[i, l] -= L[i, q] * T[q, l]
        for l in range(i):
            T[i, l] /= L[i, i]
        T[i, i] = 1.0 / L[i, i]
    return T


@_jit
def _block(F, i0, i1, j0, j1):  # type: ignore[no-untyped-def]
    """F[i0:i1, j0:j1] as an array of its own."""
    A = np.empty((i1 - i0, j1 - j0))
    for i in range(i1 - i0):
        for j in range(j1 - j0):
            A[i, j] = F[i0 + i, j0 + j]
    return A


@_jit
def _transposed(F, i0, i1, j0, j1):  # type: ignore[no-untyped-def]
    """F[i0:i1, j0:j1]ᵀ as an array of its own."""
    A = np.empty((j1 - j0, i1 - i0))
    for i in range(i1 - i0):
        for j in range(j1 - j0):
            A[j, i] = F[i0 + i, j0 + j]
    return A


@_jit
def _store(F, i0, j0, old, factor, A):  # type: ignore[no-untyped-def]
    """F[i0:, j0:] ← old · F[i0:, j0:] + factor · A over the shape of A; old is 0 or 1."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            base = F[i0 + i, j0 + j] if old else 0.0
            F[i0 + i, j0 + j] = base + factor * A[i, j]


@_jit
def _product(A, B):  # type: ignore[no-untyped-def]
    return np.dot(A, B)


@_jit
def _factor_strip(F, o0, o1):  # type: ignore[no-untyped-def]
    """Factor columns o0:o1 of F, all rows below included, leaving later columns alone."""
    f = F.shape[0]
    for j0 in range(o0, o1, _BLOCK):
        j1 = min(o1, j0 + _BLOCK)
        A = _block(F, j0, j1, j0, j1)
        failed = _factor_block(A)
        if failed >= 0:
            return j0 + failed
        _store(F, j0, j0, False, 1.0, A)
        if j1 == f:
            break
        T = _invert_block(A)
        B = _product(_block(F, j1, f, j0, j1), _transposed(T, 0, j1 - j0, 0, j1 - j0))
        _store(F, j1, j0, False, 1.0, B)
        if j1 < o1:
            _store(F, j1, j1, True, -1.0, _product(B, _transposed(B, 0, o1 - j1, 0, j1 - j0)))
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
        for i0 in range(o1, f, _STRIP):
            i1 = min(f, i0 + _STRIP)
            A = _product(_block(F, i0, i1, o0, o1), _transposed(F, o1, i1, o0, o1))
            _store(F, i0, o1, True, -1.0, A)
    return -1


@_jit
def _invert_rows(L, T, c0, i0, i1):  # type: ignore[no-untyped-def]
    """Rows i0:i1 of T = L⁻¹, columns c0:i0, from their diagonal block, which T already holds."""
    D = _block(T, i0, i1, i0, i1)
    for b0 in range(c0, i0, _STRIP):
        b1 = min(i0, b0 + _STRIP)
        above = _product(_block(L, i0, i1, b0, i0), _block(T, b0, i0, b0, b1))
        _store(T, i0, b0, False, -1.0, _product(D, above))


@_jit
def _invert_triangle(L, w):  # type: ignore[no-untyped-def]
    """Inverse of the lower triangle L[:w]: diagonal strips by blocks, then the rest."""
    T = np.zeros((w, w))
    for o0 in range(0, w, _STRIP):
        o1 = min(w, o0 + _STRIP)
        for i0 in range(o0, o1, _BLOCK):
            i1 = min(o1, i0 + _BLOCK)
            _store(T, i0, i0, False, 1.0, _invert_block(_block(L, i0, i1, i0, i1)))
            _invert_rows(L, T, o0, i0, i1)
        _invert_rows(L, T, 0, o0, o1)
    return T


@_jit
def inverse_dense(F, L):  # type: ignore[no-untyped-def]
    """As `inverse_lanes` for one matrix: F is (f, f), L the factor's (f, w) panel.

    With T = L₁₁⁻¹ and Y = L₂₁T: Z₂₁ = -Z₂₂Y and Z₁₁ = TᵀT - YᵀZ₂₁.
    """
    f, w = L.shape
    T = _invert_triangle(L, w)
    for i0 in range(0, w, _STRIP):
        i1 = min(w, i0 + _STRIP)
        A = _product(_transposed(T, i0, w, i0, i1), _block(T, i0, w, 0, i1))
        _store(F, i0, 0, False, 1.0, A)
    if f > w:
        Y = _product(_block(L, w, f, 0, w), T)
        Z = _product(_block(F, w, f, w, f), Y)
        _store(F, w, 0, False, -1.0, Z)
        _store(F, 0, 0, True, 1.0, _product(_transposed(Y, 0, f - w, 0, w), Z))
    for i in range(f):
        for l in range(min(i, w)):
            F[l, i] = F[i, l]
