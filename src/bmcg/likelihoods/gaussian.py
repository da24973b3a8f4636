"""Gaussian noise of one precision τ with a Gamma prior: the paper's likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi

import numpy as np

from .base import Array, Moments, Weighting
from .gamma import Gamma

LOG_2PI = log(2 * pi)


@dataclass(frozen=True)
class Gaussian:
    """x_ij ~ N(y_ij, 1/τ), τ ~ Gamma(a0, b0)."""

    a0: float = 1e-6
    b0: float = 1e-6

    name = "gaussian"

    def weighting(self, tau: Gamma, moments: Moments) -> Weighting:
        """Every entry alike: one scalar, and the values as they are."""
        return Weighting(float(tau.mean))

    def update_tau(self, n_observed: int, squared_error: float) -> Gamma:
        """q(τ): equations (43) and (44)."""
        return Gamma(np.asarray(self.a0 + n_observed / 2), np.asarray(self.b0 + squared_error / 2))

    def bound(self, tau: Gamma, n_observed: int, squared_error: float) -> float:
        """The first and last terms of equation (30)."""
        fit = 0.5 * n_observed * (float(tau.mean_log) - LOG_2PI)
        fit -= 0.5 * float(tau.mean * squared_error)
        return fit - float(tau.divergence(self.a0, self.b0))

    def predictive(self, mean: Array, variance: Array, tau: Gamma) -> tuple[Array, Array]:
        """The entry's own, and 1/⟨τ⟩ of noise on top."""
        return mean, variance + 1.0 / float(tau.mean)
