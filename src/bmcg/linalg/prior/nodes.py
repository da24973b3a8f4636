"""Features with their weights as nodes: (U, B) has the sparse precision

    K = [[ L, −L F ], [ −Fᵀ L, A ]],    A = Fᵀ L F + β I,    log|K| = log|L| + p log β.

The p rows of B are nodes like any other, without observations, and every solve treats U and B at
once: exact for a posterior that keeps their correlation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...backends.base import Normals
from ...graphs.precision import GraphStack
from .core import FeatureCore, feature_core, stiff_directions
from .features import FeatureMap, FeaturePrior
from .graph import GraphPrior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NodesPrior(FeaturePrior):
    """K over the n rows and the p features.

    Attributes
    ----------
    node_diagonal : ndarray of shape (p,)
        diag A.
    core : FeatureCore
        A preconditioner for A.
    log_det : float
        log|K|.
    """

    node_diagonal: Array
    core: FeatureCore
    log_det: float

    @property
    def n_nodes(self) -> int:
        """Rows and features."""
        return self.graph.n_nodes + self.features.p

    @property
    def rows_diagonal(self) -> Array:
        """diag K of the rows, shape (n,)."""
        return self.graph.rows_diagonal

    def node_logs(self, lam: Array) -> Array:
        """Σ_f log(K_ff λ_r) over the features, shape (k,)."""
        return np.log(self.node_diagonal).sum() + len(self.node_diagonal) * np.log(lam)

    def product(self, X: Array) -> Array:
        """K X for X (n + p, w), in X's precision."""
        F, n, out = self.features, self.graph.n_nodes, np.empty_like(X)
        U, B = X[:n], X[n:]
        P = self.backend.affine_sums(F.by_node, B, self._ones, U, -1.0)
        Y = self.graph.product(P, out=out[:n])
        beta = np.full(F.p, self.beta)
        self.backend.affine_sums(F.by_feature, Y, beta, B, -1.0, out=out[n:])
        return out

    @cached_property
    def _ones(self) -> Array:
        ones: Array = self.backend.array(np.ones(self.graph.n_nodes))
        return ones

    def neighbours(self, X: Array) -> Array:
        """(K − diag K) X."""
        out = self.product(X)
        diagonal = np.concatenate((self.rows_diagonal, self.node_diagonal))
        out -= diagonal[:, None].astype(X.dtype) * X
        return out

    def noise(self, rng: Normals, count: int) -> Array:
        """Draws of N(0, K), shape (n + p, count)."""
        return np.concatenate(self._joint_noise(rng, count))

    def feature_weights(self, X: Array, noise: Array | None = None) -> Array:
        """The B in X (n + p, w), which needs no noise of its own, (p, w)."""
        return X[self.graph.n_nodes :]


@dataclass(frozen=True)
class Explained:
    """What features are to each part of a side's precision: Fᵀ L F is linear in the strengths.

    Attributes
    ----------
    diagonals : ndarray of shape (n_graphs + 1, p)
        diag Fᵀ L_g F of each graph, and diag Fᵀ F.
    basis : ndarray of shape (p, r)
        Its stiffest directions at the strengths that a fit starts from: near those at others.
    """

    diagonals: Array
    basis: Array


def explained_by(graph: GraphPrior, features: FeatureMap, stack: GraphStack) -> Explained:
    """Once for all strengths of a side."""
    units = np.eye(len(stack.weights))
    parts = [stack.precision(unit, 0.0).to_csr() for unit in units]
    diagonals = [_diagonal(features, sp.csr_array(part @ features.matrix)) for part in parts]
    diagonals.append(_diagonal(features, features.matrix))
    basis = stiff_directions(_product(graph, features), features.p)
    return Explained(np.array(diagonals), basis)


def nodes_prior(
    graph: GraphPrior,
    features: FeatureMap,
    beta: float,
    own: Array | None = None,
    near: Array | None = None,
) -> NodesPrior:
    """The prior at one strength.

    Parameters
    ----------
    graph : GraphPrior
        L.
    features : FeatureMap
        F.
    beta : float
    own : ndarray of shape (p,), optional
        diag Fᵀ L F, where it is known.
    near : ndarray of shape (p, r), optional
        The stiffest directions of Fᵀ L F at other strengths.
    """
    if own is None:
        LF = sp.csr_array(graph.precision.to_csr() @ features.matrix)
        own = _diagonal(features, LF)
    core = feature_core(_product(graph, features), own + beta, beta, graph.backend, near)
    log_det = graph.log_det + features.p * float(np.log(beta))
    return NodesPrior(graph, features, beta, own + beta, core, log_det)


def _diagonal(features: FeatureMap, LF: sp.csr_array) -> Array:
    found: Array = np.asarray((features.matrix * LF).sum(axis=0)).ravel()
    return found


def _product(graph: GraphPrior, features: FeatureMap) -> Callable[[Array], Array]:
    """X (p, w) to Fᵀ L F X."""
    return lambda X: features.backward(graph.product(features.forward(X)))
