"""Graphs on the rows and columns, from whatever is known about them."""

from __future__ import annotations

from .build import chain_graph, grid_graph, knn_graph
from .data import feature_graph, geo_graph, pattern_graph
from .edges import edge_graph
from .folding import Folded, fold_days
from .times import time_graph

__all__ = [
    "Folded",
    "chain_graph",
    "edge_graph",
    "feature_graph",
    "fold_days",
    "geo_graph",
    "grid_graph",
    "knn_graph",
    "pattern_graph",
    "time_graph",
]
