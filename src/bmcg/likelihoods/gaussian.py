"""Gaussian noise of one precision τ with a Gamma prior: the paper's likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, pi

import numpy as np

from ..backends import SparseRows
from ..backends.base import Random
from .base import Array, Drawn, Likelihood, Match, Noise, Own, Places, Weighting
from .gamma import Gamma
from .outcomes import Distribution
from .predictive import Predictive

LOG_2PI = log(2 * pi)
# Values whose squares are summed at once.
PIECE = 1 << 20


@dataclass(frozen=True)
class Gaussian:
    """x_ij ~ N(y_ij, 1/τ), τ ~ Gamma(a0, b0), in draws at most `most`."""

    a0: float = 1e-6
    b0: float = 1e-6
    most: float = inf

    name = "gaussian"
    is_plain = True
    is_linear = True

    @property
    def title(self) -> str:
        """What `likelihood_of` makes it from again."""
        return self.name

    def units(self, values: Array, biased: bool) -> tuple[float, float]:
        """The mean, where biases stand around one, and the root mean square of the rest."""
        offset = float(values.mean()) if biased else 0.0
        return offset, root_mean_square(values, offset)

    def start(self, entries: SparseRows, n_cols: int) -> Noise:
        """As much noise as signal."""
        return Noise(Gamma(np.asarray(1.0), np.asarray(1.0)))

    def weighting(self, noise: Noise, match: Match) -> Weighting:
        """Every entry alike: one scalar, and the values as they are."""
        return Weighting(float(noise.tau.mean))

    def update_tau(self, n_observed: float, squared_error: float) -> Gamma:
        """q(τ): equations (43) and (44)."""
        return Gamma(np.asarray(self.a0 + n_observed / 2), np.asarray(self.b0 + squared_error / 2))

    def update(self, noise: Noise, match: Match) -> Noise:
        """q(τ)."""
        return Noise(self.update_tau(len(match.values), match.squared_error), noise.own)

    def bound(self, noise: Noise, match: Match) -> float:
        """The first and last terms of equation (30)."""
        tau = noise.tau
        fit = 0.5 * len(match.values) * (float(tau.mean_log) - LOG_2PI)
        fit -= 0.5 * float(tau.mean * match.squared_error)
        return fit - float(tau.divergence(self.a0, self.b0))

    def cautious(self, noise: Noise) -> Noise | None:
        """Weights bound the likelihood: the bound does not fall."""
        return None

    def bold(self, noise: Noise) -> Noise:
        """Itself."""
        return noise

    def draw_weighting(self, noise: Drawn, match: Match, rng: Random) -> Weighting:
        """Every entry alike."""
        return Weighting(noise.tau)

    def draw(self, noise: Drawn, match: Match, seen: Weighting, rng: Random) -> Drawn:
        """τ given what the draws miss the values by."""
        q = self.update_tau(len(match.values), match.squared_error)
        drawn = float(rng.standard_gamma(float(q.shape)) / float(q.rate))
        return Drawn(min(drawn, self.most), noise.own)

    def log_density(self, noise: Drawn, match: Match) -> float:
        """ln p(x | y, τ)."""
        tau, n = noise.tau, len(match.values)
        return 0.5 * (n * (log(tau) - LOG_2PI) - tau * match.squared_error)

    def spread(self, noise: Drawn, match: Match) -> float:
        """1/√τ."""
        return noise.tau**-0.5

    def first_draw(self, noise: Noise) -> Drawn:
        """The mean."""
        return Drawn(float(noise.tau.mean), noise.own)

    def levelled(self, own: Own) -> tuple[Array | None, Own]:
        """Entries have no level besides."""
        return None, own

    def summary(self, tau: Array, own: Own) -> Noise:
        """A Gamma with the draws' mean and spread."""
        return Noise(Gamma.of_draws(tau))

    def noise_variance(self, noise: Noise, at: Places) -> Array:
        """1/⟨τ⟩ throughout, in the units of the fit."""
        return np.full(len(at.rows), 1.0 / float(noise.tau.mean))

    def observed(self, mean: Array, variance: Array, noise: Noise, at: Places) -> Distribution:
        """Gaussian, with noise."""
        spread = at.scale * np.sqrt(variance + self.noise_variance(noise, at))
        return Predictive(at.offset + at.scale * mean, spread)

    def entry(self, mean: Array, variance: Array, noise: Noise, at: Places) -> Distribution:
        """Gaussian, without."""
        return Predictive(at.offset + at.scale * mean, at.scale * np.sqrt(variance))

    def simulate(self, y: Array, noise: Drawn, at: Places, rng: np.random.Generator) -> Array:
        """With noise of one precision."""
        out = y + rng.standard_normal(y.shape) / np.sqrt(noise.tau)
        return at.offset + at.scale * out

    def entries_of(self, y: Array, noise: Drawn, at: Places) -> Array:
        """The entries themselves."""
        return at.offset + at.scale * y

    def words(self, noise: Noise, scale: float) -> str:
        """Its size."""
        return f"standard deviation {scale / float(noise.tau.mean) ** 0.5:.4g}"

    def newcomers(self, noise: Noise, n: int) -> Noise:
        """The same noise for all."""
        return noise

    def joined(self, noise: Noise, n: int) -> Noise:
        """The same noise for all."""
        return noise

    def transposed(self) -> Likelihood:
        """It knows no sides."""
        return self


def root_mean_square(values: Array, offset: float = 0.0) -> float:
    """The data's scale around an offset; one for data that is zero throughout."""
    peak = max(abs(float(values.max()) - offset), abs(float(values.min()) - offset))
    if peak == 0:
        return 1.0
    # Some at a time: no second array of their size.
    parts = np.split(values, range(PIECE, len(values), PIECE))
    total = sum(len(x) * float(np.mean(((x - offset) / peak) ** 2)) for x in parts)
    return peak * float(np.sqrt(total / len(values)))
