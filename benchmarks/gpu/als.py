"""Alternating least squares in plain PyTorch, for comparison: entries gathered, blocks summed."""

from __future__ import annotations

import time

import scipy.sparse as sp
import torch
from torch import Tensor

# Numbers of the outer products that are formed at a time.
FORMED = 1 << 28


def half(rows: Tensor, cols: Tensor, x: Tensor, F: Tensor, n: int, ridge: float) -> Tensor:
    """Factors of n rows given those of the other side."""
    k = F.shape[1]
    G = torch.zeros((n, k * k), device=F.device)
    h = torch.zeros((n, k), device=F.device)
    step = FORMED // (k * k)
    for start in range(0, len(x), step):
        at = slice(start, start + step)
        f, i = F[cols[at].long()], rows[at].long()
        G.index_add_(0, i, (f[:, :, None] * f[:, None, :]).view(len(f), -1))
        h.index_add_(0, i, f * x[at, None])
    blocks = G.view(n, k, k)
    blocks.diagonal(dim1=1, dim2=2).add_(ridge)
    out = torch.empty_like(h)
    for start in range(0, n, 1 << 17):
        at = slice(start, start + (1 << 17))
        L = torch.linalg.cholesky_ex(blocks[at])[0]
        out[at] = torch.cholesky_solve(h[at, :, None], L)[:, :, 0]
    return out


def seconds_a_sweep(X: sp.coo_array, k: int = 32, sweeps: int = 3) -> dict[str, float]:
    """Median time of a sweep and the memory it takes, entries on the device as they come."""
    torch.cuda.reset_peak_memory_stats()
    i, j, x = (torch.as_tensor(part, device="cuda") for part in (X.row, X.col, X.data))
    x = (x - x.mean()).float()
    V = torch.randn((X.shape[1], k), device="cuda") * 0.3
    times = []
    for _ in range(sweeps):
        torch.cuda.synchronize()
        began = time.perf_counter()
        U = half(i, j, x, V, X.shape[0], 5.0)
        V = half(j, i, x, U, X.shape[1], 5.0)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    peak = torch.cuda.max_memory_allocated() / 1e9
    return {"seconds": sorted(times)[len(times) // 2], "peak_gb": peak}
