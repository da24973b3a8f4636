"""The operations as passes of compiled kernels over fixed chunks of rows.

A chunk depends on the data alone and sums over chunks are taken in order, so every result is
bit-identical for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import Array, Backend, Floats, Pair, SparseRows, T, Weights
from ..packed import pack, packed_rank
from . import blocks, draws, grams, lanes, local, moments, narrow, sums, tables, vectors
from .fewer import Fewer, fewer
from .plain import plain_if_small
from .threads import Workers, chunk_bounds, even_bounds

Bounds = NDArray[np.int64]


class NumbaBackend(Backend):
    """Kernels compiled by Numba, on threads.

    Parameters
    ----------
    n_jobs : int or None
        Threads; all cores by default.
    """

    name = "numba"

    def __init__(self, n_jobs: int | None = None) -> None:
        self._pool = Workers(n_jobs)

    def close(self) -> None:
        """End the threads."""
        self._pool.close()

    def row_sums(self, rows: SparseRows, S: Floats, weights: Weights = None) -> Array:
        less = None if weights is not None or tables.is_small(rows, S) else fewer(rows, len(S))
        if less is not None:
            total = S.sum(axis=0, dtype=np.float64)
            return less.fill(self._row_sums(less.rows, S), total)
        if tables.is_table(rows, S):
            return tables.sums(self.over_rows, rows, S.astype(np.float64, copy=False), weights)
        if weights is None:
            return self._row_sums(rows, S)
        out = np.empty((rows.n, S.shape[1]))
        return self._over(rows, S.shape[1], sums.weighted_sums, _matrix(rows, weights, S), out)

    def _row_sums(self, rows: SparseRows, S: Floats) -> Array:
        out = np.empty((rows.n, S.shape[1]))
        return self._over(rows, S.shape[1], sums.row_sums, (rows.indptr, rows.indices, S), out)

    def weighted_sums(self, rows: SparseRows, F: Floats, values: Array | None = None) -> Floats:
        x = rows.values if values is None else values
        if tables.is_table(rows, F):
            return tables.sums(self.over_rows, rows, F, x)
        out = np.empty((rows.n, F.shape[1]), F.dtype)
        return self._over(rows, F.shape[1], sums.weighted_sums, _matrix(rows, x, F), out)

    def affine_sums(
        self,
        rows: SparseRows,
        F: Floats,
        own: Array,
        X: Floats,
        scale: float = 1.0,
        out: Floats | None = None,
    ) -> Floats:
        found = np.empty(X.shape, X.dtype) if out is None else out
        if tables.is_table(rows, F):
            np.multiply(own[:, None], X, out=found, casting="same_kind")
            found += scale * tables.sums(self.over_rows, rows, F, rows.values)
            return found
        given = (*_matrix(rows, rows.values, F), own, X, scale)
        return self._over(rows, X.shape[1], sums.affine_sums, given, found)

    def gram_and_sums(self, rows: SparseRows, F: Array, weights: Weights = None) -> Pair:
        # Outer products of few lines cost nothing; those of many are passed over in memory.
        if tables.is_small(rows, F) or (tables.is_table(rows, F) and 4 * len(F) <= rows.n):
            return tables.gram_and_sums(self.over_rows, rows, F, weights)
        less = None if weights is not None else fewer(rows, len(F))
        if less is not None:
            G, _ = self._gram_and_sums(less.rows, F, None)
            return less.fill(G, pack(F.T @ F)), self.weighted_sums(rows, F)
        return self._gram_and_sums(rows, F, weights)

    def _gram_and_sums(self, rows: SparseRows, F: Array, weights: Weights) -> Pair:
        k = F.shape[1]
        width = k * (k + 1) // 2
        out, total = np.empty((rows.n, width)), np.empty((rows.n, k))
        given = rows.indptr, rows.indices, rows.values, weights, F, out
        self._over(rows, width, grams.gram_and_sums, given, total)
        return out, total

    def gram_product(self, rows: SparseRows, F: Array, X: Array) -> Array:
        if tables.is_table(rows, F):
            return self.weighted_sums(rows, F, self.entry_products(rows, X, F))
        given = rows.indptr, rows.indices, F, X
        return self._over(rows, 2 * F.shape[1], sums.gram_product, given, np.empty(X.shape))

    def entry_products(self, rows: SparseRows, U: Array, V: Array) -> Array:
        if tables.is_table(rows, V):
            return tables.entry_products(self.over_rows, rows, U, V)
        out = np.empty(len(rows.values))
        given = rows.indptr, rows.indices, U, V
        return self._over(rows, U.shape[1], sums.entry_products, given, out)

    def squared_error(self, rows: SparseRows, U: Array, V: Array, weights: Weights = None) -> float:
        if tables.is_table(rows, V):
            e = rows.values - self.entry_products(rows, U, V)
            return float(np.dot(e, e if weights is None else weights * e))
        given = rows.indptr, rows.indices, rows.values, weights, U, V
        out = self._over(rows, U.shape[1], sums.squared_residuals, given, np.empty(rows.n))
        return float(out.sum())

    def residual_sums(self, rows: SparseRows, U: Array, V: Array) -> tuple[Array, float]:
        if tables.is_table(rows, V):
            e = rows.values - self.entry_products(rows, U, V)
            return self.weighted_sums(rows, V, e), float(np.dot(e, e))
        out, squares = np.empty(U.shape), np.empty(rows.n)
        given = rows.indptr, rows.indices, rows.values, U, V, out
        self._over(rows, 2 * U.shape[1], sums.residual_sums, given, squares)
        return out, float(squares.sum())

    def rank_one_moments(
        self, rows: SparseRows, E: Array, order: NDArray[np.intp], a: Array, b: Array
    ) -> Pair:
        c, d = np.empty(rows.n), np.empty(rows.n)
        given = rows.indptr, rows.indices, E, order, a, b, c
        self._over(rows, 4, sums.rank_one_moments, given, d)
        return c, d

    def rank_one_shift(
        self, rows: SparseRows, E: Array, order: NDArray[np.intp], change: Array, b: Array
    ) -> None:
        self._over(rows, 4, sums.rank_one_shift, (rows.indptr, rows.indices, order, change, b), E)

    @plain_if_small
    def block_product(self, B: Array, X: Floats, out: Floats | None = None) -> Floats:
        found = np.empty(X.shape, X.dtype) if out is None else out
        kernel = blocks.block_product if X.ndim == 2 else blocks.block_products
        work = B.shape[1] * (1 if X.ndim == 2 else X.shape[2])
        return self._run(kernel, (B, X), found, even_bounds(len(X), work))

    @plain_if_small
    def lower_products(self, L: Array, X: Array) -> Array:
        bounds = even_bounds(len(X), L.shape[1] * X.shape[2])
        return self._run(blocks.lower_products, (L, X), np.empty(X.shape), bounds)

    @plain_if_small
    def invert_blocks(self, P: Array) -> Pair:
        out, logdet = np.empty(P.shape), np.empty(len(P))
        given = P, packed_rank(P.shape[1]), out
        self._run(lanes.invert, given, logdet, _lane_bounds(len(P), _cube(P)))
        return out, logdet

    @plain_if_small
    def solve_blocks(self, P: Array, h: Array) -> Pair:
        out, logdet = np.empty(h.shape), np.empty(len(P))
        bounds = _lane_bounds(len(P), _cube(P) // 3)
        self._run(lanes.solve, (P, h, out), logdet, bounds)
        return out, logdet

    def cholesky_blocks(self, P: Array) -> Array:
        bounds = even_bounds(len(P), _cube(P))
        return self._run(blocks.cholesky_blocks, (P,), np.empty(P.shape), bounds)

    @plain_if_small
    def draw_rows(self, P: Array, h: Array, z: Array) -> Array:
        bounds = _lane_bounds(len(h), P.shape[1] * h.shape[1])
        return self._run(lanes.draw, (P, h, z), np.empty(h.shape), bounds)

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
        k = V.shape[1]
        # Blocks of many rows are factored several at once, which this kernel does not.
        if rows.n * k * (k + 1) // 2 > draws.SMALL and narrow.is_narrow(rows, V):
            bounds = even_bounds(-(-rows.n // narrow.LANES), narrow.LANES * k * k * (k + len(V)))
            return narrow.draw(self.over_rows, rows, V, biased, tau, own, lam, z, weights, bounds)
        if rows.n * k * (k + 1) // 2 > draws.SMALL:
            return super().draw_untied(rows, V, biased, tau, own, lam, z, weights)
        less = None if weights is not None else fewer(rows, len(V))
        rest: tuple[Any, ...] = (None,) * 3
        if less is not None:
            rest = self._besides(rows, less, V, biased)
        at = rows if less is None else less.rows
        given = at.indptr, at.indices, at.values, weights, V, biased, tau, own, lam, z, *rest
        return self._over(at, k * k, draws.draw_untied, given, np.empty(z.shape))

    def _besides(self, rows: SparseRows, less: Fewer, V: Array, biased: bool) -> tuple[Any, ...]:
        """What `draws.draw_untied` needs besides the entries that rows lack."""
        F, c = V, np.zeros(len(V))
        if biased:
            F, c = V.copy(), V[:, -1]
            F[:, -1] = 1.0
        return less.missing, np.vstack((F.T @ F, -c @ F)), self.weighted_sums(rows, F)

    @plain_if_small
    def second_moments(self, F: Array, C: Array, storage: Any = np.float64) -> Floats:
        bounds = even_bounds(len(C), 2 * C.shape[1])
        return self._run(moments.second_moments, (F, C), np.empty(C.shape, storage), bounds)

    @plain_if_small
    def precision_blocks(self, tau: float, G: Array, own: Array, lam: Array) -> Array:
        bounds = even_bounds(len(G), G.shape[1])
        return self._run(moments.precision_blocks, (tau, G, own, lam), np.empty(G.shape), bounds)

    @plain_if_small
    def expected_trace(self, G: Array, F: Array, C: Array) -> float:
        bounds = even_bounds(len(G), 4 * G.shape[1])
        parts = self.over_rows(lambda a, b: moments.expected_trace(G, F, C, a, b), bounds)
        return float(sum(parts))

    @plain_if_small
    def log_diagonals(self, P: Array, k: int) -> Array:
        bounds = even_bounds(len(P), 8 * max(1, k))
        parts = self.over_rows(lambda a, b: moments.log_diagonals(P, k, a, b), bounds)
        return np.sum(parts, axis=0) if parts else np.zeros(k)

    @plain_if_small
    def inner(self, a: Floats, b: Floats, systems: int) -> Array:
        A, B = _flat(a), _flat(b)
        bounds = _vector_bounds(A)
        out = np.zeros((len(bounds) - 1, A.shape[1]))

        def chunk(c: int) -> None:
            vectors.inner(A, B, out[c], int(bounds[c]), int(bounds[c + 1]))

        self.map(chunk, range(len(out)))
        total = out.sum(axis=0)
        return total.sum(keepdims=True) if systems == 1 else total.reshape(-1, systems).sum(axis=0)

    @plain_if_small
    def advance(self, x: Floats, r: Floats, p: Floats, q: Floats, alpha: Array) -> None:
        X, R, P, Q = (_flat(v) for v in (x, r, p, q))
        self._run(vectors.advance, (X, R, P, Q), _wide(alpha, X), _vector_bounds(X))

    @plain_if_small
    def redirect(self, p: Floats, z: Floats, beta: Array, more: Floats | None = None) -> None:
        P, rest = _flat(p), None if more is None else _flat(more)
        self._run(vectors.redirect, (P, _flat(z), rest), _wide(beta, P), _vector_bounds(P))

    @plain_if_small
    def couple(self, out: Floats, Y: Floats, X: Floats, own: Array, lam: Array) -> None:
        Yf, Xf, to = _flat(Y), _flat(X), _flat(out)
        wide = np.repeat(lam, Yf.shape[1] // max(1, len(lam))).astype(out.dtype)
        self._run(vectors.couple, (Yf, Xf, own, wide), to, _vector_bounds(Yf))

    def local_estimate(self, L: Any, D: Array, lam: Array, z: Array, Qz: Array) -> Array:
        size = np.minimum(np.diff(L.indptr), local.MAX_NODES)
        work = len(lam) * (size**3 // 3 + size * (size + z.shape[2])) + size * size
        given = L.indptr, L.indices, L.data, D, lam, z, Qz
        return self._run(local.local_estimate, given, np.empty(D.shape), chunk_bounds(work))

    def edge_spread(self, heads: NDArray[Any], tails: NDArray[Any], z: Floats) -> Array:
        out = np.empty((len(heads), z.shape[1]))
        bounds = chunk_bounds(np.full(len(heads), z.shape[1] * z.shape[2]))
        return self._run(local.edge_spread, (heads, tails, z), out, bounds)

    def map(self, function: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
        return self._pool.map(function, items)

    def over_rows(self, function: Callable[[int, int], T], bounds: Bounds) -> list[T]:
        """`function(start, stop)` over consecutive bounds: for passes outside the protocol."""
        return self._pool.over_rows(function, bounds)

    def _run(self, kernel: Any, given: tuple[Any, ...], out: Any, bounds: Bounds) -> Any:
        """`kernel(*given, out, start, stop)` over all chunks."""
        self.over_rows(lambda a, b: kernel(*given, out, a, b), bounds)
        return out

    def _over(
        self, rows: SparseRows, work: int, kernel: Any, given: tuple[Any, ...], out: Any
    ) -> Any:
        """The same over chunks of rows, where an entry costs `work` operations."""
        if work not in rows.memo:
            rows.memo[work] = chunk_bounds((rows.counts + 1) * work)
        return self._run(kernel, given, out, rows.memo[work])


@contextmanager
def open_backend(n_jobs: int | None = None) -> Iterator[NumbaBackend]:
    """The back end of this machine; its threads end with the block."""
    backend = NumbaBackend(n_jobs)
    try:
        yield backend
    finally:
        backend.close()


def _matrix(rows: SparseRows, values: Array, F: Floats) -> tuple[Any, ...]:
    return rows.indptr, rows.indices, values, F


def _lane_bounds(n: int, work: int) -> Bounds:
    """Chunks of whole groups of `LANES` blocks: part of a group costs as much as all of it."""
    groups = even_bounds(-(-n // lanes.LANES), work * lanes.LANES)
    return np.minimum(groups * lanes.LANES, n)


def _cube(P: Array) -> int:
    """Operations of a factor of one block, about."""
    return int(P.shape[1] * max(1, int(np.sqrt(P.shape[1]))))


def _flat(a: Floats) -> Floats:
    return a.reshape(len(a), int(np.prod(a.shape[1:])))


def _wide(alpha: Array, like: Floats) -> Floats:
    """α of every entry of a row, in the vectors' own precision."""
    return np.tile(alpha, like.shape[1] // len(alpha)).astype(like.dtype)


def _vector_bounds(a: Floats) -> Bounds:
    # Short passes: a hand-over is worth tens of thousands of numbers.
    return even_bounds(len(a), 2 * a.shape[1])
