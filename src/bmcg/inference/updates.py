"""One update for each variable of the model; each raises the bound or leaves it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..kernels import passes
from ..kernels.passes import Side
from ..linalg.cg import Solution
from ..linalg.engines import VarianceEngine
from ..linalg.spread import Spread
from ..linalg.system import SidePrior, mean_system
from . import design, families
from .families import Family
from .state import Factors, Gamma, State

Array = NDArray[np.float64]


# Below this share of its largest term, the expanded squared error has too few digits left.
CANCELLED = 1e-4


@dataclass(frozen=True)
class Prior:
    """Hyperparameters: Gamma shape and rate of the noise and of the column precisions."""

    a0: float = 1e-6
    b0: float = 1e-6
    c0: float = 1e-6
    d0: float = 1e-6


@dataclass(frozen=True)
class Half:
    """One side of the matrix with all that its update needs.

    Attributes
    ----------
    side : Side
        Its observed entries.
    prior : SidePrior
        K, its prior precision.
    engine : VarianceEngine
    """

    side: Side
    prior: SidePrior
    engine: VarianceEngine


@dataclass(frozen=True)
class FactorUpdate:
    """New factors of a side, with what their update computed on the way.

    Attributes
    ----------
    factors : Factors
    sums : Sums
    spread : Spread
        The covariance in full.
    column_log_det : ndarray of shape (k,)
        Log-determinant that each column takes along when it is dropped.
    solution : Solution
        How the means' solve ended.
    """

    factors: Factors
    sums: design.Sums
    spread: Spread
    column_log_det: Array
    solution: Solution


def update_factors(
    family: Family,
    half: Half,
    other: Factors,
    start: Array | None,
    tau: float,
    lam: Array,
    *,
    biased: bool = False,
    gain_tol: float = 1e-3,
    max_steps: int = 50,
) -> FactorUpdate:
    """q(U) given q(V), ⟨τ⟩ and ⟨λ⟩: equations (34) and (35), all columns together.

    Parameters
    ----------
    family : {"column", "row", "joint"}
    half : Half
    other : Factors
        The other side.
    start : ndarray of shape (n + p, k), optional
        Means to start the solve from.
    tau : float
    lam : ndarray of shape (k,)
        Of this side's columns, its bias last.
    biased : bool
        Whether the last column of either side is a bias.
    gain_tol : float
        The solve stops when a step gains less than this share of its whole gain.
    max_steps : int
    """
    found = design.sums(family, half.side, other, biased)
    system = mean_system(found.grams, tau, lam, half.prior, half.side.pool)
    rhs = np.zeros((half.prior.n_nodes, len(lam)))
    rhs[: half.side.n] = tau * found.targets
    solution = system.solve(rhs, start, gain_tol, max_steps)
    kept = families.covariance(family, half.engine, system, found.grams, tau)
    energy = quadratic_form(half.prior, solution.x) + kept.energy
    factors = Factors(solution.x, kept.spread.cov, kept.log_det, energy)
    return FactorUpdate(factors, found, kept.spread, kept.column_log_det, solution)


def quadratic_form(prior: SidePrior, X: Array) -> Array:
    """Xᵀ K X for X (n + p, k), shape (k, k)."""
    out = X.T @ prior.product(X)
    return (out + out.T) / 2


def expected_squared_error(
    half: Half, update: FactorUpdate, other: Factors, biased: bool = False
) -> float:
    """⟨‖Ω∘(M − UVᵀ)‖²⟩, from the side updated last.

    The expanded square loses digits once the noise is small against the data. It is never
    below the residual of the means, which is summed directly where digits are few.
    """
    U, found = update.factors, update.sums
    linear = float(np.einsum("ir,ir->", U.rows, found.targets))
    quadratic = families.expected_quadratic(half.side.pool, found.grams, U)
    expanded = found.squares - 2.0 * linear + quadratic
    if expanded > CANCELLED * found.squares:
        return expanded
    error = passes.squared_error(
        half.side, design.own_mean(U, biased), design.partner_mean(other, biased)
    )
    return max(expanded, error)


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


def update_tau(prior: Prior, n_observed: int, squared_error: float) -> Gamma:
    """q(τ): equations (43) and (44)."""
    return Gamma(np.asarray(prior.a0 + n_observed / 2), np.asarray(prior.b0 + squared_error / 2))


def sweep(
    family: Family, rows: Half, cols: Half, prior: Prior, state: State, *, gain_tol: float = 1e-3
) -> tuple[State, FactorUpdate, FactorUpdate]:
    """q(U), q(V), q(λ), q(τ), each once, in the paper's order."""
    tau, biased = float(state.tau.mean), state.biased
    U = update_factors(
        family,
        rows,
        state.cols,
        state.rows.mean,
        tau,
        state.row_lam,
        biased=biased,
        gain_tol=gain_tol,
    )
    V = update_factors(
        family,
        cols,
        U.factors,
        state.cols.mean,
        tau,
        state.col_lam,
        biased=biased,
        gain_tol=gain_tol,
    )
    error = expected_squared_error(cols, V, U.factors, biased)
    new = replace(state, rows=U.factors, cols=V.factors, squared_error=error)
    new = update_lambda(prior, new)
    return replace(new, tau=update_tau(prior, len(rows.side.values), error)), U, V
