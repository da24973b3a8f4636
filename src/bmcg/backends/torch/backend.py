"""The operations on tensors: kernels for the hot sums on a GPU, plain PyTorch for all else."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..base import Array, Backend, Floats, Random, SparseRows, T
from ..numba.backend import NumbaBackend
from . import blocks, functions, sums
from .array import KINDS, DeviceArray, into, min_kind, narrowed, to_device, to_host
from .entries import Entries, Piece
from .random import DeviceRandom

__all__ = ["TorchBackend", "functions"]

# Numbers of the pieces that draws are gathered in.
GATHERED = 1 << 26
# Most components of a Gram matrix that one program sums beside a bias.
WIDEST = 64
# Bytes of the draws of one side that stay on the device until the last of them.
KEPT = 1 << 31


class TorchBackend(Backend):
    """Tensors of one device; arrays that it makes stay there.

    Parameters
    ----------
    device : str or torch.device
    single : bool, optional
        Whether arrays are stored in float32, as they are on a GPU unless asked otherwise; sums
        over many of them are taken in float64.
    n_jobs : int or None
        Threads of what is left to the host.
    stream : bool
        Whether entries stay in pinned memory of the host.
    kernels : bool, optional
        Whether the hot sums are Triton's, as they are on a GPU with float32.
    """

    name = "torch"
    on_host = False

    def __init__(
        self,
        device: Any = "cpu",
        single: bool | None = None,
        n_jobs: int | None = 1,
        stream: bool = False,
        kernels: bool | None = None,
    ) -> None:
        self.device = torch.device(device)
        gpu = self.device.type == "cuda"
        self.kind = torch.float32 if (gpu if single is None else single) else torch.float64
        self.stream, self.n_jobs = stream, n_jobs
        self._host: NumbaBackend | None = None
        self.kernels = _has_triton() and gpu if kernels is None else kernels

    def close(self) -> None:
        """End the host's threads."""
        if self._host is not None:
            self._host.close()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    # Arrays.
    def array(self, x: Any) -> Any:
        return DeviceArray(self._tensor(x))

    def zeros(self, shape: tuple[int, ...]) -> Any:
        return DeviceArray(torch.zeros(shape, dtype=self.kind, device=self.device))

    def keep(self, x: Any, count: int) -> Any:
        found = self._tensor(x).float()
        if count * found.numel() * found.element_size() <= KEPT:
            return DeviceArray(found.clone() if found is self._tensor(x) else found)
        return to_host(found)

    def scaled(self, values: Any, offset: float, scale: float) -> Any:
        if self.stream:
            return (values - offset) / scale
        out = torch.empty(len(values), dtype=self.kind, device=self.device)
        for start in range(0, len(values), GATHERED):
            part = to_device(values[start : start + GATHERED], self.device)
            out[start : start + GATHERED] = (part - offset) / scale
        return DeviceArray(out)

    # Sums over the entries of each row.
    def row_sums(self, rows: SparseRows, S: Floats, weights: Array | None = None) -> Array:
        s, w = self._tensor(S), self._weights(weights)
        return self._rows(rows, self.kind, lambda at: (self._for(s).row_sums(at, s, _at(w, at)),))[
            0
        ]

    def weighted_sums(self, rows: SparseRows, F: Floats, values: Array | None = None) -> Floats:
        f, x = self._tensor(F), self._weights(values)
        return self._rows(
            rows,
            f.dtype,
            lambda at: (self._for(f).row_sums(at, f, at.values if x is None else _at(x, at)),),
        )[0]

    def affine_sums(
        self,
        rows: SparseRows,
        F: Floats,
        own: Array,
        X: Floats,
        scale: float = 1.0,
        out: Floats | None = None,
    ) -> Floats:
        x = self._tensor(X)
        found = self._tensor(self.weighted_sums(rows, F)) * scale
        found = torch.addcmul(found.to(x.dtype), self._tensor(own).to(x.dtype)[:, None], x)
        return into(out, found)

    def gram_and_sums(
        self, rows: SparseRows, F: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        f, w = self._tensor(F), self._weights(weights)
        way = self._for(f).gram_and_sums
        G, h = self._rows(rows, self.kind, lambda at: way(at, f, at.values, _at(w, at)))
        return G, h

    def biased_sums(
        self, rows: SparseRows, V: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        v, w = self._tensor(V), self._weights(weights)
        way = self._for(v) if v.shape[1] - 1 <= WIDEST else sums
        G, h = self._rows(rows, self.kind, lambda at: way.biased_sums(at, v, at.values, _at(w, at)))
        return G, h

    def gram_product(self, rows: SparseRows, F: Array, X: Array) -> Array:
        return self.weighted_sums(rows, F, self.entry_products(rows, X, F))

    # At the entries.
    def entry_products(self, rows: SparseRows, U: Array, V: Array) -> Array:
        u, v = self._tensor(U), self._tensor(V)
        out = self._empty((len(rows.values),))
        for piece in self._pieces(rows):
            own = u[piece.first : piece.stop]
            self._for(u).entry_products(piece, own, v, out[piece.span])
        return _array(out)

    def squared_error(
        self, rows: SparseRows, U: Array, V: Array, weights: Array | None = None
    ) -> float:
        u, v, w = self._tensor(U), self._tensor(V), self._weights(weights)
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        for piece in self._pieces(rows):
            own = u[piece.first : piece.stop]
            total += self._for(u).squared_error(piece, own, v, piece.values, _at(w, piece))
        return float(total.item())

    def residual_sums(self, rows: SparseRows, U: Array, V: Array) -> tuple[Array, float]:
        values = rows.memo["torch"].values_of(rows) if "torch" in rows.memo else None
        if values is None:
            values = self._entries(rows).values_of(rows)
        E = values.to(self.device) - self._tensor(self.entry_products(rows, U, V))
        return self.weighted_sums(rows, V, _array(E)), float((E.double() ** 2).sum().item())

    def rank_one_moments(
        self, rows: SparseRows, E: Array, order: NDArray[np.intp], a: Array, b: Array
    ) -> tuple[Array, Array]:
        e, at = self._tensor(E), torch.as_tensor(order, device=self.device)
        column = self._tensor(b)[:, None]
        second = self._tensor(self.row_sums(rows, _array(column**2)))[:, 0]
        first = self._tensor(self.weighted_sums(rows, _array(column), _array(e[at])))[:, 0]
        return _array(first + self._tensor(a) * second), _array(second)

    def rank_one_shift(
        self, rows: SparseRows, E: Array, order: NDArray[np.intp], change: Array, b: Array
    ) -> None:
        e, at = self._tensor(E), torch.as_tensor(order, device=self.device)
        given = _array(self._tensor(change)[:, None]), _array(self._tensor(b)[:, None])
        e[at] -= self._tensor(self.entry_products(rows, *given)).to(e.dtype)

    # Packed blocks, one for each row.
    def block_product(self, B: Array, X: Floats, out: Floats | None = None) -> Floats:
        P, x = self._tensor(B), self._tensor(X)
        found = torch.empty_like(x) if out is None else self._tensor(out)
        if x.ndim == 2 and self._is_fast(x) and x.stride(1) == 1:
            self._blocks(P, x.shape[1]).block_product(P, x, found)
        else:
            blocks.block_product(P, x, found)
        return _array(found) if out is None else out

    def lower_products(self, L: Array, X: Array) -> Array:
        lower, x = self._tensor(L), self._tensor(X)
        if x.shape[2] == 1 and self._is_fast(x):
            return _array(
                self._blocks(lower, x.shape[1]).lower_product(lower, x[:, :, 0])[:, :, None]
            )
        return _array(blocks.lower_products(lower, x))

    def invert_blocks(self, P: Array) -> tuple[Array, Array]:
        given = self._tensor(P)
        inverse, logs = self._blocks(given, blocks.rank(given)).invert(given)
        return _array(inverse), _array(logs)

    def solve_blocks(self, P: Array, h: Array) -> tuple[Array, Array]:
        x, logs = blocks.solve(self._tensor(P), self._tensor(h))
        return _array(x), _array(logs)

    def cholesky_blocks(self, P: Array) -> Array:
        given = self._tensor(P)
        return _array(self._blocks(given, blocks.rank(given)).cholesky(given))

    def draw_rows(self, P: Array, h: Array, z: Array) -> Array:
        return _array(blocks.draw(self._tensor(P), self._tensor(h), self._tensor(z)))

    def draw_posterior(
        self, G: Array, h: Array, tau: float, own: Array, lam: Array, z: Array
    ) -> Array:
        g, targets, noise = self._tensor(G), self._tensor(h), self._tensor(z)
        way = self._blocks(g, targets.shape[1])
        if way is not blocks and self._is_fast(targets):
            out = torch.empty_like(noise)
            given = self._tensor(own).to(g.dtype), self._tensor(lam).to(g.dtype)
            way.draw(g, targets, tau, *given, noise.contiguous(), out)
            return _array(out)
        P = self.precision_blocks(tau, G, own, lam)
        return self.draw_rows(P, _array(tau * targets), z)

    def second_moments(self, F: Array, C: Array, storage: Any = np.float64) -> Floats:
        f, c = self._tensor(F), self._tensor(C)
        out = torch.empty(
            c.shape, dtype=min_kind(KINDS[np.dtype(storage)], self.kind), device=c.device
        )
        r, s = torch.tril_indices(f.shape[1], f.shape[1], device=f.device)
        for at in blocks.steps(c):
            out[at] = f[at].index_select(1, r) * f[at].index_select(1, s) + c[at]
        return _array(out)

    def precision_blocks(self, tau: float, G: Array, own: Array, lam: Array) -> Array:
        g, scale = self._tensor(G), self._tensor(lam)
        out = g * tau
        at = blocks.diagonal(len(scale), self.device)
        out[:, at] += self._tensor(own)[:, None] * scale
        return _array(out)

    def expected_trace(self, G: Array, F: Array, C: Array) -> float:
        g, f, c = self._tensor(G), self._tensor(F), self._tensor(C)
        k = f.shape[1]
        r, s = torch.tril_indices(k, k, device=f.device)
        twice = torch.where(r == s, 1.0, 2.0).double()
        total = torch.zeros(g.shape[1], dtype=torch.float64, device=self.device)
        for at in blocks.steps(g):
            moments = f[at].index_select(1, r) * f[at].index_select(1, s) + c[at]
            total += (g[at] * moments).sum(0, dtype=torch.float64)
        return float((total @ twice).item())

    def log_diagonals(self, P: Array, k: int) -> Array:
        at = blocks.diagonal(k, self.device)
        return to_host(torch.log(self._tensor(P)[:, at]).sum(0, dtype=torch.float64))

    # Vectors of conjugate gradients.
    def inner(self, a: Floats, b: Floats, systems: int) -> Array:
        x, y = self._tensor(a), self._tensor(b)
        return to_host((x * y).reshape(-1, systems).sum(0, dtype=torch.float64))

    def advance(self, x: Floats, r: Floats, p: Floats, q: Floats, alpha: Array) -> None:
        X, R, P, Q = (self._tensor(v) for v in (x, r, p, q))
        wide = self._wide(alpha, X)
        X.addcmul_(P, wide)
        R.addcmul_(Q, wide, value=-1.0)

    def redirect(self, p: Floats, z: Floats, beta: Array, more: Floats | None = None) -> None:
        P, Z = self._tensor(p), self._tensor(z)
        P.mul_(self._wide(beta, P)).add_(Z)
        if more is not None:
            P.add_(self._tensor(more))

    def couple(self, out: Floats, Y: Floats, X: Floats, own: Array, lam: Array) -> None:
        to, x = self._tensor(out), self._tensor(X)
        scale = self._tensor(lam).to(x.dtype)
        scale = scale if x.ndim == 2 else scale[:, None]
        diagonal = self._tensor(own).to(x.dtype).reshape(-1, *(1,) * (x.ndim - 1))
        to.add_(scale * (self._tensor(Y).reshape(x.shape) - diagonal * x))

    # Draws z (n, k, s).
    def local_estimate(self, L: Any, D: Array, lam: Array, z: Array, Qz: Array) -> Array:
        """Left to the host: small systems of uneven sizes, one for each node and component."""
        if self._host is None:
            self._host = NumbaBackend(self.n_jobs)
        given = (np.ascontiguousarray(np.asarray(x, np.float64)) for x in (D, lam, z, Qz))
        return self.array(self._host.local_estimate(L, *given))

    def edge_spread(self, heads: NDArray[Any], tails: NDArray[Any], z: Floats) -> Array:
        draws = self._tensor(z)
        at, to = (torch.as_tensor(np.asarray(end), device=self.device) for end in (heads, tails))
        out = self._empty((len(at), draws.shape[1]))
        step = max(1, GATHERED // max(1, draws[0].numel() if len(draws) else 1))
        for start in range(0, len(at), step):
            here = slice(start, start + step)
            gap = draws.index_select(0, at[here]) - draws.index_select(0, to[here])
            out[here] = gap.double().square().mean(2)
        return _array(out)

    # Everything else.
    def random(self, seed: Sequence[int]) -> Random:
        return DeviceRandom(seed, self.device, self.kind)

    def map(self, function: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
        return [function(item) for item in items]

    def _tensor(self, x: Any) -> Tensor:
        """An array on the device, in its own precision or in this back end's where that is less."""
        if isinstance(x, DeviceArray):
            return x.tensor
        given = np.asarray(x)
        kind = KINDS.get(given.dtype)
        return to_device(given, self.device, None if kind is None else min_kind(kind, self.kind))

    def _weights(self, weights: Any) -> Any:
        """Numbers of the entries: they stay on the host where entries do."""
        if weights is None or isinstance(weights, DeviceArray) or not self.stream:
            return None if weights is None else narrowed(self._tensor(weights), self.kind)
        return torch.from_numpy(weights).to(self.kind)

    def _empty(self, shape: tuple[int, ...], kind: torch.dtype | None = None) -> Tensor:
        return torch.empty(shape, dtype=kind or self.kind, device=self.device)

    def _entries(self, rows: SparseRows) -> Entries:
        if "torch" not in rows.memo:
            big = self.stream and len(rows.values) > 0
            rows.memo["torch"] = Entries(rows, self.device, self.kind, big)
        found: Entries = rows.memo["torch"]
        return found

    def _rows(
        self,
        rows: SparseRows,
        kind: torch.dtype,
        make: Callable[[Piece], tuple[Tensor, ...]],
    ) -> tuple[Any, ...]:
        """Sums of all rows, piece by piece."""
        out: list[Tensor] = []
        for piece in self._pieces(rows):
            found = [part.to(kind) for part in make(piece)]
            if piece.n == rows.n:
                return tuple(_array(part) for part in found)
            out = out or [self._empty((rows.n, part.shape[1]), kind) for part in found]
            for whole, part in zip(out, found, strict=True):
                whole[piece.first : piece.stop] = part
        return tuple(_array(whole) for whole in out)

    def _pieces(self, rows: SparseRows) -> Any:
        return self._entries(rows).pieces(rows)

    def _is_fast(self, x: Tensor) -> bool:
        return self.kernels and x.dtype == torch.float32

    def _for(self, x: Tensor) -> Any:
        """Kernels, or what they are held to."""
        if not self._is_fast(x):
            return sums
        from . import launches

        return launches

    def _blocks(self, P: Tensor, k: int) -> Any:
        """Kernels for blocks of k components, or what they are held to."""
        if not self._is_fast(P):
            return blocks
        from . import block_launches

        return block_launches if block_launches.fits(k) else blocks

    def _wide(self, alpha: Array, like: Tensor) -> Tensor:
        """α (systems,) of every entry of `like`, whose last index modulo systems tells them."""
        a = self._tensor(alpha).to(like.dtype)
        if len(a) == 1:
            return a
        times = int(np.prod(like.shape[1:])) // len(a)
        return a.repeat(times).reshape(like.shape[1:])


def _at(x: Tensor | None, piece: Piece) -> Tensor | None:
    return None if x is None else x[piece.span].to(piece.ptr.device)


def _array(tensor: Tensor) -> Any:
    return DeviceArray(tensor)


def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None
