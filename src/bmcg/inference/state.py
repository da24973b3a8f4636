"""What a sweep hands on: moments of every variable of the model, frozen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..likelihoods import Noise
from ..likelihoods.gamma import Gamma
from .covariance import Covariance
from .local import Local

__all__ = ["Factors", "Gamma", "State", "side_lam"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Factors:
    """The state of one side: n rows and, where it has features, p rows of their weights.

    The last component is the side's bias where the model has biases.

    Attributes
    ----------
    mean : ndarray of shape (n + p, k)
    covariance : Covariance
        Of the rows.
    log_det : float
        Log-determinant of the posterior precision, all components together.
    energy : ndarray of shape (k, k)
        ⟨Uᵀ K U⟩, the covariance included; its diagonal drives λ.
    draws : ndarray of shape (n + p, k, s) or None
        Latest Monte Carlo draws, zero mean, from which the next solves start.
    """

    mean: Array
    covariance: Covariance
    log_det: float
    energy: Array
    draws: Array | None = None

    @property
    def rank(self) -> int:
        """Number of components, the bias included."""
        return self.mean.shape[1]

    @property
    def rows(self) -> Array:
        """Means of the n rows alone, shape (n, k)."""
        return self.mean[: len(self.covariance)]

    @property
    def cov(self) -> Array:
        """What the covariance holds, as a file keeps it."""
        return self.covariance.array

    @property
    def variances(self) -> Array:
        """Marginal variances of the rows, shape (n, k)."""
        return self.covariance.variances


@dataclass(frozen=True)
class State:
    """All of q.

    Attributes
    ----------
    rows, cols : Factors
        q(U) and q(V).
    lam : Gamma
        Precisions of the shared components, shape (k,).
    tau : Gamma
        Noise precision, scalar.
    squared_error : float
        ⟨‖Ω∘(M − UVᵀ)‖²⟩ at these factors.
    row_bias, col_bias : Gamma or None
        Precisions of the biases, shape (1,) each; None without biases.
    own : mapping of str to ndarray
        What the likelihood has learned besides τ.
    at_entries : tuple of ndarray of shape (n_observed,) or None
        Mean and variance of the entries at these factors, in row order, where they are known; the
        local term is part of them.
    local : Local or None
        q(S), where the model has a local term.
    """

    rows: Factors
    cols: Factors
    lam: Gamma
    tau: Gamma
    squared_error: float
    row_bias: Gamma | None = None
    col_bias: Gamma | None = None
    own: Mapping[str, Array] = field(default_factory=dict)
    at_entries: tuple[Array, Array] | None = None
    local: Local | None = None

    @property
    def noise(self) -> Noise:
        """All that the likelihood has learned of itself."""
        return Noise(self.tau, self.own)

    @property
    def rank(self) -> int:
        """Number of shared components."""
        return len(self.lam.shape)

    @property
    def is_pooled(self) -> bool:
        """Whether components, of which there are several, have one precision."""
        lam = self.lam.mean
        return self.rank > 1 and bool((lam == lam[0]).all())

    @property
    def biased(self) -> bool:
        """Whether the model has biases."""
        return self.row_bias is not None


def side_lam(state: State, side: str) -> Gamma:
    """q(λ) of every component of one side, "rows" or "cols", its bias last."""
    lam, bias = state.lam, state.row_bias if side == "rows" else state.col_bias
    if bias is None:
        return lam
    return Gamma(np.append(lam.shape, bias.shape), np.append(lam.rate, bias.rate))


def moved(state: State, put: Callable[[Any], Array]) -> State:
    """The state with its long arrays elsewhere: those of a back end, or of the host."""

    def of(factors: Factors) -> Factors:
        kept = type(factors.covariance)(put(factors.cov))  # type: ignore[call-arg]
        draws = None if factors.draws is None else put(factors.draws)
        return replace(factors, mean=put(factors.mean), covariance=kept, draws=draws)

    return replace(state, rows=of(state.rows), cols=of(state.cols))


def with_nodes(state: State, n_rows: int, n_cols: int) -> State:
    """The state with a place for the weights of features, where these are nodes of their own."""
    sides = [
        replace(side, mean=np.pad(side.mean, ((0, max(n - len(side.mean), 0)), (0, 0))))
        for side, n in ((state.rows, n_rows), (state.cols, n_cols))
    ]
    return replace(state, rows=sides[0], cols=sides[1])
