"""Kernels of packed blocks with what they are given: as in `blocks`, in single precision."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from . import block_kernels
from .blocks import lost_below, rank
from .launches import TILE, main_width, next_power


def fits(k: int) -> bool:
    """Whether blocks of k components fit into a program's registers."""
    main, extras = main_width(k)
    return main > 0 and (extras < 2 or main < TILE)


def _tile(k: int) -> dict[str, Any]:
    """Components of a tile, whether there is one beside it, and the warps of a program."""
    main, extras = main_width(k)
    if extras > 1:
        main = next_power(k, 16)
    return {"KM": main, "B": int(extras == 1), "num_warps": max(1, main * main // 1024)}


def _rows(P: Tensor) -> Tensor:
    """With the numbers of a block one after another; rows may be part of wider ones."""
    return P if P.stride(1) == 1 else P.contiguous()


def draw(
    G: Tensor, h: Tensor, tau: float, own: Tensor, lam: Tensor, z: Tensor, out: Tensor
) -> None:
    """P_i⁻¹ τh_i + L_i⁻ᵀ z_i with P_i = τG_i + own_i Λ."""
    k = h.shape[1]
    block_kernels.draw[(len(h),)](
        G, h, own, lam, z, out, tau, G.stride(0), h.stride(0), k, **_tile(k)
    )


def block_product(P: Tensor, X: Tensor, out: Tensor) -> None:
    """B_i x_i into out for X (n, k)."""
    P, k = _rows(P), X.shape[1]
    block_kernels.block_product[(len(X),)](
        P, X, out, P.stride(0), X.stride(0), out.stride(0), k, **_tile(k)
    )


def lower_product(L: Tensor, X: Tensor) -> Tensor:
    """L_i x_i for X (n, k)."""
    L, X, out = _rows(L), _rows(X), torch.empty_like(X, memory_format=torch.contiguous_format)
    block_kernels.lower_product[(len(X),)](
        L, X, out, L.stride(0), X.stride(0), out.stride(0), X.shape[1], **_tile(X.shape[1])
    )
    return out


def invert(P: Tensor) -> tuple[Tensor, Tensor]:
    """P_i⁻¹, packed, and log|P_i| in float64; NaN where a block is not positive definite."""
    P = _rows(P)
    out = torch.empty(P.shape, dtype=P.dtype, device=P.device)
    logs = torch.empty(len(P), dtype=torch.float64, device=P.device)
    k = rank(P)
    block_kernels.invert[(len(P),)](P, out, logs, P.stride(0), k, **_tile(k))
    return out, logs


def cholesky(P: Tensor) -> Tensor:
    """Lower factors of positive semidefinite blocks, packed; a lost pivot is zero."""
    P = _rows(P)
    out, k = torch.empty(P.shape, dtype=P.dtype, device=P.device), rank(P)
    block_kernels.cholesky[(len(P),)](P, out, P.stride(0), k, lost_below(P), **_tile(k))
    return out
