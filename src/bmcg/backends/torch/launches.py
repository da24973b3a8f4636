"""Kernels with what they are given: the same signatures as `sums`, in single precision."""

from __future__ import annotations

import torch
from torch import Tensor

from . import kernels
from .entries import Piece, Segments

# Entries of one step of a program.
STEP = 64
# Components beyond a power of two that are summed one by one; more are padded to the next.
EXTRAS = 4
# Widest tile of a Gram matrix.
TILE = 64


def main_width(k: int) -> tuple[int, int]:
    """Components of a tile and how many are summed beside it: (power of two, extras)."""
    below = 16
    while below * 2 <= min(k, TILE):
        below *= 2
    if k <= below:
        return below, 0
    if k - below <= EXTRAS:
        return below, k - below
    return (below * 2, 0) if below * 2 <= TILE and k <= below * 2 else (0, 0)


def _next_power(k: int, least: int = 1) -> int:
    out = least
    while out < k:
        out *= 2
    return out


def padded(F: Tensor, width: int) -> Tensor:
    """Rows of `width` numbers at least, a multiple of eight, so that loads are aligned."""
    width = (width + 7) // 8 * 8
    if F.shape[1] == width and F.is_contiguous():
        return F
    out = F.new_zeros((len(F), width))
    out[:, : F.shape[1]] = F
    return out


def _at(seg: Segments) -> tuple[Tensor, ...]:
    return seg.row, seg.low, seg.high, seg.slot


def _with_slots(seg: Segments, out: Tensor) -> Tensor:
    """Room for the rows and, behind them, for the segments of long ones."""
    return out.new_empty((len(out) + seg.n_slots, *out.shape[1:]))


def _gathered(seg: Segments, room: Tensor, out: Tensor) -> None:
    """The rows' sums out of `room`, those of long rows added up."""
    n = len(out)
    out.copy_(room[:n])
    if seg.n_slots:
        parts = room[n:].double()
        sums = torch.segment_reduce(parts, "sum", lengths=seg.parts, axis=0, unsafe=True, initial=0)
        out[seg.long] = sums.to(out.dtype)


def gram_and_sums(
    piece: Piece, F: Tensor, values: Tensor, weights: Tensor | None, G: Tensor, h: Tensor
) -> None:
    """As in `sums`, in single precision."""
    seg, k = piece.segments, F.shape[1]
    main, extras = main_width(k)
    grams, total = _with_slots(seg, G), _with_slots(seg, h)
    weighted = weights is not None
    w = weights if weighted else values
    if main:
        f = padded(F, main + extras)
        kernels.gram[(len(seg.row),)](
            *_at(seg), piece.indices, values, w, f, f.shape[1], grams, total, len(G), k,
            KM=main, E=extras, EP=_next_power(extras, 2), B=STEP, WEIGHTED=weighted,
            num_warps=4,
        )  # fmt: skip
    else:
        tiles = -(-k // TILE)
        f, pairs = padded(F, tiles * TILE), tiles * (tiles + 1) // 2
        kernels.gram_tile[(len(seg.row) * pairs,)](
            *_at(seg), piece.indices, values, w, f, f.shape[1], grams, total, len(G), k, pairs,
            T=TILE, B=STEP, WEIGHTED=weighted, num_warps=4,
        )  # fmt: skip
    _gathered(seg, grams, G)
    _gathered(seg, total, h)


def row_sums(piece: Piece, S: Tensor, weights: Tensor | None, out: Tensor) -> None:
    """As in `sums`, in single precision."""
    seg, width = piece.segments, S.shape[1]
    block = min(128, _next_power(width, 16))
    blocks = -(-width // block)
    S = S if S.stride(1) == 1 else S.contiguous()
    room = _with_slots(seg, out)
    kernels.sums[(len(seg.row) * blocks,)](
        *_at(seg), piece.indices, piece.values if weights is None else weights, S, S.stride(0),
        room, len(out), width, blocks, WB=block, B=2048 // block, WEIGHTED=weights is not None,
        num_warps=4,
    )  # fmt: skip
    _gathered(seg, room, out)


def entry_products(piece: Piece, U: Tensor, V: Tensor, out: Tensor) -> None:
    """As in `sums`, in single precision."""
    _on_entries(piece, U, V, piece.values, None, out, squared=False)


def squared_error(
    piece: Piece, U: Tensor, V: Tensor, values: Tensor, weights: Tensor | None
) -> Tensor:
    """As in `sums`: a segment in single precision, all of them in double."""
    out = torch.empty(len(piece.segments.row), dtype=torch.float32, device=U.device)
    _on_entries(piece, U, V, values, weights, out, squared=True)
    return out.sum(dtype=torch.float64)


def _on_entries(
    piece: Piece,
    U: Tensor,
    V: Tensor,
    values: Tensor,
    weights: Tensor | None,
    out: Tensor,
    squared: bool,
) -> None:
    seg, k = piece.segments, U.shape[1]
    U, V = padded(U, k), padded(V, k)
    width = _next_power(k, 16)
    weighted = weights is not None
    kernels.products[(len(seg.row),)](
        *_at(seg)[:3], piece.indices, values, weights if weighted else values, U, V, U.stride(0),
        V.stride(0), out, k, KP=width, B=max(16, 4096 // width), WEIGHTED=weighted,
        SQUARED=squared, num_warps=4,
    )  # fmt: skip


def block_product(P: Tensor, X: Tensor, out: Tensor) -> None:
    """B_i x_i into out for X (n, k)."""
    k = X.shape[1]
    kernels.block_product[(len(X),)](
        P, X, out, X.stride(0), out.stride(0), k, KP=_next_power(k, 16), num_warps=2
    )
