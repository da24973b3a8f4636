"""Whether calls are copied from neighbours, come from one low-rank matrix, or from both.

Left-out calls say. Of both, with copied probabilities C and those L of the matrix,

    P(g) ∝ C(g)^a · L(g)^b.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.optimize
import scipy.special
from numpy.typing import NDArray

from .genotypes import Array, Bools, FilledGenotypes, Genotypes
from .linkage import Along, fill_along
from .linkage.filling import without

# Sites and samples that are asked, and the share of their calls that is left out.
ASKED = (128, 128)
LEFT_OUT = 0.1
# With fewer calls the answer would be chance.
LEAST_CALLS = 100
# Calls, missing ones too, up to which a file is asked as a whole: how the two share there says
# how they share in the fill.
WHOLE = 131_072
# No probability is taken for less than what is written.
LEAST = 1e-4


@dataclass(frozen=True)
class Powers:
    """How far each is heard: a and b above, of which one may be zero."""

    copied: float
    fitted: float

    def __str__(self) -> str:
        return f"powers {self.copied:.2f} of copies and {self.fitted:.2f} of low rank"

    def pool(self, copied: FilledGenotypes, fitted: FilledGenotypes) -> FilledGenotypes:
        """Calls with both probabilities; all else is as it was copied."""
        possible = np.arange(copied.chances.shape[1]) <= copied.ploidy[:, None]
        log = self.log_chances(_logs(copied.chances), _logs(fitted.chances), possible)
        chances = np.exp(log)
        number = np.arange(chances.shape[1], dtype=np.float64)
        mean: Array = chances @ number
        std = np.sqrt(np.maximum(chances @ number**2 - mean**2, 0.0))
        return replace(copied, mean=mean, std=std, chances=chances)

    def log_chances(self, copied: Array, fitted: Array, possible: Bools) -> Array:
        """Of the logs of both, (n, K) each; −∞ where a number of copies is not possible."""
        log = np.where(possible, self.copied * copied + self.fitted * fitted, -np.inf)
        return np.asarray(scipy.special.log_softmax(log, axis=1))


COPIED, FITTED = Powers(1.0, 0.0), Powers(0.0, 1.0)
LowRank = Callable[[Genotypes], FilledGenotypes]


def judge(
    genotypes: Genotypes, along: Along, low_rank: LowRank, n_jobs: int | None = None
) -> Powers:
    """Leave calls out, of small files everywhere, of others on a stretch and in some samples.

    Parameters
    ----------
    genotypes : Genotypes
    along : Along
    low_rank : callable
        Fills genotypes by one low-rank matrix.
    n_jobs : int or None

    Returns
    -------
    Powers
        Copied alone where left-out calls are more probable so by more than the standard error
        of the gain. Both, in small files, where they are no worse than that, with powers that
        were fitted to other calls.
    """
    part, here, hidden = _asked(genotypes, along)
    if hidden.sum() < LEAST_CALLS:
        return FITTED
    given = without(part, hidden)
    copied, _ = fill_along(given, here, hidden, n_jobs=n_jobs)
    told = _Told.of(copied, low_rank(given), hidden, part)
    alone = COPIED if _gains(told.scores(COPIED) - told.scores(FITTED)) else FITTED
    if not is_small(genotypes):
        return alone
    # What is thrown away has to be shown useless: two that are heard err less than one by chance.
    pooled = bool(told.crossed().mean() >= told.scores(alone).mean())
    return told.powers() if pooled else alone


def is_small(genotypes: Genotypes) -> bool:
    """Whether a file is asked as a whole."""
    return genotypes.copies.size <= WHOLE


def _gains(gain: Array) -> bool:
    return bool(gain.mean() > gain.std() / np.sqrt(len(gain)))


def _asked(genotypes: Genotypes, along: Along) -> tuple[Genotypes, Along, Bools]:
    """What is asked, and which of its calls are left out."""
    order = np.lexsort((along.centimorgans, along.chromosome.astype(str)))
    m, n = genotypes.copies.shape
    most = (m, n) if is_small(genotypes) else ASKED
    start = max(0, (m - most[0]) // 2)
    sites = np.sort(order[start : start + most[0]])
    samples = np.unique(np.linspace(0, n - 1, min(n, most[1])).astype(np.intp))
    part = genotypes.some(sites, samples)
    known: Bools = np.isfinite(part.copies)
    hidden = known & (np.random.default_rng(0).random(known.shape) < LEFT_OUT)
    # A site or sample that would be left with nothing stays whole.
    rest = known & ~hidden
    hidden &= rest.any(axis=1, keepdims=True) & rest.any(axis=0)
    return part, along.some(sites), hidden


class _Told(NamedTuple):
    """Logs of the probabilities of left-out calls, (n, K) each, and what they were."""

    copied: Array
    fitted: Array
    possible: Bools
    truth: NDArray[np.intp]

    @classmethod
    def of(
        cls, copied: FilledGenotypes, fitted: FilledGenotypes, hidden: Bools, part: Genotypes
    ) -> _Told:
        i, j = np.nonzero(hidden)
        ploidy = part.ploidy[i, j]
        possible = np.arange(copied.chances.shape[1]) <= ploidy[:, None]
        truth = np.rint(part.copies[i, j] * ploidy / 2.0).astype(np.intp)
        return cls(_at(copied, hidden), _at(fitted, hidden), possible, truth)

    def scores(self, powers: Powers) -> Array:
        """Log-probability of each call, (n,)."""
        log = powers.log_chances(self.copied, self.fitted, self.possible)
        return np.asarray(log[np.arange(len(log)), self.truth])

    def powers(self) -> Powers:
        """Under which the calls are most probable; few calls do not move them far from halves."""

        def loss(theta: Array) -> float:
            powers = Powers(float(theta[0]), float(theta[1]))
            return float(-self.scores(powers).sum() + 2.0 * np.sum((theta - 0.5) ** 2))

        found = scipy.optimize.minimize(loss, (0.5, 0.5), bounds=((0.0, 2.0), (0.0, 2.0))).x
        return Powers(float(found[0]), float(found[1]))

    def crossed(self) -> Array:
        """`scores` of each half of the calls with the powers that the other half has, (n,)."""
        out, even = np.empty(len(self.truth)), np.arange(len(self.truth)) % 2 == 0
        for half in (even, ~even):
            others = _Told(*(column[~half] for column in self))
            out[half] = _Told(*(column[half] for column in self)).scores(others.powers())
        return out


def _at(filled: FilledGenotypes, hidden: Bools) -> Array:
    """Logs of the probabilities of the hidden calls, in row order."""
    return _logs(filled.chances[hidden[filled.rows, filled.cols]])


def _logs(chances: Array) -> Array:
    return np.asarray(np.log(np.maximum(chances, LEAST)))
