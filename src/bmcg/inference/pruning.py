"""Columns go when they would predict nothing; what the bound gains by it is known before the cut.

A threshold on a column's energy is unsafe: on data that is not centred the first column
carries the mean and dwarfs columns that matter. The expected fit has no such scale.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..kernels.passes import weighted_sums
from ..kernels.reference import packed_diagonal
from .elbo import gamma_divergences, mean_log
from .families import outer_packed
from .state import Factors, Gamma, State
from .updates import FactorUpdate, Half, Prior, update_tau

Array = NDArray[np.float64]


def surplus(
    state: State, rows: Half, cols: Half, prior: Prior, U: FactorUpdate, V: FactorUpdate
) -> NDArray[np.bool_]:
    """Columns that would predict nothing and whose going the bound gains by, shape (k,).

    An observation left out is missed by more than its residual: to first order its squared error
    grows by twice the variance of the prediction (leave-one-out, Mallows' C_p). The expected
    squared error counts that variance once, so a column must lower it by its own variance over
    the observed entries to be of use. The bound would let weak columns that are of use go as
    well, because q(U) q(V) lacks the correlation of a column's two sides. At least one column
    stays unless there are biases.
    """
    fit = error_increase(state.cols, V)[: state.rank] - own_variance(state, cols, V)
    dead = (fit <= 0.0) & (removal_gains(state, rows, cols, prior, U, V) > 0.0)
    if dead.all() and not state.biased:
        dead[np.argmax(fit)] = False
    return dead


def own_variance(state: State, cols: Half, V: FactorUpdate) -> Array:
    """Variance of u_ir v_jr, summed over the observed entries, shape (k,)."""
    k, own = state.rank, packed_diagonal(state.cols.rank)
    variances = state.cols.cov if state.cols.is_column else state.cols.cov[:, own]
    squares = state.cols.rows**2 + variances
    total = np.einsum("jr,jr->r", V.sums.grams[:, own], squares)[:k]
    means = np.ascontiguousarray(state.rows.rows[:, :k] ** 2)
    sums = weighted_sums(cols.side, means, np.ones(len(cols.side.values)))
    return total - np.einsum("jr,jr->r", sums, state.cols.rows[:, :k] ** 2)


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
    k, lam = state.rank, state.lam
    gains = -0.5 * float(state.tau.mean) * error_increase(state.cols, V)[:k]
    for factors, half, update in ((state.rows, rows, U), (state.cols, cols, V)):
        n = len(factors.mean)
        energy = np.diag(factors.energy)[:k]
        gains -= 0.5 * (n * mean_log(lam) + half.prior.log_det - lam.mean * energy)
        gains -= 0.5 * (n - update.column_log_det[:k])
    return gains + gamma_divergences(lam, prior.c0, prior.d0)


def error_increase(cols: Factors, V: FactorUpdate) -> Array:
    """Growth of ⟨‖Ω∘(M − UVᵀ)‖²⟩ when a column of V is set to zero, shape (k,)."""
    k = cols.rank
    r, s = np.tril_indices(k)
    moments = outer_packed(cols.rows)
    if cols.is_column:
        moments[:, packed_diagonal(k)] += cols.cov
    else:
        moments += cols.cov
    sums = np.einsum("it,it->t", V.sums.grams, moments)
    own = sums[packed_diagonal(k)]
    pairs = np.bincount(r, sums, k) + np.bincount(s, sums, k) - own
    # Of Σ_st H_st S_st, the terms with s = r or t = r: twice the pairs, the diagonal once.
    return 2.0 * np.einsum("ir,ir->r", cols.rows, V.sums.targets) - (2.0 * pairs - own)


def drop(
    state: State, dead: NDArray[np.bool_], prior: Prior, n_observed: int, V: FactorUpdate
) -> State:
    """The other columns: marginals of q, λ as it was, τ for the larger error."""
    extra = float(error_increase(state.cols, V)[: state.rank][dead].sum())
    error = state.squared_error + max(extra, 0.0)
    keep = np.append(~dead, np.ones(state.rows.rank - state.rank, dtype=bool))
    return replace(
        state,
        rows=select(state.rows, keep),
        cols=select(state.cols, keep),
        lam=Gamma(state.lam.shape[~dead], state.lam.rate[~dead]),
        tau=update_tau(prior, n_observed, error),
        squared_error=error,
    )


def select(factors: Factors, keep: NDArray[np.bool_]) -> Factors:
    """The marginal of some columns; its log-determinant is left to the next update."""
    if factors.is_column:
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
