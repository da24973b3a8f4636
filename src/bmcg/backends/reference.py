"""The truth in plain NumPy, one row at a time; for tests and for reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Array, Floats, Random, SparseRows, T
from .packed import outer_packed, pack, packed_diagonal, packed_rank, unpack


class ReferenceBackend:
    """Every operation of `Backend`, as its docstring says it."""

    name = "reference"

    def _spans(self, rows: SparseRows) -> Iterator[tuple[int, slice, NDArray[Any]]]:
        for i in range(rows.n):
            span = slice(int(rows.indptr[i]), int(rows.indptr[i + 1]))
            yield i, span, rows.indices[span]

    def row_sums(self, rows: SparseRows, S: Floats, weights: Array | None = None) -> Array:
        w = np.ones(len(rows.values)) if weights is None else weights
        return self.weighted_sums(rows, S.astype(np.float64), w)

    def weighted_sums(self, rows: SparseRows, F: Floats, values: Array | None = None) -> Floats:
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
        found = own[:, None] * X + scale * self.weighted_sums(rows, F)
        return _into(out, found.astype(X.dtype))

    def gram_and_sums(
        self, rows: SparseRows, F: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        w = np.ones(len(rows.values)) if weights is None else weights
        return self.row_sums(rows, outer_packed(F), w), self.weighted_sums(rows, F, w * rows.values)

    def gram_product(self, rows: SparseRows, F: Array, X: Array) -> Array:
        return self.weighted_sums(rows, F, self.entry_products(rows, X, F))

    def entry_products(self, rows: SparseRows, U: Array, V: Array) -> Array:
        out = np.empty(len(rows.values))
        for i, span, at in self._spans(rows):
            out[span] = V[at] @ U[i]
        return out

    def squared_error(
        self, rows: SparseRows, U: Array, V: Array, weights: Array | None = None
    ) -> float:
        squares = (rows.values - self.entry_products(rows, U, V)) ** 2
        return float(squares.sum() if weights is None else squares @ weights)

    def residual_sums(self, rows: SparseRows, U: Array, V: Array) -> tuple[Array, float]:
        E = rows.values - self.entry_products(rows, U, V)
        return self.weighted_sums(rows, V, E), float(E @ E)

    def rank_one_moments(
        self, rows: SparseRows, E: Array, order: NDArray[np.intp], a: Array, b: Array
    ) -> tuple[Array, Array]:
        second = self.weighted_sums(rows, b[:, None] ** 2, np.ones(len(rows.values)))[:, 0]
        return self.weighted_sums(rows, b[:, None], E[order])[:, 0] + a * second, second

    def rank_one_shift(
        self, rows: SparseRows, E: Array, order: NDArray[np.intp], change: Array, b: Array
    ) -> None:
        E[order] -= self.entry_products(rows, change[:, None], b[:, None])

    def block_product(self, B: Array, X: Floats, out: Floats | None = None) -> Floats:
        columns = X if X.ndim == 3 else X[:, :, None]
        return _into(out, (unpack(B) @ columns).reshape(X.shape).astype(X.dtype))

    def lower_products(self, L: Array, X: Array) -> Array:
        return np.tril(unpack(L)) @ X

    def invert_blocks(self, P: Array) -> tuple[Array, Array]:
        out, logdet = np.full(P.shape, np.nan), np.full(len(P), np.nan)
        for i, block in enumerate(unpack(P)):
            if np.linalg.eigvalsh(block).min(initial=np.inf) > 0:
                logdet[i] = np.linalg.slogdet(block)[1]
                out[i] = pack(np.linalg.inv(block).astype(np.float64, copy=False))
        return out, logdet

    def cholesky_blocks(self, P: Array) -> Array:
        zero = np.zeros((packed_rank(P.shape[1]),) * 2)
        roots = [np.linalg.cholesky(block) if block.any() else zero for block in unpack(P)]
        return pack(np.reshape(roots, (len(P), *zero.shape)))

    def draw_rows(self, P: Array, h: Array, z: Array) -> Array:
        inverse, _ = self.invert_blocks(P)
        out = self.block_product(inverse, h)
        for i in range(len(P)):
            out[i] += np.linalg.solve(np.linalg.cholesky(unpack(P[i])).T, z[i])
        return out

    def second_moments(self, F: Array, C: Array, storage: Any = np.float64) -> Floats:
        return (outer_packed(F) + C).astype(storage)

    def precision_blocks(self, tau: float, G: Array, own: Array, lam: Array) -> Array:
        out = tau * G
        out[:, packed_diagonal(len(lam))] += own[:, None] * lam
        return out

    def expected_trace(self, G: Array, F: Array, C: Array) -> float:
        return float(np.einsum("irs,irs->", unpack(G), unpack(outer_packed(F) + C)))

    def log_diagonals(self, P: Array, k: int) -> Array:
        return np.log(P[:, packed_diagonal(k)]).sum(axis=0)

    def inner(self, a: Floats, b: Floats, systems: int) -> Array:
        return (a.astype(float) * b).reshape(-1, systems).sum(axis=0)

    def advance(self, x: Floats, r: Floats, p: Floats, q: Floats, alpha: Array) -> None:
        x += _wide(alpha, p) * p
        r -= _wide(alpha, q) * q

    def redirect(self, p: Floats, z: Floats, beta: Array, more: Floats | None = None) -> None:
        p[...] = (z if more is None else z + more) + _wide(beta, p) * p

    def couple(self, out: Floats, Y: Floats, X: Floats, own: Array, lam: Array) -> None:
        shape = (len(own),) + (1,) * (X.ndim - 1)
        scale = lam if X.ndim == 2 else lam[:, None]
        out += scale * (Y.reshape(X.shape) - own.reshape(shape) * X)

    def local_estimate(self, L: Any, D: Array, lam: Array, z: Array, Qz: Array) -> Array:
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
        return ((z[heads].astype(float) - z[tails]) ** 2).mean(axis=2)

    def random(self, seed: Sequence[int]) -> Random:
        return np.random.default_rng(seed)

    def map(self, function: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
        return [function(item) for item in items]


def _into(out: Floats | None, found: Floats) -> Floats:
    if out is None:
        return found
    out[...] = found
    return out


def _wide(alpha: Array, like: Floats) -> Floats:
    """α (systems,) of every entry of `like`, whose last index modulo systems tells them apart."""
    return np.tile(alpha, like.size // len(alpha)).reshape(like.shape).astype(like.dtype)
