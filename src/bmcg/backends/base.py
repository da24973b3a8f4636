"""What the mathematics asks of a machine: whole arrays in, whole arrays out.

A back end decides how the work is cut up, and where it is done; nobody else knows of threads,
chunks or compilers. `reference` is the truth that every other one is held to, operation by
operation, in `tests/backends`.

Blocks are packed lower triangles: entry (r, s), s ≤ r, of a k×k block lies at r(r+1)/2 + s.
Vectors and storage may be float32; sums are taken in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Floats = NDArray[Any]
T = TypeVar("T")


@dataclass(frozen=True)
class SparseRows:
    """A sparse matrix by its rows, on a back end.

    Attributes
    ----------
    indptr, indices, values : ndarray
        Compressed rows, as in `bmcg.observations.View`.
    backend : Backend
    storage : type
        What second moments are stored in while they are summed over these rows: float64, or
        float32 for half the memory and traffic.
    memo : dict
        What the back end remembers of this matrix.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: Array
    backend: Backend
    storage: type[np.floating[Any]] = np.float64
    memo: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """Entries of each row, shape (n,)."""
        return np.diff(self.indptr)

    @cached_property
    def squares(self) -> float:
        """Σ x² over the entries."""
        return float(np.einsum("p,p->", self.values, self.values))


class Random(Protocol):
    """A stream of random numbers."""

    def standard_normal(self, shape: Any) -> Array:
        """Standard normal numbers."""

    def random(self, shape: Any) -> Array:
        """Uniform numbers in [0, 1)."""

    def standard_gamma(self, shape: Any) -> Any:
        """Gamma numbers of rate one, one for each shape."""


class Backend(Protocol):
    """The operations. Ω_i are the entries of row i of a `SparseRows`, n rows of n_other columns."""

    name: str

    # Sums over the entries of each row.
    def row_sums(self, rows: SparseRows, S: Floats, weights: Array | None = None) -> Array:
        """Σ_{j∈Ω_i} w_ij S_j: S (n_other, w), weights (n_entries,) or ones, to (n, w)."""

    def weighted_sums(self, rows: SparseRows, F: Floats, values: Array | None = None) -> Floats:
        """Σ_{j∈Ω_i} x_ij f_j, other values (n_entries,) if given: F (n_other, k) to (n, k)."""

    def affine_sums(
        self,
        rows: SparseRows,
        F: Floats,
        own: Array,
        X: Floats,
        scale: float = 1.0,
        out: Floats | None = None,
    ) -> Floats:
        """own_i x_i + scale·Σ_{j∈Ω_i} x_ij f_j: own (n,), X and the result (n, k)."""

    def gram_and_sums(
        self, rows: SparseRows, F: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """Σ_{j∈Ω_i} w_ij f_j f_jᵀ, packed, and Σ_{j∈Ω_i} w_ij x_ij f_j."""

    def gram_product(self, rows: SparseRows, F: Array, X: Array) -> Array:
        """Σ_{j∈Ω_i} f_j (f_j·x_i), no block formed: F (n_other, k), X (n, k) to (n, k)."""

    # At the entries.
    def entry_products(self, rows: SparseRows, U: Array, V: Array) -> Array:
        """u_i·v_j at every entry, in the rows' order, shape (n_entries,)."""

    def squared_error(
        self, rows: SparseRows, U: Array, V: Array, weights: Array | None = None
    ) -> float:
        """Σ w_ij (x_ij − u_i·v_j)² over the entries."""

    def residual_sums(self, rows: SparseRows, U: Array, V: Array) -> tuple[Array, float]:
        """Σ_{j∈Ω_i} e_ij v_j, (n, k), and Σ e_ij², with e_ij = x_ij − u_i·v_j."""

    def rank_one_moments(
        self, rows: SparseRows, E: Array, order: NDArray[np.intp], a: Array, b: Array
    ) -> tuple[Array, Array]:
        """Σ_j (e_ij + a_i b_j) b_j and Σ_j b_j², (n,) each; entry p of the rows is E[order[p]]."""

    def rank_one_shift(
        self, rows: SparseRows, E: Array, order: NDArray[np.intp], change: Array, b: Array
    ) -> None:
        """e_ij −= change_i b_j at the entries, in place."""

    # Packed blocks, one for each row.
    def block_product(self, B: Array, X: Floats, out: Floats | None = None) -> Floats:
        """B_i x_i for symmetric blocks: X (n, k), or (n, k, s) for s vectors at once."""

    def lower_products(self, L: Array, X: Array) -> Array:
        """L_i X_i for lower triangles: X (n, k, s)."""

    def invert_blocks(self, P: Array) -> tuple[Array, Array]:
        """P_i⁻¹ and log|P_i| (n,), which is NaN where a block is not positive definite."""

    def cholesky_blocks(self, P: Array) -> Array:
        """Lower Cholesky factors of positive semidefinite blocks; a lost pivot is zero."""

    def draw_rows(self, P: Array, h: Array, z: Array) -> Array:
        """P_i⁻¹ h_i + L_i⁻ᵀ z_i with P_i = L_i L_iᵀ, from standard normal z: (n, k) each."""

    def second_moments(self, F: Array, C: Array, storage: Any = np.float64) -> Floats:
        """f_i f_iᵀ + C_i, stored as asked."""

    def precision_blocks(self, tau: float, G: Array, own: Array, lam: Array) -> Array:
        """τ G_i + own_i Λ: own (n,), lam (k,)."""

    def expected_trace(self, G: Array, F: Array, C: Array) -> float:
        """Σ_i tr(G_i (f_i f_iᵀ + C_i))."""

    def log_diagonals(self, P: Array, k: int) -> Array:
        """Σ_i log P_i,rr, shape (k,)."""

    # Vectors of conjugate gradients, (n, ...): the last index modulo `systems` tells systems apart.
    def inner(self, a: Floats, b: Floats, systems: int) -> Array:
        """Inner product of each system, shape (systems,)."""

    def advance(self, x: Floats, r: Floats, p: Floats, q: Floats, alpha: Array) -> None:
        """x += α p and r −= α q in place, α (systems,)."""

    def redirect(self, p: Floats, z: Floats, beta: Array, more: Floats | None = None) -> None:
        """p = z + more + β p in place, β (systems,)."""

    def couple(self, out: Floats, Y: Floats, X: Floats, own: Array, lam: Array) -> None:
        """out_i += λ (y_i − own_i x_i) in place: (n, k) or (n, k, s), own (n,), lam (k,)."""

    # Draws z (n, k, s).
    def local_estimate(self, L: Any, D: Array, lam: Array, z: Array, Qz: Array) -> Array:
        """diag (diag(D_r) + λ_r L)⁻¹ from draws, (n, k).

        L holds compressed rows (`indptr`, `indices`, `data`), every diagonal entry stored.
        """

    def edge_spread(self, heads: NDArray[Any], tails: NDArray[Any], z: Floats) -> Array:
        """Mean squares of z_head − z_tail over the draws, (n_edges, k)."""

    # Everything else.
    def random(self, seed: Sequence[int]) -> Random:
        """A stream of random numbers of its own."""

    def map(self, function: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
        """`function` of each item, at once where that helps; results in the items' order."""
