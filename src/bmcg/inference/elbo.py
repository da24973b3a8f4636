"""The evidence lower bound, every constant included."""

from __future__ import annotations

from math import log, pi

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from .state import Factors, Gamma, State, side_lam
from .updates import Half, Prior

LOG_2PI = log(2 * pi)


def elbo(state: State, rows: Half, cols: Half, prior: Prior) -> float:
    """⟨ln p(M, Θ)⟩ − ⟨ln q(Θ)⟩, equation (30).

    Parameters
    ----------
    state : State
    rows, cols : Half
    prior : Prior

    Returns
    -------
    float
        In natural units, for the data as the updates see it.
    """
    n_observed = len(rows.side.values)
    log_tau = mean_log(state.tau)
    likelihood = 0.5 * n_observed * (float(log_tau) - LOG_2PI) - 0.5 * float(
        state.tau.mean * state.squared_error
    )
    gammas = [g for g in (state.lam, state.row_bias, state.col_bias) if g is not None]
    return (
        likelihood
        + _factors(state.rows, rows, side_lam(state, "rows"))
        + _factors(state.cols, cols, side_lam(state, "cols"))
        - sum(float(gamma_divergences(g, prior.c0, prior.d0).sum()) for g in gammas)
        - float(gamma_divergences(state.tau, prior.a0, prior.b0))
    )


def _factors(factors: Factors, half: Half, lam: Gamma) -> float:
    """⟨ln p(U|λ)⟩ − ⟨ln q(U)⟩; the terms in ln 2π cancel."""
    n, k = factors.mean.shape
    prior = 0.5 * (
        n * float(np.sum(mean_log(lam)))
        + k * half.prior.log_det
        - float(lam.mean @ np.diag(factors.energy))
    )
    return prior + 0.5 * (n * k - factors.log_det)


def mean_log(gamma: Gamma) -> NDArray[np.float64]:
    """⟨ln x⟩."""
    return digamma(gamma.shape) - np.log(gamma.rate)


def gamma_divergences(q: Gamma, shape: float, rate: float) -> NDArray[np.float64]:
    """KL(q ‖ Gamma(shape, rate)) of each entry of q."""
    return (
        (q.shape - shape) * digamma(q.shape)
        - gammaln(q.shape)
        + gammaln(shape)
        + shape * (np.log(q.rate) - log(rate))
        + q.shape * (rate - q.rate) / q.rate
    )
