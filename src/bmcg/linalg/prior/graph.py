"""The graph prior: U ~ N(0, (L⊗Λ)⁻¹), L the sparse precision of a side's graphs and ridge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...backends import Backend, SparseRows
from ...backends.base import Normals
from ...graphs.precision import Precision

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GraphPrior:
    """K = L over the n rows.

    Attributes
    ----------
    precision : Precision
        L.
    coupling : SparseRows or None
        L off its diagonal, as rows of neighbours; None without edges.
    log_det : float
        log|K|.
    backend : Backend
    log_det_error : float
        Its standard error; zero where it is exact.
    """

    precision: Precision
    coupling: SparseRows | None
    log_det: float
    backend: Backend
    log_det_error: float = 0.0

    features = None
    core = None

    @property
    def n_nodes(self) -> int:
        """Nodes that K is over: the rows."""
        return self.precision.n

    @property
    def is_diagonal(self) -> bool:
        """Whether no two nodes are tied."""
        return self.coupling is None

    @cached_property
    def rows_diagonal(self) -> Array:
        """diag K of the rows, shape (n,)."""
        own: Array = self.backend.array(self.precision.diagonal)
        return own

    @property
    def node_diagonal(self) -> Array:
        """diag K of the nodes that are no rows, shape (p,)."""
        return np.empty(0)

    def node_logs(self, lam: Array) -> Array:
        """Σ log(K_ff λ_r) over the nodes that are no rows, shape (k,)."""
        return np.log(self.node_diagonal).sum() + len(self.node_diagonal) * np.log(lam)

    def product(self, X: Array, out: Array | None = None) -> Array:
        """K X for X (n_nodes, w), in X's precision, into `out` where given."""
        own = self.rows_diagonal
        if self.coupling is None:
            return np.multiply(own[:, None].astype(X.dtype), X, out=out)
        return self.backend.affine_sums(self.coupling, X, own, X, out=out)

    def neighbours(self, X: Array) -> Array:
        """(K − diag K) X, what couples different nodes."""
        assert self.coupling is not None
        return self.backend.weighted_sums(self.coupling, X)

    def noise(self, rng: Normals, count: int) -> Array:
        """Draws of N(0, K), shape (n_nodes, count)."""
        L = self.precision
        ridge = rng.standard_normal((L.n, count))
        edges = rng.standard_normal((len(L.weights), count))
        return np.sqrt(L.ridge) * ridge + self.backend.weighted_sums(self._incidence, edges)

    @cached_property
    def _incidence(self) -> SparseRows:
        """B with L = B Bᵀ + ridge·I, n rows of n_edges columns."""
        L, edge = self.precision, np.arange(len(self.precision.weights), dtype=np.int32)
        root, ends = np.sqrt(L.weights), np.concatenate((L.heads, L.tails))
        order = np.argsort(ends, kind="stable")
        indptr = np.concatenate(([0], np.cumsum(np.bincount(ends, minlength=L.n))))
        indices, values = np.concatenate((edge, edge)), np.concatenate((root, -root))
        return SparseRows(indptr.astype(np.int64), indices[order], values[order], self.backend)


def graph_prior(
    precision: Precision, log_det: float, backend: Backend, log_det_error: float = 0.0
) -> GraphPrior:
    """The prior of a precision whose log-determinant is known."""
    return GraphPrior(precision, off_diagonal(precision, backend), log_det, backend, log_det_error)


def off_diagonal(precision: Precision, backend: Backend) -> SparseRows | None:
    """L without its diagonal, as rows of neighbours; None where there are none."""
    if not precision.has_edges:
        return None
    off = precision.indices != np.repeat(np.arange(precision.n), np.diff(precision.indptr))
    counts = np.diff(precision.indptr) - 1
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return SparseRows(indptr, precision.indices[off], precision.data[off], backend)
