"""A preconditioner for the weights of features: their precision A as D + V H Vᵀ.

A = Fᵀ L F + β I has a few directions far stiffer than the rest wherever most rows share some
features. Its diagonal alone sees none of them, and a solve takes two to three times as many steps.
V holds about the stiffest directions, found by subspace iteration, D what they leave of the
diagonal; by Woodbury's identity the inverse costs two thin products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ...backends import Backend
from ...backends.base import Random, host

Array = NDArray[np.float64]

# Stiff directions taken out, and the most numbers that they may hold.
DIRECTIONS = 48
MAX_BASIS = 4_000_000
POWER_STEPS = 2
# Enough from directions that were the stiffest at other strengths.
STEPS_FROM_NEAR = 1
# Right-hand sides of one thin product: fixed, so that threads do not change a rounding.
COLUMNS = 64


@dataclass(frozen=True)
class FeatureCore:
    """D + V diag(h) Vᵀ, positive definite.

    Attributes
    ----------
    own : ndarray of shape (p,)
        D.
    basis : ndarray of shape (p, r)
        V, orthonormal columns.
    stiffness : ndarray of shape (r,)
        h.
    inner_inverse : ndarray of shape (r, r)
        (diag(1/h) + Vᵀ D⁻¹ V)⁻¹.
    log_det : float
    backend : Backend
    """

    own: Array
    basis: Array
    stiffness: Array
    inner_inverse: Array
    log_det: float
    backend: Backend

    @property
    def p(self) -> int:
        """Number of features."""
        return len(self.own)

    def solve(self, Y: Array) -> Array:
        """The inverse times Y (p, w), in Y's precision."""
        out = Y / self.own[:, None].astype(Y.dtype)
        if not len(self.stiffness):
            return out
        V, C = self.basis.astype(Y.dtype), self.inner_inverse.astype(Y.dtype)
        own = self.own[:, None].astype(Y.dtype)

        def correct(first: int) -> None:
            part = out[:, first : first + COLUMNS]
            part -= (V @ (C @ (V.T @ part))) / own

        self.backend.map(correct, range(0, Y.shape[1], COLUMNS))
        return out

    def noise(self, rng: Random, count: int) -> Array:
        """Vectors (p, count) made of random signs, with the covariance D + V diag(h) Vᵀ."""
        own, extra = _signs(rng, self.p, count), _signs(rng, len(self.stiffness), count)
        return np.sqrt(self.own)[:, None] * own + self.basis @ (
            np.sqrt(self.stiffness)[:, None] * extra
        )


def feature_core(
    explained: Callable[[Array], Array],
    diagonal: Array,
    beta: float,
    backend: Backend,
    near: Array | None = None,
) -> FeatureCore:
    """The core of A = Fᵀ L F + β I.

    Parameters
    ----------
    explained : callable
        X (p, w) to Fᵀ L F X.
    diagonal : ndarray of shape (p,)
        diag A.
    beta : float
    backend : Backend
    near : ndarray of shape (p, r), optional
        The stiffest directions at other strengths, to begin from.
    """
    p = len(diagonal)
    V, h = _stiffest(explained, p, near)
    # Where V is not quite invariant the rest may seem negative; A is at least β everywhere.
    own = np.maximum(diagonal - np.einsum("pr,pr,r->p", V, V, h), beta)
    inner = np.diag(1.0 / h) + V.T @ (V / own[:, None])
    root = scipy.linalg.cholesky(inner, lower=True) if len(h) else np.empty((0, 0))
    inverse = scipy.linalg.cho_solve((root, True), np.eye(len(h))) if len(h) else root
    log_det = np.log(own).sum() + np.log(h).sum() + 2.0 * np.log(np.diag(root)).sum()
    on = backend.array
    return FeatureCore(on(own), on(V), on(h), on(inverse), float(log_det), backend)


def stiff_directions(explained: Callable[[Array], Array], p: int) -> Array:
    """About the stiffest directions of Fᵀ L F, orthonormal, shape (p, r)."""
    count = min(DIRECTIONS, p // 4, MAX_BASIS // max(p, 1))
    if count < 1:
        return np.empty((p, 0))
    V = np.linalg.qr(np.random.default_rng(0).standard_normal((p, count)))[0]
    return _powered(explained, V, POWER_STEPS)


def _powered(explained: Callable[[Array], Array], V: Array, steps: int) -> Array:
    for _ in range(steps):
        V = np.linalg.qr(host(explained(V)))[0]
    return V


def _stiffest(
    explained: Callable[[Array], Array], p: int, near: Array | None = None
) -> tuple[Array, Array]:
    """About the largest eigenvalues of Fᵀ L F (r,) and their vectors (p, r)."""
    if near is None:
        V = stiff_directions(explained, p)
    else:
        V = _powered(explained, near, STEPS_FROM_NEAR) if near.size else near
    if not V.size:
        return np.empty((p, 0)), np.empty(0)
    H = V.T @ host(explained(V))
    h, Q = np.linalg.eigh((H + H.T) / 2)
    kept = h > 1e-8 * max(h[-1], np.finfo(float).tiny)
    return np.ascontiguousarray(V @ Q[:, kept]), h[kept]


def _signs(rng: Random, n: int, count: int) -> Array:
    return np.sign(rng.random((n, count)) - 0.5)
