"""Sweeps over the tree of fronts: factor and selected inverse.

All kernels take panels of shape (P, K), K matrices with one pattern, and an array `lanes` of K
zeros, whose length is that of the innermost loop: read at run time, the loop is vectorised.
"""

from __future__ import annotations

import numpy as np

from ...kernels import kernel
from .fronts import factor_dense, factor_lanes, inverse_dense, inverse_lanes

_jit = kernel(fastmath={"contract", "reassoc", "nsz"})


@_jit
def _use_products(f, w, K):  # type: ignore[no-untyped-def]
    """Whether one front at a time with matrix products beats lanes (measured, see the tests)."""
    if K == 1:
        return f >= 12
    return f >= 40 and w >= 8


@_jit
def _add_child(F, U, relative, lanes):  # type: ignore[no-untyped-def]
    """Extend-add: the child's (r, r, K) update into the lower triangle of the parent's front."""
    for i in range(len(relative)):
        a = relative[i]
        for j in range(i + 1):
            b = relative[j]
            for q in range(len(lanes)):
                F[a, b, q] += U[i, j, q]


@_jit
def _take_child(F, U, relative, lanes):  # type: ignore[no-untyped-def]
    """The reverse: what the child's later rows need of the parent's finished inverse."""
    for i in range(len(relative)):
        a = relative[i]
        for j in range(len(relative)):
            b = relative[j]
            for q in range(len(lanes)):
                U[i, j, q] = F[a, b, q]


@_jit
def _copy(target, source, lanes):  # type: ignore[no-untyped-def]
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            for r in range(len(lanes)):
                target[i, j, r] = source[i, j, r]


@_jit
def _copy_lower(target, source, lanes):  # type: ignore[no-untyped-def]
    for i in range(source.shape[0]):
        for j in range(i + 1):
            for r in range(len(lanes)):
                target[i, j, r] = source[i, j, r]


@_jit
def _split(F, A, lower, lanes):  # type: ignore[no-untyped-def]
    """(f, g, K) lanes into the K matrices of A, (K, f, g)."""
    for i in range(F.shape[0]):
        for j in range(i + 1 if lower else F.shape[1]):
            for r in range(len(lanes)):
                A[r, i, j] = F[i, j, r]


@_jit
def _merge(A, F, lower, lanes):  # type: ignore[no-untyped-def]
    for i in range(F.shape[0]):
        for j in range(i + 1 if lower else F.shape[1]):
            for r in range(len(lanes)):
                F[i, j, r] = A[r, i, j]


@_jit
def _factor_front(F, w, work, lanes):  # type: ignore[no-untyped-def]
    f, K = F.shape[0], len(lanes)
    if not _use_products(f, w, K):
        return factor_lanes(F, w, lanes)
    if K == 1:
        return factor_dense(F.reshape(f, f), w)
    A = work[: K * f * f].reshape(K, f, f)
    _split(F, A, True, lanes)
    for r in range(K):
        failed = factor_dense(A[r], w)
        if failed >= 0:
            return failed
    _merge(A, F, True, lanes)
    return -1


@_jit
def _inverse_front(F, L, work, lanes):  # type: ignore[no-untyped-def]
    f, w, K = F.shape[0], L.shape[1], len(lanes)
    if not _use_products(f, w, K):
        inverse_lanes(F, L, lanes)
    elif K == 1:
        inverse_dense(F.reshape(f, f), L.reshape(f, w))
    else:
        A, panels = work[: K * f * f].reshape(K, f, f), np.empty((K, f, w))
        _split(F, A, False, lanes)
        _split(L, panels, False, lanes)
        for r in range(K):
            inverse_dense(A[r], panels[r])
        _merge(A, F, False, lanes)


@_jit
def factor(fronts, panels, lanes):  # type: ignore[no-untyped-def]
    """Overwrite the matrices in `panels` with their Cholesky factors, leaves to roots.

    Returns -1, or the permuted column at which a pivot was not positive.
    """
    K, S = len(lanes), len(fronts.children)
    space, stack = np.empty((fronts.front_size, K)), np.empty((fronts.stack_size, K))
    work = np.empty(fronts.front_size * K)  # touched by large fronts of several lanes alone
    waiting = np.empty(S, np.int64)
    top, free = 0, 0
    for s in range(S):
        w = fronts.first[s + 1] - fronts.first[s]
        f = fronts.row_ptr[s + 1] - fronts.row_ptr[s]
        panel = panels[fronts.panel_ptr[s] : fronts.panel_ptr[s + 1]].reshape(f, w, K)
        F = space[: f * f].reshape(f, f, K)
        _copy(F, panel, lanes)
        F[w:, w:] = 0.0
        for _ in range(fronts.children[s]):
            top -= 1
            c = waiting[top]
            tail = fronts.row_ptr[c] + fronts.first[c + 1] - fronts.first[c]
            relative = fronts.relative[tail : fronts.row_ptr[c + 1]]
            m = len(relative)
            free -= m * m
            _add_child(F, stack[free : free + m * m].reshape(m, m, K), relative, lanes)
        failed = _factor_front(F, w, work, lanes)
        if failed >= 0:
            return fronts.first[s] + failed
        _copy(panel, F[:, :w], lanes)
        if f > w:
            U = stack[free : free + (f - w) ** 2].reshape(f - w, f - w, K)
            _copy_lower(U, F[w:, w:], lanes)
            free += (f - w) ** 2
            waiting[top] = s
            top += 1
    return -1


@_jit
def selected_inverse(fronts, panels, lanes):  # type: ignore[no-untyped-def]
    """Overwrite the factors with the inverses' entries on their pattern, roots to leaves."""
    K, S = len(lanes), len(fronts.children)
    space, stack = np.empty((fronts.front_size, K)), np.empty((fronts.stack_size, K))
    work = np.empty(fronts.front_size * K)  # touched by large fronts of several lanes alone
    child_ptr, child_lists = _child_lists(fronts)
    free = 0
    for s in range(S - 1, -1, -1):
        w = fronts.first[s + 1] - fronts.first[s]
        f = fronts.row_ptr[s + 1] - fronts.row_ptr[s]
        L = panels[fronts.panel_ptr[s] : fronts.panel_ptr[s + 1]].reshape(f, w, K)
        F = space[: f * f].reshape(f, f, K)
        if f > w:
            free -= (f - w) ** 2
            _copy(F[w:, w:], stack[free : free + (f - w) ** 2].reshape(f - w, f - w, K), lanes)
        _inverse_front(F, L, work, lanes)
        _copy(L, F[:, :w], lanes)
        for c in child_lists[child_ptr[s] : child_ptr[s + 1]]:
            tail = fronts.row_ptr[c] + fronts.first[c + 1] - fronts.first[c]
            relative = fronts.relative[tail : fronts.row_ptr[c + 1]]
            m = len(relative)
            _take_child(F, stack[free : free + m * m].reshape(m, m, K), relative, lanes)
            free += m * m


@_jit
def _child_lists(fronts):  # type: ignore[no-untyped-def]
    """Children of supernode s in increasing order: lists[ptr[s]:ptr[s + 1]]."""
    S = len(fronts.children)
    ptr, lists, waiting = np.zeros(S + 1, np.int64), np.empty(S, np.int64), np.empty(S, np.int64)
    top = 0
    for s in range(S):
        ptr[s + 1] = ptr[s] + fronts.children[s]
        top -= fronts.children[s]
        for t in range(fronts.children[s]):
            lists[ptr[s] + t] = waiting[top + t]
        if fronts.row_ptr[s + 1] - fronts.row_ptr[s] > fronts.first[s + 1] - fronts.first[s]:
            waiting[top] = s
            top += 1
    return ptr, lists
