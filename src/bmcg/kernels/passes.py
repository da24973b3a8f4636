"""Kernels run over all rows of a side: fixed chunks, threads, freshly made outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import cpu
from .blocks import LANES
from .threads import Workers, chunk_bounds, even_bounds

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Side:
    """Observed entries grouped by one side, ready for the kernels.

    Attributes
    ----------
    indptr, indices, values : ndarray
        Compressed rows, as in `bmcg.observations.View`.
    pool : Workers
    kernels : module
        `cpu`, or `reference` in tests.
    storage : type
        What second moments are stored in while this side sums them: float64, or float32 for
        half the memory and traffic. Sums are taken in float64 either way.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: Array
    pool: Workers
    kernels: Any = cpu
    storage: type[np.floating[Any]] = np.float64
    _bounds: dict[int, NDArray[np.int64]] = field(default_factory=dict, repr=False)

    @property
    def n(self) -> int:
        """Number of rows of this side."""
        return len(self.indptr) - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """Observations of each row, shape (n,)."""
        return np.diff(self.indptr)

    @cached_property
    def squares(self) -> float:
        """Σ x² over the observed entries."""
        return float(np.einsum("p,p->", self.values, self.values))

    def bounds(self, work: int) -> NDArray[np.int64]:
        """Chunks of rows, where an observation costs `work` operations."""
        if work not in self._bounds:
            self._bounds[work] = chunk_bounds((self.counts + 1) * work)
        return self._bounds[work]


def row_sums(side: Side, S: NDArray[Any]) -> Array:
    """Σ_{j∈Ω_i} S_j for every row i: S (n_other, w) to (n, w)."""
    out = np.empty((side.n, S.shape[1]))
    side.pool.over_rows(
        lambda a, b: side.kernels.row_sums(side.indptr, side.indices, S, out, a, b),
        side.bounds(S.shape[1]),
    )
    return out


def gram_blocks(side: Side, F: Array) -> Array:
    """Σ_{j∈Ω_i} f_j f_jᵀ for every row i: F (n_other, k) to packed (n, k(k+1)/2)."""
    k = F.shape[1]
    width = k * (k + 1) // 2
    out = np.empty((side.n, width))
    side.pool.over_rows(
        lambda a, b: side.kernels.gram_blocks(side.indptr, side.indices, F, out, a, b),
        side.bounds(width),
    )
    return out


def weighted_sums(side: Side, F: NDArray[Any], values: Array | None = None) -> NDArray[Any]:
    """Σ_{j∈Ω_i} x_ij f_j for every row i: F (n_other, k) to (n, k), in F's precision.

    `values` (n_observed,) stands in for the observed ones, in this side's order.
    """
    x = side.values if values is None else values
    out = np.empty((side.n, F.shape[1]), F.dtype)
    side.pool.over_rows(
        lambda a, b: side.kernels.weighted_sums(side.indptr, side.indices, x, F, out, a, b),
        side.bounds(F.shape[1]),
    )
    return out


def affine_sums(
    side: Side,
    F: NDArray[Any],
    own: Array,
    X: NDArray[Any],
    scale: float = 1.0,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """own_i x_i + scale·Σ_{j∈Ω_i} x_ij f_j for every row i, into `out` if given.

    F (n_other, k), own (n,), X and the result (n, k), in X's precision.
    """
    found = np.empty(X.shape, X.dtype) if out is None else out
    side.pool.over_rows(
        lambda a, b: side.kernels.affine_sums(
            side.indptr, side.indices, side.values, F, own, X, scale, found, a, b
        ),
        side.bounds(X.shape[1]),
    )
    return found


def gram_product(side: Side, F: Array, X: Array) -> Array:
    """Σ_{j∈Ω_i} f_j (f_j·x_i) for every row i, matrix-free: X (n, k) to (n, k)."""
    out = np.empty(X.shape)
    side.pool.over_rows(
        lambda a, b: side.kernels.gram_product(side.indptr, side.indices, F, X, out, a, b),
        side.bounds(2 * F.shape[1]),
    )
    return out


def squared_error(side: Side, U: Array, V: Array) -> float:
    """Σ over observed entries of (x_ij − u_i·v_j)²: U (n, k), V (n_other, k)."""
    out = np.empty(side.n)
    side.pool.over_rows(
        lambda a, b: side.kernels.squared_residuals(
            side.indptr, side.indices, side.values, U, V, out, a, b
        ),
        side.bounds(U.shape[1]),
    )
    return float(out.sum())


def block_product(
    pool: Workers, B: Array, X: Array, kernels: Any = cpu, out: Array | None = None
) -> Array:
    """B_i x_i for packed symmetric blocks B (n, k(k+1)/2) and X (n, k), into `out` if given."""
    found = np.empty(X.shape, X.dtype) if out is None else out
    pool.over_rows(
        lambda a, b: kernels.block_product(B, X, found, a, b), even_bounds(len(X), B.shape[1])
    )
    return found


def invert_blocks(pool: Workers, P: Array, kernels: Any = cpu) -> tuple[Array, Array]:
    """Inverses (n, k(k+1)/2) and log-determinants (n,) of packed SPD blocks."""
    out, logdet = np.empty(P.shape), np.empty(len(P))
    work = P.shape[1] * max(1, int(np.sqrt(P.shape[1])))
    pool.over_rows(
        lambda a, b: kernels.invert_blocks(P, out, logdet, a, b), _lane_bounds(len(P), work)
    )
    return out, logdet


def cholesky_blocks(pool: Workers, P: Array, kernels: Any = cpu) -> Array:
    """Lower Cholesky factors (n, k(k+1)/2) of packed positive semidefinite blocks."""
    out = np.empty(P.shape)
    work = P.shape[1] * max(1, int(np.sqrt(P.shape[1])))
    pool.over_rows(lambda a, b: kernels.cholesky_blocks(P, out, a, b), even_bounds(len(P), work))
    return out


def block_products(
    pool: Workers, B: Array, X: Array, kernels: Any = cpu, out: Array | None = None
) -> Array:
    """B_i X_i for packed symmetric blocks B (n, k(k+1)/2), X (n, k, s), into `out` if given."""
    found = np.empty(X.shape, X.dtype) if out is None else out
    work = B.shape[1] * X.shape[2]
    pool.over_rows(
        lambda a, b: kernels.block_products(B, X, found, a, b), even_bounds(len(X), work)
    )
    return found


def lower_products(pool: Workers, L: Array, X: Array, kernels: Any = cpu) -> Array:
    """L_i X_i for packed lower triangles L (n, k(k+1)/2) and X (n, k, s)."""
    out = np.empty(X.shape)
    work = L.shape[1] * X.shape[2]
    pool.over_rows(lambda a, b: kernels.lower_products(L, X, out, a, b), even_bounds(len(X), work))
    return out


def _lane_bounds(n: int, work: int) -> NDArray[np.int64]:
    """Chunks of whole groups of `LANES` blocks: part of a group costs as much as all of it."""
    groups = even_bounds(-(-n // LANES), work * LANES)
    return np.minimum(groups * LANES, n)
