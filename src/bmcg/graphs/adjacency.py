"""Whatever a user calls a graph, turned into one checked adjacency matrix."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from ..caller import user_level
from ..observations.checking import check_places
from ..observations.frames import eager, is_frame, numeric
from ..observations.joining import holds, match
from ..observations.labels import Labels, as_label_array
from .edges import edge_graph

# Beside a ridge of 1e-6, sums with larger weights leave nothing of it in double precision.
LARGEST = 1e9


def as_adjacency(graph: Any, n_nodes: int, labels: Labels | None, argument: str) -> sp.csr_array:
    """A symmetric, non-negative adjacency matrix without self-loops.

    Parameters
    ----------
    graph : sparse or dense matrix, edge list, data frame or networkx graph
        A square matrix holds weights by position. A frame with a column for each node holds
        weights by label: rows are found by the index, by a column that holds all labels or,
        where neither names them, in the order of the columns. A frame, list or array with two
        or three columns holds edges (and weights), as positions or, where the data has them,
        labels.
    n_nodes : int
        Rows (or columns) of the data.
    labels : Labels or None
        Names of the nodes.
    argument : str
        Name of the user's argument, for messages.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes)
    """
    if _is_networkx(graph):
        A: Any = _from_networkx(graph, n_nodes, labels, argument)
    elif sp.issparse(graph):
        A = graph
    else:
        A = _from_table(graph, n_nodes, labels, argument)
    if A.shape != (n_nodes, n_nodes):
        raise ValueError(
            f"{argument} has shape {A.shape}, but the data has {n_nodes} nodes on that side: "
            f"pass a {n_nodes} x {n_nodes} adjacency matrix, or edges through "
            "bmcg.graphs.edge_graph (a square array is read as a matrix)"
        )
    return _checked(A, argument)


def _checked(A: Any, argument: str) -> sp.csr_array:
    if A.dtype.kind not in "buif":
        raise ValueError(f"{argument}: weights must be real numbers, not {A.dtype}")
    check_places(A, argument)
    A = sp.csr_array(A, dtype=np.float64, copy=True)
    A.sum_duplicates()
    if not np.isfinite(A.data).all():
        raise ValueError(
            f"{argument}: weights must be finite, found {_first(A, ~np.isfinite(A.data))}"
        )
    if (A.data < 0).any():
        raise ValueError(
            f"{argument}: weights must not be negative, found {_first(A, A.data < 0)}; "
            "a graph says which nodes are alike"
        )
    if A.nnz and A.data.max() > LARGEST:
        raise ValueError(
            f"{argument}: weights must not be above {LARGEST:g}, found "
            f"{_first(A, A.data > LARGEST)}; divide all of them by one number"
        )
    drop_loops(A)
    gap = abs(A - A.T)
    if gap.nnz and gap.max() > 1e-10 * A.max():
        warnings.warn(
            f"{argument} is not symmetric: using the mean of it and its transpose, (A + A^T) / 2",
            UserWarning,
            stacklevel=user_level(),
        )
    # Averaging a symmetric matrix with itself is exact, so rounding asymmetry goes too.
    A = sp.csr_array((A + A.T) * 0.5)
    A.sort_indices()
    return A


def drop_loops(A: sp.csr_array) -> None:
    """Take the diagonal off, in place; SciPy's own way warns where there is none."""
    owners = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    A.data[owners == A.indices] = 0.0
    A.eliminate_zeros()


def _first(A: sp.csr_array, bad: Any) -> str:
    at = int(np.flatnonzero(bad)[0])
    row = int(np.searchsorted(A.indptr, at, side="right")) - 1
    return f"{A.data[at]} at ({row}, {A.indices[at]})"


def _is_networkx(graph: Any) -> bool:
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(graph, networkx.Graph)


def _from_networkx(graph: Any, n_nodes: int, labels: Labels | None, argument: str) -> sp.csr_array:
    edges = [(a, b) for a, b in graph.edges()]
    weights = [data.get("weight", 1.0) for _, _, data in graph.edges(data=True)]
    if not edges:
        return sp.csr_array((n_nodes, n_nodes))
    if not graph.is_directed():
        return _from_edges(edges, weights, n_nodes, labels, argument)
    # Directions may differ: a matrix keeps both, and the check of symmetry sees them.
    names = labels or Labels(np.arange(n_nodes), "node")
    heads, tails = (names.positions(list(ends), argument) for ends in zip(*edges, strict=True))
    return sp.csr_array((np.asarray(weights, dtype=np.float64), (heads, tails)), (n_nodes,) * 2)


def _from_edges(
    edges: Any, weights: Any, n_nodes: int, labels: Labels | None, argument: str
) -> sp.csr_array:
    try:
        if labels is None:
            return edge_graph(edges, n_nodes=n_nodes, weights=weights)
        return edge_graph(edges, labels=labels.values, weights=weights)
    except (ValueError, KeyError, TypeError) as error:
        raise type(error)(f"{argument}: {error.args[0]}") from None


def _from_frame(graph: Any, n_nodes: int, labels: Labels | None, argument: str) -> sp.csr_array:
    """Weights where the columns are named like the nodes, else edges."""
    table = eager(graph, argument)
    titles = as_label_array(list(table.columns))
    if labels is None:
        square = table.shape == (n_nodes, n_nodes)
    else:
        square = bool((Labels(titles, "column").find(labels.values) >= 0).all())
    if not square and table.shape[1] in (2, 3):
        return _from_edges(graph, None, n_nodes, labels, argument)
    if labels is None:
        if not square:
            return sp.csr_array(table.shape)  # of another size, which is told by the caller
        # Without labels of the data a node is its position, or the name that its column has.
        counted = titles.dtype.kind in "iu" and set(titles.tolist()) == set(range(n_nodes))
        labels = Labels(np.arange(n_nodes) if counted else titles, "node")
    return _from_square_frame(table, titles, labels, argument)


def _from_square_frame(
    table: nw.DataFrame[Any], titles: Any, labels: Labels, argument: str
) -> sp.csr_array:
    """Weights in the order of the labels, whatever the order of the frame."""
    cols = match(titles, labels, f"{argument}, columns")
    index = nw.maybe_get_index(table)
    others = [title for at, title in enumerate(table.columns) if at not in set(cols.tolist())]
    keys = [title for title in others if holds(table.get_column(title), labels)]
    named = index is not None and set(labels.values.tolist()) <= set(index.tolist())
    if named or not (keys or _is_plain(index, table.shape)):
        rows = match(as_label_array(index), labels, f"{argument}, index")
    elif keys:
        rows = match(as_label_array(table.get_column(keys[0])), labels, f"{argument}, {keys[0]!r}")
    else:
        rows = cols
    left = len(table) - len(rows)
    if left:
        warnings.warn(
            f"{argument}: {left} of its {len(table)} nodes are not in the data and were left out",
            UserWarning,
            stacklevel=user_level(),
        )
    used = [numeric(table.get_column(table.columns[at]), argument) for at in cols]
    return sp.csr_array(np.column_stack(used)[rows])


def _is_plain(index: Any, shape: tuple[int, int]) -> bool:
    """Whether the rows of a square frame have no names, and so are in the columns' order."""
    return shape[0] == shape[1] and (index is None or np.array_equal(index, np.arange(shape[0])))


def _from_table(graph: Any, n_nodes: int, labels: Labels | None, argument: str) -> sp.csr_array:
    if is_frame(graph):
        return _from_frame(graph, n_nodes, labels, argument)
    if isinstance(graph, (list, tuple)):
        if len(graph) == 0:
            return sp.csr_array((n_nodes, n_nodes))
        # Lines of two or three are pairs; a matrix written as a list is longer than that.
        if any(np.size(line) in (2, 3) for line in graph):
            return _from_edges(graph, None, n_nodes, labels, argument)
    try:
        array = np.asarray(graph)
    except Exception as error:
        raise TypeError(f"{argument}: cannot read a {type(graph).__name__} as a graph") from error
    if array.ndim == 2 and array.shape[0] == array.shape[1] and array.dtype.kind in "buifc":
        return sp.csr_array(array)
    if array.ndim == 2 and array.shape[1] in (2, 3):
        return _from_edges(array, None, n_nodes, labels, argument)
    raise TypeError(
        f"{argument}: cannot read a {type(graph).__name__} as a graph; pass a square adjacency "
        "matrix (sparse or dense), an edge list with two or three columns, or a networkx graph"
    )
