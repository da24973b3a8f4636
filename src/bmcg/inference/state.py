"""What a sweep hands on: moments of every variable of the model, frozen."""

from __future__ import annotations

from dataclasses import dataclass

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
    """The posterior of one side's factors.

    Attributes
    ----------
    mean : ndarray of shape (n, k)
    cov : ndarray of shape (n, k) or (n, k(k+1)/2)
        Variances of the `column` family, else packed covariance blocks of the rows.
    log_det : float
        Log-determinant of the posterior precision, all columns together.
    energy : ndarray of shape (k, k)
        ⟨Uᵀ L U⟩, the covariance included; its diagonal drives λ.
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
    def variances(self) -> Array:
        """Marginal variances, shape (n, k)."""
        if self.cov.shape == self.mean.shape:
            return self.cov
        return self.cov[:, packed_diagonal(self.rank)]


@dataclass(frozen=True)
class State:
    """All of q.

    Attributes
    ----------
    rows, cols : Factors
        q(U), m rows, and q(V), n rows.
    lam : Gamma
        Precisions of the columns, shape (k,).
    tau : Gamma
        Noise precision, scalar.
    squared_error : float
        ⟨‖Ω∘(M − UVᵀ)‖²⟩ at these factors.
    """

    rows: Factors
    cols: Factors
    lam: Gamma
    tau: Gamma
    squared_error: float

    @property
    def rank(self) -> int:
        """Number of columns kept."""
        return self.rows.rank
