"""The commands: read, check every name, work, write."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import typer
from numpy.typing import NDArray

from ..base import MatrixCompleter
from ..estimators import BMCG
from ..files.loading import load_model
from ..observations import Observations
from ..observations.entries import Aggregate
from ..observations.frames import wide_frame
from ..observations.labels import Labels
from .compiling import announced_compilation
from .graphs import GraphFile, read_graph
from .outcome import (
    UserError,
    check_input,
    check_output,
    end_if_interrupted,
    one_line,
    say,
    spoken_warnings,
    wrote,
)
from .summary import describe
from .tables import (
    column_names,
    label_column,
    like_known,
    read_table,
    require_columns,
    table_kind,
    write_table,
)


@dataclass(frozen=True)
class DataForm:
    """Where the observations are and how the table is laid out."""

    path: Path
    row: str | None
    col: str | None
    value: str | None
    wide: bool
    duplicates: str


@dataclass(frozen=True)
class GraphChoice:
    """The graph files, what to do with unknown nodes, and whether the pattern counts."""

    row: Path | None
    col: Path | None
    unknown: str
    pattern: bool = False


@dataclass(frozen=True)
class Spread:
    """What to report beside the mean."""

    std: bool
    interval: float | None


def fit(
    form: DataForm, choice: GraphChoice, parameters: dict[str, Any], output: Path, force: bool
) -> None:
    """Fit BMCG on files and save the model."""
    for path in (form.path, choice.row, choice.col):
        if path is not None:
            check_input(path)
    check_output(output, force, (form.path, choice.row, choice.col))
    checkpoint = parameters["checkpoint"]
    _check_checkpoint(checkpoint, parameters["resume"], output)
    observations = _read_wide(form) if form.wide else _read_long(form, choice)
    graphs = [
        None if graph is None else graph.adjacency(labels, n, choice.unknown == "ignore")
        for graph, labels, n in zip(
            _read_graphs(choice, observations.row_labels, observations.col_labels),
            (observations.row_labels, observations.col_labels),
            observations.shape,
            strict=True,
        )
    ]
    model = BMCG(**parameters)
    with spoken_warnings(), announced_compilation(parameters["verbose"]):
        features = ("pattern", "pattern") if choice.pattern else ()
        model.fit(observations, *graphs, *features)
    model.save(output)
    wrote(output)
    typer.echo(
        f"{output}: rank {model.rank_}, noise {model.noise_std_:.4g}, "
        f"{model.n_sweeps_} sweeps, {model.stop_reason_}"
    )
    kept = checkpoint is not None and checkpoint.exists()
    if kept and model.converged_:
        checkpoint.unlink()
    advice = "to go on, give the same command with --resume --force" if kept else ""
    end_if_interrupted(model, advice=advice and f"; {advice}")
    if kept and not model.converged_:
        say(f"{advice}, and a larger --max-sweeps")


def predict(
    model_path: Path,
    pairs: Path,
    output: Path,
    spread: Spread,
    names: tuple[str | None, str | None],
    force: bool,
) -> None:
    """Predict the pairs of a table."""
    table_kind(output, output=True)
    check_input(pairs)
    check_output(output, force, (model_path, pairs))
    if spread.interval is not None and not 0.0 < spread.interval < 1.0:
        raise UserError(f"--interval {spread.interval:g}: pass a probability such as 0.9")
    model = _load(model_path)
    row = names[0] or _title(model.row_labels_, "row")
    col = names[1] or _title(model.col_labels_, "col")
    present = column_names(pairs)
    require_columns(pairs, present, {"--row": row, "--col": col})
    wanted = ["mean", *["std"] * spread.std, *["low", "high"] * (spread.interval is not None)]
    for name in wanted:
        if name in present:
            raise UserError(f"{pairs} has a column {name!r} already; rename it")
    # Text to text, cells that are none of our business come back as they were.
    as_text = present if table_kind(output, output=True) != ".parquet" else [row, col]
    table = read_table(pairs, tuple(as_text))
    table, rows = _with_labels(table, row, pairs)
    table, cols = _with_labels(table, col, pairs)
    rows, cols = like_known(rows, model.row_labels_), like_known(cols, model.col_labels_)
    for name, column in zip(wanted, _columns(model, rows, cols, spread), strict=True):
        table = table.append_column(name, [np.asarray(column)])
    write_table(table, output)
    typer.echo(f"{output}: {len(table)} predictions")


def complete(model_path: Path, output: Path, memory_limit: float, force: bool) -> None:
    """Write every entry's mean as a wide table."""
    table_kind(output, output=True)
    check_output(output, force, (model_path,))
    model = _load(model_path)
    model.frame_backend_ = None
    try:
        matrix = model.complete(memory_limit=int(memory_limit * 2**30))
    except MemoryError as error:
        raise UserError(str(error).replace("memory_limit", "--memory-limit")) from None
    m, n = model.shape_
    cols = model.col_labels_ or Labels(np.arange(n), "column")
    write_table(wide_frame(matrix, model.row_labels_, cols, "pyarrow"), output)
    typer.echo(f"{output}: {m} x {n} entries")


def info(model_path: Path) -> None:
    """Print what a model holds."""
    typer.echo(describe(_load(model_path), model_path))


def demo(out: Path, seed: int, force: bool) -> None:
    """Run the demo into a folder of its own."""
    from ..demo import run_demo

    with announced_compilation(verbose=True):
        run_demo(out, seed=seed, force=force, say=typer.echo)


def _read_long(form: DataForm, choice: GraphChoice) -> Observations:
    for option in ("row", "col", "value"):
        if getattr(form, option) is None:
            raise UserError(
                f"pass --{option} NAME, a column of {form.path} ("
                f"{', '.join(column_names(form.path))}), or --wide for a matrix"
            )
    row, col, value = cast(tuple[str, str, str], (form.row, form.col, form.value))
    present = column_names(form.path)
    require_columns(form.path, present, {"--row": row, "--col": col, "--value": value})
    table = read_table(form.path, (row, col))
    for name in (row, col):
        table, _ = _with_labels(table, name, form.path)
    how = cast(Aggregate, form.duplicates)
    try:
        found = Observations.from_frame(table, row, col, value, duplicates=how)
        if choice.unknown == "add":
            sides = (found.row_labels, found.col_labels)
            graphs = _read_graphs(choice, *sides)
            known = [
                labels.values if graph is None or labels is None else graph.extend(labels).values
                for graph, labels in zip(graphs, sides, strict=True)
                if labels is not None
            ]
            found = Observations.from_frame(
                table, row, col, value, row_labels=known[0], col_labels=known[1], duplicates=how
            )
    except ValueError as error:
        raise UserError(f"{form.path}: {_as_options(error)}") from None
    return found


def _read_wide(form: DataForm) -> Observations:
    if form.col is not None or form.value is not None:
        raise UserError("--wide takes no --col and no --value: the table is the matrix")
    present = column_names(form.path)
    label_names = () if form.row is None else (form.row,)
    require_columns(form.path, present, dict.fromkeys(["--row"] * len(label_names), form.row or ""))
    table = read_table(form.path, label_names)
    try:
        if form.row is None:
            return Observations.from_any(table)
        names = label_column(table, form.row, form.path)
        found = Observations.from_any(table.drop_columns([form.row]))
        return replace(found, row_labels=Labels(names, "row", form.row))
    except ValueError as error:
        raise UserError(f"{form.path}: {_as_options(error)}") from None


def _read_graphs(
    choice: GraphChoice, rows: Labels | None, cols: Labels | None
) -> list[GraphFile | None]:
    if choice.unknown == "add" and (rows is None or cols is None):
        raise UserError("--unknown-nodes add needs labels on both sides")
    return [
        read_graph(path, option, labels)
        for path, option, labels in (
            (choice.row, "--row-graph", rows),
            (choice.col, "--col-graph", cols),
        )
    ]


def _columns(model: MatrixCompleter, rows: Any, cols: Any, spread: Spread) -> list[Any]:
    if not (spread.std or spread.interval is not None):
        return [model.predict(rows, cols)]
    mean, std = model.predict(rows, cols, return_std=True)
    found = [mean, *[std] * spread.std]
    if spread.interval is not None:
        found += model.predict_interval(rows, cols, level=spread.interval)
    return found


def _with_labels(table: Any, name: str, path: Path) -> tuple[Any, NDArray[Any]]:
    """The table with a column of labels in their own type, and the labels, shape (n_lines,)."""
    labels = label_column(table, name, path)
    return table.set_column(table.column_names.index(name), name, [labels.tolist()]), labels


def _load(path: Path) -> MatrixCompleter:
    check_input(path)
    return load_model(path)


def _check_checkpoint(path: Path | None, resume: bool, output: Path) -> None:
    """Raise where the options for a checkpoint make no sense together."""
    if path is None:
        if resume:
            raise UserError("--resume needs the file to go on from: pass --checkpoint FILE")
        return
    if path.resolve() == output.resolve():
        raise UserError(f"--checkpoint {path} is the output: choose another name")
    if path.exists() and not resume:
        raise UserError(f"{path} exists already; pass --resume to go on from it, or remove it")


def _title(labels: Labels | None, otherwise: str) -> str:
    return otherwise if labels is None or labels.name is None else labels.name


def _as_options(error: ValueError) -> str:
    """The library's advice in the words of the command line."""
    return one_line(error).replace("pass duplicates=", "pass --duplicates ").replace('"', "")
