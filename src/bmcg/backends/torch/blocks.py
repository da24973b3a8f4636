"""Packed blocks, one for each row, in plain PyTorch: some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import torch
from torch import Tensor

from ..packed import packed_rank

# Numbers of unpacked blocks at a time, 512 MiB in float32.
UNPACKED = 1 << 27


def rank(P: Tensor) -> int:
    """k of packed blocks (n, k(k+1)/2)."""
    return packed_rank(P.shape[1])


@cache
def _places(k: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Where a whole block's entries are among the packed ones, and the lower triangle in it."""
    r, s = torch.tril_indices(k, k)
    whole = torch.empty((k, k), dtype=torch.int64)
    whole[r, s] = whole[s, r] = torch.arange(len(r))
    lower = r * k + s
    steps = torch.arange(k)
    return whole.ravel().to(device), lower.to(device), (steps * (steps + 3) // 2).to(device)


def diagonal(k: int, device: torch.device) -> Tensor:
    """Positions of the diagonal in a packed block, shape (k,)."""
    return _places(k, device)[2]


def unpack(P: Tensor) -> Tensor:
    """Whole symmetric blocks: (n, k(k+1)/2) to (n, k, k)."""
    k = rank(P)
    return P.index_select(1, _places(k, P.device)[0]).view(len(P), k, k)


def pack(B: Tensor) -> Tensor:
    """Lower triangles: (n, k, k) to (n, k(k+1)/2)."""
    k = B.shape[1]
    return B.reshape(len(B), k * k).index_select(1, _places(k, B.device)[1])


def steps(P: Tensor) -> Iterator[slice]:
    """Rows whose whole blocks are few enough numbers."""
    k = rank(P)
    step = max(1, UNPACKED // max(1, k * k))
    return (slice(start, start + step) for start in range(0, len(P), step))


def block_product(P: Tensor, X: Tensor, out: Tensor) -> None:
    """B_i x_i into out: X (n, k) or (n, k, s)."""
    for at in steps(P):
        columns = X[at] if X.ndim == 3 else X[at, :, None]
        found = torch.bmm(unpack(P[at]), columns.to(P.dtype))
        out[at] = found.view(X[at].shape)


def lower_product(P: Tensor, X: Tensor) -> Tensor:
    """L_i x_i for X (n, k)."""
    return lower_products(P, X[:, :, None])[:, :, 0]


def lower_products(P: Tensor, X: Tensor) -> Tensor:
    """L_i X_i for lower triangles: X (n, k, s)."""
    out = torch.empty_like(X)
    for at in steps(P):
        out[at] = torch.bmm(torch.tril(unpack(P[at])).to(X.dtype), X[at])
    return out


def invert(P: Tensor) -> tuple[Tensor, Tensor]:
    """P_i⁻¹, packed, and log|P_i| in float64; NaN where a block is not positive definite."""
    out = torch.empty_like(P)
    logs = torch.empty(len(P), dtype=torch.float64, device=P.device)
    eye = torch.eye(rank(P), dtype=P.dtype, device=P.device)
    for at in steps(P):
        L, info = torch.linalg.cholesky_ex(unpack(P[at]))
        inverse = torch.linalg.solve_triangular(L, eye, upper=False)
        out[at] = pack(torch.bmm(inverse.mT, inverse))
        pivots = torch.diagonal(L, dim1=1, dim2=2).double()
        logs[at] = torch.where(info == 0, 2.0 * torch.log(pivots).sum(1), torch.nan)
        out[at] = torch.where((info == 0)[:, None], out[at], torch.nan)
    return out, logs


def solve(P: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    """P_i⁻¹ h_i and log|P_i| in float64; NaN where a block is not positive definite."""
    out, logs = torch.empty_like(h), torch.empty(len(P), dtype=torch.float64, device=P.device)
    for at in steps(P):
        L, info = torch.linalg.cholesky_ex(unpack(P[at]))
        good = info == 0
        x = torch.cholesky_solve(h[at, :, None].to(P.dtype), L)[:, :, 0]
        out[at] = torch.where(good[:, None], x, torch.nan)
        pivots = torch.diagonal(L, dim1=1, dim2=2).double()
        logs[at] = torch.where(good, 2.0 * torch.log(pivots).sum(1), torch.nan)
    return out, logs


def draw(P: Tensor, h: Tensor, z: Tensor) -> Tensor:
    """P_i⁻¹ h_i + L_i⁻ᵀ z_i with P_i = L_i L_iᵀ."""
    out = torch.empty_like(h)
    for at in steps(P):
        L, info = torch.linalg.cholesky_ex(unpack(P[at]))
        y = torch.linalg.solve_triangular(L, h[at, :, None], upper=False)
        y += z[at, :, None]
        x = torch.linalg.solve_triangular(L.mT, y, upper=True)[:, :, 0]
        out[at] = torch.where((info == 0)[:, None], x, torch.nan)
    return out


def cholesky(P: Tensor) -> Tensor:
    """Lower factors of positive semidefinite blocks, packed; a lost pivot is zero.

    Column by column, all blocks at once: LAPACK's way gives up where a pivot is lost.
    """
    out = torch.empty_like(P)
    for at in steps(P):
        out[at] = pack(_semidefinite(unpack(P[at])))
    return out


def lost_below(P: Tensor) -> float:
    """Share of a diagonal entry below which a pivot is lost."""
    return torch.finfo(P.dtype).eps * 8 * rank(P)


def _semidefinite(A: Tensor) -> Tensor:
    k = A.shape[1]
    L = torch.zeros_like(A)
    least = lost_below(pack(A[:0]))
    for j in range(k):
        column = A[:, j:, j]
        if j:
            column = column - torch.bmm(L[:, j:, :j], L[:, j, :j, None])[:, :, 0]
        pivot = column[:, 0]
        lost = pivot <= least * A[:, j, j]
        root = torch.where(lost, 1.0, pivot).sqrt()
        L[:, j:, j] = torch.where(lost[:, None], 0.0, column / root[:, None])
    return L
