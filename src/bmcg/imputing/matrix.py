"""The missing entries of a matrix, with their uncertainty, whatever file it came from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators import BMCG
from ..observations import Observations
from ..posterior.posterior import interval

Array = NDArray[np.float64]

# Columns whose standard deviations differ by more than this are taken to differ in unit.
UNLIKE = 5.0


@dataclass(frozen=True)
class Filled:
    """Predictions of the missing entries, in row order.

    Attributes
    ----------
    shape : (int, int)
    rows, cols : ndarray of intp, shape (n_missing,)
        Positions.
    mean : ndarray of shape (n_missing,)
    std : ndarray of shape (n_missing,)
        Standard deviation of the value that would have been observed, noise included.
    """

    shape: tuple[int, int]
    rows: NDArray[np.intp]
    cols: NDArray[np.intp]
    mean: Array
    std: Array

    def __len__(self) -> int:
        return len(self.mean)

    def interval(self, level: float) -> tuple[Array, Array]:
        """Bounds that hold the missing value with the given probability, (n_missing,) each."""
        return interval(self.mean, self.std, level)

    def of_column(self, col: int) -> NDArray[np.intp]:
        """Which of the entries lie in a column, top down."""
        return np.flatnonzero(self.cols == col)

    def matrix(self, values: Array, what: Array) -> Array:
        """A copy of `values` (m, n) with `what` (n_missing,) in the missing places."""
        out = values.copy()
        out[self.rows, self.cols] = what
        return out


def fill(
    values: Array,
    row_graph: Any = None,
    col_graph: Any = None,
    *,
    standardize: bool | None = None,
    **parameters: Any,
) -> tuple[Filled, BMCG | None]:
    """Predict the missing entries of a matrix.

    Parameters
    ----------
    values : ndarray of shape (m, n)
        NaN where missing.
    row_graph, col_graph : optional
        As in `BMCG.fit`, by position.
    standardize : bool, optional
        Bring every column to mean zero and standard deviation one for the fit, and back
        afterwards: columns in different units then share one noise level. By default done
        where the columns' standard deviations differ more than fivefold; means and deviations
        of few values are rough, and columns in one unit are better off without.
    **parameters
        Of `BMCG`.

    Returns
    -------
    filled : Filled
    model : BMCG or None
        Fitted in standardized units; None where nothing is missing.
    """
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"the table is empty: its matrix of numbers has shape {values.shape}")
    missing = np.isnan(values)
    if missing.all():
        raise ValueError("every value is missing: there is nothing to learn from")
    i, j = np.nonzero(missing)
    if len(i) == 0:
        return Filled(values.shape, i, j, np.empty(0), np.empty(0)), None
    centre, size = _scales(values)
    if not (size.max() > UNLIKE * size.min() if standardize is None else standardize):
        centre, size = np.zeros(1), np.ones(1)
    observations = Observations.from_any((values - centre) / size)
    # Neighbours in time or place are tied on purpose: their graph is taken at its word.
    model = BMCG(**{"learn_graphs": False, **parameters}).fit(observations, row_graph, col_graph)
    mean, std = model.predict(i, j, return_std=True)
    centre, size = (np.broadcast_to(a, values.shape[1:])[j] for a in (centre, size))
    return Filled(values.shape, i, j, centre + size * mean, size * std), model


def _scales(values: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each column, (n,) each; of the others where it has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        centre, size = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    usable = np.isfinite(size) & (size > 0)
    size[~usable] = np.median(size[usable]) if usable.any() else 1.0
    known = np.isfinite(centre)
    centre[~known] = centre[known].mean()
    return centre, size
