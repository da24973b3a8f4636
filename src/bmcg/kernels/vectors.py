"""What conjugate gradients do to vectors, many systems side by side, in few passes over memory.

Arrays have any shape (n, ...) and are seen as (n, w); with s systems, the last index modulo s
tells them apart. They may be float32: inner products are summed in float64 all the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .jit import fast
from .threads import Workers, even_bounds

Array = NDArray[np.float64]


def inner(pool: Workers, a: NDArray[Any], b: NDArray[Any], systems: int) -> Array:
    """Inner product of each system, shape (systems,)."""
    A, B = _flat(a), _flat(b)
    bounds = _bounds(A)
    out = np.zeros((len(bounds) - 1, A.shape[1]))
    pool.map(lambda c: _inner(A, B, out[c], int(bounds[c]), int(bounds[c + 1])), range(len(out)))
    # Chunks depend on the sizes alone and are added in order: any number of threads agrees.
    total = out.sum(axis=0)
    return total.sum(keepdims=True) if systems == 1 else total.reshape(-1, systems).sum(axis=0)


def advance(
    pool: Workers,
    x: NDArray[Any],
    r: NDArray[Any],
    p: NDArray[Any],
    q: NDArray[Any],
    alpha: Array,
) -> None:
    """x += α p and r −= α q in place, α (systems,)."""
    X, R, P, Q = (_flat(v) for v in (x, r, p, q))
    wide = _wide(alpha, X)
    pool.over_rows(lambda a, b: _advance(X, R, P, Q, wide, a, b), _bounds(X))


def redirect(
    pool: Workers,
    p: NDArray[Any],
    z: NDArray[Any],
    beta: Array,
    more: NDArray[Any] | None = None,
) -> None:
    """p = z + β p in place, or p = z + more + β p; β (systems,)."""
    P, Z = _flat(p), _flat(z)
    wide = _wide(beta, P)
    if more is None:
        pool.over_rows(lambda a, b: _redirect(P, Z, wide, a, b), _bounds(P))
        return
    M = _flat(more)
    pool.over_rows(lambda a, b: _redirect_sum(P, Z, M, wide, a, b), _bounds(P))


def couple(
    pool: Workers, out: NDArray[Any], Y: NDArray[Any], X: NDArray[Any], own: Array, lam: Array
) -> None:
    """out_i += λ (y_i − own_i x_i) in place: arrays (n, k) or (n, k, s), own (n,), lam (k,)."""
    views = [_flat(v) for v in (Y, X, out)]
    wide = np.repeat(lam, views[0].shape[1] // len(lam)).astype(out.dtype)
    pool.over_rows(
        lambda a, b: _couple(views[0], views[1], own, wide, views[2], a, b), _bounds(views[0])
    )


def _flat(a: NDArray[Any]) -> NDArray[Any]:
    return a.reshape(len(a), int(np.prod(a.shape[1:])))


def _wide(alpha: Array, like: NDArray[Any]) -> NDArray[Any]:
    """α of every entry of a row, in the vectors' own precision."""
    return np.tile(alpha, like.shape[1] // len(alpha)).astype(like.dtype)


def _bounds(a: NDArray[Any]) -> NDArray[np.int64]:
    # Short passes: a hand-over is worth tens of thousands of numbers.
    return even_bounds(len(a), 2 * a.shape[1])


@fast
def _couple(Y, X, own, lam, out, start, stop):  # type: ignore[no-untyped-def]
    """out_i += λ (y_i − own_i x_i): Y, X and out (m, w), own (m,), lam (w,)."""
    for i in range(start, stop):
        y, x, acc = Y[i], X[i], out[i]
        c = acc.dtype.type(own[i])
        for q in range(len(acc)):
            acc[q] += lam[q] * (y[q] - c * x[q])


@fast
def _inner(A, B, out, start, stop):  # type: ignore[no-untyped-def]
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
def _advance(x, r, p, q, alpha, start, stop):  # type: ignore[no-untyped-def]
    """x += α p and r −= α q: all (m, w), alpha (w,)."""
    for i in range(start, stop):
        xi, ri, pi, qi = x[i], r[i], p[i], q[i]
        for t in range(len(alpha)):
            xi[t] += alpha[t] * pi[t]
            ri[t] -= alpha[t] * qi[t]


@fast
def _redirect(p, z, beta, start, stop):  # type: ignore[no-untyped-def]
    """p = z + β p: p and z (m, w), beta (w,)."""
    for i in range(start, stop):
        pi, zi = p[i], z[i]
        for t in range(len(beta)):
            pi[t] = zi[t] + beta[t] * pi[t]


@fast
def _redirect_sum(p, z, more, beta, start, stop):  # type: ignore[no-untyped-def]
    """p = z + more + β p: p, z and more (m, w), beta (w,)."""
    for i in range(start, stop):
        pi, zi, mi = p[i], z[i], more[i]
        for t in range(len(beta)):
            pi[t] = (zi[t] + mi[t]) + beta[t] * pi[t]
