"""Counts that vary more than Poisson's: negative binomial with mean e^{y + c} and size r.

Var = μ + μ²/r. With ψ = y + c − ln r, p(x) ∝ e^{xψ}/(1 + e^ψ)^{x + r}: Pólya–Gamma with b = x + r.
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
from .linked import draw_intercept
from .logistic import expected_softplus, quadratic
from .outcomes import Distribution, around
from .polya_gamma import draw as draw_polya_gamma
from .polya_gamma import log_cosh
from .search import maximum

# Beyond the upper end nobody can tell counts from Poisson's.
LEAST, MOST = 1e-3, 1e4


@dataclass(frozen=True)
class NegativeBinomial(Exposed):
    """x_ij ~ NB(mean e^{y_ij + c}, size r); r and c are learned."""

    name = "negative_binomial"

    def start_own(self, values: Array) -> Own:
        """The mean of all, and as much besides Poisson's variance as they have."""
        mean = (float(values.sum()) + 0.5) / len(values)
        excess = max(float(values.var()) - mean, 1e-3 * mean)
        size = np.clip(mean**2 / excess, 0.1, 100.0)
        own = {"intercept": np.log(mean), "size": size, "caution": 1.0}
        return {name: np.asarray(part) for name, part in own.items()}

    def weighting(self, noise: Noise, match: Match) -> Weighting:
        """The quadratic around ψ."""
        (c, r), x, caution = self._start(noise, match), match.values, float(noise.own["caution"])
        w, t = quadratic(x, x + r, match.mean + c, match.variance, caution)
        return Weighting(1.0, w, t - c)

    def update(self, noise: Noise, match: Match) -> Noise:
        """r, then c by weighted least squares; as it was, if that were a step too far."""
        own, c = noise.own, self.at_entries(noise.own, match)
        k = float(own["caution"])
        size = maximum(lambda r: self._bound(match, c, r, k), float(own["size"]), LEAST, MOST)
        noise = Noise(noise.tau, {**own, "size": np.asarray(size)})
        seen, old = self.weighting(noise, match), self._bound(match, c, size, k)
        assert seen.weights is not None
        assert seen.targets is not None
        gap = float(seen.weights @ (seen.targets - match.mean)) / float(seen.weights.sum())
        if self._bound(match, c + gap, size, k) < old:
            return noise
        return Noise(noise.tau, {**noise.own, "intercept": np.asarray(own["intercept"] + gap)})

    def bound(self, noise: Noise, match: Match) -> float:
        """⟨ln p(x | y)⟩ of Gaussian ψ, or what bounds it."""
        c, own = self.at_entries(noise.own, match), noise.own
        return self._bound(match, c, float(own["size"]), float(own["caution"]))

    def _bound(self, match: Match, intercept: Array | float, r: float, caution: float) -> float:
        psi = match.mean + (intercept - log(r))
        part = expected_softplus(psi, match.variance, caution)
        fit = match.values * psi - (match.values + r) * part
        return float(fit.sum()) + _constants(match.values, r)

    def draw_weighting(self, noise: Drawn, match: Match, rng: Random) -> Weighting:
        """ω given the entries."""
        c, r = self._start(noise, match)
        w = draw_polya_gamma(match.values + r, np.abs(match.mean + c), rng)
        return Weighting(1.0, w, 0.5 * (match.values - r) / w - c)

    def draw(self, noise: Drawn, match: Match, seen: Weighting, rng: Random) -> Drawn:
        """c under ω; then r with ω integrated out, by a Metropolis step in its logarithm."""
        r, own = float(noise.own["size"]), dict(noise.own)
        own["intercept"] = draw_intercept(own["intercept"], match, seen, rng)
        noise = Drawn(noise.tau, own)
        # The information of one value about ln r is of the order of μ/(μ + r).
        information = float((match.values / (match.values + r)).sum()) * 0.3 + 1.0
        new = r * float(np.exp(2.4 / np.sqrt(information) * rng.standard_normal(())))
        if not LEAST <= new <= MOST:
            return noise
        back = float((match.values / (match.values + new)).sum()) * 0.3 + 1.0
        jump = log(new / r) ** 2 / (2 * 2.4**2)
        gain = self._density(match, own, new) - self._density(match, own, r)
        # Steps there and back differ in length.
        gain += 0.5 * log(back / information) + jump * (information - back)
        if np.log(rng.random(())) >= gain:
            return noise
        return Drawn(noise.tau, {**own, "size": np.asarray(new)})

    def log_density(self, noise: Drawn, match: Match) -> float:
        """ln p(x | y)."""
        return self._density(match, noise.own, float(noise.own["size"]))

    def _density(self, match: Match, own: Own, r: float) -> float:
        psi = match.mean + (self.at_entries(own, match) - log(r))
        fit = 0.5 * (match.values - r) * psi
        fit -= (match.values + r) * log_cosh(np.abs(psi))
        return float(fit.sum()) + _constants(match.values, r)

    def _start(self, noise: Noise | Drawn, match: Match) -> tuple[Array | float, float]:
        """c − ln r, with exposures, and r."""
        r = float(noise.own["size"])
        return self.at_entries(noise.own, match) - log(r), r

    def expected(self, y: Array, own: Own) -> Array:
        """The rate."""
        return np.exp(y + float(own["intercept"]))

    def observed(self, mean: Array, variance: Array, noise: Noise, at: Places) -> Distribution:
        """Counts around a rate that is known as far as the entry is."""
        mean = mean + self.shift(noise.own, at.rows, at.cols)
        rates = np.exp(around(mean + float(noise.own["intercept"]), variance))
        return Counts(rates, float(noise.own["size"]))

    def simulate(self, y: Array, noise: Drawn, at: Places, rng: np.random.Generator) -> Array:
        """Counts."""
        r = float(noise.own["size"])
        y = y + self.shift(noise.own, at.rows, at.cols)
        rates = self.expected(y, noise.own) * rng.standard_gamma(r, y.shape) / r
        return rng.poisson(np.minimum(rates, 1e15)).astype(np.float64)

    def words(self, noise: Noise, scale: float) -> str:
        """How much counts vary."""
        r, start = float(noise.own["size"]), float(np.exp(noise.own["intercept"]))
        return f"counts around rates that start from {start:.3g}; variance μ + μ²/{r:.3g}"


def _constants(values: Array, r: float) -> float:
    """Σ ln Γ(x + r) − ln Γ(r) − ln x!, each count once."""
    found, times = np.unique(values, return_counts=True)
    terms = gammaln(found + r) - gammaln(r) - gammaln(found + 1.0)
    return float(times @ terms)
