"""From copied alleles to probabilities of genotypes that keep their promise.

The calls that were hidden from the copying say how sure it may be. With the Hardy–Weinberg
frequencies F of the site and the copied probabilities C,

    P(g) ∝ F(g)^α · ((1 − δ) C(g) + δ F(g))^β.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize
import scipy.special
from numpy.typing import NDArray

from ..genotypes import Array

# Calls that the three numbers are fitted to; more change nothing.
FITTED_CALLS = 20_000
# Of log β, α and the logit of δ.
_START = (0.0, 0.0, -5.0)
_BOUNDS = ((-2.0, 1.0), (-0.5, 1.5), (-12.0, 0.0))


@dataclass(frozen=True)
class Trust:
    """How far copies are believed.

    Attributes
    ----------
    power : float
        β, below one where copies are too sure.
    prior : float
        α, of the frequencies.
    doubt : float
        δ, share of copies that say nothing.
    """

    power: float = 1.0
    prior: float = 0.0
    doubt: float = float(scipy.special.expit(_START[2]))

    def chances(self, copied: Array, share: Array) -> Array:
        """Probabilities of 0 to k copies, (n, k + 1), of copied ones and shares (n,)."""
        log = _log_weights(copied, share, self.power, self.prior, self.doubt)
        return np.asarray(scipy.special.softmax(log, axis=1))

    @classmethod
    def of(cls, copied: Array, share: Array, truth: NDArray[np.intp], seed: int = 0) -> Trust:
        """The one under which hidden calls are most probable."""
        if len(truth) == 0:
            return cls()
        if len(truth) > FITTED_CALLS:
            at = np.random.default_rng(seed).choice(len(truth), FITTED_CALLS, replace=False)
            copied, share, truth = copied[at], share[at], truth[at]
        each = np.arange(len(truth))

        def loss(theta: Array) -> float:
            numbers = np.exp(theta[0]), theta[1], scipy.special.expit(theta[2])
            log = _log_weights(copied, share, *numbers)
            missed = scipy.special.logsumexp(log, axis=1) - log[each, truth]
            # A weak prior holds the numbers where few calls would let them run away.
            return float(missed.sum() + 0.5 * np.sum((theta - _START) ** 2))

        found = scipy.optimize.minimize(loss, _START, method="L-BFGS-B", bounds=_BOUNDS).x
        return cls(float(np.exp(found[0])), float(found[1]), float(scipy.special.expit(found[2])))


def frequencies(share: Array, ploidy: int) -> Array:
    """Hardy–Weinberg frequencies of 0 to `ploidy` copies, (n, ploidy + 1)."""
    g, p = np.arange(ploidy + 1), share[:, None]
    return np.asarray(scipy.special.comb(ploidy, g) * p**g * (1.0 - p) ** (ploidy - g))


def of_pairs(p: Array, q: Array) -> Array:
    """Copies of two haplotypes that carry the allele with probabilities p and q, (n, 3)."""
    return np.column_stack(((1 - p) * (1 - q), p * (1 - q) + (1 - p) * q, p * q))


def _log_weights(copied: Array, share: Array, power: float, prior: float, doubt: float) -> Array:
    usual = frequencies(share, copied.shape[1] - 1)
    mixed = (1.0 - doubt) * copied + doubt * usual
    return np.asarray(prior * np.log(usual) + power * np.log(np.maximum(mixed, 1e-12)))
