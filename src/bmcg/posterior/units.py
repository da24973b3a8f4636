"""Columns that have a unit each: what the fit says of them, in their own numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """What a value of the fit is multiplied by, and what is then added, column by column.

    Attributes
    ----------
    shift : ndarray of shape (n,)
    scale : ndarray of shape (n,)
        Positive.
    """

    shift: Array
    scale: Array

    def __post_init__(self) -> None:
        if self.shift.ndim != 1 or self.shift.shape != self.scale.shape:
            raise ValueError(
                f"units: shift and scale need a number for each column, got shapes "
                f"{self.shift.shape} and {self.scale.shape}"
            )
        if not (np.isfinite(self.shift).all() and np.isfinite(self.scale).all()):
            raise ValueError("units: shift and scale must be finite")
        if not (self.scale > 0).all():
            raise ValueError(f"units: scale must be positive, got {self.scale.min():g}")

    def values(self, fitted: Array, cols: NDArray[Any]) -> Array:
        """Values of the fit in some columns, (..., n_entries), in the columns' own units."""
        return self.shift[cols] + self.scale[cols] * fitted

    def deviations(self, fitted: Array, cols: NDArray[Any]) -> Array:
        """Deviations in some columns, (..., n_entries), in the columns' own units."""
        return self.scale[cols] * fitted

    def fitted(self, values: Array, cols: NDArray[Any]) -> Array:
        """The inverse of `values`."""
        return (values - self.shift[cols]) / self.scale[cols]

    def log_scales(self, indptr: NDArray[np.int64], cols: NDArray[Any]) -> Array:
        """Σ log scale over the entries of each row, given as compressed rows, shape (m,).

        A density changes with its units by as much: log p(x) = log p(z) − Σ log scale.
        """
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        out = np.zeros(len(indptr) - 1)
        np.add.at(out, rows, np.log(self.scale[cols]))
        return out

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays for a model file."""
        return {"unit_shift": self.shift, "unit_scale": self.scale}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self | None:
        """The inverse of `to_arrays`; None where a file has no units."""
        if "unit_shift" not in arrays:
            return None
        return cls(arrays["unit_shift"], arrays["unit_scale"])
