"""Rows with most of their entries: sums over all columns, less those that are missing.

Σ_{j∈Ω_i} s_j = Σ_j s_j − Σ_{j∉Ω_i} s_j. Every row goes over its entries or over what it lacks,
whichever is less: a full table costs nothing, and no row more than half of its cells. Digits are
not lost by it, for what is left is at least half of what is subtracted from, in cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base import Array, SparseRows

# Cells that are looked at together while what is missing is found, 4 MiB.
SLAB = 1 << 22


@dataclass(frozen=True)
class Fewer:
    """What each row goes over.

    Attributes
    ----------
    rows : SparseRows
        Entries, or what is missing; its values are zero.
    missing : ndarray of bool, shape (n,)
        Whether it is what is missing.
    """

    rows: SparseRows
    missing: NDArray[np.bool_]

    def fill(self, out: Array, total: Array) -> Array:
        """Sums of `rows` (n, w) turned, in place, into those over the entries; total (w,)."""
        # One pass, no copy of the rows concerned: out ← ±out + total, or + 0.
        out *= np.where(self.missing, -1.0, 1.0)[:, None]
        for i in range(0, len(out), 256):
            part = slice(i, i + 256)
            np.add(out[part], total, out=out[part], where=self.missing[part, None])
        return out


def fewer(rows: SparseRows, n_other: int) -> Fewer | None:
    """Where going over what is missing saves work; None where entries stand twice, or few do."""
    counts = rows.counts
    work = int(np.minimum(counts, n_other - counts).sum())
    if 2 * work > len(rows.indices):
        return None
    key = "fewer", n_other
    if key not in rows.memo:
        rows.memo[key] = _make(rows, n_other)
    found: Fewer | None = rows.memo[key]
    return found


def _make(rows: SparseRows, n_other: int) -> Fewer | None:
    missing = 2 * rows.counts > n_other
    parts, step = [], max(1, SLAB // max(1, n_other))
    for start in range(0, rows.n, step):
        stop = min(start + step, rows.n)
        first, last = int(rows.indptr[start]), int(rows.indptr[stop])
        line = np.repeat(np.arange(stop - start), rows.counts[start:stop])
        seen = np.zeros((stop - start, n_other), dtype=bool)
        seen[line, rows.indices[first:last]] = True
        if int(seen.sum()) < last - first:
            return None
        parts.append(np.nonzero(seen ^ missing[start:stop, None])[1].astype(np.int32))
    indices = np.concatenate(parts)
    counts = np.where(missing, n_other - rows.counts, rows.counts)
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return Fewer(SparseRows(indptr, indices, np.zeros(len(indices)), rows.backend), missing)
