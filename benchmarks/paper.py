"""The paper's algorithm word for word: dense, column by column, O(k·max(m³, n³)) a sweep.

Kept as the plain reference which the fast updates are held to, and as the yardstick of the
benchmarks. Arrays are dense; the mask is a matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bmcg.inference.side import Prior
from bmcg.likelihoods import Gaussian

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PaperState:
    """q of the paper's Section III.

    Attributes
    ----------
    U, V : ndarray of shape (m, k) and (n, k)
        Means.
    S_u, S_v : ndarray of shape (k, m, m) and (k, n, n)
        Covariances Σ_r of the columns.
    lam_shape, lam_rate : ndarray of shape (k,)
    tau_shape, tau_rate : float
    """

    U: Array
    V: Array
    S_u: Array
    S_v: Array
    lam_shape: Array
    lam_rate: Array
    tau_shape: float
    tau_rate: float

    @property
    def lam(self) -> Array:
        """⟨λ⟩, shape (k,)."""
        return self.lam_shape / self.lam_rate

    @property
    def tau(self) -> float:
        """⟨τ⟩."""
        return self.tau_shape / self.tau_rate


def update_u(state: PaperState, M: Array, mask: Array, L_r: Array, r: int) -> PaperState:
    """q(u_r): equations (34) and (35)."""
    U, S_u = state.U.copy(), state.S_u.copy()
    U[:, r], S_u[r] = _column(M, mask, U, state.V, state.S_v[r], L_r, state.tau, state.lam[r], r)
    return replace(state, U=U, S_u=S_u)


def update_v(state: PaperState, M: Array, mask: Array, L_c: Array, r: int) -> PaperState:
    """q(v_r): equations (37) and (38), which are (34) and (35) of the transposed matrix."""
    V, S_v = state.V.copy(), state.S_v.copy()
    V[:, r], S_v[r] = _column(
        M.T, mask.T, V, state.U, state.S_u[r], L_c, state.tau, state.lam[r], r
    )
    return replace(state, V=V, S_v=S_v)


def _column(
    M: Array,
    mask: Array,
    U: Array,
    V: Array,
    S_v: Array,
    L: Array,
    tau: float,
    lam: float,
    r: int,
) -> tuple[Array, Array]:
    v = V[:, r]
    precision = tau * np.diag(mask @ (v**2 + np.diag(S_v))) + lam * L
    covariance: Array = np.linalg.inv(precision).astype(np.float64, copy=False)
    rest = mask * (M - U @ V.T + np.outer(U[:, r], v))
    return tau * covariance @ rest @ v, covariance


def update_lambda(state: PaperState, L_r: Array, L_c: Array, prior: Prior) -> PaperState:
    """q(λ): equations (40) and (41)."""
    size = len(state.U) + len(state.V)
    rate = np.array(
        [
            prior.d0
            + 0.5 * np.trace((state.S_u[r] + np.outer(state.U[:, r], state.U[:, r])) @ L_r)
            + 0.5 * np.trace((state.S_v[r] + np.outer(state.V[:, r], state.V[:, r])) @ L_c)
            for r in range(state.U.shape[1])
        ]
    )
    return replace(state, lam_shape=np.full(len(rate), prior.c0 + size / 2), lam_rate=rate)


def expected_error(state: PaperState, M: Array, mask: Array) -> float:
    """⟨‖Ω∘(M − UVᵀ)‖²⟩."""
    var_u = np.stack([np.diag(S) for S in state.S_u], axis=1)
    var_v = np.stack([np.diag(S) for S in state.S_v], axis=1)
    spread = state.U**2 @ var_v.T + var_u @ (state.V**2).T + var_u @ var_v.T
    return float((mask * ((M - state.U @ state.V.T) ** 2 + spread)).sum())


def update_tau(state: PaperState, M: Array, mask: Array, prior: Prior) -> PaperState:
    """q(τ): equations (43) and (44)."""
    noise = prior.likelihood
    assert isinstance(noise, Gaussian)
    return replace(
        state,
        tau_shape=noise.a0 + mask.sum() / 2,
        tau_rate=noise.b0 + expected_error(state, M, mask) / 2,
    )


def algorithm_one(
    state: PaperState, M: Array, mask: Array, L_r: Array, L_c: Array, prior: Prior
) -> PaperState:
    """Algorithm 1 of the paper, one pass of its loop, without the pruning."""
    for r in range(state.U.shape[1]):
        state = update_u(state, M, mask, L_r, r)
    for r in range(state.U.shape[1]):
        state = update_v(state, M, mask, L_c, r)
    return update_tau(update_lambda(state, L_r, L_c, prior), M, mask, prior)
