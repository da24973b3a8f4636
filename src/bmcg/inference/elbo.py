"""The evidence lower bound, every constant included."""

from __future__ import annotations

import numpy as np

from .side import Prior, Side
from .state import Factors, Gamma, State, side_lam
from .updates import match_of


def elbo(state: State, rows: Side, cols: Side, prior: Prior) -> float:
    """⟨ln p(M, Θ)⟩ − ⟨ln q(Θ)⟩, equation (30).

    In natural units, for the data as the updates see it.
    """
    gammas = [g for g in (state.lam, state.row_bias, state.col_bias) if g is not None]
    return (
        prior.likelihood.bound(state.noise, match_of(prior.likelihood, state, rows))
        + _factors(state.rows, rows, side_lam(state, "rows"))
        + _factors(state.cols, cols, side_lam(state, "cols"))
        - sum(float(g.divergence(prior.c0, prior.d0).sum()) for g in gammas)
        + (0.0 if state.local is None else state.local.bound)
    )


def _factors(factors: Factors, side: Side, lam: Gamma) -> float:
    """⟨ln p(U|λ)⟩ − ⟨ln q(U)⟩; the terms in ln 2π cancel."""
    n, k = factors.mean.shape
    prior = 0.5 * (
        n * float(np.sum(lam.mean_log))
        + k * side.prior.log_det
        - float(lam.mean @ np.diag(factors.energy))
    )
    return prior + 0.5 * (n * k - factors.log_det)
