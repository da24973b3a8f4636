"""The missing entries of a matrix, with their uncertainty, whatever file it came from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators import BMCG
from ..estimators.scaling import Scale, column_scale
from ..likelihoods.predictive import interval
from ..observations import Observations
from ..observations.frames import numeric
from ..observations.labels import Labels
from ..posterior import Units

Array = NDArray[np.float64]


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

    @property
    def entries(self) -> tuple[NDArray[Any], ...]:
        """Rows, columns, means and standard deviations, (n_missing,) each."""
        return self.rows, self.cols, self.mean, self.std

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


def predicted(model: BMCG, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> Filled:
    """What a model says of some positions, with the spread of a new observation."""
    found = model.fitted_.predictive(rows, cols)
    return Filled(model.shape_, rows, cols, found.mean, found.std)


def learn(
    values: Array,
    row_graph: Any = None,
    col_graph: Any = None,
    *,
    scale: Scale = "auto",
    labels: tuple[Labels | None, Labels | None] = (None, None),
    **parameters: Any,
) -> BMCG:
    """Fit a model to the entries of a matrix that are there.

    Parameters
    ----------
    values, row_graph, col_graph, scale
        As in `fill`.
    labels : (Labels or None, Labels or None)
        Names that the model is to know its rows and columns by.
    **parameters
        Of `BMCG`.

    Returns
    -------
    BMCG
        Fitted in scaled units; it predicts in the columns' own.
    """
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"the table is empty: its matrix of numbers has shape {values.shape}")
    if np.isnan(values).all():
        raise ValueError("every value is missing: there is nothing to learn from")
    observations = Observations.from_any(values)
    columns = column_scale(values, scale, parameters.get("n_jobs"))
    observations = replace(
        observations.with_values(
            columns.forward(values)[observations.row_indices, observations.col_indices]
        ),
        row_labels=labels[0],
        col_labels=labels[1],
    )
    # Neighbours in time or place are tied on purpose: their graph is taken at its word.
    model = BMCG(**{"learn_graphs": False, **parameters}).fit(observations, row_graph, col_graph)
    if not columns.is_identity:
        model.fitted_ = replace(model.fitted_, units=Units(columns.centre, columns.size))
    return model


def fill(
    values: Array,
    row_graph: Any = None,
    col_graph: Any = None,
    *,
    scale: Scale = "auto",
    **parameters: Any,
) -> tuple[Filled, BMCG | None]:
    """Predict the missing entries of a matrix.

    A row or a column without any value is predicted from its graph and, without one, with what
    the model expects of any row or column.

    Parameters
    ----------
    values : ndarray of shape (m, n)
        NaN where missing.
    row_graph, col_graph : optional
        As in `BMCG.fit`, by position.
    scale : {"auto", True, False}
        Bring every column to mean zero and standard deviation one for the fit, and back
        afterwards: columns in different units then share one noise level. Columns in one unit
        are better off without; "auto" asks a short fit of either.
    **parameters
        Of `BMCG`.

    Returns
    -------
    filled : Filled
    model : BMCG or None
        Fitted in scaled units, it predicts in the columns' own; None where nothing is missing.
    """
    values = numeric(values, "values")
    if values.ndim != 2:
        raise ValueError(f"values must be a matrix, got an array of {values.ndim} axes")
    i, j = np.nonzero(np.isnan(values))
    if values.size and len(i) == 0:
        return Filled(values.shape, i, j, np.empty(0), np.empty(0)), None
    model = learn(values, row_graph, col_graph, scale=scale, **parameters)
    return predicted(model, i, j), model
