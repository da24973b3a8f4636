"""Components go when they predict nothing; what the bound gains is known before the cut.

A threshold on a component's energy is unsafe: on data that is not centred the first component
carries the mean and dwarfs components that matter. The expected fit has no such scale.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..backends.packed import contiguous, packed_diagonal
from ..likelihoods import Match
from .side import Prior, Side
from .state import Factors, Gamma, State
from .updates import FactorUpdate

Array = NDArray[np.float64]


def surplus(
    state: State, rows: Side, cols: Side, prior: Prior, U: FactorUpdate, V: FactorUpdate
) -> NDArray[np.bool_]:
    """Components that would predict nothing and whose going the bound gains by, shape (k,).

    An observation left out is missed by more than its residual: to first order its squared error
    grows by twice the variance of the prediction (leave-one-out, Mallows' C_p). The expected
    squared error counts that variance once, so a component must lower it by its own variance
    over the observed entries to be of use. The bound would let weak components that are of use
    go as well, because q(U) q(V) lacks the correlation of a component's two sides. At least one
    component stays unless there are biases.
    """
    fit = error_increase(state.cols, V)[: state.rank] - own_variance(state, cols, V)
    dead = (fit <= 0.0) & (removal_gains(state, rows, cols, prior, U, V) > 0.0)
    if dead.all() and not state.biased:
        dead[np.argmax(fit)] = False
    return dead


def own_variance(state: State, cols: Side, V: FactorUpdate) -> Array:
    """Variance of u_ir v_jr, summed over the observed entries, shape (k,)."""
    k, own = state.rank, packed_diagonal(state.cols.rank)
    squares = state.cols.rows**2 + state.cols.variances
    total = np.einsum("jr,jr->r", V.sums.grams[:, own], squares)[:k]
    means = contiguous(state.rows.rows[:, :k] ** 2)
    _, weights = cols.seen(V.weighting)
    sums = cols.backend.row_sums(cols.entries, means, weights)
    if V.weighting.zeros:
        sums += V.weighting.zeros * means.sum(axis=0)
    return total - np.einsum("jr,jr->r", sums, state.cols.rows[:, :k] ** 2)


def removal_gains(
    state: State, rows: Side, cols: Side, prior: Prior, U: FactorUpdate, V: FactorUpdate
) -> Array:
    """How much the bound gains if a component is dropped and nothing else changes, shape (k,).

    Exact for the `column` and `row` families; for `joint` the entropy that a component takes
    along is that of its conditionals row by row, which overstates it a little.

    Parameters
    ----------
    state : State
        After a sweep.
    U, V : FactorUpdate
        The updates of that sweep; V came last, so its sums belong to the state.
    """
    k, lam = state.rank, state.lam
    # Plain noise has been updated since; weights have not, and hold for the tau they came with.
    tau = float(state.tau.mean) if prior.likelihood.is_plain else V.weighting.tau
    gains = -0.5 * tau * error_increase(state.cols, V)[:k]
    for factors, side, update in ((state.rows, rows, U), (state.cols, cols, V)):
        n = len(factors.mean)
        energy = np.diag(factors.energy)[:k]
        gains -= 0.5 * (n * lam.mean_log + side.prior.log_det - lam.mean * energy)
        gains -= 0.5 * (n - update.component_log_det[:k])
    return gains + lam.divergence(prior.c0, prior.d0)


def error_increase(cols: Factors, V: FactorUpdate) -> Array:
    """Growth of ⟨‖Ω∘(M − UVᵀ)‖²⟩ when a component of V is set to zero, shape (k,)."""
    k = cols.rank
    r, s = np.tril_indices(k)
    sums = np.einsum("it,it->t", V.sums.grams, cols.covariance.moments(cols.rows))
    own = sums[packed_diagonal(k)]
    pairs = np.bincount(r, sums, k) + np.bincount(s, sums, k) - own
    # Of Σ_st H_st S_st, the terms with s = r or t = r: twice the pairs, the diagonal once.
    return 2.0 * np.einsum("ir,ir->r", cols.rows, V.sums.targets) - (2.0 * pairs - own)


def drop(state: State, dead: NDArray[np.bool_], prior: Prior, rows: Side, V: FactorUpdate) -> State:
    """The other components: marginals of q, λ as it was, τ of plain noise for the larger error."""
    extra = float(error_increase(state.cols, V)[: state.rank][dead].sum())
    error = state.squared_error + max(extra, 0.0)
    noise = state.noise
    if prior.likelihood.is_plain:
        noise = prior.likelihood.update(noise, Match(rows.entries, error))
    keep = np.append(~dead, np.ones(state.rows.rank - state.rank, dtype=bool))
    return replace(
        state,
        rows=select(state.rows, keep),
        cols=select(state.cols, keep),
        lam=Gamma(state.lam.shape[~dead], state.lam.rate[~dead]),
        tau=noise.tau,
        squared_error=error,
        at_entries=None,
    )


def select(factors: Factors, keep: NDArray[np.bool_]) -> Factors:
    """The marginal of some components; its log-determinant is left to the next update."""
    return Factors(
        contiguous(factors.mean[:, keep]),
        factors.covariance.select(keep),
        np.nan,
        factors.energy[np.ix_(keep, keep)],
    )
