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


def next_power(k: int, least: int = 1) -> int:
    """The first power of two from `least` on that is not below k."""
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


def _with_slots(seg: Segments, n: int, width: int, like: Tensor) -> Tensor:
    """Room for the rows and, behind them, for the segments of long ones."""
    return torch.empty((n + seg.n_slots, width), dtype=torch.float32, device=like.device)


def _gathered(seg: Segments, room: Tensor) -> Tensor:
    """The rows' sums out of `room`, those of long rows added up: a view of it."""
    n, width = len(room) - seg.n_slots, room.shape[1]
    if seg.n_slots:
        grid = len(seg.long), -(-width // 128)
        kernels.folded[grid](seg.long, seg.first, seg.parts, room, n, width, W=128, num_warps=4)
    return room[:n]


def gram_and_sums(
    piece: Piece, F: Tensor, values: Tensor, weights: Tensor | None
) -> tuple[Tensor, Tensor]:
    """As in `sums`, in single precision."""
    seg, n, k = piece.segments, piece.n, F.shape[1]
    main, extras = main_width(k)
    grams, total = _with_slots(seg, n, k * (k + 1) // 2, F), _with_slots(seg, n, k, F)
    weighted = weights is not None
    w = weights if weighted else values
    if main:
        f = padded(F, main + extras)
        kernels.gram[(len(seg.row),)](
            *_at(seg), piece.indices, values, w, f, f.shape[1], grams, total, n, k,
            KM=main, E=extras, EP=next_power(extras, 2), B=STEP, WEIGHTED=weighted,
            num_warps=4,
        )  # fmt: skip
    else:
        tiles = -(-k // TILE)
        f, pairs = padded(F, tiles * TILE), tiles * (tiles + 1) // 2
        kernels.gram_tile[(len(seg.row) * pairs,)](
            *_at(seg), piece.indices, values, w, f, f.shape[1], grams, total, n, k, pairs,
            T=TILE, B=STEP, WEIGHTED=weighted, num_warps=4,
        )  # fmt: skip
    return _gathered(seg, grams), _gathered(seg, total)


def biased_sums(
    piece: Piece, V: Tensor, values: Tensor, weights: Tensor | None
) -> tuple[Tensor, Tensor]:
    """As in `sums`, in single precision; at most `TILE` components."""
    seg, n, k = piece.segments, piece.n, V.shape[1] - 1
    width = (k + 1) * (k + 2) // 2
    grams, total = _with_slots(seg, n, width, V), _with_slots(seg, n, k + 1, V)
    main = next_power(k, 16)
    # Rows of a power of two, the bias apart: loads are as wide as they can be.
    f, bias = padded(V[:, :k], main), V[:, k].contiguous()
    kernels.biased_gram[(len(seg.row),)](
        *_at(seg), piece.indices, values, values if weights is None else weights, f, bias,
        f.stride(0), grams, total, n, k, KM=main, B=STEP, WEIGHTED=weights is not None,
        num_warps=4,
    )  # fmt: skip
    return _gathered(seg, grams), _gathered(seg, total)


def row_sums(piece: Piece, S: Tensor, weights: Tensor | None) -> Tensor:
    """As in `sums`, in single precision."""
    seg, width = piece.segments, S.shape[1]
    block = min(128, next_power(width, 16))
    blocks = -(-width // block)
    S = S if S.stride(1) == 1 else S.contiguous()
    room = _with_slots(seg, piece.n, width, S)
    kernels.sums[(len(seg.row) * blocks,)](
        *_at(seg), piece.indices, piece.values if weights is None else weights, S, S.stride(0),
        room, piece.n, width, blocks, WB=block, B=2048 // block, WEIGHTED=weights is not None,
        num_warps=4,
    )  # fmt: skip
    return _gathered(seg, room)


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
    main, extras = main_width(k)
    if not main:
        main, extras = next_power(k, 16), 0
    U, V = (X if X.stride(1) == 1 else X.contiguous() for X in (U, V))
    weighted = weights is not None
    kernels.products[(len(seg.row),)](
        *_at(seg)[:3], piece.indices, values, weights if weighted else values, U, V, U.stride(0),
        V.stride(0), out, min(k, main), KM=main, E=extras, B=max(16, 4096 // main),
        WEIGHTED=weighted, SQUARED=squared, num_warps=4,
    )  # fmt: skip
