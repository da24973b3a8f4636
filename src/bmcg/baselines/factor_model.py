"""What a point estimate leaves behind: two factors, or the whole matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Pairs predicted at a time: bounds the gathered factors to a few megabytes.
_PAIRS = 1 << 15


@dataclass(frozen=True)
class FactorModel:
    """X_ij = offset + scale · u_i·v_j.

    Attributes
    ----------
    row_factors : ndarray of shape (m, k)
    col_factors : ndarray of shape (n, k)
    offset, scale : float
        What undoes the centring and scaling of the data before the fit.
    """

    row_factors: Array
    col_factors: Array
    offset: float = 0.0
    scale: float = 1.0

    @property
    def rank(self) -> int:
        """Number of factors."""
        return self.row_factors.shape[1]

    def mean(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> Array:
        """Predicted entries at paired positions, shape (n_pairs,)."""
        U, V = self.row_factors, self.col_factors
        out = np.empty(len(rows))
        for start in range(0, len(rows), _PAIRS):
            part = slice(start, start + _PAIRS)
            out[part] = np.einsum("pk,pk->p", U[rows[part]], V[cols[part]])
        return self.offset + self.scale * out

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays for a model file."""
        return {
            "row_factors": self.row_factors,
            "col_factors": self.col_factors,
            "offset_scale": np.array([self.offset, self.scale]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `to_arrays`."""
        offset, scale = arrays["offset_scale"].tolist()
        return cls(arrays["row_factors"], arrays["col_factors"], offset, scale)


@dataclass(frozen=True)
class DenseModel:
    """Every entry, held in memory.

    Attributes
    ----------
    matrix : ndarray of shape (m, n)
    """

    matrix: Array

    def mean(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> Array:
        """Predicted entries at paired positions, shape (n_pairs,)."""
        return self.matrix[rows, cols]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays for a model file."""
        return {"matrix": self.matrix}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `to_arrays`."""
        return cls(arrays["matrix"])
