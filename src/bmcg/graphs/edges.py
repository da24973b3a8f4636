"""Graphs from lists of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..observations.frames import eager
from ..observations.labels import Labels, as_label_array
from .build import check_count, symmetric_graph


def edge_graph(
    edges: Any,
    n_nodes: int | None = None,
    labels: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    ignore_unknown: bool = False,
) -> sp.csr_array:
    """Graph from a list of pairs.

    A pair that is listed several times, or in both directions, is one edge with the largest of
    its weights. Pairs of a node with itself are dropped.

    Parameters
    ----------
    edges : array_like or data frame, shape (n_edges, 2) or (n_edges, 3)
        Pairs of zero-based positions or, where `labels` is given, of labels; a third column
        holds weights.
    n_nodes : int, optional
        Number of nodes; by default the number of labels, or the largest position plus one.
    labels : array_like of shape (n_nodes,), optional
        Distinct names of the nodes, in the order of the graph.
    weights : array_like of shape (n_edges,), optional
        Nonnegative weights, one by default.
    ignore_unknown : bool
        Leave out pairs with a label (or position) that is not a node, instead of refusing them.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes)
    """
    first, second, third = edge_columns(edges)
    if third is not None and weights is not None:
        raise ValueError("weights: edges has a third column of weights already; give one of them")
    w = _edge_weights(third if weights is None else weights, len(first))
    ends = np.stack([as_label_array(first), as_label_array(second)])
    if labels is not None:
        names = Labels(as_label_array(labels), "node")
        if n_nodes is not None and n_nodes != len(names):
            raise ValueError(f"n_nodes={n_nodes}, but there are {len(names)} labels")
        n = len(names)
        if ignore_unknown:
            known = set(names.values.tolist())
            keep = np.array([a in known and b in known for a, b in ends.T.tolist()], dtype=bool)
            ends, w = ends[:, keep], w[keep]
        # Both ends at once and line by line, so that a message lists the first strangers.
        i, j = names.positions(ends.T.ravel(), "edges").reshape(-1, 2).T
    else:
        i, j = _edge_positions(ends)
        n = _node_count(n_nodes, i, j)
        inside = (i >= 0) & (j >= 0) & (i < n) & (j < n)
        if not (ignore_unknown or inside.all()):
            bad = np.concatenate([i, j])
            bad = np.unique(bad[(bad < 0) | (bad >= n)])[:5].tolist()
            raise ValueError(
                f"edges: positions {bad} are outside a graph of n_nodes={n} (zero-based); "
                "pass labels if these are names, or ignore_unknown=True to leave them out"
            )
        i, j, w = i[inside], j[inside], w[inside]
    return symmetric_graph(n, i, j, w)


def edge_columns(edges: Any) -> tuple[Any, Any, Any]:
    """First ends, second ends, and weights or None."""
    if not isinstance(edges, np.ndarray) and hasattr(edges, "columns"):
        table = eager(edges, "edges")
        columns: list[Any] = [table.get_column(name).to_numpy() for name in table.columns]
    elif isinstance(edges, np.ndarray):
        columns = list(edges.T) if edges.ndim == 2 else [edges]
    else:
        lines = [tuple(line) for line in edges]
        widths = {len(line) for line in lines}
        if len(widths) > 1:
            raise ValueError(f"edges: lines have different lengths {sorted(widths)}")
        columns = list(zip(*lines, strict=True)) if lines else [(), ()]
    if len(columns) not in (2, 3):
        raise ValueError(
            f"edges has {len(columns)} columns: pass two ends a line, and at most a weight"
        )
    return columns[0], columns[1], columns[2] if len(columns) == 3 else None


def _edge_weights(weights: Any, n_edges: int) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(n_edges)
    try:
        w = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weights must hold numbers only: {error}") from None
    if w.shape != (n_edges,):
        raise ValueError(f"weights has shape {w.shape}, but there are {n_edges} edges")
    bad = np.flatnonzero(~(np.isfinite(w) & (w >= 0)))
    if len(bad):
        raise ValueError(
            f"weights must be finite and not negative, but edge {bad[0]} has {w[bad[0]]} "
            f"({len(bad)} such edges)"
        )
    return w


def _edge_positions(ends: NDArray[Any]) -> NDArray[np.int64]:
    if ends.size == 0:
        return np.empty((2, 0), dtype=np.int64)
    try:
        values = ends.astype(np.float64)
    except (TypeError, ValueError):
        values = np.full(ends.shape, np.nan)
    bad = ~(np.isfinite(values) & (values == np.floor(values)))
    if bad.any():
        raise ValueError(
            f"edges: {ends[bad].tolist()[0]!r} is not a position (a whole number); "
            "pass labels=... to name nodes"
        )
    return values.astype(np.int64)


def _node_count(n_nodes: int | None, i: NDArray[np.int64], j: NDArray[np.int64]) -> int:
    if n_nodes is not None:
        check_count("n_nodes", n_nodes)
        return int(n_nodes)
    if len(i) == 0:
        raise ValueError("edges is empty: pass n_nodes or labels to say how many nodes there are")
    return int(max(i.max(), j.max())) + 1
