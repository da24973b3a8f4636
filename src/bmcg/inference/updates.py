"""One update for each variable of the model; each raises the bound or leaves it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..backends import host
from ..likelihoods import Likelihood, Match, Weighting
from ..linalg.cg import Solution
from ..linalg.prior import SidePrior
from ..linalg.spread import Spread
from ..linalg.system import mean_system
from . import design
from .families import Family, posterior_of
from .local import update_and_learn
from .side import Prior, Side
from .state import Factors, Gamma, State, side_lam

Array = NDArray[np.float64]

# Below this share of its largest term, the expanded squared error has too few digits left.
CANCELLED = 1e-4


@dataclass(frozen=True)
class FactorUpdate:
    """New factors of a side, with what their update computed on the way.

    Attributes
    ----------
    factors : Factors
    sums : Sums
    spread : Spread
        The covariance in full.
    component_log_det : ndarray of shape (k,)
        Log-determinant that each component takes along when it is dropped.
    solution : Solution
        How the means' solve ended.
    weighting : Weighting
        The entries as this update saw them.
    """

    factors: Factors
    sums: design.Sums
    spread: Spread
    component_log_det: Array
    solution: Solution
    weighting: Weighting

    @property
    def steps(self) -> int:
        """Steps of conjugate gradients, of means and draws together."""
        draws = self.spread.solution
        return self.solution.steps + (0 if draws is None else draws.steps)

    @property
    def converged(self) -> bool:
        """Whether no solve ran out of steps."""
        draws = self.spread.solution
        return self.solution.converged and (draws is None or draws.converged)


def update_factors(
    family: Family,
    side: Side,
    other: Factors,
    old: Factors | None,
    weighting: Weighting,
    lam: Array,
    *,
    biased: bool = False,
    gain_tol: float = 1e-3,
    max_steps: int = 50,
) -> FactorUpdate:
    """q(U) given q(V), ⟨τ⟩ and ⟨λ⟩: equations (34) and (35), all components together.

    Parameters
    ----------
    family : {"column", "row", "joint"}
    side : Side
    other : Factors
        The other side.
    old : Factors, optional
        The side's own, from which the solves start.
    weighting : Weighting
        The entries' precisions and targets.
    lam : ndarray of shape (k,)
        Of this side's components, its bias last.
    biased : bool
        Whether the last component of either side is a bias.
    gain_tol : float
        The solve stops when a step gains less than this share of its whole gain.
    max_steps : int
    """
    entries, weights = side.seen(weighting)
    found, tau = design.sums(entries, other, biased, weights, weighting.zeros), weighting.tau
    system = mean_system(found.grams, tau, lam, side.prior)
    rhs = np.zeros_like(found.targets, shape=(side.prior.n_nodes, len(lam)))
    rhs[: entries.n] = tau * found.targets
    mean, draws = (None, None) if old is None else (old.mean, old.draws)
    posterior = posterior_of(family)
    once = posterior.uses_engine and not posterior.kind.rotates
    solution = system.solve(rhs, mean, gain_tol, max_steps, once)
    kept = posterior.covariance(side.engine, system, draws)
    energy = quadratic_form(side.prior, solution.x) + kept.energy
    factors = Factors(solution.x, kept.covariance, kept.log_det, energy, kept.spread.draws)
    return FactorUpdate(factors, found, kept.spread, kept.component_log_det, solution, weighting)


def quadratic_form(prior: SidePrior, X: Array) -> Array:
    """Xᵀ K X for X (n + p, k), shape (k, k)."""
    out = host(X.T @ prior.product(X))
    return (out + out.T) / 2


def expected_squared_error(
    side: Side, update: FactorUpdate, other: Factors, biased: bool = False
) -> float:
    """⟨‖Ω∘(M − UVᵀ)‖²⟩, entries weighted, zeros included, from the side updated last.

    The expanded square loses digits once the noise is small against the data. It is never
    below the residual of the means, which is summed directly where digits are few.
    """
    U, found = update.factors, update.sums
    linear = float(np.einsum("ir,ir->", U.rows, found.targets))
    quadratic = U.covariance.trace(side.backend, found.grams, U.rows)
    expanded = found.squares - 2.0 * linear + quadratic
    if expanded > CANCELLED * found.squares:
        return expanded
    entries, weights = side.seen(update.weighting)
    means = design.as_own(U, biased).rows, design.as_partner(other, biased).rows
    direct = side.backend.squared_error(entries, *means, weights)
    if update.weighting.zeros:
        direct += update.weighting.zeros * design.all_squares(*means)
    return max(expanded, direct)


def update_lambda(prior: Prior, state: State) -> State:
    """q(λ): equations (40) and (41); a bias has a precision of its own."""
    k, m, n = state.rank, len(state.rows.mean), len(state.cols.mean)
    u, v = np.diag(state.rows.energy), np.diag(state.cols.energy)
    lam = Gamma(np.full(k, prior.c0 + (m + n) / 2), prior.d0 + (u[:k] + v[:k]) / 2)
    if not state.biased:
        return replace(state, lam=lam)
    return replace(
        state,
        lam=lam,
        row_bias=Gamma(np.array([prior.c0 + m / 2]), prior.d0 + u[k:] / 2),
        col_bias=Gamma(np.array([prior.c0 + n / 2]), prior.d0 + v[k:] / 2),
    )


def match_of(likelihood: Likelihood, state: State, rows: Side) -> Match:
    """How q matches the observed entries."""
    found = state.at_entries
    if likelihood.is_plain:
        return Match(rows.entries, state.squared_error)
    return Match(rows.entries, moments=lambda: found or design.moments_of(state, rows.entries))


def matched(likelihood: Likelihood, state: State, rows: Side) -> State:
    """The state with the moments of its entries, where the likelihood asks for them."""
    if likelihood.is_plain:
        return state
    return replace(state, at_entries=design.moments_of(state, rows.entries))


def weighting_of(likelihood: Likelihood, state: State, rows: Side) -> Weighting:
    """Weights and targets as the factors see them: the local term is taken off the targets."""
    seen = likelihood.weighting(state.noise, match_of(likelihood, state, rows))
    if state.local is None:
        return seen
    targets = rows.entries.values if seen.targets is None else seen.targets
    own, _ = state.local.at(rows.entries.owners, rows.entries.indices)
    return seen._replace(targets=targets - own)


def update_s(likelihood: Likelihood, state: State, rows: Side) -> State:
    """q(S) given the factors, and its scales; how the entries match follows."""
    entries = rows.entries
    assert state.local is not None
    mean, variance = design.factor_moments(state, entries)
    old, spread = state.local.at(entries.owners, entries.indices)
    match = Match(entries, moments=lambda: (mean + old, variance + spread))
    seen = likelihood.weighting(state.noise, match)
    weights = np.ones(len(mean)) if seen.weights is None else seen.weights
    targets = entries.values if seen.targets is None else seen.targets
    given = entries, seen.tau * weights, targets - mean, rows.backend
    local = update_and_learn(state.local, *given)
    own, spread = local.at(entries.owners, entries.indices)
    found = Match(entries, moments=lambda: (mean + own, variance + spread))
    return replace(
        state,
        local=local,
        at_entries=(found.mean, found.variance),
        squared_error=float(found.squares.sum()),
    )


def update_noise(likelihood: Likelihood, state: State, rows: Side) -> State:
    """The likelihood's own parameters given the factors; with Gaussian noise, q(τ)."""
    noise = likelihood.update(state.noise, match_of(likelihood, state, rows))
    return replace(state, tau=noise.tau, own=noise.own)


def sweep(
    family: Family,
    rows: Side,
    cols: Side,
    prior: Prior,
    state: State,
    *,
    gain_tol: float = 1e-3,
    hold: bool = False,
) -> tuple[State, FactorUpdate, FactorUpdate]:
    """q(U), q(V), q(S), q(λ), q(τ), each once, in the paper's order; q(λ) stays with `hold`.

    Weights and targets are renewed before each side.
    """
    biased, likelihood = state.biased, prior.likelihood
    seen = weighting_of(likelihood, state, rows)
    lam = side_lam(state, "rows").mean
    U = update_factors(
        family, rows, state.cols, state.rows, seen, lam, biased=biased, gain_tol=gain_tol
    )
    new = replace(state, rows=U.factors, at_entries=None)
    seen = weighting_of(likelihood, new, rows)
    lam = side_lam(state, "cols").mean
    V = update_factors(
        family, cols, U.factors, state.cols, seen, lam, biased=biased, gain_tol=gain_tol
    )
    new = replace(new, cols=V.factors)
    if likelihood.is_plain:
        new = replace(new, squared_error=expected_squared_error(cols, V, U.factors, biased))
    # Where there is a local term, how the entries match follows with it.
    renew = matched if state.local is None else update_s
    new = renew(likelihood, new, rows)
    new = new if hold else update_lambda(prior, new)
    return update_noise(likelihood, new, rows), U, V
