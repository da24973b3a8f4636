"""Another back end's operations, each process on the rows that it owns.

Sums over the entries of a row are its owner's, who needs the factors of the other side for them:
these are gathered in single precision. Blocks never travel but where one is asked for whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import Array, Backend, Floats, Pair, Random, SparseRows, T, Weights
from .array import Bounds, ShardedArray
from .group import Group

PART = "own share"


def balanced(indptr: NDArray[np.int64], size: int) -> Bounds:
    """Where the rows of each process begin, and the end: about as many entries for each."""
    n, goals = len(indptr) - 1, indptr[-1] * np.arange(1, size) / size
    after = np.searchsorted(indptr, goals)
    before = np.maximum(after - 1, 0)
    nearer = np.where(goals - indptr[before] < indptr[after] - goals, before, after)
    return (0, *np.maximum.accumulate(nearer).tolist(), n)


class DistributedBackend(Backend):
    """Operations of a back end on shares of the rows.

    Parameters
    ----------
    inner : Backend
        Of this process.
    group : Group
    """

    name = "distributed"
    on_host = False

    def __init__(self, inner: Backend, group: Group) -> None:
        self.here, self.group = inner, group

    def array(self, x: Any) -> Any:
        return self.here.array(_whole(x))

    def zeros(self, shape: tuple[int, ...]) -> Any:
        return self.here.zeros(shape)

    def keep(self, x: Any, count: int) -> Any:
        return self.here.keep(x.single() if isinstance(x, ShardedArray) else x, count)

    def scaled(self, values: Array, offset: float, scale: float) -> Any:
        if isinstance(values, ShardedArray):
            return values.made(self.here.scaled(values.local, offset, scale))
        return self.here.scaled(values, offset, scale)

    # Sums over the entries of each row: own rows, all partners.
    def row_sums(self, rows: SparseRows, S: Floats, weights: Weights = None) -> Array:
        return self._rows(rows, "row_sums", (_rounded(S), _local(weights)), (S, weights))

    def weighted_sums(self, rows: SparseRows, F: Floats, values: Array | None = None) -> Floats:
        return self._rows(rows, "weighted_sums", (_partner(F, rows), _local(values)), (F, values))

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

    def gram_and_sums(self, rows: SparseRows, F: Array, weights: Weights = None) -> Pair:
        given = _partner(F, rows), _local(weights)
        return self._rows(rows, "gram_and_sums", given, (F, weights))

    def biased_sums(self, rows: SparseRows, V: Array, weights: Weights = None) -> Pair:
        given = _partner(V, rows), _local(weights)
        return self._rows(rows, "biased_sums", given, (V, weights))

    def gram_product(self, rows: SparseRows, F: Array, X: Array) -> Array:
        return self._rows(rows, "gram_product", (_partner(F, rows), self._own(X, rows)), (F, X))

    # At the entries.
    def entry_products(self, rows: SparseRows, U: Array, V: Array) -> Array:
        if not is_shared(rows):
            return self.here.entry_products(rows, _whole(U), _whole(V))
        found = self.here.entry_products(self._part(rows), self._own(U, rows), _partner(V, rows))
        return rows.values.made(found)  # type: ignore[attr-defined]

    def squared_error(self, rows: SparseRows, U: Array, V: Array, weights: Weights = None) -> float:
        if not is_shared(rows):
            return self.here.squared_error(rows, _whole(U), _whole(V), _whole(weights))
        given = self._own(U, rows), _partner(V, rows), _local(weights)
        return float(self.group.total(self.here.squared_error(self._part(rows), *given)))

    def residual_sums(self, rows: SparseRows, U: Array, V: Array) -> tuple[Array, float]:
        if not is_shared(rows):
            return self.here.residual_sums(rows, _whole(U), _whole(V))
        given = self._own(U, rows), _partner(V, rows)
        sums, error = self.here.residual_sums(self._part(rows), *given)
        return self._made(rows, sums), float(self.group.total(error))

    def rank_one_moments(
        self, rows: SparseRows, E: Array, order: NDArray[np.intp], a: Array, b: Array
    ) -> Pair:
        _refuse_shared(rows)
        return self.here.rank_one_moments(rows, E, order, _whole(a), _whole(b))

    def rank_one_shift(
        self, rows: SparseRows, E: Array, order: NDArray[np.intp], change: Array, b: Array
    ) -> None:
        _refuse_shared(rows)
        self.here.rank_one_shift(rows, E, order, _whole(change), _whole(b))

    # Packed blocks: each row is its owner's.
    def block_product(self, B: Array, X: Floats, out: Floats | None = None) -> Floats:
        return _into(out, self._by_row("block_product", B, X))

    def lower_products(self, L: Array, X: Array) -> Array:
        return self._by_row("lower_products", L, X)

    def invert_blocks(self, P: Array) -> Pair:
        return self._by_row("invert_blocks", P)

    def solve_blocks(self, P: Array, h: Array) -> Pair:
        return self._by_row("solve_blocks", P, h)

    def cholesky_blocks(self, P: Array) -> Array:
        return self._by_row("cholesky_blocks", P)

    def draw_rows(self, P: Array, h: Array, z: Array) -> Array:
        return self._by_row("draw_rows", P, h, z)

    def draw_posterior(
        self, G: Array, h: Array, tau: float, own: Array, lam: Array, z: Array
    ) -> Array:
        if not isinstance(G, ShardedArray):
            return self.here.draw_posterior(G, _whole(h), tau, own, lam, z)
        start, stop = G.span
        given = G.local, G.own(h), tau, own[start:stop], lam, G.own(z)
        return G.made(self.here.draw_posterior(*given))

    def second_moments(self, F: Array, C: Array, storage: Any = np.float64) -> Floats:
        # Means and covariances travel, not f fᵀ + C: its single precision would be lost in the
        # squared error, where what is left of two large sums is small.
        return self.here.second_moments(_rounded(F), _rounded(C), storage)

    def precision_blocks(self, tau: float, G: Array, own: Array, lam: Array) -> Array:
        if not isinstance(G, ShardedArray):
            return self.here.precision_blocks(tau, G, own, lam)
        start, stop = G.span
        return G.made(self.here.precision_blocks(tau, G.local, own[start:stop], lam))

    def expected_trace(self, G: Array, F: Array, C: Array) -> float:
        return float(self._summed("expected_trace", G, F, C))

    def log_diagonals(self, P: Array, k: int) -> Array:
        return self._summed("log_diagonals", P, k)

    # Vectors of conjugate gradients.
    def inner(self, a: Floats, b: Floats, systems: int) -> Array:
        return self._summed("inner", a, b, systems)

    def advance(self, x: Floats, r: Floats, p: Floats, q: Floats, alpha: Array) -> None:
        self._in_place("advance", (x, r), (p, q), (alpha,))

    def redirect(self, p: Floats, z: Floats, beta: Array, more: Floats | None = None) -> None:
        like = _sharded((p, z, more))
        if like is None:
            self.here.redirect(p, z, beta, more)
            return
        own = _copied(like, p)
        self.here.redirect(own.local, like.own(z), beta, None if more is None else like.own(more))
        _put_back(p, own)

    def couple(self, out: Floats, Y: Floats, X: Floats, own: Array, lam: Array) -> None:
        like = _sharded((out, X))
        if like is None:
            self.here.couple(out, _whole(Y), X, own, lam)
            return
        start, stop = like.span
        target = _copied(like, out)
        Z = _whole(Y)[start:stop] if not isinstance(Y, ShardedArray) else Y.local
        self.here.couple(target.local, Z, like.own(X), own[start:stop], lam)
        _put_back(out, target)

    # Draws: of graphs, by each process alike.
    def local_estimate(self, L: Any, D: Array, lam: Array, z: Array, Qz: Array) -> Array:
        return self.here.local_estimate(L, _whole(D), lam, _whole(z), _whole(Qz))

    def edge_spread(self, heads: NDArray[Any], tails: NDArray[Any], z: Floats) -> Array:
        return self.here.edge_spread(heads, tails, _whole(z))

    # Everything else. Random numbers are those of one process: each takes its own rows of them.
    def random(self, seed: Sequence[int]) -> Random:
        return self.here.random(seed)

    def map(self, function: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
        # One after the other: what two threads say to other processes would be mixed up.
        return [function(item) for item in items]

    # What the operations share.
    def _part(self, rows: SparseRows) -> SparseRows:
        """The own rows of shared ones, for the back end of this process."""
        if PART not in rows.memo:
            start, stop = self._span(rows)
            indptr = rows.indptr[start : stop + 1] - rows.indptr[start]
            values = rows.values.local  # type: ignore[attr-defined]
            rows.memo[PART] = SparseRows(indptr, rows.indices, values, self.here, rows.storage)
        part: SparseRows = rows.memo[PART]
        return part

    def _bounds(self, rows: SparseRows) -> Bounds:
        if "bounds" not in rows.memo:
            rows.memo["bounds"] = balanced(rows.indptr, self.group.size)
        bounds: Bounds = rows.memo["bounds"]
        return bounds

    def _span(self, rows: SparseRows) -> tuple[int, int]:
        bounds, rank = self._bounds(rows), self.group.rank
        return bounds[rank], bounds[rank + 1]

    def _own(self, X: Any, rows: SparseRows) -> Any:
        start, stop = self._span(rows)
        return X.local if isinstance(X, ShardedArray) else X[start:stop]

    def _made(self, rows: SparseRows, found: Any) -> Any:
        bounds = self._bounds(rows)
        if isinstance(found, tuple):
            return tuple(ShardedArray(part, bounds, self.group) for part in found)
        return ShardedArray(found, bounds, self.group)

    def _rows(self, rows: SparseRows, name: str, own: Sequence[Any], given: Sequence[Any]) -> Any:
        """An operation over entries: on the own rows, or, of rows that all have, by all alike."""
        operation = getattr(self.here, name)
        if is_shared(rows):
            return self._made(rows, operation(self._part(rows), *own))
        return operation(rows, *(_whole(x) for x in given))

    def _by_row(self, name: str, *given: Any) -> Any:
        like, operation = _sharded(given), getattr(self.here, name)
        if like is None:
            return operation(*given)
        found = operation(*(_cut(like, x) for x in given))
        return tuple(map(like.made, found)) if isinstance(found, tuple) else like.made(found)

    def _summed(self, name: str, *given: Any) -> Any:
        like, operation = _sharded(given), getattr(self.here, name)
        if like is None:
            return operation(*given)
        return self.group.total(operation(*(_cut(like, x) for x in given)))

    def _in_place(
        self, name: str, targets: Sequence[Any], given: Sequence[Any], rest: Sequence[Any]
    ) -> None:
        like, operation = _sharded((*targets, *given)), getattr(self.here, name)
        if like is None:
            operation(*targets, *given, *rest)
            return
        own = [_copied(like, x) for x in targets]
        operation(*(x.local for x in own), *(_cut(like, x) for x in given), *rest)
        for target, found in zip(targets, own, strict=True):
            _put_back(target, found)


def is_shared(rows: SparseRows) -> bool:
    """Whether each process has the entries of its own rows alone."""
    return isinstance(rows.values, ShardedArray)


def _refuse_shared(rows: SparseRows) -> None:
    if is_shared(rows):
        raise NotImplementedError("residuals of single entries are not shared between processes")


def _whole(x: Any) -> Any:
    return x.whole() if isinstance(x, ShardedArray) else x


def _local(x: Any) -> Any:
    return x.local if isinstance(x, ShardedArray) else x


def _rounded(x: Any) -> Any:
    """All rows, as they travel in single precision, in the precision that they have."""
    return x.single().astype(x.dtype, copy=False) if isinstance(x, ShardedArray) else x


def _partner(x: Any, rows: SparseRows) -> Any:
    """All partners of shared rows."""
    return _rounded(x) if is_shared(rows) else x


def _sharded(given: Sequence[Any]) -> ShardedArray | None:
    return next((x for x in given if isinstance(x, ShardedArray)), None)


def _cut(like: ShardedArray, x: Any) -> Any:
    """The own rows of an array of any number of axes; all else as it is."""
    if isinstance(x, ShardedArray):
        return x.local
    if not isinstance(x, type) and np.ndim(x) >= 2 and len(x) == len(like):
        start, stop = like.span
        return x[start:stop]
    return x


def _copied(like: ShardedArray, x: Any) -> ShardedArray:
    """A target of an operation in place: itself, or the own rows of a whole array."""
    return x if isinstance(x, ShardedArray) else like.made(_cut(like, x).copy())


def _put_back(target: Any, found: ShardedArray) -> None:
    found._whole = found._single = None
    if target is not found:
        target[...] = found.whole()


def _into(out: Floats | None, found: Any) -> Any:
    if out is None:
        return found
    out[...] = found if isinstance(out, ShardedArray) else _whole(found)
    return out
