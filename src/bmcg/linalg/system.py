"""The system that the means of one side solve together: Q = τ·blockdiag(G_i) + K⊗Λ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Pair, Random
from .cg import Operator, Solution, conjugate_gradient
from .prior import SidePrior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MeanSystem:
    """Q = τ·blockdiag(G_i) + K⊗Λ with its block-Jacobi preconditioner.

    Attributes
    ----------
    prior : SidePrior
    grams : ndarray of shape (n, k(k+1)/2)
        G_i, packed.
    tau : float
    blocks : ndarray of shape (n, k(k+1)/2)
        P_i = τG_i + K_ii Λ of the n rows, packed.
    lam : ndarray of shape (k,)
    """

    prior: SidePrior
    grams: Array
    tau: float
    blocks: Array
    lam: Array

    @property
    def inverse(self) -> Array:
        """P_i⁻¹, packed, shape (n, k(k+1)/2); made when it is first asked for."""
        return self._inverted[0]

    @property
    def log_det(self) -> float:
        """Σ_i log|P_i| over all nodes."""
        logs = float(self._inverted[1].sum())
        return logs + float(self.prior.node_logs(self.lam).sum())

    @cached_property
    def _inverted(self) -> Pair:
        inverse, logs = self.prior.backend.invert_blocks(self.blocks)
        return inverse, _checked(logs)

    @property
    def data_blocks(self) -> Array:
        """τG_i, the blocks without the prior, packed."""
        return self.tau * self.grams

    def apply(self, X: Array) -> Array:
        """Q X for X of shape (n + p, k), or (n + p, k, s) for s vectors at once."""
        n, out = len(self.blocks), np.empty_like(X)
        self._block_product(self.blocks, X[:n], out[:n])
        out[n:] = 0.0
        if not self.prior.is_diagonal:
            KX = self.prior.product(X.reshape(len(X), -1))
            # The blocks hold the diagonal of the rows already.
            self.prior.backend.couple(out, KX, X, self._row_diagonal, self.lam)
        return out

    def neighbours(self, X: Array) -> Array:
        """The part of Q X that couples different nodes."""
        found = self.prior.neighbours(X.reshape(len(X), -1)).reshape(X.shape)
        found *= self._scale(X)
        return found

    def precondition(self, R: Array) -> Array:
        """P_i⁻¹ r_i for every node."""
        n, out = len(self.blocks), np.empty_like(R)
        self._block_product(self.inverse, R[:n], out[:n])
        core = self.prior.core
        if core is not None:
            out[n:] = core.solve(R[n:].reshape(core.p, -1)).reshape(out[n:].shape)
            out[n:] /= self._scale(R)
        return out

    @property
    def remainder(self) -> Operator | None:
        """What Q adds to the preconditioner; None where that is more than what couples nodes."""
        return self.neighbours if self.prior.core is None else None

    @cached_property
    def _row_diagonal(self) -> Array:
        """diag K of the rows; zero for features, which have no block."""
        return np.concatenate(
            (self.prior.rows_diagonal, np.zeros(self.prior.n_nodes - len(self.blocks)))
        )

    def _scale(self, X: Array) -> Array:
        lam = self.lam.astype(X.dtype)
        return lam if X.ndim == 2 else lam[:, None]

    def _block_product(self, blocks: Array, X: Array, out: Array) -> None:
        self.prior.backend.block_product(blocks, X, out=out)

    @property
    def preconditioner_log_det(self) -> float:
        """Of the preconditioner, which knows more of the features than their diagonal."""
        core = self.prior.core
        if core is None:
            return self.log_det
        known = core.log_det - float(np.log(self.prior.node_diagonal).sum())
        return self.log_det + len(self.lam) * known

    def preconditioner_noise(self, rng: Random, count: int) -> Array:
        """Vectors (n + p, k, count) made of random signs, with the preconditioner's covariance."""
        n, k = len(self.blocks), len(self.lam)
        factor = self.prior.backend.cholesky_blocks(self.blocks)
        signs = np.sign(rng.random((n, k, count)) - 0.5)
        out = np.empty_like(signs, shape=(self.prior.n_nodes, k, count))
        out[:n] = self.prior.backend.lower_products(factor, signs)
        core = self.prior.core
        if core is not None:
            own = core.noise(rng, k * count).reshape(core.p, k, count)
            out[n:] = np.sqrt(self.lam)[:, None] * own
        return out

    def solve(
        self,
        rhs: Array,
        start: Array | None,
        gain_tol: float,
        max_steps: int,
        once: bool = False,
    ) -> Solution:
        """Means of all components together, from a warm start; rhs (n + p, k).

        `once` says that nobody will ask for the inverse, which costs three times a solve.
        """
        if self.prior.is_diagonal and once:
            x, logs = self.prior.backend.solve_blocks(self.blocks, rhs)
            _checked(logs)
            return Solution(x, 1, 0.0, 0.0, True)
        if self.prior.is_diagonal:
            return Solution(self.precondition(rhs), 1, 0.0, 0.0, True)
        return conjugate_gradient(
            self.apply,
            rhs,
            backend=self.prior.backend,
            start=start,
            precondition=self.precondition,
            remainder=self.remainder,
            gain_tol=gain_tol,
            residual_tol=1e-12,
            max_steps=max_steps,
        )


def mean_system(grams: Array, tau: float, lam: Array, prior: SidePrior) -> MeanSystem:
    """Assemble the system of one side.

    Parameters
    ----------
    grams : ndarray of shape (n, k(k+1)/2)
        G_i = Σ_{j∈Ω_i} w_ij ⟨v_j v_jᵀ⟩, packed.
    tau : float
    lam : ndarray of shape (k,)
    prior : SidePrior
    """
    blocks = prior.backend.precision_blocks(tau, grams, prior.rows_diagonal, lam)
    return MeanSystem(prior, grams, tau, blocks, lam)


def _checked(logs: Array) -> Array:
    """Log-determinants of blocks, which are all positive definite."""
    if not np.isfinite(logs).all():
        raise FloatingPointError(
            "a block of the mean system is not positive definite; the data may span too many "
            "orders of magnitude: rescale it, or raise ridge"
        )
    return logs
