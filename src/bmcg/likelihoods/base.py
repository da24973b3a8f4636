"""What inference asks of a likelihood: a Gaussian that stands for it at every observed entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .gamma import Gamma

Array = NDArray[np.float64]
# Mean and variance of the entries under q, in row order; computed only if called.
Moments = Callable[[], tuple[Array, Array]]


class Weighting(NamedTuple):
    """The entries as the updates of the factors see them: targets t_ij with precision τ w_ij.

    Attributes
    ----------
    tau : float
        What all entries have in common.
    weights : ndarray of shape (n_observed,) or None
        w, in row order; None where all are one.
    targets : ndarray of shape (n_observed,) or None
        t, in row order; None for the observed values.
    """

    tau: float
    weights: Array | None = None
    targets: Array | None = None


class Likelihood(Protocol):
    """p(x_ij | y_ij) of an observed value given the entry of the matrix."""

    name: str

    def weighting(self, tau: Gamma, moments: Moments) -> Weighting:
        """Weights and targets of the entries, given q of the entries and of τ."""

    def update_tau(self, n_observed: int, squared_error: float) -> Gamma:
        """q(τ), given Σ w_ij ⟨(t_ij − y_ij)²⟩."""

    def bound(self, tau: Gamma, n_observed: int, squared_error: float) -> float:
        """The bound's terms ⟨ln p(x | y, τ)⟩ − KL(q(τ) ‖ p(τ)), every constant included."""

    def predictive(self, mean: Array, variance: Array, tau: Gamma) -> tuple[Array, Array]:
        """Mean and variance of a new observation, given those of the entry."""
