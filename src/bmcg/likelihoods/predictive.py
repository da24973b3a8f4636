"""The distribution of an entry, or of a new observation of it: one for all that is asked.

Without a range it is Gaussian. With one, its centre is moved into the range and what lies beyond
an end is moved to that end, where the distribution has mass, as ratings and saturated sensors
have. Mean, deviation, intervals, draws, scores are all those of this distribution. Its centre is
moved first because a value can only lie in the range: a Gaussian far outside would put all of its
mass on one end, and its intervals would hold that end alone.
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
        """The location moved into the range: the median, shape (n,)."""
        return np.clip(self.location, *self.limits)

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
        low, high = self.limits[0] - self.centre, self.limits[1] - self.centre
        a, b = low / std, high / std
        below, above = scipy.special.ndtr(a), scipy.special.ndtr(-b)
        density_a, density_b = (np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi) for x in (a, b))
        low, high = (np.where(np.isfinite(x), x, 0.0) for x in (low, high))
        first = low * below + high * above + std * (density_a - density_b)
        second = (
            low**2 * below
            + high**2 * above
            + std**2 * (1.0 - below - above)
            + std * (low * density_a - high * density_b)
        )
        # Rounding must not carry a mean beyond an end.
        mean = np.clip(self.centre + first, *self.limits)
        return mean, np.maximum(second - first**2, 0.0)


def interval(mean: Array, std: Array, level: float) -> tuple[Array, Array]:
    """Central Gaussian interval of the given probability."""
    check_level(level)
    width = float(scipy.special.ndtri(0.5 + level / 2))
    return mean - width * std, mean + width * std


def check_level(level: float) -> None:
    """Raise where a probability is none."""
    if not isinstance(level, Real) or not 0 < level < 1:
        raise ValueError(f"level={level!r}: pass a probability between 0 and 1, such as 0.9")
