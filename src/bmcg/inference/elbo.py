"""The evidence lower bound, every constant included."""

from __future__ import annotations

from math import log, pi

import numpy as np
from scipy.special import digamma, gammaln

from .state import Factors, Gamma, State
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
    log_tau = _mean_log(state.tau)
    likelihood = 0.5 * n_observed * (float(log_tau) - LOG_2PI) - 0.5 * float(
        state.tau.mean * state.squared_error
    )
    return (
        likelihood
        + _factors(state.rows, rows, state.lam)
        + _factors(state.cols, cols, state.lam)
        - gamma_divergence(state.lam, prior.c0, prior.d0)
        - gamma_divergence(state.tau, prior.a0, prior.b0)
    )


def _factors(factors: Factors, half: Half, lam: Gamma) -> float:
    """⟨ln p(U|λ)⟩ − ⟨ln q(U)⟩; the terms in ln 2π cancel."""
    n, k = factors.mean.shape
    prior = 0.5 * (
        n * float(np.sum(_mean_log(lam)))
        + k * half.prior.log_det
        - float(lam.mean @ np.diag(factors.energy))
    )
    return prior + 0.5 * (n * k - factors.log_det)


def _mean_log(gamma: Gamma) -> np.ndarray:
    return digamma(gamma.shape) - np.log(gamma.rate)


def gamma_divergence(q: Gamma, shape: float, rate: float) -> float:
    """KL(q ‖ Gamma(shape, rate)), summed over all entries of q."""
    terms = (
        (q.shape - shape) * digamma(q.shape)
        - gammaln(q.shape)
        + gammaln(shape)
        + shape * (np.log(q.rate) - log(rate))
        + q.shape * (rate - q.rate) / q.rate
    )
    return float(np.sum(terms))
