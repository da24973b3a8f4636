"""What a sweep hands on: moments of every variable of the model, frozen."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..kernels.reference import packed_diagonal

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


@dataclass(frozen=True)
class Factors:
    """The posterior of one side: n rows and, where it has features, p rows of their weights.

    The last column is the side's bias where the model has biases.

    Attributes
    ----------
    mean : ndarray of shape (n + p, k)
    cov : ndarray of shape (n, k) or (n, k(k+1)/2)
        Variances of the `column` family, else packed covariance blocks of the rows.
    log_det : float
        Log-determinant of the posterior precision, all columns together.
    energy : ndarray of shape (k, k)
        ⟨Uᵀ K U⟩, the covariance included; its diagonal drives λ.
    """

    mean: Array
    cov: Array
    log_det: float
    energy: Array

    @property
    def rank(self) -> int:
        """Number of columns."""
        return self.mean.shape[1]

    @property
    def rows(self) -> Array:
        """Means of the n rows alone, shape (n, k)."""
        return self.mean[: len(self.cov)]

    @property
    def is_column(self) -> bool:
        """Whether the covariance holds variances only (for k = 1 both forms agree)."""
        return self.cov.shape[1] == self.rank

    @property
    def variances(self) -> Array:
        """Marginal variances of the rows, shape (n, k)."""
        return self.cov if self.is_column else self.cov[:, packed_diagonal(self.rank)]


@dataclass(frozen=True)
class State:
    """All of q.

    Attributes
    ----------
    rows, cols : Factors
        q(U) and q(V).
    lam : Gamma
        Precisions of the shared columns, shape (k,).
    tau : Gamma
        Noise precision, scalar.
    squared_error : float
        ⟨‖Ω∘(M − UVᵀ)‖²⟩ at these factors.
    row_bias, col_bias : Gamma or None
        Precisions of the biases, shape (1,) each; None without biases.
    """

    rows: Factors
    cols: Factors
    lam: Gamma
    tau: Gamma
    squared_error: float
    row_bias: Gamma | None = None
    col_bias: Gamma | None = None

    @property
    def rank(self) -> int:
        """Number of shared columns."""
        return len(self.lam.shape)

    @property
    def biased(self) -> bool:
        """Whether the model has biases."""
        return self.row_bias is not None

    @property
    def row_lam(self) -> Array:
        """⟨λ⟩ of every column of U, its bias last."""
        return _extended(self.lam, self.row_bias).mean

    @property
    def col_lam(self) -> Array:
        """⟨λ⟩ of every column of V, its bias last."""
        return _extended(self.lam, self.col_bias).mean


def _extended(lam: Gamma, bias: Gamma | None) -> Gamma:
    if bias is None:
        return lam
    return Gamma(np.append(lam.shape, bias.shape), np.append(lam.rate, bias.rate))


def side_lam(state: State, side: str) -> Gamma:
    """q(λ) of every column of one side, "rows" or "cols"."""
    return _extended(state.lam, state.row_bias if side == "rows" else state.col_bias)


def with_nodes(state: State, n_rows: int, n_cols: int) -> State:
    """The state with a place for the weights of features, where these are nodes of their own."""
    sides = [
        replace(side, mean=np.pad(side.mean, ((0, max(n - len(side.mean), 0)), (0, 0))))
        for side, n in ((state.rows, n_rows), (state.cols, n_cols))
    ]
    return replace(state, rows=sides[0], cols=sides[1])
