"""Sums of weighted rank-one matrices on observed entries, one vector minimised at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from ..backends import SparseRows
from ..observations import Observations

Array = NDArray[np.float64]

# Weights below this share of the largest are rounding left over by the orthogonal basis.
_NEGLIGIBLE = 1e-10


@dataclass(frozen=True)
class Components:
    """X = Σ_r σ_r u_r v_rᵀ with unit vectors, and its residual.

    Attributes
    ----------
    weights : ndarray of shape (k,)
        σ, none negative.
    U, V : ndarray of shape (k, m) and (k, n)
        One component a row, so that each is contiguous.
    E : ndarray of shape (n_observed,)
        P_Ω(M − X), by row.
    """

    weights: Array
    U: Array
    V: Array
    E: Array

    def objective(self, penalty: float) -> float:
        """½‖P_Ω(M − X)‖² + λ Σ_r σ_r."""
        return 0.5 * float(self.E @ self.E) + penalty * float(self.weights.sum())

    def active(self) -> Components:
        """Without the components of weight zero."""
        keep = self.weights > 0
        return Components(self.weights[keep], self.U[keep], self.V[keep], self.E)


class Solver:
    """The data in both orders, with the steps that need it."""

    def __init__(self, observations: Observations, views: tuple[SparseRows, SparseRows]) -> None:
        self._observations = observations
        self._views = views
        by_col = observations.col_order
        self._orders = np.arange(len(by_col)), by_col

    def nothing(self) -> Components:
        """X = 0."""
        m, n = self._observations.shape
        values = self._observations.values
        return Components(np.empty(0), np.empty((0, m)), np.empty((0, n)), values.copy())

    def admit(
        self, found: Components, threshold: float, room: int, rng: np.random.Generator
    ) -> Components:
        """Add, with weight zero, singular vectors of the residual whose values pass a threshold."""
        room = min(room, *self._observations.shape)
        if room < 1:
            return found
        E = self._observations.with_values(found.E).to_csr()
        # At the optimum every active component has the penalty as its singular value of E: a
        # cluster that exact methods take long to resolve, and that need not be resolved.
        seed = int(rng.integers(2**31))
        U, s, Vt = randomized_svd(E, room, n_iter=8, random_state=seed)
        new = s > threshold
        return Components(
            np.concatenate((found.weights, np.zeros(int(new.sum())))),
            np.vstack((found.U, U[:, new].T)),
            np.vstack((found.V, Vt[new])),
            found.E,
        )

    def sweep(self, found: Components, penalty: float) -> Components:
        """Each vector of each component once; components whose weight falls to zero leave."""
        weights, U, V, E = (array.copy() for array in vars(found).values())
        for r in range(len(weights)):
            for side, order, own, other in zip(
                self._views, self._orders, (U, V), (V, U), strict=True
            ):
                old = weights[r] * own[r]
                c, d = side.backend.rank_one_moments(side, E, order, old, other[r])
                new = minimiser(c, d, penalty)
                side.backend.rank_one_shift(side, E, order, new - old, other[r])
                weights[r] = np.linalg.norm(new)
                if weights[r] == 0:
                    break
                own[r] = new / weights[r]
        return Components(weights, U, V, E).active()


def minimiser(c: Array, d: Array, penalty: float) -> Array:
    """The vector a that minimises ½ Σ d_i a_i² − Σ c_i a_i + λ‖a‖.

    a_i = c_i t / (d_i t + λ), where t = ‖a‖ solves Σ c_i² / (d_i t + λ)² = 1; zero when
    ‖c‖ ≤ λ.

    Parameters
    ----------
    c, d : ndarray of shape (n,)
        d is not negative, and c is zero where d is.
    penalty : float
        λ.
    """
    if penalty == 0:
        return np.divide(c, d, out=np.zeros_like(c), where=d > 0)
    if np.linalg.norm(c) <= penalty:
        return np.zeros_like(c)
    t = _norm_of_minimiser(c, d, penalty)
    return c * t / (d * t + penalty)


def _norm_of_minimiser(c: Array, d: Array, penalty: float) -> float:
    """Newton's method on g(t)^(−1/2) = 1, g(t) = Σ c_i²/(d_i t + λ)², which is nearly linear.

    The function is concave and increasing, so from t = 0 the iterates never pass the root.
    """
    t = 0.0
    for _ in range(100):
        scaled = c / (d * t + penalty)
        g = float(scaled @ scaled)
        slope = float((scaled * scaled) @ (d / (d * t + penalty))) / g**1.5
        step = (1.0 - g**-0.5) / slope
        t += step
        if abs(step) <= 1e-14 * t:
            break
    return t


def orthogonalise(found: Components) -> Components:
    """The same matrix by its singular vectors: no other weights have a smaller sum."""
    if len(found.weights) == 0:
        return found
    Q, R = np.linalg.qr(found.U.T)
    S, T = np.linalg.qr(found.V.T)
    left, weights, right = np.linalg.svd((R * found.weights) @ T.T)
    keep = weights > _NEGLIGIBLE * weights[0]
    U, V = (Q @ left[:, keep]).T.copy(), (S @ right[keep].T).T.copy()
    return Components(weights[keep], U, V, found.E)
