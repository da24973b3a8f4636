"""Student's t: noise with outliers, a scale mixture of Gaussians with ν degrees of freedom.

x_ij ~ N(y_ij, 1/(τ w_ij)), w_ij ~ Gamma(ν/2, ν/2). Given the rest, w_ij is Gamma with mean
(ν + 1)/(ν + τ e²): what lies far off weighs little. With q(w) at its optimum, or w integrated
out, the bound's terms are t densities of the expected squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi

import numpy as np
from scipy.special import gammaln

from ..backends import SparseRows
from ..backends.base import Random
from .base import Array, Drawn, Match, Noise, Own, Places, Weighting
from .gamma import Gamma
from .gaussian import Gaussian, root_mean_square
from .outcomes import Distribution, Heavy
from .search import maximum

# Deviations exist above two; beyond the upper end nobody can tell a t from a Gaussian.
LEAST, MOST = 2.1, 200.0
START = 4.0
# Half of a Gaussian lies within so many standard deviations.
NORMAL_QUARTILE = 0.6745
# Information of one value about ln ν, roughly, where ν matters: how far a step of ν goes.
INFORMATION = 0.07


@dataclass(frozen=True)
class Student(Gaussian):
    """x_ij − y_ij ~ t_ν / √τ, τ ~ Gamma(a0, b0); ν is learned."""

    name = "student"
    is_plain = False
    is_linear = True

    def units(self, values: Array, biased: bool) -> tuple[float, float]:
        """The median, and the median distance of the rest: outliers say nothing of either."""
        offset = float(np.median(values)) if biased else 0.0
        distance = float(np.median(np.abs(values - offset))) / NORMAL_QUARTILE
        return offset, distance or root_mean_square(values, offset)

    def start(self, entries: SparseRows, n_cols: int) -> Noise:
        """As much noise as signal, with some outliers."""
        return Noise(Gamma(np.asarray(1.0), np.asarray(1.0)), {"freedom": np.asarray(START)})

    def weighting(self, noise: Noise, match: Match) -> Weighting:
        """⟨w⟩ of every entry."""
        tau, nu = float(noise.tau.mean), float(noise.own["freedom"])
        return Weighting(tau, (nu + 1.0) / (nu + tau * match.squares))

    def update(self, noise: Noise, match: Match) -> Noise:
        """q(τ) under ⟨w⟩, then ν."""
        weights = self.weighting(noise, match).weights
        assert weights is not None
        squares = match.squares
        tau = self.update_tau(len(squares), float(weights @ squares))
        scaled = float(tau.mean) * squares
        nu = maximum(lambda nu: _density(scaled, nu), float(noise.own["freedom"]), LEAST, MOST)
        return Noise(tau, {"freedom": np.asarray(nu)})

    def bound(self, noise: Noise, match: Match) -> float:
        """t densities of the expected squares, and τ's divergence."""
        tau, nu = noise.tau, float(noise.own["freedom"])
        fit = _density(float(tau.mean) * match.squares, nu)
        fit += 0.5 * len(match.values) * float(tau.mean_log)
        return fit - float(tau.divergence(self.a0, self.b0))

    def draw_weighting(self, noise: Drawn, match: Match, rng: Random) -> Weighting:
        """w of every entry."""
        nu = float(noise.own["freedom"])
        rate = 0.5 * (nu + noise.tau * match.squares)
        w = rng.standard_gamma(np.full_like(rate, 0.5 * (nu + 1.0))) / rate
        return Weighting(noise.tau, w)

    def draw(self, noise: Drawn, match: Match, seen: Weighting, rng: Random) -> Drawn:
        """τ given w; ν with w integrated out, by a Metropolis step in its logarithm."""
        assert seen.weights is not None
        squares, n = match.squares, len(match.values)
        q = self.update_tau(n, float(seen.weights @ squares))
        tau = float(rng.standard_gamma(float(q.shape)) / float(q.rate))
        nu, scaled = float(noise.own["freedom"]), tau * squares
        step = 2.4 / np.sqrt(INFORMATION * n + 1.0)
        new = nu * float(np.exp(step * rng.standard_normal(())))
        if LEAST <= new <= MOST:
            gain = _density(scaled, new) - _density(scaled, nu)
            nu = new if np.log(rng.random(())) < gain else nu
        return Drawn(tau, {"freedom": np.asarray(nu)})

    def log_density(self, noise: Drawn, match: Match) -> float:
        """ln p(x | y), w integrated out."""
        fit = _density(noise.tau * match.squares, float(noise.own["freedom"]))
        return fit + 0.5 * len(match.values) * log(noise.tau)

    def summary(self, tau: Array, own: Own) -> Noise:
        """A Gamma with the mean and spread of τ, and the geometric mean of ν."""
        nu = np.exp(np.log(own["freedom"]).mean())
        return Noise(Gamma.of_draws(tau), {"freedom": np.asarray(nu)})

    def noise_variance(self, noise: Noise, at: Places) -> Array:
        """ν / (ν − 2) / ⟨τ⟩ throughout."""
        nu = float(noise.own["freedom"])
        return np.full(len(at.rows), nu / (nu - 2.0) / float(noise.tau.mean))

    def observed(self, mean: Array, variance: Array, noise: Noise, at: Places) -> Distribution:
        """A t whose scale has the entry's own variance too, which is far smaller than the noise."""
        scale = at.scale * np.sqrt(variance + 1.0 / float(noise.tau.mean))
        return Heavy(at.offset + at.scale * mean, scale, float(noise.own["freedom"]))

    def words(self, noise: Noise, scale: float) -> str:
        """Its size, and how far outliers go."""
        size, nu = scale / float(noise.tau.mean) ** 0.5, float(noise.own["freedom"])
        return f"Student's t of scale {size:.4g} with {nu:.3g} degrees of freedom"

    def simulate(self, y: Array, noise: Drawn, at: Places, rng: np.random.Generator) -> Array:
        """With outliers."""
        out = y + rng.standard_t(float(noise.own["freedom"]), y.shape) / np.sqrt(noise.tau)
        return at.offset + at.scale * out


def _density(scaled: Array, nu: float) -> float:
    """Σ ln t_ν(e) of scaled squares e², shape (n,)."""
    own = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * log(nu * pi)
    return float(len(scaled) * own - 0.5 * (nu + 1.0) * np.log1p(scaled / nu).sum())
