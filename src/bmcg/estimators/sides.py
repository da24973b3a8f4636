"""What a user says of one side, graphs and features, made ready for the fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import scipy.sparse as sp

from ..graphs import feature_graph, knn_graph, pattern_graph
from ..graphs.adjacency import as_adjacency
from ..graphs.precision import stack_graphs
from ..inference.fit import SideInput
from ..observations import Observations
from ..observations.labels import Labels
from ..serving.features import FeatureCode, in_order, learn_code, pattern_features

Which = Literal["rows", "cols"]


class SideSpec:
    """Graphs and features of one side, checked.

    Attributes
    ----------
    graphs : dict of str to csr_array
    features : csr_array of shape (n, p) or None
    joined : str
        How the features were matched with the nodes, in words; empty without them.
    code : FeatureCode or None
        How the features were made of what was given.
    remake : callable or None
        The same of other observations, where something of it was made of the observations.
    """

    def __init__(
        self,
        graphs: dict[str, sp.csr_array],
        features: sp.csr_array | None,
        joined: str = "",
        code: FeatureCode | None = None,
        remake: Callable[[Observations], SideSpec] | None = None,
    ) -> None:
        self.graphs, self.features, self.joined, self.code = graphs, features, joined, code
        self.remake = remake

    @property
    def is_tied(self) -> bool:
        """Whether anything ties the nodes to each other: graphs or features."""
        return bool(self.graphs) or self.features is not None

    def to_input(self, n: int, ridge: float | None) -> SideInput:
        """The side as the fit takes it; without a graph the prior precision is the identity."""
        stack = stack_graphs(list(self.graphs.values()), n, list(self.graphs))
        remake = self.remake
        again = None if remake is None else lambda part: remake(part).to_input(n, ridge)
        return SideInput(stack, ridge if self.graphs else 1.0, self.features, again)


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
    argument = f"{word}_features"
    lines, note = None, ""
    if isinstance(features, str):
        if features != "pattern":
            raise ValueError(f'{argument}={features!r}: the only name it takes is "pattern"')
    elif features is not None:
        lines, note = in_order(features, labels, n, argument)
    graphs = _graphs(graph, lines, observations, side, n, labels, f"{word}_graph")
    own = isinstance(graph, str) or isinstance(features, str)
    # Parts of the observations have no labels; what is named was joined above.
    given = lines if lines is not None else features
    again = (lambda part: side_spec(graph, given, part, side)) if own else None
    if features is None:
        return SideSpec(graphs, None, remake=again)
    if lines is None:
        view = observations.by_row if rows else observations.by_col
        F = pattern_features(view, observations.shape[1 if rows else 0])
        return SideSpec(graphs, F, "the observation pattern", FeatureCode("pattern"), again)
    code, F = learn_code(lines, argument)
    return SideSpec(graphs, F, note, code, again)


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
