"""Sums over the entries of each row in plain PyTorch: on any device, and what kernels are held to.

Entries are gathered some at a time, and sums are taken in float64.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .entries import Piece

# Numbers gathered at a time.
GATHERED = 1 << 24


def row_sums(piece: Piece, S: Tensor, weights: Tensor | None) -> Tensor:
    """Σ_j w_ij s_j, (n, w) in float64; ones by default."""
    total = torch.zeros((piece.n, S.shape[1]), dtype=torch.float64, device=S.device)
    for low, high in _steps(piece, S.shape[1]):
        part = S.index_select(0, piece.indices[low:high]).double()
        if weights is not None:
            part *= weights[low:high, None]
        _add(piece, part, low, high, total)
    return total


def gram_and_sums(
    piece: Piece, F: Tensor, values: Tensor, weights: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Σ_j w_ij f_j f_jᵀ, packed, and Σ_j w_ij x_ij f_j, in float64."""
    k = F.shape[1]
    r, s = torch.tril_indices(k, k, device=F.device)
    grams = torch.zeros((piece.n, len(r)), dtype=torch.float64, device=F.device)
    total = torch.zeros((piece.n, k), dtype=torch.float64, device=F.device)
    for low, high in _steps(piece, len(r)):
        f = F.index_select(0, piece.indices[low:high]).double()
        left = f if weights is None else f * weights[low:high, None]
        _add(piece, left[:, r] * f[:, s], low, high, grams)
        _add(piece, left * values[low:high, None], low, high, total)
    return grams, total


def biased_sums(
    piece: Piece, V: Tensor, values: Tensor, weights: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Σ_j w_ij f_j f_jᵀ and Σ_j w_ij (x_ij − c_j) f_j of f = (v, 1) for rows (v, c) of V."""
    F = torch.cat((V[:, :-1], torch.ones_like(V[:, :1])), 1)
    left = values.double() - V[:, -1].double().index_select(0, piece.indices)
    return gram_and_sums(piece, F, left, weights)


def entry_products(piece: Piece, U: Tensor, V: Tensor, out: Tensor) -> None:
    """u_i·v_j at every entry into out; U has the rows of the piece."""
    rows = members(piece)
    for low, high in _steps(piece, U.shape[1]):
        u = U.index_select(0, rows[low:high]).double()
        v = V.index_select(0, piece.indices[low:high]).double()
        out[low:high] = torch.einsum("pr,pr->p", u, v)


def squared_error(
    piece: Piece, U: Tensor, V: Tensor, values: Tensor, weights: Tensor | None
) -> Tensor:
    """Σ w_ij (x_ij − u_i·v_j)², in float64."""
    products = torch.empty(piece.size, dtype=torch.float64, device=U.device)
    entry_products(piece, U, V, products)
    squares = (values - products) ** 2
    return squares.sum() if weights is None else (squares * weights).sum()


def members(piece: Piece) -> Tensor:
    """The row of every entry within the piece."""
    rows = torch.arange(piece.n, device=piece.ptr.device)
    return torch.repeat_interleave(rows, piece.ptr.diff(), output_size=piece.size)


def _steps(piece: Piece, width: int) -> list[tuple[int, int]]:
    step = max(1, GATHERED // max(1, width))
    return [(low, min(low + step, piece.size)) for low in range(0, piece.size, step)]


def _add(piece: Piece, part: Tensor, low: int, high: int, total: Tensor) -> None:
    """Entries `low` to `high` added to their rows, in their order."""
    cuts = piece.ptr.clamp(low, high)
    sums = torch.segment_reduce(part, "sum", lengths=cuts.diff(), axis=0, unsafe=True, initial=0)
    total += sums
