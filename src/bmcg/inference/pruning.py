"""Columns go when the evidence gains: the change of the bound, known before the cut.

A threshold on a column's energy is unsafe: on data that is not centred the first column
carries the mean and dwarfs columns that matter. The bound has no such scale.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from ..kernels.reference import packed_diagonal
from .elbo import gamma_divergence
from .families import is_column, outer_packed
from .state import Factors, Gamma, State
from .updates import FactorUpdate, Half, Prior, update_tau

Array = NDArray[np.float64]


def surplus(
    family: str,
    state: State,
    rows: Half,
    cols: Half,
    prior: Prior,
    U: FactorUpdate,
    V: FactorUpdate,
) -> NDArray[np.bool_]:
    """Columns that do no better than one without any data behind it, shape (k,).

    Such a column still costs: the divergence of its λ and, in the `row` family, what a
    factorised posterior loses against a correlated prior. Those costs say nothing about the
    column, so it goes only when it gains more than they explain. At least one column stays.
    """
    idle = gamma_divergences(state.lam, prior)
    if family == "row":
        for half in (rows, cols):
            idle += 0.5 * (np.log(half.prior.precision.diagonal).sum() - half.prior.log_det)
    excess = removal_gains(state, rows, cols, prior, U, V) - idle
    dead = excess > 0
    if dead.all():
        dead[np.argmin(excess)] = False
    return dead


def gamma_divergences(lam: Gamma, prior: Prior) -> Array:
    """KL(q(λ_r) ‖ p(λ_r)) for each column, shape (k,)."""
    ones = [Gamma(lam.shape[r : r + 1], lam.rate[r : r + 1]) for r in range(len(lam.shape))]
    return np.asarray([gamma_divergence(one, prior.c0, prior.d0) for one in ones])


def removal_gains(
    state: State, rows: Half, cols: Half, prior: Prior, U: FactorUpdate, V: FactorUpdate
) -> Array:
    """How much the bound gains if a column is dropped and nothing else changes, shape (k,).

    Exact for the `column` and `row` families; for `joint` the entropy that a column takes
    along is that of its conditionals row by row, which overstates it a little.

    Parameters
    ----------
    state : State
        After a sweep.
    U, V : FactorUpdate
        The updates of that sweep; V came last, so its sums belong to the state.
    """
    lam = state.lam
    gains = -0.5 * float(state.tau.mean) * error_increase(state.cols, V)
    log_lam = digamma(lam.shape) - np.log(lam.rate)
    for factors, half, update in ((state.rows, rows, U), (state.cols, cols, V)):
        n = len(factors.mean)
        energy = np.diag(factors.energy)
        gains -= 0.5 * (n * log_lam + half.prior.log_det - lam.mean * energy)
        gains -= 0.5 * (n - update.column_log_det)
    return gains + gamma_divergences(lam, prior)


def error_increase(cols: Factors, V: FactorUpdate) -> Array:
    """Growth of ⟨‖Ω∘(M − UVᵀ)‖²⟩ when a column of V is set to zero, shape (k,)."""
    k = cols.rank
    r, s = np.tril_indices(k)
    moments = outer_packed(cols.mean)
    if is_column(cols):
        moments[:, packed_diagonal(k)] += cols.cov
    else:
        moments += cols.cov
    sums = np.einsum("it,it->t", V.grams, moments)
    own = sums[packed_diagonal(k)]
    pairs = np.bincount(r, sums, k) + np.bincount(s, sums, k) - own
    # Of Σ_st H_st S_st, the terms with s = r or t = r: twice the pairs, the diagonal once.
    return 2.0 * np.einsum("ir,ir->r", cols.mean, V.sums) - (2.0 * pairs - own)


def drop(
    state: State, keep: NDArray[np.bool_], prior: Prior, n_observed: int, V: FactorUpdate
) -> State:
    """The kept columns: marginals of q, λ as it was, τ for the larger error."""
    error = state.squared_error + float(error_increase(state.cols, V)[~keep].sum())
    lam = Gamma(state.lam.shape[keep], state.lam.rate[keep])
    tau = update_tau(prior, n_observed, max(error, state.squared_error))
    return State(select(state.rows, keep), select(state.cols, keep), lam, tau, error)


def select(factors: Factors, keep: NDArray[np.bool_]) -> Factors:
    """The marginal of some columns; its log-determinant is left to the next update."""
    if is_column(factors):
        cov = factors.cov[:, keep]
    else:
        r, s = np.tril_indices(factors.rank)
        cov = factors.cov[:, keep[r] & keep[s]]
    return Factors(
        np.ascontiguousarray(factors.mean[:, keep]),
        np.ascontiguousarray(cov),
        np.nan,
        factors.energy[np.ix_(keep, keep)],
    )
