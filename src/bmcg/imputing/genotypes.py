"""Calls of a cohort as a matrix, and what is known of them once they are filled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .matrix import Filled

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

# What a call and a site gain in VCF, with the definition that the header needs.
FIELDS = {
    "DS": '##FORMAT=<ID=DS,Number=A,Type=Float,Description="Expected copies of the alternative '
    'allele, by bmcg">',
    "GP": '##FORMAT=<ID=GP,Number=G,Type=Float,Description="Probabilities of the genotypes, '
    'by bmcg">',
}
INFO = {
    "IMPUTED": '##INFO=<ID=IMPUTED,Number=1,Type=Integer,Description="Calls filled by bmcg">',
    "DR2": '##INFO=<ID=DR2,Number=A,Type=Float,Description="Squared correlation of dosages, each '
    'predicted without its own call, with the calls, by bmcg">',
}

# Probabilities are written in units of 1/UNITS.
UNITS = 10_000
# Digits of a position that 64 bits hold.
_DIGITS = 18
_DECIMALS = [f"{unit / UNITS:.4g}" for unit in range(UNITS + 1)]


def base_pairs(text: str) -> int | None:
    """A position as a number, None where it is no whole one."""
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else None


@dataclass(frozen=True)
class Genotypes:
    """Calls of n samples at m sites with one alternative allele.

    Attributes
    ----------
    copies : ndarray of shape (m, n)
        Of the alternative allele, for two chromosomes; NaN where missing or not usable.
    ploidy : ndarray of uint8, shape (m, n)
        Chromosomes of each call; zero where a call is neither known nor to be filled.
    first, second : ndarray of int8, shape (m, n), or None
        Alleles of the two haplotypes, -1 where they are not known; None without phase.
    split : ndarray of bool, shape (n,)
        Samples whose haplotypes are columns of their own.
    """

    copies: Array
    ploidy: NDArray[np.uint8]
    first: NDArray[np.int8] | None
    second: NDArray[np.int8] | None
    split: Bools

    @property
    def missing(self) -> Bools:
        """Calls that can be filled, shape (m, n)."""
        return np.isnan(self.copies) & (self.ploidy > 0)

    def some(self, sites: NDArray[np.intp], samples: NDArray[np.intp] | None = None) -> Genotypes:
        """Of some sites, and of some samples."""
        of = np.arange(len(self.split)) if samples is None else samples
        at = np.ix_(sites, of)
        first, second = (None if part is None else part[at] for part in (self.first, self.second))
        return Genotypes(self.copies[at], self.ploidy[at], first, second, self.split[of])


@dataclass(frozen=True)
class FilledGenotypes(Filled):
    """Missing calls with the probabilities of their genotypes; see `Filled`.

    `mean` and `std` are those of the copies that a call of its ploidy has.

    Attributes
    ----------
    chances : ndarray of shape (n_missing, max_ploidy + 1)
        Probabilities of carrying 0, 1, ... copies; zero beyond a call's ploidy.
    ploidy : ndarray of shape (n_missing,)
    phased : ndarray of bool, shape (n_missing,)
    on_first : ndarray of bool, shape (n_missing,)
        Whether the one copy of a heterozygote is more probable on the first haplotype.
    accuracy : ndarray of shape (m,)
        Of each site: squared correlation of dosages, each predicted without its own call,
        with the calls; NaN where the calls do not vary.
    """

    chances: Array
    ploidy: NDArray[np.uint8]
    phased: Bools
    on_first: Bools
    accuracy: Array

    @classmethod
    def nothing(cls, shape: tuple[int, int]) -> FilledGenotypes:
        """No call is filled."""
        none, no = np.empty(0), np.empty(0, dtype=bool)
        at = np.empty(0, dtype=np.intp)
        chances, ploidy = np.empty((0, 3)), np.empty(0, dtype=np.uint8)
        return cls(shape, at, at, none, none, chances, ploidy, no, no, np.full(shape[0], np.nan))

    def interval(self, level: float) -> tuple[Array, Array]:
        """Least and most copies of the shortest band that holds at least the given probability.

        Of several that short, the most probable.
        """
        if not 0 < level < 1:
            raise ValueError(f"level={level!r}: pass a probability between 0 and 1, such as 0.9")
        K = self.chances.shape[1]
        below = np.column_stack((np.zeros(len(self)), np.cumsum(self.chances, axis=1)))
        low, high = np.zeros(len(self)), self.ploidy.astype(float)
        for width in range(K, 0, -1):
            held = below[:, width:] - below[:, :-width]
            best = np.argmax(held, axis=1)
            enough = held[np.arange(len(self)), best] >= level
            low[enough], high[enough] = best[enough], best[enough] + width - 1
        return low, np.minimum(high, self.ploidy)

    def texts(self) -> tuple[list[str], list[str], list[str]]:
        """GT, DS and GP of the calls, as VCF writes them."""
        gt: list[str] = []
        ds: list[str] = []
        gp: list[str] = []
        units = written_units(self.chances, self.ploidy)
        copies = np.argmax(units, axis=1)
        dosages = units @ np.arange(units.shape[1])
        flags = zip(self.phased.tolist(), self.on_first.tolist(), strict=True)
        for parts, k, one, dose, (phased, on_first) in zip(
            units.tolist(), self.ploidy.tolist(), copies.tolist(), dosages.tolist(), flags,
            strict=True,
        ):  # fmt: skip
            gt.append(_gt(one, k, phased, on_first))
            ds.append(f"{dose / UNITS:.5g}")
            gp.append(",".join([_DECIMALS[part] for part in parts[: k + 1]]))
        return gt, ds, gp


def _gt(copies: int, ploidy: int, phased: bool, on_first: bool) -> str:
    alleles = ["0"] * (ploidy - copies) + ["1"] * copies
    if phased and on_first:
        alleles.reverse()
    return ("|" if phased else "/").join(alleles)


def written_units(chances: Array, ploidy: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Probabilities in whole units that sum to `UNITS`, none of them 0 or all, (n, K).

    No genotype of a missing call is impossible, or certain: each has at least one unit.
    """
    possible = np.arange(chances.shape[1]) <= ploidy[:, None]
    units = np.where(possible, np.maximum(np.round(chances * UNITS), 1), 0).astype(np.int64)
    at = np.arange(len(units)), np.argmax(chances, axis=1)
    units[at] += UNITS - units.sum(axis=1)
    return units


def distinct_names(*choices: list[str]) -> NDArray[Any] | None:
    """The first choice of labels of which each is there once, as an array, or None."""
    for names in choices:
        if len(set(names)) == len(names) and "." not in names:
            return np.array(names, dtype=object)
    return None


def sample_names(path: object, names: list[str]) -> NDArray[Any]:
    """Names of the samples; one that is there twice is refused."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(
                f"{path}: sample {name!r} is there more than once; rename all but one "
                "(bcftools reheader -s does so in VCF)"
            )
        seen.add(name)
    return np.array(names, dtype=object)
