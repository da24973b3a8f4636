"""What variational Bayes over rows leaves behind: Gaussian rows on both sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..backends.packed import outer_packed
from .factor_model import FactorModel

Array = NDArray[np.float64]

# Pairs whose variance is computed at a time: bounds the gathered covariance blocks.
_PAIRS = 1 << 12


@dataclass(frozen=True)
class GaussianFactorModel:
    """Independent Gaussian rows: u_i ~ N(ū_i, C_i), v_j ~ N(v̄_j, D_j), noise of variance 1/τ.

    Attributes
    ----------
    row_means, col_means : ndarray of shape (m, k) and (n, k)
    row_covariances, col_covariances : ndarray of shape (m, k(k+1)/2) and (n, k(k+1)/2)
        Packed.
    noise_precision : float
    """

    row_means: Array
    col_means: Array
    row_covariances: Array
    col_covariances: Array
    noise_precision: float

    def mean(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> Array:
        """Predicted entries at paired positions, shape (n_pairs,)."""
        return FactorModel(self.row_means, self.col_means).mean(rows, cols)

    def variance(
        self, rows: NDArray[np.intp], cols: NDArray[np.intp], include_noise: bool = True
    ) -> Array:
        """Variance at paired positions, of a new observation or of the entry itself.

        tr(C_i ⟨v_j v_jᵀ⟩) + ū_iᵀ D_j ū_i, shape (n_pairs,).
        """
        r, s = np.tril_indices(self.row_means.shape[1])
        twice = np.where(r == s, 1.0, 2.0)
        out = np.empty(len(rows))
        for start in range(0, len(rows), _PAIRS):
            part = slice(start, start + _PAIRS)
            i, j = rows[part], cols[part]
            C, D = self.row_covariances[i] * twice, self.col_covariances[j]
            U, V = outer_packed(self.row_means[i]) * twice, outer_packed(self.col_means[j])
            out[part] = np.einsum("pt,pt->p", C, V + D) + np.einsum("pt,pt->p", U, D)
        return out + 1.0 / self.noise_precision if include_noise else out

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays for a model file."""
        return {
            "row_means": self.row_means,
            "col_means": self.col_means,
            "row_covariances": self.row_covariances,
            "col_covariances": self.col_covariances,
            "noise_precision": np.array([self.noise_precision]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `to_arrays`."""
        means = arrays["row_means"], arrays["col_means"]
        covariances = arrays["row_covariances"], arrays["col_covariances"]
        return cls(*means, *covariances, float(arrays["noise_precision"][0]))
