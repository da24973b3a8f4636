"""Gaussian noise whose precision is that of the row, or of the column.

x_ij ~ N(y_ij, 1/τ_i), τ_i ~ Gamma(a, b) with a and b learned: a row with few entries has the noise
that rows have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from ..backends import SparseRows
from ..backends.base import Random
from .base import Array, Drawn, Index, Likelihood, Match, Noise, Own, Places, Weighting
from .gamma import Gamma
from .gaussian import LOG_2PI, Gaussian

LEAST, MOST = 1e-2, 1e6
# A row of equal values would have no noise at all. What is finer than this share of the values'
# spread is arithmetic: every value counts as known to within it.
FINEST = 1e-4


@dataclass(frozen=True)
class Uneven(Gaussian):
    """Noise for each row, or for each column.

    Attributes
    ----------
    side : {"rows", "cols"}
    """

    side: Literal["rows", "cols"] = "rows"

    name = "gaussian"
    is_plain = False
    is_linear = True

    @property
    def title(self) -> str:
        """What `likelihood_of` makes it from again."""
        return f"{self.name} {self.side}"

    def start(self, entries: SparseRows, n_cols: int) -> Noise:
        """As much noise as signal, everywhere."""
        n = entries.n if self.side == "rows" else n_cols
        tau = Gamma(np.asarray(1.0), np.asarray(1.0))
        return Noise(tau, {"shape": np.ones(n), "rate": np.ones(n)})

    def weighting(self, noise: Noise, match: Match) -> Weighting:
        """⟨τ_i⟩ of every entry."""
        return Weighting(1.0, _each(noise).mean[self._at(match.entries)])

    def update(self, noise: Noise, match: Match) -> Noise:
        """q(τ_i) of every row, then a and b."""
        counts, errors = self._sums(match, len(noise.own["shape"]))
        prior = noise.tau
        each = Gamma(prior.shape + 0.5 * counts, prior.rate + 0.5 * errors)
        seen = counts > 0
        tau = best_gamma(each.mean[seen], each.mean_log[seen], float(prior.shape))
        # Of rows without entries nothing is known but the prior.
        shape = np.where(seen, each.shape, tau.shape)
        return Noise(tau, {"shape": shape, "rate": np.where(seen, each.rate, tau.rate)})

    def bound(self, noise: Noise, match: Match) -> float:
        """Gaussian densities under each q(τ_i), and their divergences."""
        counts, errors = self._sums(match, len(noise.own["shape"]))
        each = _each(noise)
        fit = 0.5 * (counts * (each.mean_log - LOG_2PI) - each.mean * errors)
        prior = float(noise.tau.shape), float(noise.tau.rate)
        return float((fit - each.divergence(*prior)).sum())

    def draw_weighting(self, noise: Drawn, match: Match, rng: Random) -> Weighting:
        """τ_i of every entry: nothing is augmented."""
        each = noise.own["precisions"]
        lines = (each, None) if self.side == "rows" else (None, each)
        return Weighting(1.0, each[self._at(match.entries)], lines=lines)

    def draw(self, noise: Drawn, match: Match, seen: Weighting, rng: Random) -> Drawn:
        """τ_i of every row given its entries, then a and b."""
        counts, errors = self._sums(match, len(noise.own["precisions"]))
        a = float(noise.own["concentration"])
        b = a / noise.tau
        each = rng.standard_gamma(a + 0.5 * counts) / (b + 0.5 * errors)
        n, total, logs = len(each), float(each.sum()), float(np.log(each).sum())
        mean = a * total / float(rng.standard_gamma(n * a))
        new = a * float(np.exp(2.4 / np.sqrt(0.5 * n + 1.0) * rng.standard_normal(())))
        if LEAST <= new <= MOST:
            gain = _prior_density(new, mean, n, total, logs) - _prior_density(
                a, mean, n, total, logs
            )
            a = new if np.log(rng.random(())) < gain else a
        return Drawn(mean, {"precisions": each, "concentration": np.asarray(a)})

    def log_density(self, noise: Drawn, match: Match) -> float:
        """ln p(x | y, τ_1, …)."""
        counts, errors = self._sums(match, len(noise.own["precisions"]))
        each = noise.own["precisions"]
        return 0.5 * float((counts * (np.log(each) - LOG_2PI) - each * errors).sum())

    def first_draw(self, noise: Noise) -> Drawn:
        """Means."""
        own = {"precisions": _each(noise).mean, "concentration": noise.tau.shape}
        return Drawn(float(noise.tau.mean), own)

    def summary(self, tau: Array, own: Own) -> Noise:
        """Gammas with the means and spreads of the draws."""
        each = Gamma.of_draws(own["precisions"])
        parts = {"shape": each.shape, "rate": each.rate}
        a = np.exp(np.log(own["concentration"]).mean())
        return Noise(Gamma(np.asarray(a), np.asarray(a / tau.mean())), parts)

    def noise_variance(self, noise: Noise, at: Places) -> Array:
        """1/⟨τ_i⟩ of the row, or column."""
        return 1.0 / _each(noise).mean[at.rows if self.side == "rows" else at.cols]

    def words(self, noise: Noise, scale: float) -> str:
        """Sizes from least to most."""
        sizes = scale / np.sqrt(_each(noise).mean)
        word = {"rows": "row", "cols": "column"}[self.side]
        low, middle, high = np.quantile(sizes, (0.1, 0.5, 0.9))
        return (
            f"standard deviation of each {word}, {middle:.4g} in the middle; "
            f"four in five from {low:.4g} to {high:.4g}"
        )

    def simulate(self, y: Array, noise: Drawn, at: Places, rng: np.random.Generator) -> Array:
        """With noise of the row's, or the column's, precision."""
        each = noise.own["precisions"][at.rows if self.side == "rows" else at.cols]
        return at.offset + at.scale * (y + rng.standard_normal(y.shape) / np.sqrt(each))

    def newcomers(self, noise: Noise, n: int) -> Noise:
        """New rows have the noise that rows have."""
        if self.side == "cols":
            return noise
        own = {"shape": np.full(n, noise.tau.shape), "rate": np.full(n, noise.tau.rate)}
        return Noise(noise.tau, own)

    def joined(self, noise: Noise, n: int) -> Noise:
        """So have those that come after them."""
        if self.side == "cols":
            return noise
        new = self.newcomers(noise, n).own
        own = {name: np.concatenate((part, new[name])) for name, part in noise.own.items()}
        return Noise(noise.tau, own)

    def transposed(self) -> Likelihood:
        """The other side's."""
        return replace(self, side="cols" if self.side == "rows" else "rows")

    def _at(self, entries: SparseRows) -> Index:
        return entries.owners if self.side == "rows" else entries.indices

    def _sums(self, match: Match, n: int) -> tuple[Array, Array]:
        """Entries of each of n rows, or columns, and their expected squares."""
        if self.side in match.memo:
            found: tuple[Array, Array] = match.memo[self.side]
            return found
        at, entries, key = self._at(match.entries), match.entries, ("counts", self.side, n)
        # Other entries may share the memo.
        places = entries.indptr if self.side == "rows" else entries.indices
        if key not in entries.memo or entries.memo[key][0] is not places:
            entries.memo[key] = places, np.bincount(at, minlength=n).astype(np.float64)
        counts = entries.memo[key][1]
        match.memo[self.side] = counts, np.bincount(at, match.squares, n) + FINEST**2 * counts
        return self._sums(match, n)


def _each(noise: Noise) -> Gamma:
    return Gamma(noise.own["shape"], noise.own["rate"])


def best_gamma(means: Array, logs: Array, start: float) -> Gamma:
    """The Gamma prior under which precisions with these ⟨τ⟩ and ⟨ln τ⟩ are likeliest."""
    mean = float(means.mean())
    gap = float(np.log(mean) - logs.mean())
    a = start
    # Newton's method in 1/a (Minka 2002): ln a − ψ(a) = gap.
    for _ in range(20):
        slope = 1.0 / a - float(polygamma(1, a))
        inverse = 1.0 / a + (np.log(a) - float(digamma(a)) - gap) / (a * a * slope)
        a = float(np.clip(1.0 / inverse if inverse > 0 else MOST, LEAST, MOST))
    return Gamma(np.asarray(a), np.asarray(a / mean))


def _prior_density(a: float, mean: float, n: int, total: float, logs: float) -> float:
    """Σ ln Gamma(τ_i | a, a/mean), with a flat in its logarithm."""
    b = a / mean
    return float(n * (a * np.log(b) - gammaln(a)) + (a - 1.0) * logs - b * total)
