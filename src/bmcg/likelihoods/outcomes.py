"""Distributions of observations that are not Gaussian, with the surface of `Predictive`.

`Heavy` has tails; `discrete` has those of levels and counts. `Entry` is what stands behind an
observation: a probability, an expected level or rate, known as far as its linear predictor is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.special
import scipy.stats
from numpy.typing import ArrayLike, NDArray

from .predictive import Limits, Predictive, check_level

Array = NDArray[np.float64]

# Places of a Gaussian at which a function is averaged over it, and their weights.
NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(20)
SHARES = _WEIGHTS / _WEIGHTS.sum()
# Of an interval whose end is looked for.
HALVINGS = 50


class Distribution(Protocol):
    """Distributions of n observations, or of n entries."""

    @property
    def mean(self) -> Array:
        """Expected values, shape (n,)."""

    @property
    def variance(self) -> Array:
        """Variances, shape (n,)."""

    @property
    def std(self) -> Array:
        """Standard deviations, shape (n,)."""

    def interval(self, level: float) -> tuple[Array, Array]:
        """Central intervals that hold at least the given probability, (n,) each."""

    def log_density(self, values: ArrayLike) -> Array:
        """Log density, or probability, at some values, shape (n,)."""

    def pit(self, values: ArrayLike, seed: int = 0) -> Array:
        """Probability below each value, a draw within it where it has mass itself, shape (n,)."""


def around(mean: Array, variance: Array) -> Array:
    """Places of Gaussians at which to average, with the weights `SHARES`, shape (n, 20)."""
    return mean[..., None] + np.sqrt(variance)[..., None] * NODES


@dataclass(frozen=True)
class Heavy:
    """Student's t, and a share of gross errors beside it.

    Attributes
    ----------
    location, scale : ndarray of shape (n,)
    freedom : float
        Above two.
    share : float
        Of gross errors.
    wide : ndarray of shape (n,) or float
        Their standard deviations.
    """

    location: Array
    scale: Array
    freedom: float
    share: float = 0.0
    wide: Array | float = 1.0

    @property
    def mean(self) -> Array:
        """Expected values, shape (n,)."""
        return self.location

    @property
    def variance(self) -> Array:
        """Variances, shape (n,)."""
        usual = self.scale**2 * self.freedom / (self.freedom - 2.0)
        return (1.0 - self.share) * usual + self.share * self.wide**2

    @property
    def std(self) -> Array:
        """Standard deviations, shape (n,)."""
        return np.sqrt(self.variance)

    def interval(self, level: float) -> tuple[Array, Array]:
        """Central intervals of the given probability, (n,) each."""
        check_level(level)
        low = float(scipy.special.stdtrit(self.freedom, 0.5 + level / 2)) * self.scale
        if self.share > 0.0:
            # Between those of either part alone, halved until nothing is left to see.
            wide = np.maximum(low, float(scipy.special.ndtri(0.5 + level / 2)) * self.wide)
            low = np.minimum(low, wide)
            for _ in range(HALVINGS):
                middle = 0.5 * (low + wide)
                short = self._below(middle) < 0.5 + level / 2
                low, wide = np.where(short, middle, low), np.where(short, wide, middle)
        return self.location - low, self.location + low

    def log_density(self, values: ArrayLike) -> Array:
        """Log density at some values, shape (n,)."""
        found = scipy.stats.t.logpdf(values, self.freedom, self.location, self.scale)
        if self.share == 0.0:
            return found
        wrong = scipy.stats.norm.logpdf(values, self.location, self.wide)
        return np.logaddexp(np.log1p(-self.share) + found, np.log(self.share) + wrong)

    def pit(self, values: ArrayLike, seed: int = 0) -> Array:
        """Probability below each value, shape (n,)."""
        return self._below(np.asarray(values, dtype=np.float64) - self.location)

    def _below(self, gap: Array) -> Array:
        usual = scipy.special.stdtr(self.freedom, gap / self.scale)
        return (1.0 - self.share) * usual + self.share * scipy.special.ndtr(gap / self.wide)


@dataclass(frozen=True)
class Entry:
    """A function that rises with a Gaussian linear predictor.

    Attributes
    ----------
    location, spread : ndarray of shape (n,)
        Of the linear predictor.
    expected : callable
        From linear predictors, (n, ...), to the entry.
    """

    location: Array
    spread: Array
    expected: Callable[[Array], Array]

    @cached_property
    def _values(self) -> Array:
        return self.expected(around(self.location, self.spread**2))

    @property
    def mean(self) -> Array:
        """Expected values, shape (n,)."""
        return self._values @ SHARES

    @property
    def variance(self) -> Array:
        """Variances, shape (n,)."""
        return (self._values - self.mean[:, None]) ** 2 @ SHARES

    @property
    def std(self) -> Array:
        """Standard deviations, shape (n,)."""
        return np.sqrt(self.variance)

    def interval(self, level: float) -> tuple[Array, Array]:
        """Central intervals of the given probability, (n,) each."""
        check_level(level)
        width = float(scipy.special.ndtri(0.5 + level / 2)) * self.spread
        ends = np.stack((self.location - width, self.location + width), axis=1)
        low, high = self.expected(ends).T
        return low, high

    def log_density(self, values: ArrayLike) -> Array:
        """Refused."""
        raise ValueError(
            "an entry is never observed itself: score observations, with include_noise=True"
        )

    def pit(self, values: ArrayLike, seed: int = 0) -> Array:
        """Refused."""
        return self.log_density(values)


def assembled(parts: Sequence[tuple[Any, NDArray[np.intp]]], limits: Limits) -> Distribution:
    """Distributions of one kind put together, each at its places; Gaussian ones get the limits."""
    first, n = parts[0][0], sum(len(places) for _, places in parts)
    if len(parts) == 1:
        return first if not isinstance(first, Predictive) else replace(first, limits=limits)
    found: dict[str, Any] = {}
    for field in fields(first):
        value = getattr(first, field.name)
        if isinstance(value, np.ndarray) and len(value) == len(parts[0][1]) and value.ndim:
            value = np.empty((n, *value.shape[1:]))
            for part, places in parts:
                value[places] = getattr(part, field.name)
        found[field.name] = value
    if isinstance(first, Predictive):
        found["limits"] = limits
    made: Distribution = type(first)(**found)
    return made
