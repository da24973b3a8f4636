"""Tables whose days repeat, folded: rows of sensors and steps of the day, columns of days.

What repeats from day to day is then low rank, and what is near within a day is joined by the graph
of the rows. A sensor that was out for a whole day has its other days in the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..observations import Observations
from .build import check_count, symmetric_graph

Index = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Folded:
    """A folded table.

    Attributes
    ----------
    observations : Observations
        Of shape (n_sensors · steps, n_days).
    row_graph : csr_array of shape (n_sensors · steps, n_sensors · steps)
        Joins each step with the next one of the same day and sensor.
    shape : (int, int)
        Of the table before.
    steps : int
        A day.
    """

    observations: Observations
    row_graph: sp.csr_array
    shape: tuple[int, int]
    steps: int

    def at(self, sensors: Any, times: Any) -> tuple[Index, Index]:
        """Rows and columns of sensors and times, all positions, shape (n_pairs,) each."""
        sensors, times = np.asarray(sensors), np.asarray(times)
        return sensors * self.steps + times % self.steps, times // self.steps

    def unfold(self, matrix: Any) -> NDArray[Any]:
        """A matrix of the folded shape as a table of sensors and times, shape (m, n)."""
        m, n = self.shape
        days = np.asarray(matrix).reshape(m, self.steps, -1)
        return days.transpose(0, 2, 1).reshape(m, -1)[:, :n]


def fold_days(X: Any, steps: int) -> Folded:
    """Fold a table of sensors (rows) and regular times (columns) into days.

    Parameters
    ----------
    X : whatever `BMCG.fit` takes, shape (m, n), or ndarray of shape (m, n_days, steps)
        The first column is the first step of a day; the last day may be cut short.
    steps : int
        Columns that make a day, or whatever else repeats.

    Returns
    -------
    Folded

    Examples
    --------
    >>> import numpy as np
    >>> from bmcg.graphs import fold_days
    >>> folded = fold_days(np.arange(24.0).reshape(2, 12), steps=4)
    >>> folded.observations.shape
    (8, 3)
    >>> folded.unfold(folded.observations.to_csr().toarray())[1]
    array([12., 13., 14., 15., 16., 17., 18., 19., 20., 21., 22., 23.])
    """
    check_count("steps", steps)
    if isinstance(X, np.ndarray) and X.ndim == 3:
        if X.shape[2] != steps:
            raise ValueError(f"steps={steps}, but days of X have {X.shape[2]} steps")
        X = X.reshape(len(X), -1)
    table = Observations.from_any(X)
    m, n = table.shape
    if steps < 2 or steps > n:
        raise ValueError(f"steps={steps}: pass a number from 2 to the {n} columns that there are")
    rows = table.row_indices.astype(np.int64) * steps + table.col_indices % steps
    shape = m * steps, -(-n // steps)
    folded = Observations.from_triples(rows, table.col_indices // steps, table.values, shape)
    nodes = np.arange(m * steps).reshape(m, steps)
    first, second = nodes[:, :-1].ravel(), nodes[:, 1:].ravel()
    graph = symmetric_graph(m * steps, first, second, np.ones(len(first)))
    return Folded(folded, graph, (m, n), steps)
