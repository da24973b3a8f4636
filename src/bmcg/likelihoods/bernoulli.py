"""Yes or no: zeros and ones with log odds y + c, by a quadratic at every entry, or Pólya–Gamma."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from ..backends.base import Random
from .base import Array, Drawn, Match, Noise, Own, Places, Weighting
from .discrete import Levels
from .linked import Linked, draw_intercept
from .logistic import expected_softplus, quadratic
from .outcomes import SHARES, Distribution, around
from .polya_gamma import draw as draw_polya_gamma
from .polya_gamma import log_cosh


@dataclass(frozen=True)
class Bernoulli(Linked):
    """ln p/(1 − p) = y_ij + c for the probability p of a one; c is learned."""

    name = "bernoulli"

    def start_own(self, values: Array) -> Own:
        """The log odds of all values together; half of each is added."""
        odds = logit((values.sum() + 0.5) / (len(values) + 1.0))
        return {"intercept": odds, "caution": np.asarray(1.0)}

    def weighting(self, noise: Noise, match: Match) -> Weighting:
        """The quadratic around the log odds."""
        c, caution = float(noise.own["intercept"]), float(noise.own["caution"])
        w, t = quadratic(match.values, 1.0, match.mean + c, match.variance, caution)
        return Weighting(1.0, w, t - c)

    def update(self, noise: Noise, match: Match) -> Noise:
        """c, by weighted least squares; as it was, if that were a step too far."""
        seen, old = self.weighting(noise, match), self.bound(noise, match)
        assert seen.weights is not None
        assert seen.targets is not None
        gap = float(seen.weights @ (seen.targets - match.mean)) / float(seen.weights.sum())
        new = Noise(noise.tau, {**noise.own, "intercept": noise.own["intercept"] + gap})
        return new if self.bound(new, match) >= old else noise

    def bound(self, noise: Noise, match: Match) -> float:
        """⟨ln p(x | y)⟩ of Gaussian log odds, or what bounds it."""
        psi = match.mean + float(noise.own["intercept"])
        found = expected_softplus(psi, match.variance, float(noise.own["caution"]))
        return float((match.values * psi - found).sum())

    def draw_weighting(self, noise: Drawn, match: Match, rng: Random) -> Weighting:
        """ω given the entries."""
        c = float(noise.own["intercept"])
        w = draw_polya_gamma(np.ones_like(match.mean), np.abs(match.mean + c), rng)
        return Weighting(1.0, w, (match.values - 0.5) / w - c)

    def draw(self, noise: Drawn, match: Match, seen: Weighting, rng: Random) -> Drawn:
        """c, under ω."""
        c = draw_intercept(noise.own["intercept"], match, seen, rng)
        return Drawn(noise.tau, {**noise.own, "intercept": c})

    def log_density(self, noise: Drawn, match: Match) -> float:
        """ln p(x | y)."""
        psi = match.mean + float(noise.own["intercept"])
        return float(((match.values - 0.5) * psi - log_cosh(np.abs(psi))).sum())

    def expected(self, y: Array, own: Own) -> Array:
        """The probability of a one."""
        return np.asarray(expit(y + float(own["intercept"])))

    def observed(self, mean: Array, variance: Array, noise: Noise, at: Places) -> Distribution:
        """Probabilities of zero and one."""
        p = self.expected(around(mean, variance), noise.own) @ SHARES
        return Levels(np.array([0.0, 1.0]), np.column_stack((1.0 - p, p)))

    def simulate(self, y: Array, noise: Drawn, at: Places, rng: np.random.Generator) -> Array:
        """Zeros and ones."""
        return (rng.random(y.shape) < self.expected(y, noise.own)).astype(np.float64)

    def words(self, noise: Noise, scale: float) -> str:
        """Where log odds start."""
        p = float(expit(noise.own["intercept"]))
        return f"zeros and ones; log odds start from a probability of {p:.3g}"
