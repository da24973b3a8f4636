"""Passes that keep the residual of a low-rank matrix on the observed entries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .jit import fast
from .passes import Side

Array = NDArray[np.float64]


def residuals(side: Side, U: Array, V: Array) -> Array:
    """x_ij − u_i·v_j on the observed entries, in the side's order, shape (n_observed,).

    U (n, k) belongs to the side's own rows, V (n_other, k) to the other side.
    """
    out = np.empty(len(side.values))
    side.pool.over_rows(
        lambda a, b: _residuals(side.indptr, side.indices, side.values, U, V, out, a, b),
        side.bounds(U.shape[1]),
    )
    return out


def residual_sums(side: Side, U: Array, V: Array) -> tuple[Array, float]:
    """Σ_{j∈Ω_i} e_ij v_j for every row i, and Σ e_ij², e_ij = x_ij − u_i·v_j, in one pass.

    Parameters
    ----------
    side : Side
    U, V : ndarray of shape (n, k) and (n_other, k)
        Factors of the side's own rows and of the other side.

    Returns
    -------
    sums : ndarray of shape (n, k)
    squared_error : float
    """
    out, squares = np.empty(U.shape), np.empty(side.n)
    side.pool.over_rows(
        lambda a, b: _residual_sums(
            side.indptr, side.indices, side.values, U, V, out, squares, a, b
        ),
        side.bounds(2 * U.shape[1]),
    )
    return out, float(squares.sum())


def rank_one_moments(
    side: Side, E: Array, order: NDArray[np.intp], a: Array, b: Array
) -> tuple[Array, Array]:
    """What the best a_i given b needs: Σ_j (e_ij + a_i b_j) b_j and Σ_j b_j², each (n,).

    E holds the residual in any order; `order` gives the place of each of the side's entries.
    """
    c, d = np.empty(side.n), np.empty(side.n)
    side.pool.over_rows(
        lambda lo, hi: _moments(side.indptr, side.indices, E, order, a, b, c, d, lo, hi),
        side.bounds(4),
    )
    return c, d


def rank_one_shift(side: Side, E: Array, order: NDArray[np.intp], change: Array, b: Array) -> None:
    """e_ij −= change_i b_j on the observed entries, in place."""
    side.pool.over_rows(
        lambda lo, hi: _shift(side.indptr, side.indices, E, order, change, b, lo, hi),
        side.bounds(4),
    )


@fast
def _residuals(indptr, indices, values, U, V, out, start, stop):  # type: ignore[no-untyped-def]
    k = U.shape[1]
    for i in range(start, stop):
        u = U[i]
        for p in range(indptr[i], indptr[i + 1]):
            v = V[indices[p]]
            dot = 0.0
            for q in range(k):
                dot += u[q] * v[q]
            out[p] = values[p] - dot


@fast
def _residual_sums(  # type: ignore[no-untyped-def]
    indptr, indices, values, U, V, out, squares, start, stop
):
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
def _moments(indptr, indices, E, order, a, b, c, d, start, stop):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        first, second = 0.0, 0.0
        for p in range(indptr[i], indptr[i + 1]):
            x = b[indices[p]]
            first += E[order[p]] * x
            second += x * x
        c[i] = first + a[i] * second
        d[i] = second


@fast
def _shift(indptr, indices, E, order, change, b, start, stop):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        for p in range(indptr[i], indptr[i + 1]):
            E[order[p]] -= change[i] * b[indices[p]]
