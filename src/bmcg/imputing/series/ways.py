"""Ways to fill a table of series, each of which predicts every cell from those that it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...estimators import BMCG
from ...graphs import time_graph
from ...graphs.build import symmetric_graph
from ...observations import Observations
from .days import Days

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Smallest value, over the mean, up to which roots are another scale than the values.
NEAR_ZERO = 0.25
# Fits are stopped where a sweep gains little, and ask no more than whether there are biases: which
# way is the better one is asked of gaps.
QUICK: dict[str, Any] = {"posterior": "column", "tol": 1e-4, "selection": ("biases",)}


class Cells(NamedTuple):
    """Means and variances of some cells, (n_cells,) each, and the model that they come from."""

    mean: Array
    variance: Array
    model: BMCG | None


@dataclass(frozen=True, eq=False)
class Table:
    """A table to fill.

    Attributes
    ----------
    values : ndarray of shape (n_times, n_sensors)
        NaN where missing.
    times : ndarray of shape (n_times,)
        Ascending.
    days : Days or None
    col_graph : csr_array of shape (n_sensors, n_sensors) or None
    parameters : dict
        Of `BMCG`.
    """

    values: Array
    times: NDArray[Any]
    days: Days | None
    col_graph: Any
    parameters: dict[str, Any]


Way = Callable[[Table, Index, Index], Cells]


def low_rank(table: Table, rows: Index, cols: Index) -> Cells:
    """One matrix of times and sensors, times in a chain."""
    return _fitted(table, rows, cols, {})


def with_local(table: Table, rows: Index, cols: Index) -> Cells:
    """The same, and what each sensor has of its own, smooth in time."""
    return _fitted(table, rows, cols, {"local": "rows"})


def folded(table: Table, rows: Index, cols: Index) -> Cells:
    """A row of each sensor and step of the day, in chains along the day; a column of each day.

    Days are tied to the day and to the week before, as far as the fit says.
    """
    days = table.days
    assert days is not None
    i, j = np.nonzero(~np.isnan(table.values))
    n_sensors, steps = table.values.shape[1], days.n_steps
    nodes = np.arange(n_sensors * steps).reshape(n_sensors, steps)
    ends = nodes[:, :-1].ravel(), nodes[:, 1:].ravel()
    graph = symmetric_graph(nodes.size, *ends, np.ones(len(ends[0])))
    seen = Observations.from_triples(
        nodes[j, days.step[i]], days.day[i], table.values[i, j], (nodes.size, days.n_days)
    )
    model = BMCG(**{**QUICK, **table.parameters})
    try:
        model.fit(seen, row_graph=graph, col_graph=days.graphs() or None)
    except (FloatingPointError, np.linalg.LinAlgError):
        # Strong links between days can leave a system that rounding makes singular.
        model.fit(seen, row_graph=graph)
    found = model.predictive(nodes[cols, days.step[rows]], days.day[rows])
    return Cells(found.mean, found.variance, model)


def between(table: Table, rows: Index, cols: Index) -> Cells:
    """A straight line from the last value of a sensor to its next; variances are not told."""
    t = table.times.astype(np.float64)
    mean = np.empty(len(rows))
    for col in np.unique(cols):
        here, own = cols == col, ~np.isnan(table.values[:, col])
        # A sensor without a value is like all others.
        known = table.values[own, col] if own.any() else np.nanmean(table.values, keepdims=True)[0]
        at = t[own] if own.any() else t[:1]
        mean[here] = np.interp(t[rows[here]], at, known)
    return Cells(mean, np.full(len(rows), np.nan), None)


def _fitted(table: Table, rows: Index, cols: Index, more: dict[str, Any]) -> Cells:
    model = BMCG(**{**QUICK, **table.parameters, **more})
    model.fit(table.values, time_graph(table.times, n_neighbors=2), table.col_graph)
    found = model.predictive(rows, cols)
    return Cells(found.mean, found.variance, model)


def _of_roots(way: Way) -> Way:
    """The same of square roots, where noise that grows with the level does so no more."""

    def fill(table: Table, rows: Index, cols: Index) -> Cells:
        found = way(replace(table, values=np.sqrt(table.values)), rows, cols)
        mean, variance = found.mean, found.variance
        # Moments of the square of a Gaussian.
        spread = 4.0 * mean**2 * variance + 2.0 * variance**2
        return Cells(mean**2 + variance, spread, found.model)

    return fill


def has_roots(values: Array) -> bool:
    """Whether square roots are another scale: nothing is below zero, and much is near it."""
    return bool(np.nanmin(values) >= 0.0 and np.nanmin(values) < NEAR_ZERO * np.nanmean(values))


WAYS: dict[str, Way] = {
    "lines": between,
    "days side by side": folded,
    "days, roots": _of_roots(folded),
    "low rank": low_rank,
    "low rank, roots": _of_roots(low_rank),
    "a local term": with_local,
}
# Ways that are tried only where another one is not hopeless.
AFTER = {
    "days, roots": "days side by side",
    "low rank, roots": "low rank",
    "a local term": "low rank",
}
