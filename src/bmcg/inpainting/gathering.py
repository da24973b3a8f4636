# mypy: disable-error-code="no-untyped-def"
"""Numba kernels that take blocks out of the matrices of kinds, and add them up there."""

from __future__ import annotations

from ..kernels import exact


@exact
def gather(matrices, kind, at, out):
    """Entries of (kinds, w, w) at the pixels (n, q) of each patch, packed (n, q (q + 1) / 2)."""
    for i in range(len(at)):
        own, pixels, q = matrices[kind[i]], at[i], 0
        for r in range(len(pixels)):
            line = own[pixels[r]]
            for s in range(r + 1):
                out[i, q] = line[pixels[s]]
                q += 1


@exact
def scatter(packed, kind, at, sums):
    """Add packed blocks to the lower and upper halves of (kinds, w, w), where `gather` reads."""
    for i in range(len(at)):
        own, pixels, q = sums[kind[i]], at[i], 0
        for r in range(len(pixels)):
            for s in range(r):
                own[pixels[r], pixels[s]] += packed[i, q]
                own[pixels[s], pixels[r]] += packed[i, q]
                q += 1
            own[pixels[r], pixels[r]] += packed[i, q]
            q += 1
