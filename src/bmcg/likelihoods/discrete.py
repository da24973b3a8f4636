"""Distributions of discrete observations, with the surface of `Predictive`: levels, counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray

from .outcomes import SHARES
from .predictive import check_level

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Levels:
    """A few values, each with its probability.

    Attributes
    ----------
    levels : ndarray of shape (k,)
        Ascending.
    probabilities : ndarray of shape (n, k)
    """

    levels: Array
    probabilities: Array

    @property
    def mean(self) -> Array:
        """Expected values, shape (n,)."""
        return self.probabilities @ self.levels

    @property
    def variance(self) -> Array:
        """Variances, shape (n,)."""
        return ((self.levels - self.mean[:, None]) ** 2 * self.probabilities).sum(axis=1)

    @property
    def std(self) -> Array:
        """Standard deviations, shape (n,)."""
        return np.sqrt(self.variance)

    def quantile(self, share: float) -> Array:
        """The lowest levels at or below which that share of the probability lies, shape (n,)."""
        below = np.cumsum(self.probabilities, axis=1)[:, :-1]
        return self.levels[(below < share - 1e-12).sum(axis=1)]

    def interval(self, level: float) -> tuple[Array, Array]:
        """The fewest neighbouring levels that hold the probability, the likeliest such, (n,) each.

        Levels are few: central intervals would hold far more than they promise.
        """
        check_level(level)
        n, k = self.probabilities.shape
        sums = np.concatenate((np.zeros((n, 1)), np.cumsum(self.probabilities, axis=1)), axis=1)
        low, high, found = np.zeros(n, np.intp), np.full(n, k - 1), np.zeros(n, np.bool_)
        for width in range(1, k + 1):
            held = sums[:, width:] - sums[:, : k + 1 - width]
            best = held.argmax(axis=1)
            new = ~found & (held.max(axis=1) >= level - 1e-12)
            low[new], high[new] = best[new], best[new] + width - 1
            found |= new
        return self.levels[low], self.levels[high]

    def log_density(self, values: ArrayLike) -> Array:
        """Log probability of some values, shape (n,); −inf for what is no level."""
        at, known = self._places(values)
        found = np.log(self.probabilities[np.arange(len(at)), at])
        return np.where(known, found, -np.inf)

    def pit(self, values: ArrayLike, seed: int = 0) -> Array:
        """Probability below each value and a draw within its own, shape (n,)."""
        at, _ = self._places(values)
        here = np.arange(len(at))
        own = self.probabilities[here, at]
        below = np.cumsum(self.probabilities, axis=1)[here, at] - own
        return below + np.random.default_rng(seed).random(len(at)) * own

    def _places(self, values: ArrayLike) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        x = np.asarray(values, dtype=np.float64)
        at = np.minimum(np.searchsorted(self.levels, x), len(self.levels) - 1)
        return at, self.levels[at] == x


@dataclass(frozen=True)
class Counts:
    """Whole numbers: Poisson, or negative binomial, around rates that are not quite known.

    Attributes
    ----------
    rates : ndarray of shape (n, 20)
        At the places of `around`.
    size : float
        r of the negative binomial; infinite for Poisson.
    """

    rates: Array
    size: float = np.inf

    @property
    def mean(self) -> Array:
        """Expected values, shape (n,)."""
        return self.rates @ SHARES

    @property
    def variance(self) -> Array:
        """Variances, shape (n,)."""
        second = self.rates**2 @ SHARES
        return self.mean + second / self.size + np.maximum(second - self.mean**2, 0.0)

    @property
    def std(self) -> Array:
        """Standard deviations, shape (n,)."""
        return np.sqrt(self.variance)

    def below(self, values: Array) -> Array:
        """Probability of no more than some values, shape (n,)."""
        x = np.floor(values)[:, None]
        if np.isinf(self.size):
            found = scipy.special.pdtr(x, self.rates)
        else:
            share = self.size / (self.size + self.rates)
            found = scipy.special.betainc(self.size, np.maximum(x, 0.0) + 1.0, share)
        return np.where(x[:, 0] < 0, 0.0, found @ SHARES)

    def quantile(self, share: float) -> Array:
        """The lowest counts that no more than which have that share of the probability, (n,)."""
        low, high = np.full(len(self.rates), -1.0), np.ones(len(self.rates))
        while (short := self.below(high) < share).any() and high.max() < 1e15:
            low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
        while (high - low).max(initial=0.0) > 1.0:
            middle = np.floor(0.5 * (low + high))
            enough = self.below(middle) >= share
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high

    def interval(self, level: float) -> tuple[Array, Array]:
        """Central intervals that hold at least the given probability, (n,) each."""
        check_level(level)
        return self.quantile(0.5 - level / 2), self.quantile(0.5 + level / 2)

    def log_density(self, values: ArrayLike) -> Array:
        """Log probability of some counts, shape (n,); −inf for what is no count."""
        x = np.asarray(values, dtype=np.float64)
        known = (x >= 0) & (x == np.floor(x))
        safe = np.where(known, x, 0.0)[:, None]
        rates = np.maximum(self.rates, 1e-300)
        fit = safe * np.log(rates) - scipy.special.gammaln(safe + 1.0)
        if np.isinf(self.size):
            fit -= rates
        else:
            r = self.size
            fit += scipy.special.gammaln(safe + r) - scipy.special.gammaln(r) - safe * np.log(r)
            fit -= (safe + r) * np.log1p(rates / r)
        return np.where(known, scipy.special.logsumexp(fit, b=SHARES, axis=1), -np.inf)

    def pit(self, values: ArrayLike, seed: int = 0) -> Array:
        """Probability below each count and a draw within its own, shape (n,)."""
        x = np.asarray(values, dtype=np.float64)
        low, high = self.below(x - 1.0), self.below(x)
        return low + np.random.default_rng(seed).random(len(x)) * (high - low)
