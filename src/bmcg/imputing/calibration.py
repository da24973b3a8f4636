"""From predicted allele shares to probabilities of genotypes that keep their promise.

An entry's prediction z is off by more than a Gaussian of one noise level says: sites differ, and
now and then a haplotype is taken for another. The observed calls tell how far off: each is
predicted as if it had been left out, z = y − e/(1 − h), with the leverage h of the fit. From
those come a spread of each site, shrunk to that of all, and three numbers: how wide, how heavy
the tails, and how much the Hardy–Weinberg frequencies of the site count.

    P(g copies of k) ∝ Binomial(g; k, p_i)^α · (1 + (g/k − z)² / (ν c v_ij))^(−(ν + 1)/2)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize
import scipy.special
from numpy.typing import NDArray

Array = NDArray[np.float64]

# An entry that seems to determine its own prediction still tells something.
LARGEST_LEVERAGE = 0.9
# The spread of a site counts as if all sites had added this many calls to its own.
POOLED_CALLS = 8.0
# Calls that the three numbers are fitted to; more change nothing.
FITTED_CALLS = 20_000
LEAST_VARIANCE = 1e-6
# Of log c, log ν and α.
_START = (0.0, np.log(4.0), 0.5)
_BOUNDS = ((-8.0, 8.0), (0.0, np.log(100.0)), (0.0, 2.0))


@dataclass(frozen=True)
class Calibration:
    """How predictions become probabilities.

    Attributes
    ----------
    widening : float
        c, what variances are multiplied by.
    tails : float
        ν, degrees of freedom of the Student distribution around a prediction.
    prior : float
        α, power of the Hardy–Weinberg frequencies.
    """

    widening: float = float(np.exp(_START[0]))
    tails: float = float(np.exp(_START[1]))
    prior: float = _START[2]

    def chances(self, entries: Entries, ploidy: int) -> Array:
        """Probabilities of 0 to `ploidy` copies, shape (n, ploidy + 1)."""
        log = _log_weights(entries, ploidy, np.log(self.widening), np.log(self.tails), self.prior)
        weights = np.exp(log - log.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Entries:
    """Predictions of some entries, arrays of shape (n,).

    Attributes
    ----------
    centre : ndarray
        z, the predicted share of the alternative allele.
    variance : ndarray
        v, of the prediction around the share, by the site's own spread.
    frequency : ndarray
        p, of the alternative allele among the other calls of the site.
    """

    centre: Array
    variance: Array
    frequency: Array


def calibrate(
    entries: Entries, copies: NDArray[np.intp], ploidy: int, seed: int = 0
) -> Calibration:
    """The calibration under which left-out calls are most probable.

    Parameters
    ----------
    entries : Entries
        Predictions of observed calls, each as if it had been left out.
    copies : ndarray of shape (n,)
        What the calls say.
    ploidy : int
    seed : int
        Of the choice of calls, where there are many.
    """
    if len(copies) == 0:
        return Calibration()
    if len(copies) > FITTED_CALLS:
        at = np.random.default_rng(seed).choice(len(copies), FITTED_CALLS, replace=False)
        entries = Entries(entries.centre[at], entries.variance[at], entries.frequency[at])
        copies = copies[at]
    each = np.arange(len(copies))

    def loss(theta: Array) -> float:
        log = _log_weights(entries, ploidy, *theta)
        missed = scipy.special.logsumexp(log, axis=1) - log[each, copies]
        # A weak prior holds the numbers where few calls would let them run away.
        return float(missed.sum() + 0.5 * np.sum((theta - _START) ** 2))

    found = scipy.optimize.minimize(loss, _START, method="L-BFGS-B", bounds=_BOUNDS)
    c, nu, alpha = found.x
    return Calibration(float(np.exp(c)), float(np.exp(nu)), float(alpha))


def _log_weights(
    entries: Entries, ploidy: int, log_widening: float, log_tails: float, prior: float
) -> Array:
    g = np.arange(ploidy + 1)
    p, nu = entries.frequency[:, None], np.exp(log_tails)
    frequencies = scipy.special.xlogy(g, p) + scipy.special.xlog1py(ploidy - g, -p)
    frequencies = frequencies + np.log(scipy.special.comb(ploidy, g))
    width = nu * np.exp(log_widening) * entries.variance[:, None]
    off = (g / ploidy - entries.centre[:, None]) ** 2
    return np.asarray(prior * frequencies - 0.5 * (nu + 1.0) * np.log1p(off / width))


@dataclass(frozen=True)
class SiteSpread:
    """Squared standardized residuals of the calls of each site.

    Attributes
    ----------
    total, count : ndarray of shape (m,)
    """

    total: Array
    count: Array

    @classmethod
    def of(cls, standardized: Array) -> SiteSpread:
        """From squares, shape (m, c), NaN where there is no call."""
        return cls(np.nansum(standardized, axis=1), np.isfinite(standardized).sum(axis=1) * 1.0)

    def factor(self, own: Array) -> Array:
        """By how much the spread of an entry's site differs, (m, c), its own call left out.

        Parameters
        ----------
        own : ndarray of shape (m, c)
            Squares that were counted, NaN for entries without a call.
        """
        pooled = self.total.sum() / max(self.count.sum(), 1.0)
        counted = np.isfinite(own)
        total = self.total[:, None] - np.where(counted, own, 0.0) + POOLED_CALLS * pooled
        return np.asarray(total / (self.count[:, None] - counted + POOLED_CALLS))
