"""Entries grouped by one side, and what tells them from others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Entries whose fingerprints are made at once.
HASHED = 1 << 20


class View(NamedTuple):
    """Observed entries grouped by one side, as compressed sparse rows.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_groups + 1,)
    indices : ndarray of int32, shape (n_observed,)
        Positions on the other side, ascending within a group.
    values : ndarray of float64, shape (n_observed,)
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]

    def fingerprint(self, first: int = 0) -> int:
        """A number of what the entries are, in whatever order or parts they come.

        Of parts that begin with group `first` it is the sum over the parts, modulo 2⁶⁴.
        """
        total = 0
        for start in range(0, len(self.values), HASHED):
            here = slice(start, start + HASHED)
            entries = np.arange(start, min(start + HASHED, len(self.values)))
            at = np.searchsorted(self.indptr, entries, "right")
            place = (at + (first - 1)).astype(np.uint64) << np.uint64(32)
            bits = np.ascontiguousarray(self.values[here] + 0.0).view(np.uint64)
            mixed = _mixed(_mixed(place | self.indices[here].astype(np.uint64)) ^ bits)
            total += int(np.add.reduce(mixed))
        return total % 2**64


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers whose bits all depend on all bits of the given ones (splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
