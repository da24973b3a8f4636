"""Ordered levels: an entry with unit Gaussian noise, between which thresholds it falls.

x_ij = level k where θ_{k−1} < z_ij < θ_k, z_ij ~ N(y_ij, 1) (Albert & Chib 1993). q(z) is a
truncated Gaussian whose mean is the target; thresholds are learned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from ..backends.base import Random
from .base import Array, Drawn, Index, Match, Noise, Own, Places, Weighting
from .discrete import Levels
from .linked import Linked
from .outcomes import Distribution
from .thresholds import KEEP_APART, looked_up, newton, slopes, value, window

# Of Newton's method, from thresholds that are nearly there.
MOST_STEPS = 20


@dataclass(frozen=True)
class Ordinal(Linked):
    """Levels in order.

    Attributes
    ----------
    levels : tuple of float
        All values that there are, ascending.
    """

    levels: tuple[float, ...] = (0.0, 1.0)

    name = "ordinal"

    @property
    def title(self) -> str:
        """Its name and its levels."""
        return " ".join((self.name, *map(repr, self.levels)))

    def start_own(self, values: Array) -> Own:
        """Thresholds of all values together; half of each level is added."""
        counts = np.bincount(self._codes(values), minlength=len(self.levels)) + 0.5
        return {"thresholds": ndtri(np.cumsum(counts)[:-1] / counts.sum())}

    def weighting(self, noise: Noise, match: Match) -> Weighting:
        """⟨z⟩ of every entry, all of weight one."""
        low, high = self._ends(noise.own, match.values)
        _, lower, upper = window(low - match.mean, high - match.mean)
        return Weighting(1.0, None, match.mean + lower - upper)

    def update(self, noise: Noise, match: Match) -> Noise:
        """Thresholds, by a step of Newton's method that does not lower the bound."""
        old = noise.own["thresholds"]
        new = newton(old, self._codes(match.values), match.mean)
        return Noise(noise.tau, {"thresholds": new})

    def bound(self, noise: Noise, match: Match) -> float:
        """Probabilities at the means, less half of the entries' variances."""
        theta = noise.own["thresholds"]
        fit = value(theta, self._codes(match.values), match.mean)
        return fit - 0.5 * float(match.variance.sum())

    def draw_weighting(self, noise: Drawn, match: Match, rng: Random) -> Weighting:
        """z of every entry."""
        low, high = self._ends(noise.own, match.values)
        return Weighting(1.0, None, truncated(match.mean, low, high, rng))

    def draw(self, noise: Drawn, match: Match, seen: Weighting, rng: Random) -> Drawn:
        """Thresholds with z integrated out.

        Proposed from the Gaussian that fits their density best, wherever they are.
        """
        old, codes, y = noise.own["thresholds"], self._codes(match.values), match.mean
        mode, root = _proposal(old, codes, y)
        z = rng.standard_normal(len(old))
        new = mode + root @ z
        if (np.diff(new) <= 0).any():
            return noise
        back = np.linalg.solve(root, old - mode)
        gain = value(new, codes, y) - value(old, codes, y) + 0.5 * float(z @ z - back @ back)
        return Drawn(1.0, {"thresholds": new}) if np.log(rng.random(())) < gain else noise

    def levelled(self, own: Own) -> tuple[Array | None, Own]:
        """The mean of each draw's thresholds, the other way."""
        theta = own["thresholds"]
        centre = theta.mean(axis=1)
        shift = centre - centre.mean()
        return -shift, {**own, "thresholds": theta - shift[:, None]}

    def log_density(self, noise: Drawn, match: Match) -> float:
        """ln p(x | y), z integrated out."""
        theta, codes = noise.own["thresholds"], self._codes(match.values)
        return value(theta, codes, match.mean) - KEEP_APART * float(np.log(np.diff(theta)).sum())

    def expected(self, y: Array, own: Own) -> Array:
        """The expected level."""
        levels = np.asarray(self.levels)
        above = ndtr(y[..., None] - own["thresholds"])
        return np.asarray(levels[0] + above @ np.diff(levels))

    def observed(self, mean: Array, variance: Array, noise: Noise, at: Places) -> Distribution:
        """Probabilities of all levels."""
        spread = np.sqrt(1.0 + variance)[:, None]
        below = ndtr((noise.own["thresholds"] - mean[:, None]) / spread)
        zero, all_of_it = np.zeros((len(mean), 1)), np.ones((len(mean), 1))
        table = np.diff(np.hstack((zero, below, all_of_it)), axis=1)
        return Levels(np.asarray(self.levels), np.maximum(table, 1e-12))

    def simulate(self, y: Array, noise: Drawn, at: Places, rng: np.random.Generator) -> Array:
        """Levels."""
        z = y + rng.standard_normal(y.shape)
        return np.asarray(self.levels)[np.searchsorted(noise.own["thresholds"], z)]

    def words(self, noise: Noise, scale: float) -> str:
        """Levels, and the thresholds between them."""
        between = ", ".join(f"{theta:.3g}" for theta in noise.own["thresholds"])
        return f"one, between {len(self.levels)} levels with thresholds {between}"

    def _codes(self, values: Array) -> Index:
        return np.searchsorted(np.asarray(self.levels), values)

    def _ends(self, own: Own, values: Array) -> tuple[Array, Array]:
        """Thresholds below and above each value."""
        padded = np.concatenate(([-np.inf], own["thresholds"], [np.inf]))
        codes = self._codes(values)
        return looked_up(padded, codes), looked_up(padded, codes + 1)


def truncated(mean: Array, low: Array, high: Array, rng: Random) -> Array:
    """Draws of N(mean, 1) between two ends, shape (n,) each."""
    a, b = low - mean, high - mean
    # In the left tail probabilities keep their digits.
    flip = a > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    u = rng.random(mean.shape)
    below, above = ndtr(a), ndtr(b)
    z = np.clip(ndtri(below + u * (above - below)), np.maximum(a, -38.0), np.minimum(b, 38.0))
    found: Array = mean + np.where(flip, -z, z)
    return found


def _proposal(theta: Array, codes: Index, y: Array) -> tuple[Array, Array]:
    """Mode of the density of k thresholds, and a root of its covariance there, (k,) and (k, k)."""
    for _ in range(MOST_STEPS):
        old, theta = theta, newton(theta, codes, y)
        if np.abs(theta - old).max() < 1e-6:
            break
    _, curvature = slopes(theta, codes, y)
    return theta, np.linalg.inv(np.linalg.cholesky(-curvature)).T
