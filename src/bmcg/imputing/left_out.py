"""Every entry predicted as if its own call had been left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..estimators import BMCG
from .calibration import (
    LARGEST_LEVERAGE,
    LEAST_VARIANCE,
    Calibration,
    Entries,
    SiteSpread,
    calibrate,
)
from .genotypes import Array, Genotypes
from .haplotypes import BOTH, Columns

# Sites looked at together.
BLOCK = 256


@dataclass(frozen=True)
class LeftOut:
    """Every entry predicted without its own call.

    Attributes
    ----------
    genotypes : Genotypes
    columns : Columns
    rows, cols : ndarray of intp
        Sites and columns of the fit.
    centre, variance, frequency : ndarray of float32, shape (m', c')
        As in `Entries`, of the sites and columns of the fit.
    calibrations : dict
        By the ploidy of a column: 1 for haplotypes, 2 for genotypes.
    """

    genotypes: Genotypes
    columns: Columns
    rows: NDArray[np.intp]
    cols: NDArray[np.intp]
    centre: NDArray[np.float32]
    variance: NDArray[np.float32]
    frequency: NDArray[np.float32]
    calibrations: dict[int, Calibration]

    @classmethod
    def of(
        cls,
        model: BMCG,
        genotypes: Genotypes,
        columns: Columns,
        rows: NDArray[np.intp],
        cols: NDArray[np.intp],
    ) -> LeftOut:
        """Predictions of a fit, and how far the observed calls say they are off."""
        values = columns.values[np.ix_(rows, cols)]
        centre, spread = _predictions(model, values)
        split = columns.copy[cols] != BOTH
        squares = (values - centre) ** 2 / spread
        for kind in (split, ~split):
            if kind.any():
                spread[:, kind] *= SiteSpread.of(squares[:, kind]).factor(squares[:, kind])
        variance = np.maximum(spread, LEAST_VARIANCE)
        frequency = _frequencies(genotypes, columns, rows, cols, values)
        parts = [part.astype(np.float32) for part in (centre, variance, frequency)]
        found = cls(genotypes, columns, rows, cols, parts[0], parts[1], parts[2], {})
        ploidy = genotypes.ploidy[np.ix_(rows, columns.sample[cols])]
        for k, kind in ((1, split), (2, ~split)):
            i, j = np.nonzero(np.isfinite(values) & kind & ((ploidy == 2) | (k == 1)))
            copies = np.rint(k * values[i, j]).astype(np.intp)
            found.calibrations[k] = calibrate(found.entries(i, j), copies, k)
        return found

    def entries(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> Entries:
        """Some of them, by positions in the fit."""
        return Entries(
            self.centre[i, j].astype(float),
            self.variance[i, j].astype(float),
            self.frequency[i, j].astype(float),
        )

    def chances(self, i: NDArray[np.intp], j: NDArray[np.intp], ploidy: int) -> Array:
        """Probabilities of the copies of entries of one ploidy, of columns of one kind."""
        split = self.columns.copy[self.cols[j[0]]] != BOTH
        return self.calibrations[1 if split else 2].chances(self.entries(i, j), ploidy)

    def by_kind(
        self, i: NDArray[np.intp], j: NDArray[np.intp]
    ) -> Iterator[tuple[NDArray[np.intp], int]]:
        """Entries of one kind of column and one ploidy each time, with that ploidy."""
        split = self.columns.copy[self.cols[j]] != BOTH
        ploidy = self.genotypes.ploidy[self.rows[i], self.columns.sample[self.cols[j]]]
        ploidy = np.where(split, 1, ploidy)
        for k in np.unique(ploidy[ploidy > 0]).tolist():
            for kind in (split, ~split):
                at = np.flatnonzero(kind & (ploidy == k))
                if len(at):
                    yield at, k

    def accuracy(self) -> Array:
        """Squared correlation of left-out dosages and calls at every site, shape (m,)."""
        genotypes = self.genotypes
        out = np.full(len(genotypes.copies), np.nan)
        owner = self.columns.sample[self.cols]
        for start in range(0, len(self.rows), BLOCK):
            rows = self.rows[start : start + BLOCK]
            share = np.zeros((len(rows), len(owner)))
            i, j = (part.ravel() for part in np.indices(share.shape))
            for at, k in self.by_kind(start + i, j):
                chance = self.chances(start + i[at], j[at], k)
                share[i[at], j[at]] = chance @ np.arange(k + 1) / k
            dosage = np.zeros((len(rows), genotypes.copies.shape[1]))
            np.add.at(dosage.T, owner, share.T)
            dosage /= np.maximum(np.bincount(owner, minlength=dosage.shape[1]), 1)
            out[rows] = squared_correlation(dosage, genotypes.copies[rows])
        return out


def _predictions(model: BMCG, values: Array) -> tuple[Array, Array]:
    """Means and variances of all entries, each without its own call, shape of `values`."""
    m, n = values.shape
    centre, variance = np.empty((m, n)), np.empty((m, n))
    every, noise = np.arange(n), model.noise_std_**2
    for start in range(0, m, BLOCK):
        at = np.arange(start, min(start + BLOCK, m))
        mean = model.fitted_.mean_block(at, every)
        own = model.fitted_.variance_block(at, every)
        keep = 1.0 - np.minimum(own / noise, LARGEST_LEVERAGE)
        known = np.isfinite(values[at])
        left_out = values[at] - (values[at] - mean) / keep
        # Far outside, an estimate of the leverage has gone wrong.
        centre[at] = np.clip(np.where(known, left_out, mean), -0.5, 1.5)
        variance[at] = np.where(known, noise / keep, noise + own)
    return centre, variance


def _frequencies(
    genotypes: Genotypes,
    columns: Columns,
    rows: NDArray[np.intp],
    cols: NDArray[np.intp],
    values: Array,
) -> Array:
    """Of the alternative allele at the site, its own call left out, shape of `values`."""
    ploidy = genotypes.ploidy[np.ix_(rows, columns.sample[cols])].astype(float)
    alleles = np.where(columns.copy[cols] == BOTH, ploidy, 1.0)
    alleles = np.where(np.isfinite(values), alleles, 0.0)
    carried = np.where(np.isfinite(values), alleles * values, 0.0)
    number = alleles.sum(axis=1, keepdims=True) - alleles
    # Half a copy of each allele: one that was not seen is not impossible (Jeffreys).
    return np.asarray((carried.sum(axis=1, keepdims=True) - carried + 0.5) / (number + 1.0))


def squared_correlation(x: Array, y: Array) -> Array:
    """Of the rows of two matrices where the second is known, NaN where one does not vary.

    Zero where they run against each other: what leaves its own call out does so of itself.
    """
    known = np.isfinite(y)
    number = np.maximum(known.sum(axis=1, keepdims=True), 1)
    x, y = (np.where(known, part, 0.0) for part in (x, y))
    x, y = (
        np.where(known, part - part.sum(axis=1, keepdims=True) / number, 0.0) for part in (x, y)
    )
    spread = (x**2).sum(axis=1) * (y**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.maximum((x * y).sum(axis=1), 0.0) ** 2 / spread
    return np.where(spread > 1e-12, found, np.nan)
