"""What the mathematics asks of a machine: whole arrays in, whole arrays out.

A back end decides how the work is cut up, and where it is done; nobody else knows of threads,
chunks or compilers. Every operation is written here in plain NumPy, one row at a time, to be read
and to be the truth: in `tests/backends` each back end is held to it, and may leave out none.

Blocks are packed lower triangles: entry (r, s), s ≤ r, of a k×k block lies at r(r+1)/2 + s.
Vectors and storage may be float32; sums are taken in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .packed import contiguous, outer_packed, pack, packed_diagonal, packed_rank, unpack

Array = NDArray[np.float64]
Floats = NDArray[Any]
Pair = tuple[Array, Array]
# One number for each entry, in the rows' order; None for ones.
Weights = Array | None
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
    def owners(self) -> NDArray[np.intp]:
        """Row of each entry, shape (n_entries,)."""
        return np.repeat(np.arange(self.n), self.counts)

    @cached_property
    def squares(self) -> float:
        """Σ x² over the entries."""
        return float(np.einsum("p,p->", self.values, self.values))


def host(x: Any) -> Array:
    """An array of any back end as one of the host, in float64."""
    return np.asarray(x, dtype=np.float64)


class Normals(Protocol):
    """A stream of normal numbers: arrays of the back end."""

    def standard_normal(self, shape: Any) -> Array:
        """Standard normal numbers."""


class Random(Normals, Protocol):
    """A stream of random numbers: arrays of the back end, but for a plain count of the host."""

    def random(self, shape: Any) -> Array:
        """Uniform numbers in [0, 1)."""

    def standard_gamma(self, shape: Any) -> Any:
        """Gamma numbers of rate one, one for each shape."""


class Backend:
    """The operations. Ω_i are the entries of row i of a `SparseRows`, n rows of n_other columns."""

    name = "reference"
    # Whether its arrays are all in the memory of this process.
    on_host = True

    # Arrays, wherever the back end keeps them. Those it makes are its own; functions of NumPy take
    # them and leave them there, and `host` brings one back.
    def array(self, x: Any) -> Any:
        """An array of the host as one of this back end."""
        return x

    def zeros(self, shape: tuple[int, ...]) -> Any:
        """An array of zeros."""
        return np.zeros(shape)

    def keep(self, x: Any, count: int) -> Any:
        """An array in single precision, one of `count` that are kept: here, or on the host."""
        return np.asarray(x).astype(np.float32, copy=False)

    def scaled(self, values: Array, offset: float, scale: float) -> Any:
        """(x − offset) / scale for values of the host."""
        return (values - offset) / scale

    # Sums over the entries of each row.
    def row_sums(self, rows: SparseRows, S: Floats, weights: Weights = None) -> Array:
        """Σ_{j∈Ω_i} w_ij S_j: S (n_other, w), weights (n_entries,) or ones, to (n, w)."""
        w = np.ones(len(rows.values)) if weights is None else weights
        return self.weighted_sums(rows, S.astype(np.float64), w)

    def weighted_sums(self, rows: SparseRows, F: Floats, values: Array | None = None) -> Floats:
        """Σ_{j∈Ω_i} x_ij f_j, other values (n_entries,) if given: F (n_other, k) to (n, k)."""
        x, out = rows.values if values is None else values, np.empty((rows.n, F.shape[1]), F.dtype)
        for i, span, at in self._spans(rows):
            out[i] = x[span] @ F[at]
        return out

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
        found = own[:, None] * X + scale * self.weighted_sums(rows, F)
        return _into(out, found.astype(X.dtype))

    def gram_and_sums(self, rows: SparseRows, F: Array, weights: Weights = None) -> Pair:
        """Σ_{j∈Ω_i} w_ij f_j f_jᵀ, packed, and Σ_{j∈Ω_i} w_ij x_ij f_j."""
        w = np.ones(len(rows.values)) if weights is None else weights
        return self.row_sums(rows, outer_packed(F), w), self.weighted_sums(rows, F, w * rows.values)

    def biased_sums(self, rows: SparseRows, V: Array, weights: Weights = None) -> Pair:
        """Σ_j w_ij f_j f_jᵀ, packed, and Σ_j w_ij (x_ij − c_j) f_j of f = (v, 1).

        V (n_other, k + 1) holds (v, c): components, and the bias that its entries have anyway.
        """
        one = np.ones_like(V, shape=(len(V), 1))
        G, h = self.gram_and_sums(rows, np.hstack((V[:, :-1], one, V[:, -1:])), weights)
        free = V.shape[1] * (V.shape[1] + 1) // 2
        return contiguous(G[:, :free]), h[:, :-1] - G[:, free:-1]

    def gram_product(self, rows: SparseRows, F: Array, X: Array) -> Array:
        """Σ_{j∈Ω_i} f_j (f_j·x_i), no block formed: F (n_other, k), X (n, k) to (n, k)."""
        return self.weighted_sums(rows, F, self.entry_products(rows, X, F))

    # At the entries.
    def entry_products(self, rows: SparseRows, U: Array, V: Array) -> Array:
        """u_i·v_j at every entry, in the rows' order, shape (n_entries,)."""
        out = np.empty(len(rows.values))
        for i, span, at in self._spans(rows):
            out[span] = V[at] @ U[i]
        return out

    def squared_error(self, rows: SparseRows, U: Array, V: Array, weights: Weights = None) -> float:
        """Σ w_ij (x_ij − u_i·v_j)² over the entries."""
        squares = (rows.values - self.entry_products(rows, U, V)) ** 2
        return float(squares.sum() if weights is None else squares @ weights)

    def residual_sums(self, rows: SparseRows, U: Array, V: Array) -> tuple[Array, float]:
        """Σ_{j∈Ω_i} e_ij v_j, (n, k), and Σ e_ij², with e_ij = x_ij − u_i·v_j."""
        E = rows.values - self.entry_products(rows, U, V)
        return self.weighted_sums(rows, V, E), float(E @ E)

    def rank_one_moments(
        self, rows: SparseRows, E: Array, order: NDArray[np.intp], a: Array, b: Array
    ) -> Pair:
        """Σ_j (e_ij + a_i b_j) b_j and Σ_j b_j², (n,) each; entry p of the rows is E[order[p]]."""
        second = self.weighted_sums(rows, b[:, None] ** 2, np.ones(len(rows.values)))[:, 0]
        return self.weighted_sums(rows, b[:, None], E[order])[:, 0] + a * second, second

    def rank_one_shift(
        self, rows: SparseRows, E: Array, order: NDArray[np.intp], change: Array, b: Array
    ) -> None:
        """e_ij −= change_i b_j at the entries, in place."""
        E[order] -= self.entry_products(rows, change[:, None], b[:, None])

    # Packed blocks, one for each row.
    def block_product(self, B: Array, X: Floats, out: Floats | None = None) -> Floats:
        """B_i x_i for symmetric blocks: X (n, k), or (n, k, s) for s vectors at once."""
        columns = X if X.ndim == 3 else X[:, :, None]
        return _into(out, (unpack(B) @ columns).reshape(X.shape).astype(X.dtype))

    def lower_products(self, L: Array, X: Array) -> Array:
        """L_i X_i for lower triangles: X (n, k, s)."""
        return np.tril(unpack(L)) @ X

    def invert_blocks(self, P: Array) -> Pair:
        """P_i⁻¹ and log|P_i| (n,), which is NaN where a block is not positive definite."""
        out, logdet = np.full(P.shape, np.nan), np.full(len(P), np.nan)
        for i, block in enumerate(unpack(P)):
            if np.linalg.eigvalsh(block).min(initial=np.inf) > 0:
                logdet[i] = np.linalg.slogdet(block)[1]
                out[i] = pack(np.linalg.inv(block).astype(np.float64, copy=False))
        return out, logdet

    def solve_blocks(self, P: Array, h: Array) -> Pair:
        """P_i⁻¹ h_i (n, k) and log|P_i| (n,), which is NaN where a block is not positive."""
        inverse, logs = self.invert_blocks(P)
        return self.block_product(inverse, h), logs

    def cholesky_blocks(self, P: Array) -> Array:
        """Lower Cholesky factors of positive semidefinite blocks; a lost pivot is zero."""
        zero = np.zeros((packed_rank(P.shape[1]),) * 2)
        roots = [np.linalg.cholesky(block) if block.any() else zero for block in unpack(P)]
        return pack(np.reshape(roots, (len(P), *zero.shape)))

    def draw_rows(self, P: Array, h: Array, z: Array) -> Array:
        """P_i⁻¹ h_i + L_i⁻ᵀ z_i with P_i = L_i L_iᵀ, from standard normal z: (n, k) each.

        NaN where a block is not positive definite.
        """
        inverse, logs = self.invert_blocks(P)
        out = self.block_product(inverse, h)
        for i in np.flatnonzero(np.isfinite(logs)):
            out[i] += np.linalg.solve(np.linalg.cholesky(unpack(P[i])).T, z[i])
        return out

    def draw_posterior(
        self, G: Array, h: Array, tau: float, own: Array, lam: Array, z: Array
    ) -> Array:
        """P_i⁻¹ τh_i + L_i⁻ᵀ z_i with P_i = τG_i + own_i Λ = L_i L_iᵀ: (n, k)."""
        return self.draw_rows(self.precision_blocks(tau, G, own, lam), tau * h, z)

    def draw_untied(
        self,
        rows: SparseRows,
        V: Array,
        biased: bool,
        tau: float,
        own: Array,
        lam: Array,
        z: Array,
        weights: Weights = None,
    ) -> Array:
        """Rows that nothing ties, given the others: sums as above, then `draw_posterior`, (n, k).

        V is that of `biased_sums` where it is biased.
        """
        sums = self.biased_sums if biased else self.gram_and_sums
        return self.draw_posterior(*sums(rows, V, weights), tau, own, lam, z)

    def second_moments(self, F: Array, C: Array, storage: Any = np.float64) -> Floats:
        """f_i f_iᵀ + C_i, stored as asked."""
        return (outer_packed(F) + C).astype(storage)

    def precision_blocks(self, tau: float, G: Array, own: Array, lam: Array) -> Array:
        """τ G_i + own_i Λ: own (n,), lam (k,)."""
        out = tau * G
        out[:, packed_diagonal(len(lam))] += own[:, None] * lam
        return out

    def expected_trace(self, G: Array, F: Array, C: Array) -> float:
        """Σ_i tr(G_i (f_i f_iᵀ + C_i))."""
        return float(np.einsum("irs,irs->", unpack(G), unpack(outer_packed(F) + C)))

    def log_diagonals(self, P: Array, k: int) -> Array:
        """Σ_i log P_i,rr, shape (k,)."""
        return np.log(P[:, packed_diagonal(k)]).sum(axis=0)

    # Vectors of conjugate gradients, (n, ...): the last index modulo `systems` tells systems apart.
    def inner(self, a: Floats, b: Floats, systems: int) -> Array:
        """Inner product of each system, shape (systems,)."""
        return (a.astype(float) * b).reshape(-1, systems).sum(axis=0)

    def advance(self, x: Floats, r: Floats, p: Floats, q: Floats, alpha: Array) -> None:
        """x += α p and r −= α q in place, α (systems,)."""
        x += _wide(alpha, p) * p
        r -= _wide(alpha, q) * q

    def redirect(self, p: Floats, z: Floats, beta: Array, more: Floats | None = None) -> None:
        """p = z + more + β p in place, β (systems,)."""
        p[...] = (z if more is None else z + more) + _wide(beta, p) * p

    def couple(self, out: Floats, Y: Floats, X: Floats, own: Array, lam: Array) -> None:
        """out_i += λ (y_i − own_i x_i) in place: (n, k) or (n, k, s), own (n,), lam (k,)."""
        shape = (len(own),) + (1,) * (X.ndim - 1)
        scale = lam if X.ndim == 2 else lam[:, None]
        out += scale * (Y.reshape(X.shape) - own.reshape(shape) * X)

    # Draws z (n, k, s).
    def local_estimate(self, L: Any, D: Array, lam: Array, z: Array, Qz: Array) -> Array:
        """diag (diag(D_r) + λ_r L)⁻¹ from draws, (n, k).

        L holds compressed rows (`indptr`, `indices`, `data`), every diagonal entry stored.
        """
        out, K = np.empty(D.shape), np.zeros((len(D), len(D)))
        K[np.repeat(np.arange(len(D)), np.diff(L.indptr)), L.indices] = L.data
        for i, r in np.ndindex(out.shape):
            near = L.indices[L.indptr[i] : L.indptr[i + 1]]
            at = np.append(near[near != i], i)
            Q = lam[r] * K[np.ix_(at, at)] + np.diag(D[at, r])
            w = np.linalg.solve(Q, np.eye(len(at))[-1])
            out[i, r] = w[-1] + ((z[i, r] - w @ Qz[at, r]) ** 2).mean()
        return out

    def edge_spread(self, heads: NDArray[Any], tails: NDArray[Any], z: Floats) -> Array:
        """Mean squares of z_head − z_tail over the draws, (n_edges, k)."""
        return ((z[heads].astype(float) - z[tails]) ** 2).mean(axis=2)

    # Everything else.
    def random(self, seed: Sequence[int]) -> Random:
        """A stream of random numbers of its own."""
        return np.random.default_rng(seed)

    def map(self, function: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
        """`function` of each item, at once where that helps; results in the items' order."""
        return [function(item) for item in items]

    # What the operations here share.
    def _spans(self, rows: SparseRows) -> Iterator[tuple[int, slice, NDArray[Any]]]:
        for i in range(rows.n):
            span = slice(int(rows.indptr[i]), int(rows.indptr[i + 1]))
            yield i, span, rows.indices[span]


def _into(out: Floats | None, found: Floats) -> Floats:
    if out is None:
        return found
    out[...] = found
    return out


def _wide(alpha: Array, like: Floats) -> Floats:
    """α (systems,) of every entry of `like`, whose last index modulo systems tells them apart."""
    return np.tile(alpha, like.size // len(alpha)).reshape(like.shape).astype(like.dtype)
