"""Graphs on disk: edge lists (CSV, TSV, Parquet) and adjacency matrices (.npz, .mtx)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

from ..graphs import edge_graph
from ..observations.frames import numeric
from ..observations.labels import Labels
from .matrices import read_market, read_npz
from .names import label_column, like_known
from .outcome import STANDARD, UserError, check_input, short
from .tables import PLAIN, Dialect, column_names, read_table, table_kind

# In the place of a file: graphs are built from the data.
AUTO = Path("auto")
ADVICE = (
    "pass --unknown-nodes ignore to leave such edges out, or add to predict such nodes from "
    "the graph alone"
)


@dataclass(frozen=True)
class GraphFile:
    """A graph as a file holds it.

    Attributes
    ----------
    option : str
        The option it was given by, for messages.
    path : Path
    matrix : sparse array of shape (n, n) or None
        Of a file that holds an adjacency matrix.
    ends : (ndarray, ndarray) of shape (n_edges,) each
        Labels, of a file that holds an edge list.
    weights : ndarray of shape (n_edges,) or None
    """

    option: str
    path: Path
    matrix: Any = None
    ends: tuple[NDArray[Any], NDArray[Any]] = (np.empty(0), np.empty(0))
    weights: NDArray[np.float64] | None = None

    def adjacency(
        self, labels: Labels | None, n_nodes: int, ignore_unknown: bool, advice: str = ADVICE
    ) -> Any:
        """The graph over the data's rows or columns, as `BMCG.fit` takes it.

        Parameters
        ----------
        labels : Labels or None
        n_nodes : int
        ignore_unknown : bool
            Leave out edges to nodes that the data lacks.
        advice : str
            What the command offers for such nodes.
        """
        if self.matrix is not None:
            if self.matrix.shape != (n_nodes, n_nodes):
                raise UserError(
                    f"{self.option}: {self.path} has shape {self.matrix.shape}, but the data has "
                    f"{n_nodes} nodes on that side; an edge list may name the nodes instead"
                )
            return sp.csr_array(self.matrix)
        first, second = (like_known(end, labels) for end in self.ends)
        columns = {"first": first.tolist(), "second": second.tolist()}
        if self.weights is not None:
            columns["weight"] = self.weights.tolist()
        try:
            return edge_graph(
                pa.table(columns),
                n_nodes=n_nodes if labels is None else None,
                labels=None if labels is None else labels.values,
                ignore_unknown=ignore_unknown,
            )
        except KeyError as error:
            raise UserError(f"{self.option}: {self.path}: {error.args[0]}; {advice}") from None
        except ValueError as error:
            raise UserError(f"{self.option}: {self.path}: {error}") from None


def read_graph(
    path: Path | None, option: str, labels: Labels | None, dialect: Dialect = PLAIN
) -> GraphFile | None:
    """Read a graph file; None where there is none to read.

    Parameters
    ----------
    path : Path or None
    option : str
        The option it was given by.
    labels : Labels or None
        Names of the nodes. An edge list whose first line consists of two of them has no header.
    dialect : Dialect
        Of an edge list.
    """
    if path is None or path == AUTO:
        return None
    if path != STANDARD:
        check_input(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".npz"] or ".mtx" in suffixes[-2:]:
        return GraphFile(option, path, matrix=_read_matrix(path, option))
    return _read_edges(path, option, labels, dialect)


def read_links(model: Any, path: Path, side: str, dialect: Dialect = PLAIN) -> pa.Table:
    """Links of newcomers to fitted nodes: who, whom and perhaps a weight a line.

    Parameters
    ----------
    model : fitted estimator
        Its labels say what type the second of each pair has.
    path : Path
    side : {"rows", "cols"}
    dialect : Dialect
    """
    known = model.row_labels_ if side == "rows" else model.col_labels_
    option = f"--{side[:3]}-edges"
    file = read_graph(path, option, None, dialect)
    if file is None or file.matrix is not None:
        raise UserError(f"{option} {path}: pass a table, a newcomer and a fitted node a line")
    columns: dict[str, Any] = {
        "new": file.ends[0].tolist(),
        "fitted": like_known(file.ends[1], known).tolist(),
    }
    if file.weights is not None:
        columns["weight"] = file.weights
    return pa.table(columns)


def _read_matrix(path: Path, option: str) -> Any:
    try:
        return read_npz(path) if path.suffix.lower() == ".npz" else read_market(path)
    # What a broken file raises depends on where it is broken, and on versions.
    except Exception as error:
        raise UserError(f"{option}: {path} holds no sparse matrix: {short(error)}") from None


def _read_edges(path: Path, option: str, labels: Labels | None, dialect: Dialect) -> GraphFile:
    names = column_names(path, dialect)
    if len(names) not in (2, 3):
        raise UserError(
            f"{option}: {path} has {len(names)} columns; an edge list has two columns of labels "
            "and, where edges have weights, a third"
        )
    header = table_kind(path, dialect=dialect) == ".parquet" or not _is_edge(names, labels)
    if header and len(set(names)) < len(names):
        raise UserError(f"{option}: {path} has more than one column {names[0]!r}; rename one")
    if not header:
        names = [f"f{i}" for i in range(len(names))]
    table = read_table(path, tuple(names[:2]), header=header, dialect=dialect)
    first, second = (label_column(table, name, path) for name in names[:2])
    weights = None
    if len(names) == 3:
        weights = numeric(table.column(names[2]).to_numpy(), f"{option}: {path}: weights")
    return GraphFile(option, path, ends=(first, second), weights=weights)


def _is_edge(names: list[str], labels: Labels | None) -> bool:
    """Whether what should name the columns is an edge already."""
    known = set() if labels is None else {str(name) for name in labels.values.tolist()}
    return all(name in known for name in names[:2])
