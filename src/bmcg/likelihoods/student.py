"""Student's t: noise with outliers, a scale mixture of Gaussians with ν degrees of freedom.

x_ij ~ N(y_ij, 1/(τ w_ij)). A share π of the values is grossly wrong, w_ij = 1/κ; of all others
w_ij ~ Gamma(ν/2, ν/2), so that given the rest it is Gamma with mean (ν + 1)/(ν + τ e²): what lies
far off weighs little. Heavy tails alone would have to hold gross errors too, and then say little of
the values between them. With q(w) at its optimum, or w integrated out, the bound's terms are log
densities of this mixture at the expected squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, log1p, pi

import numpy as np
from scipy.special import expit, gammaln

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
# Share of gross errors that is tried first, its ends, and the rounds after which a share is judged.
FIRST_SHARE, SHARES = 0.01, (1e-6, 0.5)
ROUNDS = 4
# κ a priori, as if twice so many errors of ten deviations had been seen: 1/κ ~ Gamma(a, 100 a); and
# its ends, because what lies within five deviations is no gross error.
KNOWN, FIRST_FAR, FAR = 2.0, 100.0, (25.0, 1e6)
# A smaller share is not worth a word.
LITTLE = 1e-3


@dataclass(frozen=True)
class Student(Gaussian):
    """x_ij − y_ij ~ (1 − π) t_ν / √τ + π N(0, κ/τ), τ ~ Gamma(a0, b0); ν, π, κ are learned."""

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
        own = {"freedom": START, "gross": FIRST_SHARE, "far": FIRST_FAR}
        parts = {name: np.asarray(part) for name, part in own.items()}
        return Noise(Gamma(np.asarray(1.0), np.asarray(1.0)), parts)

    def weighting(self, noise: Noise, match: Match) -> Weighting:
        """⟨w⟩ of every entry."""
        tau, nu = float(noise.tau.mean), float(noise.own["freedom"])
        scaled, (_, far) = tau * match.squares, _gross(noise.own)
        wrong = _chances(scaled, noise.own)
        return Weighting(tau, (1.0 - wrong) * (nu + 1.0) / (nu + scaled) + wrong / far)

    def update(self, noise: Noise, match: Match) -> Noise:
        """q(τ) under ⟨w⟩, then π, κ and ν; no gross errors, where they do not earn their price.

        With some and without, each gets to where it is judged by a few steps of its own.
        """
        on = _gross(noise.own)[0] > 0.0
        other = {"gross": np.asarray(0.0 if on else FIRST_SHARE), "far": np.asarray(FIRST_FAR)}
        stays, changed = self._step(noise, match), noise._replace(own={**noise.own, **other})
        for _ in range(ROUNDS):
            changed = self._step(changed, match)
        return max((stays, changed), key=lambda found: self.bound(found, match))

    def _step(self, noise: Noise, match: Match) -> Noise:
        weights = self.weighting(noise, match).weights
        assert weights is not None
        tau = self.update_tau(len(weights), float(weights @ match.squares))
        scaled, own = float(tau.mean) * match.squares, dict(noise.own)
        if _gross(own)[0]:
            wrong = _chances(scaled, own)
            total = float(wrong.sum())
            far = (0.5 * float(wrong @ scaled) + KNOWN * FIRST_FAR) / (0.5 * total + KNOWN)
            own["gross"] = np.clip(np.asarray(total / len(scaled)), *SHARES)
            own["far"] = np.clip(np.asarray(far), *FAR)
        nu = maximum(lambda nu: _density(scaled, own, nu), float(own["freedom"]), LEAST, MOST)
        return Noise(tau, {**own, "freedom": np.asarray(nu)})

    def bound(self, noise: Noise, match: Match) -> float:
        """Densities of the expected squares, and τ's divergence."""
        tau = noise.tau
        fit = _density(float(tau.mean) * match.squares, noise.own)
        fit += _prior(noise.own, len(match.values))
        fit += 0.5 * len(match.values) * float(tau.mean_log)
        return fit - float(tau.divergence(self.a0, self.b0))

    def first_draw(self, noise: Noise) -> Drawn:
        """Means; a chain may find gross errors where none were told."""
        own = dict(noise.own)
        if "gross" in own:
            own["gross"] = np.maximum(own["gross"], SHARES[0])
        return Drawn(float(noise.tau.mean), own)

    def draw_weighting(self, noise: Drawn, match: Match, rng: Random) -> Weighting:
        """Which values are wrong, and w of all."""
        nu, scaled = float(noise.own["freedom"]), noise.tau * match.squares
        w = rng.standard_gamma(np.full_like(scaled, 0.5 * (nu + 1.0))) / (0.5 * (nu + scaled))
        wrong = rng.random(scaled.shape) < _chances(scaled, noise.own)
        return Weighting(noise.tau, np.where(wrong, 1.0 / _gross(noise.own)[1], w))

    def draw(self, noise: Drawn, match: Match, seen: Weighting, rng: Random) -> Drawn:
        """τ given w; π, κ and ν with w integrated out, by Metropolis steps in logarithms."""
        assert seen.weights is not None
        squares, n, own = match.squares, len(match.values), dict(noise.own)
        q = self.update_tau(n, float(seen.weights @ squares))
        tau = float(rng.standard_gamma(float(q.shape)) / float(q.rate))
        share, scaled = _gross(own)[0], tau * squares
        if share > 0.0:
            # Which are wrong is drawn again, τ being another one.
            count = float((rng.random(scaled.shape) < _chances(scaled, own)).sum())
            parts = rng.standard_gamma(np.array([1.0 + count, 1.0 + n - count]))
            own["gross"] = np.clip(np.asarray(parts[0] / parts.sum()), *SHARES)
        for name, information, ends in (
            ("far", 0.5 * share, FAR),
            ("freedom", INFORMATION, (LEAST, MOST)),
        ):
            if name not in own:
                continue
            step = 2.4 / np.sqrt(information * n + 1.0)
            new = float(own[name]) * float(np.exp(step * rng.standard_normal(())))
            moved = {**own, name: np.asarray(new)}
            gain = _density(scaled, moved) - _density(scaled, own)
            gain += _prior(moved, n) - _prior(own, n)
            if ends[0] <= new <= ends[1] and np.log(rng.random(())) < gain:
                own = moved
        return Drawn(tau, own)

    def log_density(self, noise: Drawn, match: Match) -> float:
        """ln p(x | y), w integrated out."""
        fit = _density(noise.tau * match.squares, noise.own)
        return fit + 0.5 * len(match.values) * log(noise.tau)

    def summary(self, tau: Array, own: Own) -> Noise:
        """A Gamma with the mean and spread of τ, the mean share, geometric means of ν and κ."""
        means = {name: np.asarray(np.exp(np.log(part).mean())) for name, part in own.items()}
        if "gross" in own:
            means["gross"] = np.asarray(own["gross"].mean())
        return Noise(Gamma.of_draws(tau), means)

    def noise_variance(self, noise: Noise, at: Places) -> Array:
        """((1 − π) ν / (ν − 2) + πκ) / ⟨τ⟩ throughout."""
        nu, (share, far) = float(noise.own["freedom"]), _gross(noise.own)
        units = (1.0 - share) * nu / (nu - 2.0) + share * far
        return np.full(len(at.rows), units / float(noise.tau.mean))

    def observed(self, mean: Array, variance: Array, noise: Noise, at: Places) -> Distribution:
        """A t whose scale has the entry's own variance too, which is far smaller than the noise."""
        (share, far), inverse = _gross(noise.own), 1.0 / float(noise.tau.mean)
        scale = at.scale * np.sqrt(variance + inverse)
        wide = at.scale * np.sqrt(variance + far * inverse)
        where = at.offset + at.scale * mean
        return Heavy(where, scale, float(noise.own["freedom"]), share, wide)

    def words(self, noise: Noise, scale: float) -> str:
        """Its size, and how far outliers go."""
        size, nu = scale / float(noise.tau.mean) ** 0.5, float(noise.own["freedom"])
        said = f"Student's t of scale {size:.4g} with {nu:.3g} degrees of freedom"
        share, far = _gross(noise.own)
        if share < LITTLE:
            return said
        return f"{said}; {100 * share:.2g} % of the values gross errors of {size * far**0.5:.4g}"

    def simulate(self, y: Array, noise: Drawn, at: Places, rng: np.random.Generator) -> Array:
        """With outliers."""
        share, far = _gross(noise.own)
        out = rng.standard_t(float(noise.own["freedom"]), y.shape)
        if share > 0.0:
            wide = np.sqrt(far) * rng.standard_normal(y.shape)
            out = np.where(rng.random(y.shape) < share, wide, out)
        return at.offset + at.scale * (y + out / np.sqrt(noise.tau))


def _gross(own: Own) -> tuple[float, float]:
    """π and κ; none are wrong in models of earlier files."""
    return float(own.get("gross", np.zeros(()))), float(own.get("far", np.asarray(FIRST_FAR)))


def _prior(own: Own, n: int) -> float:
    """ln p(ln κ), but for a constant, and what two more parameters cost of n values: ln n."""
    share, far = _gross(own)
    if not share:
        return 0.0
    return -KNOWN * (log(far / FIRST_FAR) + FIRST_FAR / far - 1.0) - log(n)


def _parts(scaled: Array, own: Own, nu: float) -> tuple[Array, Array]:
    """ln (1 − π) t_ν(e) and ln π N(e; 0, κ) of scaled squares e², (n,) each."""
    share, far = _gross(own)
    head = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * log(nu * pi)
    usual = log1p(-share) + head - 0.5 * (nu + 1.0) * np.log1p(scaled / nu)
    return usual, log(share) - 0.5 * log(2.0 * pi * far) - 0.5 * scaled / far


def _chances(scaled: Array, own: Own) -> Array:
    """How likely each value is grossly wrong, shape (n,)."""
    if _gross(own)[0] == 0.0:
        return np.zeros_like(scaled)
    usual, wrong = _parts(scaled, own, float(own["freedom"]))
    return expit(wrong - usual)


def _density(scaled: Array, own: Own, nu: float | None = None) -> float:
    """Σ ln p(e) of scaled squares e², shape (n,), with other degrees of freedom if given."""
    nu = float(own["freedom"]) if nu is None else nu
    if _gross(own)[0] == 0.0:
        head = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * log(nu * pi)
        return float(len(scaled) * head - 0.5 * (nu + 1.0) * np.log1p(scaled / nu).sum())
    usual, wrong = _parts(scaled, own, nu)
    return float((np.maximum(usual, wrong) + np.log1p(np.exp(-np.abs(usual - wrong)))).sum())
