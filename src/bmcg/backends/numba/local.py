# mypy: disable-error-code="no-untyped-def"
"""Variances from draws, each node conditioned on what lies beyond its neighbours.

For a set S around node i, the conditional variance of z_i given everything outside S is w_i,
with w = Q_SS⁻¹ e_i, and its conditional mean is z_i − wᵀ(Qz)_S: only that part is random, and
it falls off quickly as S grows. Q_r = diag(D_r) + λ_r L shares L's pattern between columns.
"""

from __future__ import annotations

import math

import numpy as np

from ...kernels import fast

# Nodes of a set: hubs are conditioned on part of their neighbours, which is as valid.
MAX_NODES = 40


@fast
def edge_spread(heads, tails, z, out, start, stop):
    """out_e = mean squares of z_head − z_tail over draws: z (n, k, s), out (n_edges, k)."""
    _, k, count = z.shape
    for e in range(start, stop):
        a, b = z[heads[e]], z[tails[e]]
        for r in range(k):
            total = 0.0
            for q in range(count):
                step = np.float64(a[r, q]) - np.float64(b[r, q])
                total += step * step
            out[e, r] = total / count


@fast
def local_estimate(indptr, indices, data, D, lam, z, Qz, out, start, stop):
    """Estimates (n, k) of diag Q_r⁻¹ from draws z (n, k, s)."""
    n, k, count = z.shape
    place = np.full(n, -1, np.int32)
    nodes = np.empty(MAX_NODES, np.int32)
    A, L = np.empty((MAX_NODES, MAX_NODES)), np.empty((MAX_NODES, MAX_NODES))
    w, shift = np.empty(MAX_NODES), np.empty(count)
    for i in range(start, stop):
        size = _gather(indptr, indices, data, i, nodes, place, A)
        for r in range(k):
            for a in range(size):
                for b in range(a + 1):
                    L[a, b] = lam[r] * A[a, b]
                L[a, a] += D[nodes[a], r]
            _last_column_of_inverse(L, size, w)
            for q in range(count):
                shift[q] = z[i, r, q]
            for a in range(size):
                row, c = Qz[nodes[a], r], w[a]
                for q in range(count):
                    shift[q] -= c * row[q]
            mean = 0.0
            for q in range(count):
                mean += shift[q] ** 2 / count
            out[i, r] = w[size - 1] + mean


@fast
def _gather(indptr, indices, data, i, nodes, place, A):
    """L over the neighbours of i and, last, i itself, into A; returns how many they are."""
    size = 0
    for p in range(indptr[i], indptr[i + 1]):
        if indices[p] != i and size < MAX_NODES - 1:
            nodes[size] = indices[p]
            size += 1
    nodes[size] = i
    size += 1
    for a in range(size):
        place[nodes[a]] = a
        for b in range(size):
            A[a, b] = 0.0
    for a in range(size):
        for p in range(indptr[nodes[a]], indptr[nodes[a] + 1]):
            b = place[indices[p]]
            if b >= 0:
                A[a, b] = data[p]
    for a in range(size):
        place[nodes[a]] = -1
    return size


@fast
def _last_column_of_inverse(L, size, w):
    """w = A⁻¹ e for the last unit vector e; the lower triangle of A is in L, and is lost."""
    for a in range(size):
        for b in range(a + 1):
            total = L[a, b]
            for q in range(b):
                total -= L[a, q] * L[b, q]
            L[a, b] = total / L[b, b] if b < a else math.sqrt(total)
    for a in range(size - 1):
        w[a] = 0.0
    # L y = e has y = e / L_last, so one backward substitution is left.
    w[size - 1] = 1.0 / L[size - 1, size - 1]
    for a in range(size - 1, -1, -1):
        w[a] /= L[a, a]
        for b in range(a):
            w[b] -= L[a, b] * w[a]
