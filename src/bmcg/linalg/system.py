"""The prior of one side as an operator, and the system its means solve together.

A side may have features: U = F B + P with P under the graph prior and B ~ N(0, (βλ_r)⁻¹ I).
(U, B) has the sparse prior precision

    [[ L, −L F ], [ −Fᵀ L, A ]],    A = Fᵀ L F + β I,    log-determinant log|L| + p log β.

A posterior without correlation between rows creeps where U and B are tied: there B is integrated
out, if p is small enough for a Cholesky factor of A, and the prior of U is K = L − L F A⁻¹ Fᵀ L,
used as an operator. Otherwise the p rows of B are nodes like any other, without observations, and
every solve treats U and B at once, which is exact for a posterior that keeps their correlation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from ..graphs.precision import Precision
from ..kernels import passes
from ..kernels.moments import precision_blocks
from ..kernels.passes import Side
from ..kernels.threads import Workers
from ..kernels.vectors import couple
from .cg import Operator, Solution, conjugate_gradient
from .feature_core import FeatureCore, feature_core

Array = NDArray[np.float64]

# Most features whose weights are integrated out by a dense factor.
DENSE_FEATURES = 8192


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

    @property
    def matrix(self) -> sp.csr_array:
        """F as a sparse array of shape (n, p)."""
        side = self.by_node
        return sp.csr_array((side.values, side.indices, side.indptr), shape=(side.n, self.p))


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
    """The prior precision K of one side's nodes: its n rows, and its p features where kept.

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
    row_diagonal : ndarray of shape (n,) or None
        diag K of the rows; None where it is that of L.
    features : FeatureMap or None
    beta : float
        Precision of the features' weights, in units of λ.
    feature_diagonal : ndarray of shape (p,) or None
        diag A, where the features' weights are nodes.
    feature_core : FeatureCore or None
        A preconditioner for A, where the features' weights are nodes.
    feature_root : ndarray of shape (p, p) or None
        Lower Cholesky factor of A, where the weights are integrated out.
    """

    precision: Precision
    coupling: Side | None
    log_det: float
    log_det_error: float = 0.0
    row_diagonal: Array | None = None
    features: FeatureMap | None = None
    beta: float = 1.0
    feature_diagonal: Array | None = None
    feature_core: FeatureCore | None = None
    feature_root: Array | None = None

    @property
    def n_nodes(self) -> int:
        """Rows, and features where they are nodes."""
        return self.precision.n + (0 if self.feature_diagonal is None else self.features.p)  # type: ignore[union-attr]

    @property
    def is_diagonal(self) -> bool:
        """Whether no two nodes are tied."""
        return self.coupling is None and self.features is None

    @property
    def rows_diagonal(self) -> Array:
        """diag K of the rows, shape (n,)."""
        return self.precision.diagonal if self.row_diagonal is None else self.row_diagonal

    @property
    def diagonal(self) -> Array:
        """diag K of all nodes."""
        if self.feature_diagonal is None:
            return self.rows_diagonal
        return np.concatenate((self.rows_diagonal, self.feature_diagonal))

    def graph_product(self, P: Array, out: Array | None = None) -> Array:
        """L P for P (n, w), into `out` where given."""
        if self.coupling is None:
            return np.multiply(self._own(P), P, out=out)
        return passes.affine_sums(self.coupling, P, self.precision.diagonal, P, out=out)

    def _own(self, P: Array) -> Array:
        return self.precision.diagonal[:, None].astype(P.dtype)

    def product(self, X: Array) -> Array:
        """K X for X (n_nodes, w), in X's precision."""
        if self.features is None:
            return self.graph_product(X)
        F = self.features
        if self.feature_root is not None:
            Y = self.graph_product(X)
            weights = self.solve_features(F.backward(Y))
            return Y - self.graph_product(F.forward(weights))
        n, out = self.precision.n, np.empty_like(X)
        U, B = X[:n], X[n:]
        P = passes.affine_sums(F.by_node, B, np.ones(n), U, -1.0)
        Y = self.graph_product(P, out=out[:n])
        passes.affine_sums(F.by_feature, Y, np.full(F.p, self.beta), B, -1.0, out=out[n:])
        return out

    def neighbours(self, X: Array) -> Array:
        """(K − diag K) X, what couples different nodes."""
        if self.features is None:
            assert self.coupling is not None
            return passes.weighted_sums(self.coupling, X)
        out = self.product(X)
        out -= self.diagonal[:, None].astype(X.dtype) * X
        return out

    def solve_features(self, X: Array) -> Array:
        """A⁻¹ X for X (p, w)."""
        assert self.feature_root is not None
        return scipy.linalg.cho_solve((self.feature_root, True), X, check_finite=False)

    def feature_weights(self, X: Array, noise: Array | None = None) -> Array:
        """⟨B⟩ given X = U (or the B in X where it is a node), plus a draw's noise, (p, w)."""
        assert self.features is not None
        if self.feature_root is None:
            return X[self.precision.n :]
        B = self.solve_features(self.features.backward(self.graph_product(X)))
        if noise is not None:
            B += scipy.linalg.solve_triangular(
                self.feature_root, noise, lower=True, trans="T", check_finite=False
            )
        return B

    def noise(self, rng: np.random.Generator, count: int) -> Array:
        """Draws of N(0, K), shape (n_nodes, count)."""
        L = self.precision
        ridge = rng.standard_normal((L.n, count))
        edges = rng.standard_normal((len(L.weights), count))
        own = np.sqrt(L.ridge) * ridge + _incidence(L) @ edges
        if self.features is None:
            return own
        extra = np.sqrt(self.beta) * rng.standard_normal((self.features.p, count))
        extra -= self.features.backward(own)
        if self.feature_root is None:
            return np.concatenate((own, extra))
        # The Schur complement's noise: what the features' own noise leaves unexplained.
        return own + self.graph_product(self.features.forward(self.solve_features(extra)))


def with_features(
    bare: SidePrior, features: FeatureMap, beta: float, integrate: bool = True
) -> SidePrior:
    """The prior with features at the given strength.

    Their weights are integrated out if asked to, and if they are few enough for it.
    """
    L = bare.precision.to_csr()
    F = features.matrix
    LF = sp.csr_array(L @ F)
    diagonal = np.asarray((F * LF).sum(axis=0)).ravel() + beta
    log_det = bare.log_det + features.p * float(np.log(beta))
    common = replace(bare, features=features, beta=beta)
    if not integrate or features.p > DENSE_FEATURES or features.p * bare.precision.n > 5e7:
        core = feature_core(
            lambda X: features.backward(bare.graph_product(features.forward(X))),
            diagonal,
            beta,
            features.by_node.pool,
        )
        return replace(common, log_det=log_det, feature_diagonal=diagonal, feature_core=core)
    A = (F.T @ LF).toarray()
    A[np.diag_indices(features.p)] += beta
    root = scipy.linalg.cholesky(A, lower=True, overwrite_a=True, check_finite=False)
    explained = scipy.linalg.solve_triangular(
        root, LF.T.toarray(), lower=True, overwrite_b=True, check_finite=False
    )
    row_diagonal = bare.precision.diagonal - np.einsum("fi,fi->i", explained, explained)
    return replace(
        common,
        log_det=log_det - 2.0 * float(np.log(np.diag(root)).sum()),
        row_diagonal=row_diagonal,
        feature_root=root,
    )


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
        n, out = len(self.blocks), np.empty_like(X)
        self._block_product(self.blocks, X[:n], out[:n])
        out[n:] = 0.0
        if not self.prior.is_diagonal:
            KX = self.prior.product(X.reshape(len(X), -1))
            # The blocks hold the diagonal of the rows already.
            couple(self.pool, out, KX, X, self._row_diagonal, self.lam)
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
        core = self.prior.feature_core
        if core is not None:
            out[n:] = core.solve(R[n:].reshape(core.p, -1)).reshape(out[n:].shape)
            out[n:] /= self._scale(R)
        return out

    @property
    def remainder(self) -> Operator | None:
        """What Q adds to the preconditioner; None where that is more than what couples nodes."""
        return self.neighbours if self.prior.feature_core is None else None

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
        product = passes.block_product if X.ndim == 2 else passes.block_products
        product(self.pool, blocks, X, out=out)

    @property
    def preconditioner_log_det(self) -> float:
        """Of the preconditioner, which knows more of the features than their diagonal."""
        prior = self.prior
        if prior.feature_core is None or prior.feature_diagonal is None:
            return self.log_det
        known = prior.feature_core.log_det - float(np.log(prior.feature_diagonal).sum())
        return self.log_det + len(self.lam) * known

    def preconditioner_noise(self, rng: np.random.Generator, count: int) -> Array:
        """Vectors (n + p, k, count) made of random signs, with the preconditioner's covariance."""
        n, k = len(self.blocks), len(self.lam)
        out = np.empty((self.prior.n_nodes, k, count))
        factor = passes.cholesky_blocks(self.pool, self.blocks)
        signs = np.sign(rng.random((n, k, count)) - 0.5)
        out[:n] = passes.lower_products(self.pool, factor, signs)
        core = self.prior.feature_core
        if core is not None:
            own = core.noise(rng, k * count).reshape(core.p, k, count)
            out[n:] = np.sqrt(self.lam)[:, None] * own
        return out

    def solve(self, rhs: Array, start: Array | None, gain_tol: float, max_steps: int) -> Solution:
        """Means of all columns together, from a warm start; rhs (n + p, k)."""
        if self.prior.is_diagonal:
            return Solution(self.precondition(rhs), 1, 0.0, 0.0, True)
        return conjugate_gradient(
            self.apply,
            rhs,
            pool=self.pool,
            start=start,
            precondition=self.precondition,
            remainder=self.remainder,
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
    blocks = precision_blocks(pool, tau, grams, prior.rows_diagonal, lam)
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
