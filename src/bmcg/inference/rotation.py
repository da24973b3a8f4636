"""The best change of basis UVᵀ = (UA)(VA⁻ᵀ)ᵀ, in closed form.

The likelihood does not see A; the priors and the entropies do. With Φ_u = ⟨UᵀL_rU⟩ and
Φ_v = ⟨VᵀL_cV⟩ and λ at its optimum, the bound depends on A through

    −(m+n)/2 Σ_r log(Φ_u' + Φ_v')_rr + (m − n) log|A|,

whose maximum is where both Φ are diagonal and stand as m to n (Hadamard's inequality, then
the weighted inequality of means). A sweep only creeps towards that basis.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .side import Prior
from .state import Factors, State
from .updates import update_lambda

Array = NDArray[np.float64]


def best_basis(rows: Factors, cols: Factors, k: int) -> Array:
    """A (k, k) that diagonalises and balances both energies of the first k components."""
    m, n = len(rows.mean), len(cols.mean)
    R_u = np.linalg.cholesky(rows.energy[:k, :k]).T
    R_v = np.linalg.cholesky(cols.energy[:k, :k]).T
    X, s, _ = np.linalg.svd(R_u @ R_v.T)
    A = np.linalg.solve(R_u, X * np.sqrt(s * np.sqrt(m / n)))
    # A basis has no signs of its own. With those it had, what is kept of one sweep fits the next.
    return A * np.where(np.diag(A) < 0, -1.0, 1.0)


def best_scales(rows: Factors, cols: Factors, k: int) -> Array:
    """The best diagonal A, shape (k, k): balance alone."""
    m, n = len(rows.mean), len(cols.mean)
    own, other = np.diag(rows.energy)[:k], np.diag(cols.energy)[:k]
    if not (np.minimum(own, other) > 0.0).all():
        # A step was taken on, and measured by a graph whose strength has changed since.
        raise np.linalg.LinAlgError("a component without energy has no best scale")
    ratio = other / own
    return np.diag((ratio * m / n) ** 0.25)


def change_basis(factors: Factors, A: Array) -> Factors:
    """The posterior of U A; components beyond A's stay as they are."""
    full = np.eye(factors.rank)
    full[: len(A), : len(A)] = A
    log_det = factors.log_det - 2 * len(factors.mean) * np.linalg.slogdet(A)[1]
    return replace(
        factors,
        mean=factors.mean @ full,
        covariance=factors.covariance.rotate(full),
        log_det=float(log_det),
        energy=full.T @ factors.energy @ full,
    )


def basis(state: State) -> Array | None:
    """The best change of basis of the shared components, (k, k), or None where there is none.

    A column-wise posterior cannot be rotated without leaving its family, only rescaled.
    """
    if state.rank == 0 or not np.isfinite(state.rows.energy).all():
        # Fresh components have no energy yet; the coming sweep gives them one.
        return None
    free = state.rows.covariance.rotates or state.rank == 1
    choose = best_basis if free else best_scales
    try:
        A = choose(state.rows, state.cols, state.rank)
        np.linalg.inv(A)
    except np.linalg.LinAlgError:
        # A component without energy has no best basis; pruning will take it.
        return None
    return A


def in_basis(state: State, prior: Prior, A: Array | None) -> State:
    """The state in another basis, λ at its optimum there; None leaves it as it is."""
    if A is None:
        return state
    inverse: Array = np.linalg.inv(A).astype(np.float64, copy=False)
    rows, cols = change_basis(state.rows, A), change_basis(state.cols, inverse.T)
    return update_lambda(prior, replace(state, rows=rows, cols=cols))


def rotate(state: State, prior: Prior) -> State:
    """The state in its best basis; the bound does not fall."""
    return in_basis(state, prior, basis(state))
