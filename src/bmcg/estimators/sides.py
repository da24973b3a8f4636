"""What a user says of one side, graphs and features, made ready for the fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..graphs import feature_graph, knn_graph, pattern_graph
from ..graphs.adjacency import as_adjacency
from ..graphs.precision import stack_graphs
from ..graphs.table import encode_table
from ..inference.fit import SideInput
from ..observations import Observations
from ..observations.frames import is_frame
from ..observations.joining import by_position, join_table
from ..observations.labels import Labels

Which = Literal["rows", "cols"]


class SideSpec:
    """Graphs and features of one side, checked.

    Attributes
    ----------
    graphs : dict of str to csr_array
    features : csr_array of shape (n, p) or None
    joined : str
        How the features were matched with the nodes, in words; empty without them.
    """

    def __init__(
        self, graphs: dict[str, sp.csr_array], features: sp.csr_array | None, joined: str = ""
    ) -> None:
        self.graphs, self.features, self.joined = graphs, features, joined

    @property
    def is_tied(self) -> bool:
        """Whether anything ties the nodes to each other: graphs or features."""
        return bool(self.graphs) or self.features is not None

    def to_input(self, n: int, ridge: float) -> SideInput:
        """The side as the fit takes it; without a graph the prior precision is the identity."""
        stack = stack_graphs(list(self.graphs.values()), n, list(self.graphs))
        return SideInput(stack, ridge if self.graphs else 1.0, self.features)


def side_spec(graph: Any, features: Any, observations: Observations, side: Which) -> SideSpec:
    """Check what was given for one side.

    Parameters
    ----------
    graph : graph, mapping of names to graphs, "auto" or None
        "auto" builds a graph of the observation pattern, and one of the features where they
        are given, and leaves their weights to the evidence.
    features : array, sparse matrix, data frame, (data frame, key column), "pattern" or None
        One line for each node, found by label where a frame and the data have them (see
        `join_table`); "pattern" is the observation pattern itself.
    observations : Observations
    side : {"rows", "cols"}
    """
    rows = side == "rows"
    n = observations.shape[0 if rows else 1]
    labels = observations.row_labels if rows else observations.col_labels
    word = "row" if rows else "col"
    if isinstance(features, str):
        if features != "pattern":
            raise ValueError(f'{word}_features={features!r}: the only name it takes is "pattern"')
        graphs = _graphs(graph, None, observations, side, n, labels, f"{word}_graph")
        return SideSpec(graphs, pattern_features(observations, side), "the observation pattern")
    lines, note = _in_order(features, n, labels, f"{word}_features")
    graphs = _graphs(graph, lines, observations, side, n, labels, f"{word}_graph")
    return SideSpec(graphs, _encoded(lines, f"{word}_features"), note)


def _graphs(
    graph: Any,
    features: Any,
    observations: Observations,
    side: Which,
    n: int,
    labels: Labels | None,
    argument: str,
) -> dict[str, sp.csr_array]:
    if graph is None:
        return {}
    if isinstance(graph, str):
        if graph != "auto":
            raise ValueError(f'{argument}={graph!r}: the only name it takes is "auto"')
        found = {"pattern": pattern_graph(observations, side=side)}
        if features is not None:
            build = knn_graph if sp.issparse(features) else feature_graph
            found["features"] = build(features)
        return found
    if isinstance(graph, Mapping):
        return {
            str(name): as_adjacency(A, n, labels, f"{argument}[{name!r}]")
            for name, A in graph.items()
        }
    return {"graph": as_adjacency(graph, n, labels, argument)}


def _in_order(features: Any, n: int, labels: Labels | None, argument: str) -> tuple[Any, str]:
    """Features with one line for each node, in their order, and how they were matched."""
    if features is None:
        return None, ""
    key = None
    if isinstance(features, tuple) and len(features) == 2 and is_frame(features[0]):
        features, key = features
    if is_frame(features):
        return join_table(features, labels, n, argument, key)
    lines = features if sp.issparse(features) else np.asarray(features)
    if len(lines.shape) != 2 or 0 in lines.shape:
        raise ValueError(f"{argument} has shape {lines.shape}: pass one line of numbers a node")
    return lines, by_position(lines.shape[0], n, argument)


def _encoded(lines: Any, argument: str) -> sp.csr_array | None:
    """Lines in order as the columns of a linear map, in units of their own size."""
    if lines is None:
        return None
    if sp.issparse(lines):
        F = sp.csr_array(lines, dtype=np.float64)
    else:
        F, _ = encode_table(lines)
    if not np.isfinite(F.data).all():
        raise ValueError(f"{argument} must be finite; mark missing values in a data frame")
    return _scaled(F)


def pattern_features(observations: Observations, side: Which) -> sp.csr_array:
    """Which entries each node has, every line of unit length: implicit feedback, (n, p)."""
    m, n = observations.shape
    view = observations.by_row if side == "rows" else observations.by_col
    shape = (m, n) if side == "rows" else (n, m)
    counts: NDArray[np.int64] = np.diff(view.indptr)
    data = np.repeat(1.0 / np.sqrt(np.maximum(counts, 1)), counts)
    return sp.csr_array((data, view.indices, view.indptr), shape=shape)


def _scaled(F: sp.csr_array) -> sp.csr_array:
    """Features over the root mean square length of a line, so that one β suits any units."""
    length = float(np.sqrt((F.data**2).sum() / max(F.shape[0], 1)))
    return F / length if length > 0 else F
