"""The system all means of one side solve together: τ·blockdiag(G) + L⊗Λ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graphs.precision import Precision
from ..kernels import passes
from ..kernels.passes import Side
from ..kernels.reference import packed_diagonal
from ..kernels.threads import Workers
from .cg import Solution, conjugate_gradient

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MeanSystem:
    """Q = τ·blockdiag(G_i) + L⊗Λ with its block-Jacobi preconditioner.

    Attributes
    ----------
    blocks : ndarray of shape (n, k(k+1)/2)
        P_i = τG_i + L_ii Λ, packed.
    inverse : ndarray of shape (n, k(k+1)/2)
        P_i⁻¹, packed.
    log_det : float
        Σ_i log|P_i|.
    coupling : Side or None
        Off-diagonal part of L as rows of neighbours; None without edges.
    lam : ndarray of shape (k,)
    pool : Workers
    """

    blocks: Array
    inverse: Array
    log_det: float
    coupling: Side | None
    lam: Array
    pool: Workers

    def apply(self, X: Array) -> Array:
        """Q X for X of shape (n, k), or (n, k, s) for s vectors at once."""
        out = self._product(self.blocks, X)
        return out if self.coupling is None else out + self.neighbours(X)

    def neighbours(self, X: Array) -> Array:
        """The part of Q X that couples different rows: (L − diag L) X Λ."""
        assert self.coupling is not None
        lam = self.lam if X.ndim == 2 else self.lam[:, None]
        sums = passes.weighted_sums(self.coupling, X.reshape(len(X), -1))
        return sums.reshape(X.shape) * lam

    def precondition(self, R: Array) -> Array:
        """P_i⁻¹ r_i for every row."""
        return self._product(self.inverse, R)

    def _product(self, blocks: Array, X: Array) -> Array:
        product = passes.block_product if X.ndim == 2 else passes.block_products
        return product(self.pool, blocks, X)

    def solve(self, rhs: Array, start: Array | None, gain_tol: float, max_steps: int) -> Solution:
        """Means of all columns together, from a warm start."""
        if self.coupling is None:
            return Solution(self.precondition(rhs), 1, 0.0, 0.0, True)
        return conjugate_gradient(
            self.apply,
            rhs,
            start=start,
            precondition=self.precondition,
            gain_tol=gain_tol,
            residual_tol=1e-12,
            max_steps=max_steps,
        )


@dataclass(frozen=True)
class SidePrior:
    """The prior precision of one side, ready for solves.

    Attributes
    ----------
    precision : Precision
    coupling : Side or None
        L off its diagonal, as rows of neighbours; None without edges.
    log_det : float
        log|L|.
    log_det_error : float
        Its standard error; zero where it is exact.
    """

    precision: Precision
    coupling: Side | None
    log_det: float
    log_det_error: float = 0.0

    def product(self, X: Array) -> Array:
        """L X for X (n, k)."""
        out = self.precision.diagonal[:, None] * X
        if self.coupling is not None:
            out += passes.weighted_sums(self.coupling, X)
        return out


def off_diagonal(precision: Precision, pool: Workers) -> Side | None:
    """L without its diagonal, as rows of neighbours; None where there are none."""
    if not precision.has_edges:
        return None
    off = precision.indices != np.repeat(np.arange(precision.n), np.diff(precision.indptr))
    counts = np.diff(precision.indptr) - 1
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return Side(indptr, precision.indices[off], precision.data[off], pool)


def mean_system(
    grams: Array, tau: float, lam: Array, prior: SidePrior, pool: Workers
) -> MeanSystem:
    """Assemble the system of one side.

    Parameters
    ----------
    grams : ndarray of shape (n, k(k+1)/2)
        G_i = Σ_{j∈Ω_i} ⟨v_j v_jᵀ⟩, packed.
    tau : float
    lam : ndarray of shape (k,)
    prior : SidePrior
    """
    blocks = tau * grams
    blocks[:, packed_diagonal(len(lam))] += prior.precision.diagonal[:, None] * lam
    inverse, logs = passes.invert_blocks(pool, blocks)
    if not np.isfinite(logs).all():
        raise FloatingPointError(
            "a block of the mean system is not positive definite; the data may span too many "
            "orders of magnitude: rescale it, or raise ridge"
        )
    return MeanSystem(blocks, inverse, float(logs.sum()), prior.coupling, lam, pool)
