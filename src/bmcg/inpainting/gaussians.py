"""Patches as draws of a few Gaussians, with pixels missing.

A low-rank model of patches whose factors are integrated out is a Gaussian: its covariance is that
of the components plus the noise. With S the covariance and P its inverse, the missing pixels m of
a patch given the known ones o have the mean S_mo S_oo⁻¹ x_o = −P_mm⁻¹ P_mo x_o and the covariance
S_mm − S_mo S_oo⁻¹ S_om = P_mm⁻¹: whichever block is the smaller is factored, many at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend
from .gathering import gather, scatter

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]

# Blocks are gathered so many numbers at a time.
NUMBERS_AT_ONCE = 1_000_000


class Blocks(NamedTuple):
    """Patches of which as many pixels are missing, and the smaller of their two blocks.

    Attributes
    ----------
    missing : bool
        Whether the block is of P at the missing pixels; else of S at the known ones.
    rows : ndarray of shape (n,)
    at : ndarray of shape (n, q)
        Those pixels.
    packed : ndarray of shape (n, q (q + 1) / 2)
    """

    missing: bool
    rows: Index
    at: Index
    packed: Array


@dataclass(frozen=True)
class Gaussians:
    """Gaussians of mean zero, one for each kind of patches.

    Attributes
    ----------
    covariance, precision : ndarray of shape (kinds, w, w)
    log_det : ndarray of shape (kinds,)
        Of the covariances.
    """

    covariance: Array
    precision: Array
    log_det: Array

    @classmethod
    def of(cls, covariance: Array) -> Gaussians:
        """From covariances."""
        precision = np.linalg.inv(covariance)
        precision = 0.5 * (precision + precision.transpose(0, 2, 1))
        return cls(covariance, precision, np.linalg.slogdet(covariance)[1])

    @classmethod
    def learned(cls, second: Array, count: Index, level: float) -> Gaussians:
        """From sums of x xᵀ over the patches of each kind, (kinds, w, w), and their numbers.

        Every kind hears the average kind as if that were as many patches as a patch has pixels:
        fewer do not tell a covariance. `level` is the variance of a patch's level besides.
        """
        width = second.shape[1]
        pooled = second.sum(axis=0) / count.sum()
        own = (second + width * pooled) / (count + width)[:, None, None]
        least = 1e-6 * float(np.trace(pooled)) / width + 1e-9
        values, vectors = np.linalg.eigh(own + level + least * np.eye(width))
        values = np.stack([evened(*pair) for pair in zip(values, count + width, strict=True)])
        return cls.of((vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1))

    def of_whole(self, x: Array) -> Array:
        """Log-density of whole patches under every kind, up to a constant, (n, kinds)."""
        # Single precision tells kinds apart, of squares that do not cancel.
        roots, flat = np.linalg.cholesky(self.precision).astype(np.float32), x.astype(np.float32)
        turned = (flat @ root for root in roots)
        parts = [np.einsum("ij,ij->i", part, part) for part in turned]
        return np.asarray(-0.5 * (np.stack(parts, axis=1) + self.log_det))

    def evidence(self, x: Array, known: Bool, kind: Index, pool: Backend) -> Array:
        """Log-density of the known pixels of patches, up to a constant of each patch, (n,).

        Parameters
        ----------
        x : ndarray of shape (n, w)
            Zero where not known.
        known : ndarray of bool, shape (n, w)
        kind : ndarray of int, shape (n,)
        pool : Backend
        """
        y = _times(self.precision, x, kind)
        whole = (x * y).sum(axis=1) + self.log_det[kind]
        out = np.where(known.any(axis=1), whole, 0.0)
        for part in self._blocks(known, kind):
            h = np.take_along_axis((y if part.missing else x)[part.rows], part.at, axis=1)
            solved, log_det = pool.solve_blocks(part.packed, h)
            inner = (h * solved).sum(axis=1)
            out[part.rows] = log_det + (whole[part.rows] - inner if part.missing else inner)
        return -0.5 * out

    def fill(self, x: Array, known: Bool, kind: Index, pool: Backend) -> tuple[Array, Array]:
        """Means and variances of the missing pixels, (n, w) each; known ones as they are, zero."""
        mean, variance = np.empty_like(x), np.zeros_like(x)
        own = np.einsum("kii->ki", self.covariance)[kind]
        variance[:] = np.where(known.any(axis=1, keepdims=True), 0.0, own)
        for part, inverse in self._inverses(x, known, kind, pool, mean):
            rows, at = part.rows, part.at
            if part.missing:
                variance[rows[:, None], at] = inverse[:, _diagonal(at.shape[1])]
            else:
                ties = self.covariance[kind[rows][:, None], at]
                told = (pool.block_product(inverse, ties) * ties).sum(axis=1)
                variance[rows] = np.where(known[rows], 0.0, own[rows] - told)
        return mean, variance

    def moments(self, x: Array, known: Bool, kind: Index, pool: Backend) -> tuple[Array, Array]:
        """Means of whole patches (n, w), and expected sums of x xᵀ of each kind, (kinds, w, w)."""
        S, mean = self.covariance, np.empty_like(x)
        gone, there = np.zeros(S.shape), np.zeros(S.shape)
        for part, inverse in self._inverses(x, known, kind, pool, mean):
            scatter(inverse, kind[part.rows], part.at, gone if part.missing else there)
        # Σ (S − S_:o S_oo⁻¹ S_o:) over patches whose known pixels are the fewer.
        fewer = kind[2 * known.sum(axis=1) < known.shape[1]]
        count = np.bincount(fewer, minlength=len(S))[:, None, None]
        second = gone + count * S - S @ there @ S
        for c in range(len(S)):
            own = mean[kind == c]
            second[c] += own.T @ own
        return mean, second

    def _inverses(
        self, x: Array, known: Bool, kind: Index, pool: Backend, mean: Array
    ) -> Iterator[tuple[Blocks, Array]]:
        """Inverses of the blocks; after the last, `mean` (n, w) has been written."""
        y = _times(self.precision, x, kind)
        mean[:] = x
        pull = np.zeros_like(x)
        for part in self._blocks(known, kind):
            inverse, _ = pool.invert_blocks(part.packed)
            h = np.take_along_axis((y if part.missing else x)[part.rows], part.at, axis=1)
            found = pool.block_product(inverse, h)
            if part.missing:
                mean[part.rows[:, None], part.at] = -found
            else:
                pull[part.rows[:, None], part.at] = found
            yield part, inverse
        pulled = np.flatnonzero(pull.any(axis=1))
        found = _times(self.covariance, pull[pulled], kind[pulled])
        mean[pulled] = np.where(known[pulled], x[pulled], found)

    def _blocks(self, known: Bool, kind: Index) -> Iterator[Blocks]:
        width = known.shape[1]
        missing = width - known.sum(axis=1)
        for count in np.unique(missing):
            rows = np.flatnonzero(missing == count)
            fewer = bool(2 * count <= width)
            q = int(count if fewer else width - count)
            if q == 0:
                continue
            at = np.nonzero(known[rows] ^ fewer)[1].reshape(len(rows), q)
            matrices = self.precision if fewer else self.covariance
            step = max(1, NUMBERS_AT_ONCE // (q * width))
            for start in range(0, len(rows), step):
                own, some = at[start : start + step], rows[start : start + step]
                packed = np.empty((len(own), q * (q + 1) // 2))
                gather(matrices, kind[some], own, packed)
                yield Blocks(fewer, some, own, packed)


def _times(matrices: Array, x: Array, kind: Index) -> Array:
    """Each patch times the symmetric matrix of its kind, (n, w)."""
    out = np.empty_like(x)
    for c in np.unique(kind):
        own = kind == c
        out[own] = x[own] @ matrices[c]
    return out


def _diagonal(q: int) -> Index:
    """Where the diagonal lies in a packed block."""
    row = np.arange(q)
    return row * (row + 3) // 2


def evened(values: Array, count: float) -> Array:
    """Eigenvalues in ascending order, those that are but noise all as large as their mean.

    Noise of variance v alone, seen `count` times, has eigenvalues up to v (1 + √(w / count))²:
    those below are of no direction of their own. v itself is their mean, and at first that of the
    lowest quarter.
    """
    edge = (1.0 + np.sqrt(len(values) / count)) ** 2
    below = max(1, len(values) // 4)
    while True:
        found = int((values <= edge * values[:below].mean()).sum())
        if found <= below:
            break
        below = found
    return np.where(np.arange(len(values)) < below, values[:below].mean(), values)
