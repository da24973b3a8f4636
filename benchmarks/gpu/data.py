"""Power-law data made on the device, handed out as arrays of the host in random order."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

PLANTED = 8


def power_law(n_entries: int, m: int, n: int, seed: int = 0) -> sp.coo_array:
    """About n_entries distinct entries of a planted m×n matrix with unit noise.

    Row i is chosen with a probability that falls as (i + 50)^-0.8, column j as (j + 20)^-0.8.
    """
    draw = torch.Generator("cuda").manual_seed(seed)

    def places(count: int, size: int, start: int) -> Any:
        ranks = torch.arange(1, size + 1, dtype=torch.float64, device="cuda")
        cumulative = torch.cumsum((ranks + start) ** -0.8, 0)
        cumulative /= cumulative[-1].clone()
        u = torch.rand(count, generator=draw, device="cuda", dtype=torch.float64)
        return torch.searchsorted(cumulative, u).clamp_(max=size - 1)

    keys = torch.empty(0, dtype=torch.int64, device="cuda")
    while len(keys) < n_entries:
        more = int(1.2 * (n_entries - len(keys))) + 1000
        found = places(more, m, 50)
        found *= n
        found += places(more, n, 20)
        keys = torch.unique(torch.cat((keys, found)))
        del found
    keys = keys[torch.randperm(len(keys), generator=draw, device="cuda")[:n_entries]]
    rows, cols = (keys // n).int(), (keys % n).int()
    del keys
    U = torch.randn((m, PLANTED), generator=draw, device="cuda") / PLANTED**0.5
    V = torch.randn((n, PLANTED), generator=draw, device="cuda")
    values = torch.randn(n_entries, generator=draw, device="cuda")
    for start in range(0, n_entries, 1 << 26):
        at = slice(start, start + (1 << 26))
        values[at] += (U[rows[at].long()] * V[cols[at].long()]).sum(1)
    parts = values.double().cpu().numpy(), (rows.cpu().numpy(), cols.cpu().numpy())
    del rows, cols, values
    torch.cuda.empty_cache()
    return sp.coo_array(parts, shape=(m, n))


def ring_neighbours(n: int, k: int = 10, seed: int = 0) -> sp.csr_array:
    """A graph of n nodes whose neighbours are near in a random order: k of each, about."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n).astype(np.int32)
    steps = np.arange(1, k // 2 + 1)
    heads = np.repeat(order, len(steps))
    at = (np.repeat(np.arange(n), len(steps)) + np.tile(steps, n)) % n
    tails = order[at]
    ones = np.ones(2 * len(heads))
    ends = np.concatenate((heads, tails)), np.concatenate((tails, heads))
    return sp.csr_array((ones, ends), shape=(n, n))
