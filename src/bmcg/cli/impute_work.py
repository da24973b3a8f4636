"""Filling files: read, check every name, fit, write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
import typer
from numpy.typing import NDArray

from ..graphs import chain_graph, time_graph
from ..imputing.annotated import AnnDataSource
from ..imputing.matrix import Filled, fill
from ..imputing.plink import PlinkSource
from ..imputing.sources import Source
from ..imputing.tables import Layout, ParquetSource, TextSource
from ..imputing.vcf import VcfSource
from ..observations.labels import Labels
from .compiling import announced_compilation
from .graphs import read_graph
from .names import as_whole_numbers
from .outcome import UserError, check_input, check_output, say, spoken_warnings
from .tables import DELIMITERS, table_kind, write_table

ADVICE = "pass --ignore-unknown to leave such edges out"


@dataclass(frozen=True)
class Files:
    """Every file a run touches."""

    table: Path
    output: Path
    std: Path | None
    bands: Path | None
    row_graph: Path | None
    col_graph: Path | None
    force: bool


@dataclass(frozen=True)
class Reading:
    """How to read the input."""

    row: str | None
    time: str | None
    skip: tuple[str, ...]
    marks: tuple[str, ...]
    floats: bool
    unsupported: Any
    layer: str | None
    zeros_missing: bool


@dataclass(frozen=True)
class Alike:
    """Graphs that follow from the order, and what to do with unknown nodes."""

    row_chain: bool
    col_chain: bool
    ignore_unknown: bool


def impute(
    files: Files,
    reading: Reading,
    alike: Alike,
    standardize: bool | None,
    level: float,
    parameters: dict[str, Any],
) -> None:
    """Fill a file."""
    kind = _check(files, reading, alike, level)
    source = _open(kind, files, reading, alike)
    graphs = _graphs(source, files, reading, alike)
    for note in source.notes:
        say(note)
    if standardize is None:
        standardize = source.standardize
    with spoken_warnings(), announced_compilation(parameters["verbose"]):
        filled, model = fill(source.values, *graphs, standardize=standardize, **parameters)
    source.write(files.output, filled)
    if files.std is not None:
        source.write_std(files.std, filled)
    if files.bands is not None:
        write_table(_bands(source, filled, level), files.bands)
    m, n = source.values.shape
    found = "nothing is missing" if model is None else f"rank {model.rank_}"
    typer.echo(f"{files.output}: {len(filled)} of {m * n} values filled, {found}")


def file_kind(path: Path, *, output: bool = False) -> str:
    """What a file holds, by its name: "vcf", "bed", "h5ad" or a kind of table."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] in ([".vcf"], [".bcf"]) or suffixes[-2:] == [".vcf", ".gz"]:
        return "vcf"
    if suffixes[-1:] in ([".bed"], [".h5ad"]):
        return suffixes[-1][1:]
    return table_kind(path, output=output)


def _check(files: Files, reading: Reading, alike: Alike, level: float) -> str:
    """Everything that can be refused before reading; returns the kind of the input."""
    inputs = (files.table, files.row_graph, files.col_graph)
    for given in inputs:
        if given is not None:
            check_input(given)
    kind, made = file_kind(files.table), file_kind(files.output, output=True)
    if made != kind and (kind, made) != ("bed", "vcf"):
        raise UserError(f"-o {files.output}: the output is of the same kind as {files.table}")
    for path in (files.output, files.std, files.bands):
        if path is not None:
            check_output(path, files.force, inputs)
    if made == "bed":
        for suffix in (".bim", ".fam"):
            check_output(files.output.with_suffix(suffix), files.force, inputs)
    for path in (files.std, files.bands):
        if path is not None:
            table_kind(path, output=True)
    outputs = [path for path in (files.output, files.std, files.bands) if path is not None]
    if len(set(outputs)) < len(outputs):
        raise UserError("the output, --std and --bands are different files: give three names")
    if not 0.0 < level < 1.0:
        raise UserError(f"--level {level:g}: pass a probability such as 0.9")
    if (files.row_graph is not None) + alike.row_chain + (reading.time is not None) > 1:
        raise UserError("--row-graph, --row-chain and --time: give one of them")
    if files.col_graph is not None and alike.col_chain:
        raise UserError("--col-graph and --col-chain: give one of them")
    if kind in ("vcf", "bed", "h5ad") and (reading.row or reading.time or reading.skip):
        raise UserError(f"--row, --time and --skip are for tables, not for .{kind} files")
    return kind


def _open(kind: str, files: Files, reading: Reading, alike: Alike) -> Source:
    if kind == "vcf":
        return VcfSource.open(files.table, reading.unsupported)
    if kind == "bed":
        return PlinkSource.open(files.table)
    if kind == "h5ad":
        missing: Any = "zero" if reading.zeros_missing else "nan"
        return AnnDataSource.open(files.table, reading.layer, missing, "bmcg")
    layout = Layout(
        label=reading.row if reading.time is None else reading.time,
        skip=(*reading.skip, *([reading.row] if reading.time and reading.row else [])),
        keep_empty=files.col_graph is not None or alike.col_chain,
        floats=reading.floats,
    )
    if kind == ".parquet":
        return ParquetSource.open(files.table, layout)
    return TextSource.open(files.table, DELIMITERS[kind], layout, reading.marks)


def _graphs(source: Source, files: Files, reading: Reading, alike: Alike) -> list[Any]:
    m, n = source.values.shape
    rows = _file_graph(files.row_graph, "--row-graph", source.row_names, m, alike, "row")
    cols = _file_graph(files.col_graph, "--col-graph", source.col_names, n, alike, "column")
    if alike.row_chain:
        rows = _chain(m, source.row_groups)
    if reading.time is not None:
        assert source.row_names is not None
        rows = time_graph(_times(source.row_names, reading.time))
    if alike.col_chain:
        cols = chain_graph(n)
    return [rows, cols]


def _file_graph(
    path: Path | None, option: str, names: NDArray[Any] | None, n: int, alike: Alike, side: str
) -> Any:
    if path is None:
        return None
    labels = None if names is None else Labels(as_whole_numbers(names), side)
    graph = read_graph(path, option, labels)
    assert graph is not None
    return graph.adjacency(labels, n, alike.ignore_unknown, ADVICE)


def _chain(n: int, groups: NDArray[Any] | None) -> sp.csr_array:
    """A chain in order that no edge of leads from one group to another."""
    A = sp.coo_array(chain_graph(n))
    if groups is None:
        return sp.csr_array(A)
    same = groups[A.row] == groups[A.col]
    return sp.csr_array((A.data[same], (A.row[same], A.col[same])), shape=A.shape)


def _times(names: NDArray[Any], column: str) -> NDArray[Any]:
    """Times as numbers or dates."""
    try:
        return names.astype(np.float64)
    except ValueError:
        pass
    try:
        return np.array([np.datetime64(str(name).replace(" ", "T")) for name in names])
    except ValueError as error:
        raise UserError(
            f"--time {column}: expected numbers or dates such as 2024-05-01 13:30 ({error})"
        ) from None


def _bands(source: Source, filled: Filled, level: float) -> pa.Table:
    low, high = filled.interval(level)
    rows = filled.rows if source.row_names is None else source.row_names[filled.rows]
    cols = filled.cols if source.col_names is None else source.col_names[filled.cols]
    # Six digits are more than a reading has, and can be read.
    figures = (
        [float(f"{figure:.6g}") for figure in part] for part in (filled.mean, filled.std, low, high)
    )
    columns = [rows.tolist(), cols.tolist(), *figures]
    return pa.table(columns, names=["row", "column", "mean", "std", "low", "high"])
