"""Graphs of the rows and columns that `bmcg impute` fills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..graphs import chain_graph, time_graph
from ..imputing.annotated import AnnDataSource
from ..imputing.sources import Source
from ..observations.labels import Labels
from .graphs import read_graph
from .impute_check import STORED, Alike, Files, Reading, is_stored
from .names import as_whole_numbers
from .outcome import UserError
from .tables import Dialect
from .times import parse_times

ADVICE = "pass --unknown-nodes ignore to leave such edges out"


def find_graphs(
    kind: str, source: Source, files: Files, reading: Reading, alike: Alike
) -> list[Any]:
    """Adjacency matrices of rows and columns, None where there is no graph."""
    m, n = source.values.shape
    rows = _graph(kind, source, files.row_graph, "--row-graph", alike, reading.dialect)
    cols = _graph(kind, source, files.col_graph, "--col-graph", alike, reading.dialect)
    if alike.row_chain:
        rows = _chain(m, source.row_groups)
    if reading.time is not None:
        assert source.row_names is not None
        empty = np.flatnonzero(source.row_names == "")
        if len(empty):
            where = f"--time {reading.time}: the time of row {empty[0] + 1}"
            raise UserError(f"{where} is empty; every row needs one")
        rows = time_graph(parse_times(source.row_names, reading.time, reading.time_format))
    if alike.col_chain:
        cols = chain_graph(n)
    return [rows, cols]


def _graph(
    kind: str, source: Source, path: Path | None, option: str, alike: Alike, dialect: Dialect
) -> Any:
    if path is None:
        return None
    if is_stored(path, option, kind):
        assert isinstance(source, AnnDataSource)
        axis, _, key = str(path).partition(":")
        try:
            return source.graph(axis, key)
        except KeyError as error:
            raise UserError(f"{option} {STORED[option]}{key}: {error.args[0]}") from None
    is_row = option == "--row-graph"
    names = source.row_names if is_row else source.col_names
    labels = None
    if names is not None:
        labels = Labels(as_whole_numbers(names), "row" if is_row else "column")
    graph = read_graph(path, option, labels, dialect)
    assert graph is not None
    n = source.values.shape[0 if is_row else 1]
    return graph.adjacency(labels, n, alike.ignore_unknown, ADVICE)


def _chain(n: int, groups: NDArray[Any] | None) -> sp.csr_array:
    """A chain in order that no edge of leads from one group to another."""
    A = sp.coo_array(chain_graph(n))
    if groups is None:
        return sp.csr_array(A)
    same = groups[A.row] == groups[A.col]
    return sp.csr_array((A.data[same], (A.row[same], A.col[same])), shape=A.shape)
