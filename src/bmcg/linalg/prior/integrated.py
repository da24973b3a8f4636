"""Features with their weights integrated out: K = L − L F A⁻¹ Fᵀ L, A = Fᵀ L F + β I.

For posteriors without correlation between rows, which would creep where U and B are tied, and
for features few enough for a Cholesky factor of A.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from ...backends.base import Normals, host
from .features import FeatureMap, FeaturePrior
from .graph import GraphPrior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class IntegratedPrior(FeaturePrior):
    """K over the n rows.

    Attributes
    ----------
    root : ndarray of shape (p, p)
        Lower Cholesky factor of A.
    rows_diagonal : ndarray of shape (n,)
        diag K.
    log_det : float
        log|K|.
    """

    root: Array
    rows_diagonal: Array
    log_det: float

    core = None

    @property
    def n_nodes(self) -> int:
        """Nodes that K is over: the rows."""
        return self.graph.n_nodes

    @property
    def node_diagonal(self) -> Array:
        """No node is not a row."""
        return self.graph.node_diagonal

    def node_logs(self, lam: Array) -> Array:
        """Zero: no node is not a row."""
        return self.graph.node_logs(lam)

    def product(self, X: Array) -> Array:
        """K X for X (n, w)."""
        Y = self.graph.product(X)
        weights = self._solve(self.features.backward(Y))
        return Y - self.graph.product(self.features.forward(weights))

    def neighbours(self, X: Array) -> Array:
        """(K − diag K) X."""
        out = self.product(X)
        out -= self.rows_diagonal[:, None].astype(X.dtype) * X
        return out

    def noise(self, rng: Normals, count: int) -> Array:
        """Draws of N(0, K), shape (n, count)."""
        own, extra = self._joint_noise(rng, count)
        # The Schur complement's noise: what the features' own noise leaves unexplained.
        return own + self.graph.product(self.features.forward(self._solve(extra)))

    def feature_weights(self, X: Array, noise: Array | None = None) -> Array:
        """⟨B⟩ given X = U, plus a draw's noise, (p, w)."""
        B = self._solve(self.features.backward(self.graph.product(X)))
        if noise is not None:
            B += scipy.linalg.solve_triangular(
                self.root, host(noise), lower=True, trans="T", check_finite=False
            )
        return B

    def _solve(self, X: Array) -> Array:
        """A⁻¹ X for X (p, w)."""
        found = scipy.linalg.cho_solve((self.root, True), host(X), check_finite=False)
        return self.backend.array(found)


def integrated_prior(
    graph: GraphPrior, features: FeatureMap, beta: float, LF: sp.csr_array
) -> IntegratedPrior:
    """The prior at one strength; LF is L F."""
    A = (features.matrix.T @ LF).toarray()
    A[np.diag_indices(features.p)] += beta
    root = scipy.linalg.cholesky(A, lower=True, overwrite_a=True, check_finite=False)
    explained = scipy.linalg.solve_triangular(
        root, LF.T.toarray(), lower=True, overwrite_b=True, check_finite=False
    )
    diagonal = graph.precision.diagonal - np.einsum("fi,fi->i", explained, explained)
    # log|K| = log|L| + p log β − log|A|.
    log_det = graph.log_det + features.p * float(np.log(beta))
    log_det -= 2.0 * float(np.log(np.diag(root)).sum())
    own = graph.backend.array(diagonal)
    return IntegratedPrior(graph, features, beta, root, own, log_det)
