"""Implicit feedback: what was seen is a one that weighs by its count, all else a weak zero.

Clicks, plays and purchases say what somebody chose, never what somebody would not. The model is
the Gaussian one of a complete matrix: at every pair stands a zero of small weight, and at a pair
that was seen a one besides, whose weight grows with its count,

    Σ_seen s c_ij^p (1 − y_ij)² + z Σ_all y_ij².

Weights count observations: a one of weight two is two ones, a zero of weight 0.1 a tenth of one.
Sums over all pairs go through the Gram matrix of the other side, so that a sweep costs what it
costs for the entries that were seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

import numpy as np

from ..backends.base import Random
from .base import Array, Drawn, Match, Noise, Weighting
from .gaussian import LOG_2PI, Gaussian

NAME = "weak-zero"


@dataclass(frozen=True)
class WeakZero(Gaussian):
    """Ones of weight s·c^p where something was seen, zeros of weight z everywhere.

    Attributes
    ----------
    zero : float
        z.
    one : float
        s.
    power : float
        p: 1 counts every time alike, 0 once for all.
    pairs : int
        Rows times columns.
    sure : bool
        Whether weights are the precisions of observations themselves; else these are τ times as
        large, and τ is learned.
    """

    zero: float = 0.1
    one: float = 1.0
    power: float = 1.0
    pairs: int = 0
    sure: bool = False

    name = NAME

    @property
    def title(self) -> str:
        """Its name and numbers."""
        end = " sure" if self.sure else ""
        return f"{NAME} {self.zero!r} {self.one!r} {self.power!r} {self.pairs}{end}"

    @classmethod
    def of_title(cls, title: str) -> WeakZero:
        """The inverse of `title`."""
        zero, one, power, pairs, *sure = title.split()[1:]
        numbers = {"zero": float(zero), "one": float(one), "power": float(power)}
        return cls(**numbers, pairs=int(pairs), sure=sure == ["sure"])

    def units(self, values: Array, biased: bool) -> tuple[float, float]:
        """Counts stay counts; entries lie about between zero and one."""
        return 0.0, 1.0

    def weights(self, counts: Array) -> Array:
        """Of the ones, shape (n_observed,)."""
        return self.one * counts**self.power if self.power else np.full(len(counts), self.one)

    def size(self, counts: Array) -> float:
        """Observations that all weights stand for."""
        return float(self.weights(counts).sum()) + self.zero * self.pairs

    def weighting(self, noise: Noise, match: Match) -> Weighting:
        """Ones by their counts, zeros everywhere."""
        return self._seen(1.0 if self.sure else float(noise.tau.mean), match)

    def _seen(self, tau: float, match: Match) -> Weighting:
        counts = match.values
        return Weighting(tau, self.weights(counts), np.ones(len(counts)), self.zero)

    def update(self, noise: Noise, match: Match) -> Noise:
        """q(τ)."""
        return Noise(self.update_tau(self.size(match.values), match.squared_error), noise.own)

    def bound(self, noise: Noise, match: Match) -> float:
        """Log densities by their weights, and the divergence of τ."""
        tau = noise.tau
        fit = 0.5 * self.size(match.values) * (float(tau.mean_log) - LOG_2PI)
        fit -= 0.5 * float(tau.mean * match.squared_error)
        return fit - float(tau.divergence(self.a0, self.b0))

    def draw_weighting(self, noise: Drawn, match: Match, rng: Random) -> Weighting:
        """The same at every draw."""
        return self._seen(noise.tau, match)

    def draw(self, noise: Drawn, match: Match, seen: Weighting, rng: Random) -> Drawn:
        """τ given what the draws miss ones and zeros by."""
        q = self.update_tau(self.size(match.values), match.squared_error)
        return Drawn(float(rng.standard_gamma(float(q.shape)) / float(q.rate)), noise.own)

    def log_density(self, noise: Drawn, match: Match) -> float:
        """Log densities by their weights."""
        n = self.size(match.values)
        return 0.5 * (n * (log(noise.tau) - LOG_2PI) - noise.tau * match.squared_error)

    def words(self, noise: Noise, scale: float) -> str:
        """What weighs how much."""
        count = "" if not self.power else " times its count"
        if self.power not in (0.0, 1.0):
            count += f" to the power of {self.power:g}"
        one = f"what was seen a one of {self.one:.3g}{count}"
        return f"every pair a zero of weight {self.zero:.3g}, {one}"

    def of_shape(self, shape: tuple[int, int]) -> WeakZero:
        """The same of a matrix of another size."""
        return replace(self, pairs=shape[0] * shape[1])
