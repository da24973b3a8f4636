"""The prior of one side as an operator, and the system its means solve together.

A side may have features: U = F B + P with P under the graph prior and B ~ N(0, (βλ_r)⁻¹ I).
Rather than integrating B out by hand, the p rows of B are nodes like any other, without
observations: (U, B) has the sparse prior precision

    K = [[ L, −L F ], [ −Fᵀ L, Fᵀ L F + β I ]],    log|K| = log|L| + p log β,

and every solve, draw and log-determinant of Q = τ·blockdiag(G) + K⊗Λ treats U and B at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..graphs.precision import Precision
from ..kernels import passes
from ..kernels.passes import Side
from ..kernels.reference import packed_diagonal
from ..kernels.threads import Workers
from .cg import Solution, conjugate_gradient

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FeatureMap:
    """Features F (n, p) of one side's nodes, seen both ways.

    Attributes
    ----------
    by_node : Side
        Rows of F.
    by_feature : Side
        Columns of F.
    """

    by_node: Side
    by_feature: Side

    @property
    def p(self) -> int:
        """Number of features."""
        return self.by_feature.n

    def forward(self, B: Array) -> Array:
        """F B for B (p, w)."""
        return passes.weighted_sums(self.by_node, B)

    def backward(self, X: Array) -> Array:
        """Fᵀ X for X (n, w)."""
        return passes.weighted_sums(self.by_feature, X)

    def quadratic_diagonal(self, L: sp.csr_array) -> Array:
        """diag(Fᵀ L F), shape (p,)."""
        side = self.by_node
        F = sp.csr_array((side.values, side.indices, side.indptr), shape=(side.n, self.p))
        return np.asarray((F * (L @ F)).sum(axis=0)).ravel()


def feature_map(F: sp.csr_array, pool: Workers) -> FeatureMap:
    """Features as a map; F sparse of shape (n, p)."""
    rows, cols = sp.csr_array(F), sp.csr_array(sp.csc_array(F).T)
    sides = [
        Side(A.indptr.astype(np.int64), A.indices.astype(np.int32), A.data.astype(float), pool)
        for A in (rows, cols)
    ]
    return FeatureMap(sides[0], sides[1])


@dataclass(frozen=True)
class SidePrior:
    """The prior precision K of one side's nodes: n rows, then p features.

    Attributes
    ----------
    precision : Precision
        L, of the n rows.
    coupling : Side or None
        L off its diagonal, as rows of neighbours; None without edges.
    log_det : float
        log|K|.
    log_det_error : float
        Its standard error; zero where it is exact.
    features : FeatureMap or None
    beta : float
        Precision of the features' weights, in units of λ.
    feature_diagonal : ndarray of shape (p,)
        diag(FᵀLF) + β.
    """

    precision: Precision
    coupling: Side | None
    log_det: float
    log_det_error: float = 0.0
    features: FeatureMap | None = None
    beta: float = 1.0
    feature_diagonal: Array | None = None

    @property
    def n_nodes(self) -> int:
        """n + p."""
        return self.precision.n + (0 if self.features is None else self.features.p)

    @property
    def is_diagonal(self) -> bool:
        """Whether no two nodes are tied."""
        return self.coupling is None and self.features is None

    @property
    def diagonal(self) -> Array:
        """diag K, shape (n + p,)."""
        if self.feature_diagonal is None:
            return self.precision.diagonal
        return np.concatenate((self.precision.diagonal, self.feature_diagonal))

    def residual(self, X: Array) -> Array:
        """P = U − F B for X = (U, B), (n + p, w) to (n, w)."""
        if self.features is None:
            return X
        n = self.precision.n
        return X[:n] - self.features.forward(np.ascontiguousarray(X[n:]))

    def product(self, X: Array) -> Array:
        """K X for X (n + p, w)."""
        P = self.residual(X)
        out = self.precision.diagonal[:, None] * P
        if self.coupling is not None:
            out += passes.weighted_sums(self.coupling, P)
        if self.features is None:
            return out
        return np.concatenate((out, self.beta * X[len(P) :] - self.features.backward(out)))

    def neighbours(self, X: Array) -> Array:
        """(K − diag K) X, what couples different nodes."""
        if self.features is None:
            assert self.coupling is not None
            return passes.weighted_sums(self.coupling, X)
        return self.product(X) - self.diagonal[:, None] * X

    def noise(self, rng: np.random.Generator, count: int) -> Array:
        """Draws of N(0, K), shape (n + p, count)."""
        L = self.precision
        ridge = rng.standard_normal((L.n, count))
        edges = rng.standard_normal((len(L.weights), count))
        own = np.sqrt(L.ridge) * ridge + _incidence(L) @ edges
        if self.features is None:
            return own
        map_noise = np.sqrt(self.beta) * rng.standard_normal((self.features.p, count))
        return np.concatenate((own, map_noise - self.features.backward(own)))


def _incidence(L: Precision) -> sp.csr_array:
    """B with L = B Bᵀ + ridge·I, shape (n, n_edges)."""
    root, edge = np.sqrt(L.weights), np.arange(len(L.weights))
    data = np.concatenate((root, -root))
    where = (np.concatenate((L.heads, L.tails)), np.concatenate((edge, edge)))
    return sp.csr_array((data, where), shape=(L.n, len(edge)))


def off_diagonal(precision: Precision, pool: Workers) -> Side | None:
    """L without its diagonal, as rows of neighbours; None where there are none."""
    if not precision.has_edges:
        return None
    off = precision.indices != np.repeat(np.arange(precision.n), np.diff(precision.indptr))
    counts = np.diff(precision.indptr) - 1
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return Side(indptr, precision.indices[off], precision.data[off], pool)


@dataclass(frozen=True)
class MeanSystem:
    """Q = τ·blockdiag(G_i) + K⊗Λ with its block-Jacobi preconditioner.

    Attributes
    ----------
    prior : SidePrior
    blocks : ndarray of shape (n, k(k+1)/2)
        P_i = τG_i + K_ii Λ of the n rows, packed.
    inverse : ndarray of shape (n, k(k+1)/2)
        P_i⁻¹, packed.
    log_det : float
        Σ_i log|P_i| over all nodes.
    lam : ndarray of shape (k,)
    pool : Workers
    """

    prior: SidePrior
    blocks: Array
    inverse: Array
    log_det: float
    lam: Array
    pool: Workers

    def apply(self, X: Array) -> Array:
        """Q X for X of shape (n + p, k), or (n + p, k, s) for s vectors at once."""
        out = self._block_diagonal(X, self.blocks, invert=False)
        return out if self.prior.is_diagonal else out + self.neighbours(X)

    def neighbours(self, X: Array) -> Array:
        """The part of Q X that couples different nodes."""
        flat = self.prior.neighbours(X.reshape(len(X), -1))
        return flat.reshape(X.shape) * self._scale(X)

    def precondition(self, R: Array) -> Array:
        """P_i⁻¹ r_i for every node."""
        return self._block_diagonal(R, self.inverse, invert=True)

    def _scale(self, X: Array) -> Array:
        return self.lam if X.ndim == 2 else self.lam[:, None]

    def _block_diagonal(self, X: Array, blocks: Array, invert: bool) -> Array:
        n = len(blocks)
        product = passes.block_product if X.ndim == 2 else passes.block_products
        top = product(self.pool, blocks, X[:n])
        if self.prior.feature_diagonal is None:
            return top
        scale = self.prior.feature_diagonal.reshape(-1, *[1] * (X.ndim - 1)) * self._scale(X)
        return np.concatenate((top, X[n:] / scale if invert else X[n:] * scale))

    def solve(self, rhs: Array, start: Array | None, gain_tol: float, max_steps: int) -> Solution:
        """Means of all columns together, from a warm start; rhs (n + p, k)."""
        if self.prior.is_diagonal:
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
    log_det = float(logs.sum())
    if prior.feature_diagonal is not None:
        p = len(prior.feature_diagonal)
        log_det += len(lam) * float(np.log(prior.feature_diagonal).sum())
        log_det += p * float(np.log(lam).sum())
    return MeanSystem(prior, blocks, inverse, log_det, lam, pool)
