"""What one side looks like to the other.

Without biases that is V itself. With them the model is u·v + b + c: U carries b as its last
component, V carries c, and the other's bias meets a constant. To the rows, column j is the vector
(v_j, 1, c_j): the rows' own unknowns (u_i, b_i) meet its first part, a constant one its last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends import SparseRows
from ..backends.packed import contiguous
from .state import Factors, State

Array = NDArray[np.float64]

# Numbers gathered at once for pairs of rows and columns, 32 MiB.
BATCH = 1 << 22


class Sums(NamedTuple):
    """Sums over each row's observations that its update needs.

    Attributes
    ----------
    grams : ndarray of shape (n, k(k+1)/2)
        G_i = Σ_j ⟨v_j v_jᵀ⟩ over what meets the row's unknowns, packed.
    targets : ndarray of shape (n, k)
        Σ_j ⟨(x_ij − c_j) v_j⟩.
    squares : float
        Σ ⟨(x_ij − c_j)²⟩ over all observations.
    """

    grams: Array
    targets: Array
    squares: float


def with_constant(factors: Factors, at: int) -> Factors:
    """The rows' posterior with a constant component of ones put in at position `at`.

    `at` is the last position for the side that plays U, the last but one for V.
    """
    k = factors.rank
    order = np.insert(np.arange(k), at, k)
    mean = np.hstack((factors.rows, _ones(factors.rows))).take(order, axis=1)
    energy = np.zeros((k + 1, k + 1))
    free = np.flatnonzero(order < k)
    energy[np.ix_(free, free)] = factors.energy
    return Factors(mean, factors.covariance.widen(1, order), factors.log_det, energy)


def as_own(factors: Factors, biased: bool) -> Factors:
    """The rows as they meet the other side: U, or (U, b, 1)."""
    return with_constant(factors, factors.rank) if biased else factors


def as_partner(factors: Factors, biased: bool) -> Factors:
    """The rows as the other side meets them: V, or (V, 1, c)."""
    return with_constant(factors, factors.rank - 1) if biased else factors


def sums(
    rows: SparseRows,
    other: Factors,
    biased: bool,
    weights: Array | None = None,
    zeros: float = 0.0,
) -> Sums:
    """All sums of one side's update from the other side's moments.

    A zero at every pair adds the same to the block of each row, and nothing to its target.

    Parameters
    ----------
    rows : SparseRows
        Observed entries of the side.
    other : Factors
    biased : bool
    weights : ndarray of shape (n_observed,), optional
        Of the entries, in this side's order; ones by default.
    zeros : float
        Weight of a zero at every pair, observed or not.
    """
    partner = as_partner(other, biased)
    G, h = partner.covariance.grams(rows, partner.rows, weights)
    if zeros:
        G += zeros * partner.covariance.total(partner.rows)
    squares = rows.squares if weights is None else float(weights @ rows.values**2)
    return less_bias(G, h, squares) if biased else Sums(G, h, squares)


def less_bias(G: Array, h: Array, squares: float) -> Sums:
    """Sums over (v, 1, c) as those over (v, 1) of what c leaves of the values."""
    K = h.shape[1]
    free = K * (K - 1) // 2
    last = G[:, free:]
    squares = squares - 2.0 * float(h[:, -1].sum()) + float(last[:, -1].sum())
    return Sums(contiguous(G[:, :free]), h[:, :-1] - last[:, :-1], squares)


def all_squares(U: Array, V: Array) -> float:
    """Σ_ij (u_i·v_j)² over all pairs of known rows, which are never formed."""
    return float(np.einsum("rs,rs->", U.T @ U, V.T @ V))


def own_rows(U: Array, biased: bool) -> Array:
    """Known rows as they meet the other side: U, or (U, b, 1)."""
    return np.hstack((U, _ones(U))) if biased else contiguous(U)


def partner_rows(V: Array, biased: bool) -> Array:
    """Known rows as the other side meets them: V, or (V, 1, c)."""
    if not biased:
        return contiguous(V)
    return np.hstack((V[:, :-1], _ones(V), V[:, -1:]))


def _ones(X: Array) -> Array:
    """A column of ones beside X."""
    return np.ones_like(X, shape=(len(X), 1))


def moments_of(state: State, entries: SparseRows) -> tuple[Array, Array]:
    """Mean and variance at the rows' observed entries, in row order, (n_observed,) each."""
    mean, variance = factor_moments(state, entries)
    if state.local is None:
        return mean, variance
    own = state.local.at(entries.owners, entries.indices)
    return mean + own[0], variance + own[1]


def factor_moments(state: State, entries: SparseRows) -> tuple[Array, Array]:
    """The same of u·v alone, without the local term."""
    return pair_moments(
        entries, as_own(state.rows, state.biased), as_partner(state.cols, state.biased)
    )


def pair_moments(entries: SparseRows, U: Factors, V: Factors) -> tuple[Array, Array]:
    """Mean and variance of u·v at entries, in the rows' order, (n_entries,) each."""
    left, _ = U.covariance.factors_of_variance(U.rows, slice(None))
    _, right = V.covariance.factors_of_variance(V.rows, slice(None))
    products = entries.backend.entry_products
    return products(entries, U.rows, V.rows), products(entries, left, right)


def entry_moments(
    state: State, rows: NDArray[np.integer], cols: NDArray[np.integer]
) -> tuple[Array, Array]:
    """Mean and variance of entries at paired positions, (n_pairs,) each.

    Of u·v; with biases, u·v + b + c; with a local term, that as well.
    """
    U, V = as_own(state.rows, state.biased), as_partner(state.cols, state.biased)
    mean, variance = np.empty(len(rows)), np.empty(len(rows))
    step = max(1, BATCH // max(1, 2 * U.cov.shape[1]))
    for start in range(0, len(rows), step):
        here = slice(start, start + step)
        i, j = rows[here], cols[here]
        mean[here] = np.einsum("pr,pr->p", U.rows[i], V.rows[j])
        left, _ = U.covariance.factors_of_variance(U.rows, i)
        _, right = V.covariance.factors_of_variance(V.rows, j)
        variance[here] = np.einsum("pr,pr->p", left, right)
    if state.local is None:
        return mean, variance
    own = state.local.at(rows, cols)
    return mean + own[0], variance + own[1]
