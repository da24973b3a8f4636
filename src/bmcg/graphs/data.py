"""Graphs from the data at hand: who was observed together, features and place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from .build import check_count, knn_graph, symmetric_graph
from .pattern import nearest_patterns, neighbor_graph
from .table import encode_table

if TYPE_CHECKING:
    from ..observations import Observations

# Above this many rows the neighbours of a pattern are searched approximately.
EXACT_ROWS = 50_000


def pattern_graph(
    observations: Observations,
    side: Literal["rows", "cols"] = "rows",
    n_neighbors: int = 10,
    *,
    approximate: bool | None = None,
    n_jobs: int | None = None,
) -> sp.csr_array:
    """Graph of rows (or columns) that were observed at the same places.

    The weight of two rows is the cosine of their sets of observed columns, each column weighted
    by idf = log(m / number of rows that observed it); see `bmcg.graphs.pattern`. The values
    observed are not used. A row is joined with its `n_neighbors` most similar rows and with the
    rows that have chosen it. Rows without observations, or with none but columns that every
    row observed, have no neighbours.

    Parameters
    ----------
    observations : Observations
        Training entries only.
    side : {"rows", "cols"}
    n_neighbors : int
    approximate : bool, optional
        Search approximately; by default above 50,000 rows. Weights are exact in both cases,
        but some of the neighbours found may not be the very nearest.
    n_jobs : int, optional
        Threads, all cores by default. The result does not depend on it.

    Returns
    -------
    csr_array of shape (m, m) or (n, n)
        Weights in (0, 1].
    """
    check_count("n_neighbors", n_neighbors)
    if side not in ("rows", "cols"):
        raise ValueError(f'side={side!r}: pass "rows" or "cols"')
    if not hasattr(observations, "by_row"):
        raise TypeError(
            f"observations: pass Observations, not a {type(observations).__name__}; "
            "Observations.from_any reads matrices and frames"
        )
    m, n = observations.shape if side == "rows" else observations.shape[::-1]
    view = observations.by_row if side == "rows" else observations.by_col
    near, similarity = nearest_patterns(
        view.indptr,
        view.indices,
        n,
        max(1, min(int(n_neighbors), m - 1)),
        approximate=m > EXACT_ROWS if approximate is None else approximate,
        n_jobs=n_jobs,
    )
    return neighbor_graph(near, similarity)


def feature_graph(frame: Any, n_neighbors: int = 10) -> sp.csr_array:
    """Nearest-neighbour graph of a table of numbers and categories.

    Every column has the same say. Numbers, dates and durations become robust standard scores
    (median and interquartile range, pulled in at ±5). Strings, categories and booleans become
    indicators, so that two different categories lie at squared distance 2: as far as two
    random draws of a standardised number do on average. A missing value lies half-way: at the
    median, or at squared distance 1 from every category. Constant columns say nothing, and
    lines in which every value is missing have no neighbours.

    Parameters
    ----------
    frame : data frame (pandas, polars, arrow, ...) or numeric array, shape (n_lines, n_columns)
    n_neighbors : int

    Returns
    -------
    csr_array of shape (n_lines, n_lines)
        Gaussian weights in (0, 1], see `knn_graph`.
    """
    check_count("n_neighbors", n_neighbors)
    features, known = encode_table(frame)
    n = len(known)
    # A column of zeros, which changes no distance, for the case that no other is left.
    features = sp.hstack([sp.csr_array((n, 1)), features], format="csr")[known]
    if features.shape[1] <= 16:
        features = features.toarray()  # search trees need dense points, and pay in few dimensions
    nodes = np.flatnonzero(known)
    if len(nodes) == 0:
        return sp.csr_array((n, n))
    graph = knn_graph(features, n_neighbors).tocoo()
    return symmetric_graph(n, nodes[graph.row], nodes[graph.col], graph.data)


def geo_graph(latitude: ArrayLike, longitude: ArrayLike, n_neighbors: int = 10) -> sp.csr_array:
    """Nearest-neighbour graph of places on the globe, by great-circle distance.

    Parameters
    ----------
    latitude, longitude : array_like of shape (n,)
        Degrees; latitudes in [−90, 90], longitudes in [−180, 360].
    n_neighbors : int

    Returns
    -------
    csr_array of shape (n, n)
        Gaussian weights in (0, 1], see `knn_graph`.
    """
    lat = _degrees("latitude", latitude, -90.0, 90.0)
    lon = _degrees("longitude", longitude, -180.0, 360.0)
    if len(lat) != len(lon):
        raise ValueError(
            f"latitude and longitude must have the same length, got {len(lat)} and {len(lon)}"
        )
    lon = (lon + 180.0) % 360.0 - 180.0  # one spelling of each place: duplicates are found
    return knn_graph(np.radians(np.column_stack([lat, lon])), n_neighbors, metric="haversine")


def _degrees(argument: str, values: Any, low: float, high: float) -> NDArray[np.float64]:
    try:
        degrees = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument} must hold numbers only: {error}") from None
    if degrees.ndim != 1 or len(degrees) == 0:
        raise ValueError(f"{argument} has shape {degrees.shape}: pass one number for each node")
    bad = np.flatnonzero(~((degrees >= low) & (degrees <= high)))
    if len(bad):
        raise ValueError(
            f"{argument} must lie in [{low:g}, {high:g}] degrees, but entry {bad[0]} is "
            f"{degrees[bad[0]]} ({len(bad)} such entries)"
        )
    return degrees
