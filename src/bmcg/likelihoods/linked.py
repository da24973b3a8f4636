"""What likelihoods of discrete values share: the entry is a linear predictor, not a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ..backends import SparseRows
from ..backends.base import Random
from .base import Array, Drawn, Index, Match, Noise, Own, Places, Weighting
from .gamma import Gamma
from .outcomes import Distribution, Entry

# Steps of caution from here on are those of the bound.
BOLD = 16.0


@dataclass(frozen=True)
class Linked:
    """Base: values stay as they are, and what is expected of one is a function of its entry."""

    name = ""
    is_plain = False
    is_linear = False

    @property
    def title(self) -> str:
        """What `likelihood_of` makes it from again."""
        return self.name

    def units(self, values: Array, biased: bool) -> tuple[float, float]:
        """Values stay as they are; what entries start from is an own parameter."""
        return 0.0, 1.0

    def start(self, entries: SparseRows, n_cols: int) -> Noise:
        """Own parameters of entries that are all alike."""
        return Noise(one(), self.start_own(entries.values))

    def start_own(self, values: Array) -> Own:
        """Those besides τ."""
        raise NotImplementedError

    def expected(self, y: Array, own: Own) -> Array:
        """What is expected of observations given their entries, the shape of y."""
        raise NotImplementedError

    def cautious(self, noise: Noise) -> Noise | None:
        """Weights twice as steep, then those of a bound."""
        caution = 2.0 * noise.own.get("caution", np.asarray(np.inf))
        if np.isinf(caution):
            return None
        own = {**noise.own, "caution": np.asarray(caution if caution < BOLD else np.inf)}
        return Noise(noise.tau, own)

    def bold(self, noise: Noise) -> Noise:
        """The curvature's weights again."""
        if noise.own.get("caution", 1.0) == 1.0:
            return noise
        return Noise(noise.tau, {**noise.own, "caution": np.asarray(1.0)})

    def spread(self, noise: Drawn, match: Match) -> float:
        """Root mean square of the entries: how far from all alike they are."""
        return float(np.sqrt(np.mean(match.mean**2)) + 1e-12)

    def first_draw(self, noise: Noise) -> Drawn:
        """The mean, and the rest as it is."""
        return Drawn(float(noise.tau.mean), noise.own)

    def levelled(self, own: Own) -> tuple[Array | None, Own]:
        """The intercept of each draw less their mean."""
        c = own["intercept"]
        return c - c.mean(), {**own, "intercept": np.full_like(c, c.mean())}

    def summary(self, tau: Array, own: Own) -> Noise:
        """Means of the draws."""
        return Noise(Gamma.of_draws(tau), {name: part.mean(axis=0) for name, part in own.items()})

    def entry(self, mean: Array, variance: Array, noise: Noise, at: Places) -> Distribution:
        """What is expected, known as far as the entry is."""
        mean = mean + self.shift(noise.own, at.rows, at.cols)
        return Entry(mean, np.sqrt(variance), lambda y: self.expected(y, noise.own))

    def entries_of(self, y: Array, noise: Drawn, at: Places) -> Array:
        """What is expected."""
        return self.expected(y + self.shift(noise.own, at.rows, at.cols), noise.own)

    def shift(self, own: Own, rows: Index, cols: Index) -> Array:
        """What is added to the entries at paired positions, shape (n_pairs,)."""
        return np.zeros(len(rows))

    def newcomers(self, noise: Noise, n: int) -> Noise:
        """The same for all."""
        return noise

    def joined(self, noise: Noise, n: int) -> Noise:
        """The same for all."""
        return noise

    def transposed(self) -> Self:
        """It knows no sides."""
        return self


def one() -> Gamma:
    """τ where there is none."""
    return Gamma(np.asarray(1.0), np.asarray(1.0))


def draw_intercept(c: Array, match: Match, seen: Weighting, rng: Random) -> Array:
    """An intercept given the entries and what they were drawn with: weighted least squares."""
    assert seen.weights is not None
    assert seen.targets is not None
    total = float(seen.weights.sum())
    gap = float(seen.weights @ (seen.targets - match.mean)) / total
    return np.asarray(float(c) + gap + float(rng.standard_normal(())) / np.sqrt(total))
