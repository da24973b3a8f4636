"""Every sample as two haplotypes, with what is known of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..genotypes import Array, Bools, Genotypes
from .kernels import first_phase

Alleles = NDArray[np.int8]
# Sites before a heterozygote that say how it is turned at first.
REACH = 32


@dataclass(frozen=True)
class Along:
    """Where the sites lie.

    Attributes
    ----------
    chromosome : ndarray of shape (m,)
    centimorgans : ndarray of shape (m,)
        Genetic positions, comparable within a chromosome.
    panel : ndarray of int8, shape (m, p), or None
        Alleles of the haplotypes of a reference panel at the same sites, -1 where not known.
    """

    chromosome: NDArray[np.object_]
    centimorgans: Array
    panel: Alleles | None = None

    def some(self, sites: NDArray[np.intp]) -> Along:
        """Of some sites."""
        panel = None if self.panel is None else self.panel[sites]
        return Along(self.chromosome[sites], self.centimorgans[sites], panel)


@dataclass(frozen=True)
class Strands:
    """Haplotypes of n samples and of a panel, at m sites in order.

    Attributes
    ----------
    alleles : ndarray of int8, shape (2n + p, m)
        Rows 2i and 2i + 1 are of sample i; -1 where not known. Of a call of one chromosome the
        first row has the allele.
    free : ndarray of bool, shape (n, m)
        Heterozygotes without phase: which row has the allele is a guess.
    real : ndarray of bool, shape (2n + p,)
        Whether there is such a haplotype: samples of one chromosome at all sites have no second.
    """

    alleles: Alleles
    free: Bools
    real: Bools

    @classmethod
    def of(cls, genotypes: Genotypes, panel: Alleles | None) -> Strands:
        """Of the calls, heterozygotes without phase turned by the correlations of sites."""
        copies, ploidy = genotypes.copies.T, genotypes.ploidy.T
        n, m = copies.shape
        known = np.isfinite(copies)
        x = np.full((n, 2, m), -1, dtype=np.int8)
        x[:, 0] = np.where(known, copies >= 1, -1)
        x[:, 1] = np.where(known & (ploidy == 2), copies >= 2, -1)
        free = known & (copies == 1) & (ploidy == 2)
        if genotypes.first is not None and genotypes.second is not None:
            phased = genotypes.split[:, None] & (genotypes.second.T >= 0)
            for row, given in enumerate((genotypes.first.T, genotypes.second.T)):
                x[:, row] = np.where(phased, given, x[:, row])
            free &= ~phased
        alleles = x.reshape(2 * n, m)
        if free.any():
            first_phase(alleles, free, _correlations(copies))
        real = np.column_stack((np.ones(n, dtype=bool), (ploidy == 2).any(axis=1))).ravel()
        if panel is not None:
            alleles = np.concatenate((alleles, panel.T))
            real = np.concatenate((real, np.ones(panel.shape[1], dtype=bool)))
        return cls(alleles, free, real)


def _correlations(copies: Array) -> NDArray[np.float32]:
    """Of each site with those before it, (REACH, m), by calls that both have."""
    known = np.isfinite(copies)
    mean = np.where(known, copies, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    Z = np.where(known, copies - mean, 0.0).astype(np.float32)
    size = np.sqrt((Z**2).sum(axis=0)) + 1e-6
    Z /= size
    C = np.zeros((REACH, Z.shape[1]), dtype=np.float32)
    for d in range(min(REACH, Z.shape[1] - 1)):
        C[d, d + 1 :] = np.einsum("is,is->s", Z[:, d + 1 :], Z[:, : -d - 1])
    return C
