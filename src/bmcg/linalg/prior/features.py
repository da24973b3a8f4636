"""Features of a side's rows as a linear map, and what both priors with features share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...backends import Backend, SparseRows
from ...backends.base import Normals
from ...graphs.precision import Precision
from .graph import GraphPrior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FeatureMap:
    """Features F (n, p).

    Attributes
    ----------
    by_node : SparseRows
        Rows of F.
    by_feature : SparseRows
        Columns of F.
    backend : Backend
    """

    by_node: SparseRows
    by_feature: SparseRows
    backend: Backend

    @property
    def p(self) -> int:
        """Number of features."""
        return self.by_feature.n

    def forward(self, B: Array) -> Array:
        """F B for B (p, w)."""
        return self.backend.weighted_sums(self.by_node, B)

    def backward(self, X: Array) -> Array:
        """Fᵀ X for X (n, w)."""
        return self.backend.weighted_sums(self.by_feature, X)

    @property
    def matrix(self) -> sp.csr_array:
        """F as a sparse array of shape (n, p)."""
        rows = self.by_node
        return sp.csr_array((rows.values, rows.indices, rows.indptr), shape=(rows.n, self.p))


def feature_map(F: sp.csr_array, backend: Backend) -> FeatureMap:
    """Features as a map; F sparse of shape (n, p)."""
    both = [
        SparseRows(
            A.indptr.astype(np.int64), A.indices.astype(np.int32), A.data.astype(float), backend
        )
        for A in (sp.csr_array(F), sp.csr_array(sp.csc_array(F).T))
    ]
    return FeatureMap(both[0], both[1], backend)


@dataclass(frozen=True)
class FeaturePrior:
    """What a prior with features is made of.

    Attributes
    ----------
    graph : GraphPrior
        L.
    features : FeatureMap
        F.
    beta : float
        Precision of the features' weights, in units of λ.
    """

    graph: GraphPrior
    features: FeatureMap
    beta: float

    is_diagonal = False

    @property
    def precision(self) -> Precision:
        """L."""
        return self.graph.precision

    @property
    def backend(self) -> Backend:
        """Where the arithmetic is done."""
        return self.graph.backend

    @property
    def log_det_error(self) -> float:
        """Standard error of the log-determinant."""
        return self.graph.log_det_error

    def _joint_noise(self, rng: Normals, count: int) -> tuple[Array, Array]:
        """Draws with the precision of (U, B) as their covariance, (n, count) and (p, count)."""
        own = self.graph.noise(rng, count)
        extra = np.sqrt(self.beta) * rng.standard_normal((self.features.p, count))
        return own, extra - self.features.backward(own)
