"""Packed lower triangles: entry (r, s), s ≤ r, of a k×k block lies at r(r+1)/2 + s."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def contiguous(x: Array) -> Array:
    """The same with its rows one after another in memory, wherever that is."""
    return np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x.contiguous()


@cache
def lower(k: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of a packed block's entries, shape (k(k+1)/2,) each."""
    rows, cols = np.tril_indices(k)
    rows.flags.writeable = cols.flags.writeable = False
    return rows, cols


def pack(blocks: Array) -> Array:
    """Lower triangles of symmetric blocks, row by row: (..., k, k) to (..., k(k+1)/2)."""
    r, s = lower(blocks.shape[-1])
    return contiguous(blocks[..., r, s])


def unpack(packed: Array) -> Array:
    """The inverse of `pack`: (..., k(k+1)/2) to (..., k, k)."""
    k = packed_rank(packed.shape[-1])
    out = np.empty_like(packed, shape=(*packed.shape[:-1], k, k))
    r, s = lower(k)
    out[..., r, s] = packed
    out[..., s, r] = packed
    return out


def packed_rank(width: int) -> int:
    """k of a packed width k(k+1)/2."""
    return int((np.sqrt(8 * width + 1) - 1) / 2 + 0.5)


def packed_diagonal(k: int) -> NDArray[np.intp]:
    """Positions of the diagonal in a packed block, shape (k,)."""
    r = np.arange(k)
    return r * (r + 1) // 2 + r


def outer_packed(F: Array) -> Array:
    """f_i f_iᵀ, packed: (n, k) to (n, k(k+1)/2)."""
    r, s = lower(F.shape[1])
    # `take` keeps rows contiguous, which indexing does not: sums over rows run on this array.
    return F.take(r, axis=1) * F.take(s, axis=1)


def multiplicity(k: int) -> Array:
    """How often an entry of a packed block stands in the whole block, shape (k(k+1)/2,)."""
    r, s = lower(k)
    return np.where(r == s, 1.0, 2.0)
