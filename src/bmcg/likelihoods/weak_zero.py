"""Implicit feedback: what was seen is a one that weighs by its count, all else a weak zero.

Clicks, plays and purchases say what somebody chose, never what somebody would not. The model is
the Gaussian one of a complete matrix: at every pair stands a zero of small weight, and at a pair
that was seen a one besides, whose weight grows with its count,

    Σ_seen s c_ij^p (1 − y_ij)² + z Σ_all y_ij².

Weights count observations: a one of weight two is two ones, a zero of weight 0.1 a tenth of one.
Ones of a row that has seen n columns may weigh (n / typical)^−e: many choices of one row are less
independent of each other than low rank can say, and would be fitted too closely.
Sums over all pairs go through the Gram matrix of the other side, so that a sweep costs what it
costs for the entries that were seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

import numpy as np

from ..backends import SparseRows
from ..backends.base import Random
from ..observations import Observations
from .base import Array, Drawn, Likelihood, Match, Noise, Weighting
from .gamma import Gamma
from .gaussian import LOG_2PI, Gaussian

NAME = "weak-zero"
# Own parameter: how much each row has seen.
SEEN = "seen"


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
    even : float
        e: with 0 all ones of equal counts weigh alike, with 1 all rows do.
    typical : float
        What a row has seen whose ones weigh s.
    turned : bool
        Whether rows and columns have changed places.
    """

    zero: float = 0.1
    one: float = 1.0
    power: float = 1.0
    pairs: int = 0
    sure: bool = False
    even: float = 0.0
    typical: float = 1.0
    turned: bool = False

    name = NAME

    @property
    def title(self) -> str:
        """Its name and numbers."""
        end = " sure" if self.sure else ""
        if self.even:
            end += f" even {self.even!r} {self.typical!r}"
        return f"{NAME} {self.zero!r} {self.one!r} {self.power!r} {self.pairs}{end}"

    @classmethod
    def of_title(cls, title: str) -> WeakZero:
        """The inverse of `title`."""
        zero, one, power, pairs, *rest = title.split()[1:]
        even, typical = map(float, rest[-2:]) if "even" in rest else (0.0, 1.0)
        return cls(
            zero=float(zero),
            one=float(one),
            power=float(power),
            pairs=int(pairs),
            sure="sure" in rest,
            even=even,
            typical=typical,
        )

    def units(self, values: Array, biased: bool) -> tuple[float, float]:
        """Counts stay counts; entries lie about between zero and one."""
        return 0.0, 1.0

    def start(self, entries: SparseRows, n_cols: int) -> Noise:
        """With what each row has seen, where weights depend on it."""
        tau = Gamma(np.asarray(1.0), np.asarray(1.0))
        return Noise(tau, {SEEN: np.diff(entries.indptr).astype(float)} if self.even else {})

    def weights(self, counts: Array) -> Array:
        """Of the ones, shape (n_observed,)."""
        return self.one * counts**self.power if self.power else np.full(len(counts), self.one)

    def size(self, counts: Array) -> float:
        """Observations that all weights stand for."""
        return float(self.weights(counts).sum()) + self.zero * self.pairs

    def weighting(self, noise: Noise, match: Match) -> Weighting:
        """Ones by their counts, zeros everywhere."""
        seen = self._seen(1.0 if self.sure else float(noise.tau.mean), match)
        if not self.even:
            return seen
        entries = match.entries
        if self.turned:
            many = noise.own[SEEN][entries.indices]
        else:
            many = np.diff(entries.indptr)[entries.owners]
        assert seen.weights is not None
        scaled = np.maximum(many, 1.0) / self.typical
        return seen._replace(weights=seen.weights * scaled**-self.even)

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
        if self.even:
            one += (
                f", in a row that has seen n times {self.typical:.3g} columns divided by "
                f"n to the power of {self.even:g}"
            )
        return f"every pair a zero of weight {self.zero:.3g}, {one}"

    def newcomers(self, noise: Noise, n: int) -> Noise:
        """New rows say themselves what they have seen; new columns take it from the rows."""
        if not self.even or self.turned:
            return noise
        return Noise(noise.tau, {SEEN: np.full(n, self.typical)})

    def joined(self, noise: Noise, n: int) -> Noise:
        """To columns that come later, rows that came after the fit are typical ones."""
        if not self.even or self.turned:
            return noise
        seen = np.concatenate((noise.own[SEEN], np.full(n, self.typical)))
        return Noise(noise.tau, {SEEN: seen})

    def transposed(self) -> Likelihood:
        """Weights stay those of the rows."""
        return replace(self, turned=not self.turned) if self.even else self

    def of_shape(self, shape: tuple[int, int]) -> WeakZero:
        """The same of a matrix of another size."""
        return replace(self, pairs=shape[0] * shape[1])

    def of(self, observations: Observations) -> WeakZero:
        """The same of other observations: s is what a one weighs in a row in the middle of them."""
        seen = np.diff(observations.by_row.indptr)
        typical = float(np.exp(np.log(seen[seen > 0]).mean()))
        return replace(self.of_shape(observations.shape), typical=typical)
