"""Columns of the matrix that is fitted: genotypes, or the two haplotypes of a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .genotypes import Array, Bools, Genotypes

# Share of a sample's heterozygotes whose phase must be known for its haplotypes to be columns.
PHASED_SHARE = 0.9
BOTH = -1


@dataclass(frozen=True)
class Columns:
    """What is fitted: shares of the alternative allele, 0 to 1.

    The genotype of a sample is the mean of its haplotypes, so both kinds of column follow one
    linear model.

    Attributes
    ----------
    values : ndarray of shape (m, c)
        NaN where unknown.
    sample : ndarray of intp, shape (c,)
    copy : ndarray of int8, shape (c,)
        0 and 1 for the haplotypes of a sample, `BOTH` for its genotypes.
    """

    values: Array
    sample: NDArray[np.intp]
    copy: NDArray[np.int8]

    @classmethod
    def of(cls, genotypes: Genotypes) -> Columns:
        """Haplotypes of the samples to split, genotypes of the others, in order."""
        width = np.where(genotypes.split, 2, 1)
        sample = np.repeat(np.arange(len(width)), width)
        start = np.cumsum(width) - width
        copy = np.arange(len(sample)) - start[sample]
        copy = np.where(genotypes.split[sample], copy, BOTH).astype(np.int8)
        values = genotypes.copies[:, sample] / 2.0
        for which, alleles in enumerate((genotypes.first, genotypes.second)):
            if alleles is not None:
                at = copy == which
                found = alleles[:, sample[at]].astype(float)
                values[:, at] = np.where(found < 0, np.nan, found)
        return cls(values, sample, copy)

    def names(self, of_samples: NDArray[Any]) -> NDArray[Any]:
        """Names of the columns, shape (c,); haplotypes of a sample are name|1 and name|2."""
        pairs = zip(of_samples[self.sample], self.copy.tolist(), strict=True)
        return np.array([n if c == BOTH else f"{n}|{c + 1}" for n, c in pairs], dtype=object)

    def graph(self, of_samples: Any) -> Any:
        """A graph of the samples as one of the columns: haplotypes inherit the edges."""
        if of_samples is None or len(self.sample) == of_samples.shape[0]:
            return of_samples
        A = sp.csr_array(of_samples)
        return A[self.sample][:, self.sample]


def samples_to_split(
    first: NDArray[np.int8],
    second: NDArray[np.int8],
    phased: Bools,
    ploidy: NDArray[np.uint8],
) -> tuple[Bools, int]:
    """Which samples are phased, and how many heterozygotes of theirs are not.

    A homozygote says the same with and without phase; heterozygotes decide. All arguments are
    of shape (m, n).
    """
    heterozygous = (first >= 0) & (second >= 0) & (first != second)
    known = (heterozygous & phased).sum(axis=0)
    unknown = (heterozygous & ~phased).sum(axis=0)
    split = (known >= PHASED_SHARE * (known + unknown)) & phased.any(axis=0)
    split &= (ploidy <= 2).all(axis=0)
    return split, int(unknown[split].sum())
