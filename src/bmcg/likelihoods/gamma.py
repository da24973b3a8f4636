"""Gamma distributions: what q says of precisions."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Gamma:
    """Gamma distributions by shape and rate; arrays hold one each.

    Attributes
    ----------
    shape, rate : ndarray of shape (k,) or ()
    """

    shape: Array
    rate: Array

    @property
    def mean(self) -> Array:
        """⟨x⟩ = shape / rate."""
        return self.shape / self.rate

    @property
    def mean_log(self) -> Array:
        """⟨ln x⟩."""
        return digamma(self.shape) - np.log(self.rate)

    def divergence(self, shape: float, rate: float) -> Array:
        """KL(q ‖ Gamma(shape, rate)) of each entry."""
        return (
            (self.shape - shape) * digamma(self.shape)
            - gammaln(self.shape)
            + gammaln(shape)
            + shape * (np.log(self.rate) - log(rate))
            + self.shape * (rate - self.rate) / self.rate
        )

    @classmethod
    def of_draws(cls, draws: Array) -> Gamma:
        """Those with the mean and the spread of draws, (s,) of one or (s, k) of k."""
        mean = np.asarray(draws.mean(axis=0, dtype=np.float64))
        variance = draws.var(axis=0, ddof=1, dtype=np.float64) if len(draws) > 1 else 0.0
        shape = np.asarray(mean**2 / np.maximum(variance, 1e-12 * mean**2))
        return cls(shape, np.asarray(shape / mean))
