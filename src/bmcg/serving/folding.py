"""New rows or columns brought into the terms of a fitted model: entries, labels, links."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends import Backend
from ..graphs.edges import edge_columns, edge_graph
from ..observations import Observations, View
from ..observations.frames import eager, is_frame, numeric, row_index
from ..observations.grouping import transpose
from ..observations.joining import join_table
from ..observations.labels import Labels, as_label_array, factorise
from ..posterior import Posterior
from .exposure import newly_exposed
from .features import named_by_table

Array = NDArray[np.float64]
Which = Literal["rows", "cols"]


class Newcomers(NamedTuple):
    """New rows (or columns, with the words exchanged) of a model.

    Attributes
    ----------
    entries : View
        Their observed entries, by newcomer; positions of the fitted columns.
    labels : Labels or None
    links : csr_array of shape (p, m) or None
        Weights of their edges to the fitted rows.
    features : csr_array of shape (p, n_features) or None
        Coded as those of the fitted rows.
    """

    entries: View
    labels: Labels | None
    links: sp.csr_array | None
    features: sp.csr_array | None = None

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.entries.indptr) - 1


def read_newcomers(
    observations: Any,
    edges: Any,
    features: Any,
    which: Which,
    own: Labels | None,
    across: Labels | None,
    shape: tuple[int, int],
) -> Newcomers:
    """Check new entries, links and labels against the model; features stay as they are given.

    Parameters
    ----------
    observations : whatever `Observations.from_any` takes, or None
        Shape (p, n) for rows, (m, q) for columns; None where there are only links.
    edges : sparse or dense matrix of shape (p, m), edge list or frame, or None
    features : whatever `in_order` takes, or None
        Where nothing else is given its lines say who is new.
    which : {"rows", "cols"}
    own, across : Labels or None
        Of the fitted rows and columns; exchanged for columns.
    shape : (int, int)
        Fitted rows and columns; exchanged for columns.
    """
    argument = "row_edges" if which == "rows" else "col_edges"
    if observations is None:
        if edges is None and features is None:
            raise ValueError(f"observations and {argument} are both None: nothing is known")
        if edges is None:
            labels, p = named_by_table(features, own)
        else:
            labels, p = _named_by(edges, own, argument)
        empty = View(np.zeros(p + 1, np.int64), np.empty(0, np.int32), np.empty(0))
        links = None if edges is None else read_links(edges, labels, p, own, shape[0], argument)
        return Newcomers(empty, labels, links)
    found = Observations.from_any(observations)
    if which == "cols":
        found = replace(
            found,
            shape=found.shape[::-1],
            by_row=found.by_col,
            by_col=found.by_row,
            row_labels=found.col_labels,
            col_labels=found.row_labels,
        )
    entries = _aligned(found, across, shape[1], which)
    labels, p = found.row_labels, found.shape[0]
    links = None if edges is None else read_links(edges, labels, p, own, shape[0], argument)
    return Newcomers(entries, labels, links)


def fold_in(
    posterior: Posterior, new: Newcomers, backend: Backend, which: Which, exposure: Any = None
) -> Posterior:
    """The posterior with the newcomers as its rows (or columns)."""
    turned = posterior if which == "rows" else posterior.transposed()
    turned = newly_exposed(turned, exposure, new.labels, new.n)
    folded = turned.with_rows(turned.fold_in(new.entries, backend, new.links, new.features))
    return folded if which == "rows" else folded.transposed()


def read_links(
    edges: Any, new: Labels | None, p: int, fitted: Labels | None, m: int, argument: str
) -> sp.csr_array:
    """Weights between newcomers and fitted nodes, shape (p, m).

    Parameters
    ----------
    edges : matrix of shape (p, m), or list, array or frame of lines (newcomer, fitted[, weight])
        A frame with a column for each of some fitted nodes holds weights by label, a line for
        each newcomer.
    new, fitted : Labels or None
        Names of both; positions where there are none.
    p, m : int
    argument : str
        For messages.
    """
    if sp.issparse(edges) or (isinstance(edges, np.ndarray) and edges.shape == (p, m)):
        return _checked(edges, (p, m), argument)
    if is_wide(edges, fitted):
        assert fitted is not None
        return _checked(_wide_links(edges, new, p, fitted, argument), (p, m), argument)
    first, second, weights = edge_columns(edges)
    # Names of newcomers and of fitted nodes may be the same: the pair says which is meant.
    sides = [
        [(word, name) for name in (range(n) if labels is None else labels.values.tolist())]
        for word, labels, n in (("new", new, p), ("fitted", fitted, m))
    ]
    ends = [
        [(word, name) for name in as_label_array(names).ravel().tolist()]
        for word, names in (("new", first), ("fitted", second))
    ]
    known = set(sides[0]) | set(sides[1])
    unknown = [f"{end[1]!r}" for pair in ends for end in pair if end not in known]
    if unknown:
        shown = ", ".join(dict.fromkeys(unknown[:5]))
        raise KeyError(
            f"{argument}: {shown} unknown; a line is a new label, then a fitted one, and "
            "perhaps a weight; edges among newcomers are not used"
        )
    lines = list(zip(*ends, strict=True))
    graph = edge_graph(lines, labels=[*sides[0], *sides[1]], weights=weights)
    return sp.csr_array(graph[:p, p:])


def _aligned(found: Observations, known: Labels | None, n: int, which: Which) -> View:
    """Entries by newcomer, at the positions that the other side has in the model."""
    given = found.col_labels
    if known is None or given is None:
        if found.shape[1] != n:
            word = "columns" if which == "rows" else "rows"
            raise ValueError(
                f"observations has {found.shape[1]} {word}, the model has {n}: pass all of them "
                "in the model's order, missing entries as NaN, or labels for both"
            )
        return found.by_row
    at = known.positions(given.values, "observations").astype(np.int32)
    indptr, indices, values = found.by_row
    # Twice transposed, entries are in ascending order of their new positions.
    return View(*transpose(*transpose(indptr, at[indices], values, n), found.shape[0]))


def _named_by(edges: Any, own: Labels | None, argument: str) -> tuple[Labels | None, int]:
    """Newcomers of which only links are known."""
    if sp.issparse(edges) or (isinstance(edges, np.ndarray) and edges.shape[1] > 3):
        return None, edges.shape[0]
    if is_wide(edges, own):
        return row_index(edges), len(edges)
    first = edge_columns(edges)[0]
    if len(first) == 0:
        raise ValueError(f"{argument} is empty: nothing is known")
    labels = factorise(first, None, "row" if argument == "row_edges" else "column")[1]
    return labels, len(labels)


def is_wide(edges: Any, fitted: Labels | None) -> bool:
    """Whether a frame of links has columns that are named like fitted nodes."""
    if fitted is None or not is_frame(edges):
        return False
    titles = as_label_array(list(eager(edges, "edges").columns))
    return bool((fitted.find(titles) >= 0).any())


def _wide_links(
    edges: Any, new: Labels | None, p: int, fitted: Labels, argument: str
) -> sp.csr_array:
    """A frame of weights, newcomers by fitted nodes, put in the order of both."""
    columns = eager(join_table(edges, new, p, argument).table, argument)
    at = fitted.positions(as_label_array(list(columns.columns)), argument)
    weights = np.column_stack(
        [numeric(columns.get_column(name), argument) for name in columns.columns]
    )
    out = np.zeros((p, len(fitted)))
    out[:, at] = np.nan_to_num(weights)
    return sp.csr_array(out)


def _checked(edges: Any, shape: tuple[int, int], argument: str) -> sp.csr_array:
    if edges.shape != shape:
        raise ValueError(
            f"{argument} has shape {edges.shape}, expected {shape}: newcomers by fitted nodes"
        )
    links = sp.csr_array(edges, dtype=np.float64)
    if not np.isfinite(links.data).all() or (links.data < 0).any():
        raise ValueError(f"{argument}: weights must be finite and not negative")
    return links
