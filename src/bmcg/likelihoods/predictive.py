"""The distribution of an entry, or of a new observation of it: one for all that is asked.

Without a range it is Gaussian. With one, what lies beyond an end is moved to that end, where the
distribution has mass, as ratings and saturated sensors have. Mean, deviation, intervals, draws,
scores are all those of this distribution. A fit by Gaussian noise has learned what is expected of
the values that were seen, which had been in the range all along: so the centre is moved to where
the mean, tails at the ends, is what was learned. It is not moved so far that an end gets more than
two thirds of the probability: intervals would hold that end alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np
import scipy.special
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# One range for all entries, or one for each, (n,).
Limits = tuple[float, float] | tuple[Array, Array]
NO_LIMITS = (-np.inf, np.inf)
# Most of the probability that lies at one end, as deviations of the centre beyond it.
BEYOND = float(scipy.special.ndtri(2 / 3))
# Newton's steps to the centre, which come from one side, and when they end.
MOST_STEPS = 30
CLOSE = 1e-10
# Deviations beyond which a Gaussian has nothing.
FAR = 38.0


@dataclass(frozen=True)
class Predictive:
    """Distributions of n entries.

    Parameters
    ----------
    location : ndarray of shape (n,)
        Centre of the Gaussian, before the limits.
    spread : ndarray of shape (n,)
        Its standard deviation.
    limits : (float, float), or two ndarrays of shape (n,)
        Range of a value.
    """

    location: Array
    spread: Array
    limits: Limits = NO_LIMITS

    @property
    def is_clipped(self) -> bool:
        """Whether there is a range."""
        return bool(np.isfinite(self.limits).any())

    @cached_property
    def centre(self) -> Array:
        """Of the Gaussian whose tails are moved to the ends, shape (n,)."""
        if not self.is_clipped:
            return self.location
        wanted = np.clip(self.location, *self.limits)
        return wanted + self._safe * _shift(*self._ends(wanted))

    def _ends(self, centre: Array) -> tuple[Array, Array]:
        """The limits as deviations from the centre; those that are far away are all alike."""
        with np.errstate(over="ignore"):
            low, high = ((end - centre) / self._safe for end in self.limits)
        return np.maximum(low, -FAR), np.minimum(high, FAR)

    @property
    def mean(self) -> Array:
        """Expected values, shape (n,)."""
        return self._moments[0] if self.is_clipped else self.location

    @property
    def variance(self) -> Array:
        """Variances, shape (n,)."""
        return self._moments[1] if self.is_clipped else self.spread**2

    @property
    def std(self) -> Array:
        """Standard deviations, shape (n,)."""
        return np.sqrt(self.variance) if self.is_clipped else self.spread

    def interval(self, level: float) -> tuple[Array, Array]:
        """Central intervals of the given probability, (n,) each; at the ends they hold more."""
        low, high = interval(self.centre, self.spread, level)
        return np.clip(low, *self.limits), np.clip(high, *self.limits)

    def log_density(self, values: ArrayLike) -> Array:
        """Log density at some values, log probability at the ends of the range, shape (n,).

        A value beyond an end counts as that end.
        """
        x = np.clip(np.asarray(values, dtype=np.float64), *self.limits)
        z = (x - self.centre) / self._safe
        out: Array = -0.5 * z**2 - np.log(self._safe) - 0.5 * np.log(2.0 * np.pi)
        out = np.where(x <= self.limits[0], scipy.special.log_ndtr(z), out)
        return np.where(x >= self.limits[1], scipy.special.log_ndtr(-z), out)

    def pit(self, values: ArrayLike, seed: int = 0) -> Array:
        """Probability below each value, shape (n,): uniform where the distributions are right.

        At an end of the range, where the distribution function jumps, a draw within the jump.
        """
        x = np.clip(np.asarray(values, dtype=np.float64), *self.limits)
        below = scipy.special.ndtr((x - self.centre) / self._safe)
        u = np.random.default_rng(seed).random(below.shape)
        below = np.where(x <= self.limits[0], u * below, below)
        return np.where(x >= self.limits[1], below + u * (1.0 - below), below)

    def place(self, draws: Array) -> Array:
        """Draws (n_draws, n) of the Gaussian as draws of this distribution, in place."""
        if self.is_clipped:
            draws += self.centre - self.location
            np.clip(draws, *self.limits, out=draws)
        return draws

    @property
    def _safe(self) -> Array:
        return np.maximum(self.spread, np.finfo(float).tiny)

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Mean and variance of the Gaussian whose tails are moved to the ends, (n,) each."""
        std = self._safe
        a, b = self._ends(self.centre)
        first, inside = _clipped_mean(a, b)
        below, above, density_a, density_b = _tails(a, b)
        second = a**2 * below + b**2 * above + inside + a * density_a - b * density_b
        # Rounding must not carry a mean beyond an end.
        mean = np.clip(self.centre + std * first, *self.limits)
        return mean, std**2 * np.maximum(second - first**2, 0.0)


def _tails(a: Array, b: Array) -> tuple[Array, Array, Array, Array]:
    """Probabilities below a and above b of a standard Gaussian, and its densities there."""
    densities = [np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi) for x in (a, b)]
    return scipy.special.ndtr(a), scipy.special.ndtr(-b), densities[0], densities[1]


def _clipped_mean(a: Array, b: Array) -> tuple[Array, Array]:
    """Mean of a standard Gaussian held to [a, b], and the probability that lies inside."""
    below, above, density_a, density_b = _tails(a, b)
    return a * below + b * above + density_a - density_b, 1.0 - below - above


def _shift(a: Array, b: Array) -> Array:
    """Centre t at which a Gaussian of unit deviation, held to [a, b], has mean nought.

    That mean grows with t, by the probability inside; convex below the middle of the range,
    concave above. From nought, which lies between the middle and the centre that is looked for,
    Newton's steps therefore come to it from one side.
    """
    shape, (a, b) = a.shape, (a.ravel(), b.ravel())
    t, todo = np.zeros(len(a)), np.arange(len(a))
    for _ in range(MOST_STEPS):
        low, high, old = a[todo], b[todo], t[todo]
        mean, inside = _clipped_mean(low - old, high - old)
        step = (old + mean) / np.maximum(inside, np.finfo(float).tiny)
        t[todo] = np.clip(old - step, low - BEYOND, high + BEYOND)
        todo = todo[np.abs(t[todo] - old) > CLOSE]
        if not len(todo):
            break
    return t.reshape(shape)


def interval(mean: Array, std: Array, level: float) -> tuple[Array, Array]:
    """Central Gaussian interval of the given probability."""
    check_level(level)
    width = float(scipy.special.ndtri(0.5 + level / 2))
    return mean - width * std, mean + width * std


def check_level(level: float) -> None:
    """Raise where a probability is none."""
    if not isinstance(level, Real) or not 0 < level < 1:
        raise ValueError(f"level={level!r}: pass a probability between 0 and 1, such as 0.9")
