"""Counts: Poisson around a rate whose logarithm is the entry with Gaussian noise.

x_ij ~ Poisson(e^{c + z_ij}), z_ij ~ N(y_ij, 1/τ). No quadratic bounds e^y from above, so Poisson's
likelihood has no bound of the kind that updates need; the noise, which counts have anyway, makes
one: q(z) is Gaussian and its mean the target. Without noise τ grows, and Poisson's own remains.
Biases of rows and columns are exposures that are learned, on a logarithmic scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from scipy.special import gammaln

from ..backends.base import Random
from .base import Array, Drawn, Match, Noise, Own, Places, Weighting
from .discrete import Counts
from .exposed import Exposed
from .gamma import Gamma
from .log_rates import NODES, SHARES, best, draw_rates, log_ratio, mode
from .outcomes import Distribution, around


@dataclass(frozen=True)
class Poisson(Exposed):
    """Poisson counts with noise in their log rates; τ ~ Gamma(a0, b0), c is learned."""

    a0: float = 1e-6
    b0: float = 1e-6

    name = "poisson"

    def start_own(self, values: Array) -> Own:
        """The mean of all."""
        return {"intercept": np.log((values.sum() + 0.5) / len(values))}

    def weighting(self, noise: Noise, match: Match) -> Weighting:
        """⟨z⟩ of every entry, all of weight one."""
        mu, _, _ = self._best(noise, match)
        return Weighting(float(noise.tau.mean), None, mu)

    def update(self, noise: Noise, match: Match) -> Noise:
        """q(τ), then c, under q(z)."""
        mu, variance, rates = self._best(noise, match)
        squares = float(((mu - match.mean) ** 2 + match.variance + variance).sum())
        shape, rate = self.a0 + 0.5 * len(mu), self.b0 + 0.5 * squares
        total = max(float(match.values.sum()), 0.5)
        c = noise.own["intercept"] + np.log(total / rates.sum())
        return Noise(Gamma(np.asarray(shape), np.asarray(rate)), {**noise.own, "intercept": c})

    def bound(self, noise: Noise, match: Match) -> float:
        """The bound with q(z) at its optimum."""
        tau, c = noise.tau, self.at_entries(noise.own, match)
        mu, variance, rates = self._best(noise, match)
        squares = (mu - match.mean) ** 2 + match.variance + variance
        fit = match.values * (c + mu) - rates - gammaln(match.values + 1.0)
        fit += 0.5 * (float(tau.mean_log) - float(tau.mean) * squares + np.log(variance) + 1.0)
        return float(fit.sum()) - float(tau.divergence(self.a0, self.b0))

    def _best(self, noise: Noise, match: Match) -> tuple[Array, Array, Array]:
        c = self.at_entries(noise.own, match)
        return best(match.values, match.mean, c, float(noise.tau.mean))

    def draw_weighting(self, noise: Drawn, match: Match, rng: Random) -> Weighting:
        """z of every entry."""
        c = self.at_entries(noise.own, match)
        return Weighting(noise.tau, None, draw_rates(match.values, match.mean, c, noise.tau, rng))

    def draw(self, noise: Drawn, match: Match, seen: Weighting, rng: Random) -> Drawn:
        """τ, and the rate e^c, given z: Gamma both."""
        assert seen.targets is not None
        squares = float(((seen.targets - match.mean) ** 2).sum())
        draw = float(rng.standard_gamma(self.a0 + 0.5 * len(match.values)))
        total = max(float(match.values.sum()), 0.5)
        c = self.at_entries(noise.own, match) - float(noise.own["intercept"])
        rate = float(rng.standard_gamma(total)) / float(np.exp(c + seen.targets).sum())
        own = {**noise.own, "intercept": np.log(np.asarray(rate))}
        return Drawn(draw / (self.b0 + 0.5 * squares), own)

    def log_density(self, noise: Drawn, match: Match) -> float:
        """ln p(x | y), z integrated out around where its density is highest."""
        x, y, tau = match.values, match.mean, noise.tau
        c = self.at_entries(noise.own, match)
        peak, rates = mode(x, y, c, tau)
        width = 1.0 / np.sqrt(tau + rates)
        around_peak = np.zeros_like(peak)
        for node, share in zip(NODES, SHARES, strict=True):
            around_peak += share * np.exp(log_ratio(node * width, rates, tau) + 0.5 * node**2)
        found = x * (c + peak) - rates - 0.5 * tau * (peak - y) ** 2 + np.log(around_peak * width)
        return float((found - gammaln(x + 1.0)).sum()) + 0.5 * len(x) * log(tau)

    def expected(self, y: Array, own: Own) -> Array:
        """The rate, without the noise in its logarithm."""
        return np.exp(y + float(own["intercept"]))

    def observed(self, mean: Array, variance: Array, noise: Noise, at: Places) -> Distribution:
        """Counts around a rate that is known as far as the entry is."""
        spread = variance + 1.0 / float(noise.tau.mean)
        mean = mean + self.shift(noise.own, at.rows, at.cols)
        return Counts(np.exp(around(mean + float(noise.own["intercept"]), spread)))

    def simulate(self, y: Array, noise: Drawn, at: Places, rng: np.random.Generator) -> Array:
        """Counts."""
        z = y + rng.standard_normal(y.shape) / np.sqrt(noise.tau)
        z += self.shift(noise.own, at.rows, at.cols)
        return rng.poisson(np.minimum(self.expected(z, noise.own), 1e15)).astype(np.float64)

    def words(self, noise: Noise, scale: float) -> str:
        """How much rates vary."""
        size, start = float(noise.tau.mean) ** -0.5, float(np.exp(noise.own["intercept"]))
        return f"counts around rates that start from {start:.3g}; {size:.3g} in their logarithms"
