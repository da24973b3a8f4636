"""What a posterior keeps of the covariance of its rows, each kind with all that is asked of it.

`Diagonal` holds variances alone, `Blocks` a k×k block for each row. A new kind is one more class
with the same methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend, SparseRows
from ..backends.packed import (
    contiguous,
    multiplicity,
    outer_packed,
    pack,
    packed_diagonal,
    packed_rank,
    unpack,
)

Array = NDArray[np.float64]
Keep = NDArray[np.bool_]

# Numbers of unpacked blocks at a time: they are twice the memory of packed ones.
SLICE = 2_000_000


class Covariance(Protocol):
    """Covariances of n rows of k components."""

    @property
    def array(self) -> Array:
        """What a file keeps."""

    @property
    def rotates(self) -> bool:
        """Whether a rotation of the components stays within this kind."""

    def __len__(self) -> int:
        """Number of rows."""

    @property
    def variances(self) -> Array:
        """Marginal variances, shape (n, k)."""

    @classmethod
    def zeros(cls, n: int, k: int) -> Self:
        """Of n rows that are known exactly."""

    @classmethod
    def of_precision(cls, P: Array, inverse: Array, logs: Array) -> tuple[Self, float]:
        """Of rows with packed precisions P, and the log-determinant of what it stands for.

        `inverse` (n, k(k+1)/2) and `logs` (n,) are the blocks' inverses and log-determinants.
        """

    def grams(
        self, rows: SparseRows, F: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """Σ_{j∈Ω_i} w_ij (f_j f_jᵀ + C_j), packed, and Σ_{j∈Ω_i} w_ij x_ij f_j."""

    def total(self, F: Array) -> Array:
        """Σ_i (f_i f_iᵀ + C_i) over all rows, packed, shape (k(k+1)/2,)."""

    def trace(self, backend: Backend, G: Array, F: Array) -> float:
        """Σ_i tr(G_i (f_i f_iᵀ + C_i)) for packed G."""

    def root(self, backend: Backend) -> Callable[[Array], Array]:
        """The map from standard normal noise (n, k, s) to draws of N(0, C_i)."""

    def moments(self, F: Array) -> Array:
        """f_i f_iᵀ + C_i, packed."""

    def factors_of_variance(self, F: Array, at: Any) -> tuple[Array, Array]:
        """A_i and B_j with Var(u_i·v_j) = A_i·B'_j for rows of two sides, (n_at, w) each.

        ūᵀC_v ū + v̄ᵀC_u v̄ + tr(C_u C_v) = tr(⟨uuᵀ⟩ C_v) + tr(C_u v̄v̄ᵀ).
        """

    def select(self, keep: Keep) -> Self:
        """The marginal of some components."""

    def widen(self, extra: int, order: NDArray[np.intp]) -> Self:
        """With `extra` components known exactly added, all then put in the given order."""

    def followed_by(self, array: Array) -> Self:
        """With more rows, as another of this kind holds them."""

    def rotate(self, A: Array) -> Self:
        """Of U A; of `Diagonal` what is left of it on the diagonal."""


@dataclass(frozen=True)
class Diagonal:
    """Variances (n, k): the components of a row are independent."""

    array: Array

    rotates = False

    def __len__(self) -> int:
        return len(self.array)

    @property
    def variances(self) -> Array:
        return self.array

    @classmethod
    def zeros(cls, n: int, k: int) -> Self:
        return cls(np.zeros((n, k)))

    @classmethod
    def of_precision(cls, P: Array, inverse: Array, logs: Array) -> tuple[Self, float]:
        pivots = P[:, packed_diagonal(packed_rank(P.shape[1]))]
        return cls(1.0 / pivots), float(np.log(pivots).sum())

    def grams(
        self, rows: SparseRows, F: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        G, h = rows.backend.gram_and_sums(rows, F, weights)
        G[:, packed_diagonal(F.shape[1])] += rows.backend.row_sums(rows, self.array, weights)
        return G, h

    def total(self, F: Array) -> Array:
        out = pack((F.T @ F)[None])[0]
        out[packed_diagonal(F.shape[1])] += self.array.sum(axis=0)
        return out

    def trace(self, backend: Backend, G: Array, F: Array) -> float:
        # One pass over the blocks: outer products of all rows would be as large again.
        total = np.einsum("ir,ir->", F, backend.block_product(G, contiguous(F)))
        total += np.einsum("ir,ir->", G[:, packed_diagonal(F.shape[1])], self.array)
        return float(total)

    def root(self, backend: Backend) -> Callable[[Array], Array]:
        std = np.sqrt(self.array)[:, :, None]
        return lambda noise: std * noise

    def moments(self, F: Array) -> Array:
        out = outer_packed(F)
        out[:, packed_diagonal(F.shape[1])] += self.array
        return out

    def factors_of_variance(self, F: Array, at: Any) -> tuple[Array, Array]:
        squares, cov = F[at] ** 2, self.array[at]
        return np.hstack((squares + cov, cov)), np.hstack((cov, squares))

    def select(self, keep: Keep) -> Self:
        return type(self)(contiguous(self.array[:, keep]))

    def widen(self, extra: int, order: NDArray[np.intp]) -> Self:
        return type(self)(
            np.hstack((self.array, np.zeros_like(self.array, shape=(len(self), extra)))).take(
                order, axis=1
            )
        )

    def followed_by(self, array: Array) -> Self:
        return type(self)(np.concatenate((self.array, array)))

    def rotate(self, A: Array) -> Self:
        return type(self)(self.array @ A**2)


@dataclass(frozen=True)
class Blocks:
    """Packed blocks (n, k(k+1)/2) of the rows."""

    array: Array

    rotates = True

    def __len__(self) -> int:
        return len(self.array)

    @property
    def _k(self) -> int:
        return packed_rank(self.array.shape[1])

    @property
    def variances(self) -> Array:
        return self.array[:, packed_diagonal(self._k)]

    @classmethod
    def zeros(cls, n: int, k: int) -> Self:
        return cls(np.zeros((n, k * (k + 1) // 2)))

    @classmethod
    def of_precision(cls, P: Array, inverse: Array, logs: Array) -> tuple[Self, float]:
        return cls(inverse), float(logs.sum())

    def grams(
        self, rows: SparseRows, F: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        backend = rows.backend
        S = backend.second_moments(F, self.array, rows.storage)
        values = None if weights is None else weights * rows.values
        return backend.row_sums(rows, S, weights), backend.weighted_sums(rows, F, values)

    def total(self, F: Array) -> Array:
        return pack((F.T @ F)[None])[0] + self.array.sum(axis=0)

    def trace(self, backend: Backend, G: Array, F: Array) -> float:
        return backend.expected_trace(G, F, self.array)

    def root(self, backend: Backend) -> Callable[[Array], Array]:
        lower = backend.cholesky_blocks(self.array)
        return lambda noise: backend.lower_products(lower, noise)

    def moments(self, F: Array) -> Array:
        return outer_packed(F) + self.array

    def factors_of_variance(self, F: Array, at: Any) -> tuple[Array, Array]:
        # Entries off the diagonal stand for two.
        squares, cov, twice = outer_packed(F[at]), self.array[at], multiplicity(F.shape[1])
        return np.hstack(((squares + cov) * twice, cov * twice)), np.hstack((cov, squares))

    def select(self, keep: Keep) -> Self:
        r, s = np.tril_indices(self._k)
        return type(self)(contiguous(self.array[:, keep[r] & keep[s]]))

    def widen(self, extra: int, order: NDArray[np.intp]) -> Self:
        k, place = self._k, np.argsort(order)
        r, s = np.tril_indices(k)
        # New components come between old ones, whose order stays: runs of entries move as one.
        at = place[r] * (place[r] + 1) // 2 + place[s]
        width = (k + extra) * (k + extra + 1) // 2
        out = type(self)(np.zeros_like(self.array, shape=(len(self), width)))
        cuts = np.flatnonzero(np.diff(at) != 1) + 1
        for first, stop in zip([0, *cuts], [*cuts, len(at)], strict=True):
            if stop > first:
                out.array[:, at[first] : at[stop - 1] + 1] = self.array[:, first:stop]
        return out

    def followed_by(self, array: Array) -> Self:
        return type(self)(np.concatenate((self.array, array)))

    def rotate(self, A: Array) -> Self:
        out, step = np.empty_like(self.array), max(1, SLICE // A.size)
        for start in range(0, len(out), step):
            block = slice(start, start + step)
            out[block] = pack(A.T @ unpack(self.array[block]) @ A)
        return type(self)(out)
