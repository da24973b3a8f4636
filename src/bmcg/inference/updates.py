"""One update for each variable of the model; each raises the bound or leaves it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels import passes
from ..kernels.passes import Side
from ..linalg.cg import Solution
from ..linalg.engines import VarianceEngine
from ..linalg.system import SidePrior, mean_system
from . import families
from .families import Family
from .state import Factors, Gamma, State

Array = NDArray[np.float64]


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
        L, its prior precision.
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
    grams : ndarray of shape (n, k(k+1)/2)
    sums : ndarray of shape (n, k)
        h_i = Σ_j x_ij ⟨v_j⟩.
    column_log_det : ndarray of shape (k,)
        Log-determinant that each column takes along when it is dropped.
    solution : Solution
        How the means' solve ended.
    """

    factors: Factors
    grams: Array
    sums: Array
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
    start : ndarray of shape (n, k), optional
        Means to start the solve from.
    tau : float
    lam : ndarray of shape (k,)
    gain_tol : float
        The solve stops when a step gains less than this share of its whole gain.
    max_steps : int
    """
    G = families.grams(family, half.side, other)
    h = passes.weighted_sums(half.side, other.mean)
    system = mean_system(G, tau, lam, half.prior, half.side.pool)
    solution = system.solve(tau * h, start, gain_tol, max_steps)
    cov, log_det, column_log_det, spread = families.covariance(
        family, half.engine, half.prior, system, G, tau
    )
    energy = quadratic_form(half.prior, solution.x) + spread
    factors = Factors(solution.x, cov, log_det, energy)
    return FactorUpdate(factors, G, h, column_log_det, solution)


def quadratic_form(prior: SidePrior, X: Array) -> Array:
    """Xᵀ L X for X (n, k), shape (k, k)."""
    out = X.T @ prior.product(X)
    return (out + out.T) / 2


def expected_squared_error(half: Half, update: FactorUpdate, other: Factors) -> float:
    """⟨‖Ω∘(M − UVᵀ)‖²⟩, from the side updated last.

    The residual of the means is summed directly, and only the variance terms come from the
    Gram blocks: the expanded square would cancel once the noise is small.
    """
    factors = update.factors
    error = passes.squared_error(half.side, factors.mean, other.mean)
    predicted = float(np.einsum("ir,ir->", factors.mean, update.sums))
    total = float(half.side.values @ half.side.values)
    # Σ ⟨(u·v)²⟩ − Σ (ū·v̄)², where the second sum is error − Σx² + 2Σ x ū·v̄.
    spread = families.expected_quadratic(update.grams, factors) - (error - total + 2 * predicted)
    return error + max(spread, 0.0)


def update_lambda(prior: Prior, rows: Factors, cols: Factors) -> Gamma:
    """q(λ): equations (40) and (41)."""
    size = len(rows.mean) + len(cols.mean)
    shape = np.full(rows.rank, prior.c0 + size / 2)
    return Gamma(shape, prior.d0 + np.diag(rows.energy + cols.energy) / 2)


def update_tau(prior: Prior, n_observed: int, squared_error: float) -> Gamma:
    """q(τ): equations (43) and (44)."""
    return Gamma(np.asarray(prior.a0 + n_observed / 2), np.asarray(prior.b0 + squared_error / 2))


def sweep(
    family: Family, rows: Half, cols: Half, prior: Prior, state: State, **solver: float
) -> tuple[State, FactorUpdate, FactorUpdate]:
    """q(U), q(V), q(λ), q(τ), each once, in the paper's order."""
    tau, lam = float(state.tau.mean), state.lam.mean
    U = update_factors(family, rows, state.cols, state.rows.mean, tau, lam, **solver)  # type: ignore[arg-type]
    V = update_factors(family, cols, U.factors, state.cols.mean, tau, lam, **solver)  # type: ignore[arg-type]
    error = expected_squared_error(cols, V, U.factors)
    new = State(
        U.factors,
        V.factors,
        update_lambda(prior, U.factors, V.factors),
        update_tau(prior, len(rows.side.values), error),
        error,
    )
    return new, U, V
