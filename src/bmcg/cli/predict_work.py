"""Predictions from a model file, at the pairs of a table or everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import memory
from ..base import MatrixCompleter
from ..files.loading import load_model
from ..observations.frames import wide_frame
from ..observations.labels import Labels
from ..serving import ServingModel
from ..serving.anyone import Anyone, known_places
from .names import label_names, title
from .outcome import UserError, check_input, check_inputs, done, say
from .tables import (
    PLAIN,
    Dialect,
    check_table_output,
    column_names,
    read_table,
    require_columns,
    table_kind,
    write_table,
)


@dataclass(frozen=True)
class Pairs:
    """The table of pairs, its columns of labels, and what to do with unknown ones."""

    path: Path
    row: str | None
    col: str | None
    unknown: str
    dialect: Dialect = PLAIN


@dataclass(frozen=True)
class Spread:
    """What to report beside the mean."""

    std: bool
    level: float | None
    proba: bool = False


def load(path: Path) -> MatrixCompleter:
    """The model that a file holds."""
    check_input(path)
    return load_model(path)


def predict(model_path: Path, pairs: Pairs, output: Path, spread: Spread, force: bool) -> None:
    """Predict the pairs of a table."""
    check_inputs(pairs.path)
    check_table_output(output, force, (model_path, pairs.path), pairs.dialect)
    if spread.level is not None and not 0.0 < spread.level < 1.0:
        raise UserError(f"--level {spread.level:g}: pass a probability such as 0.9")
    model = load(model_path)
    row = pairs.row or title(model.row_labels_, "row")
    col = pairs.col or title(model.col_labels_, "col")
    present = column_names(pairs.path, pairs.dialect)
    require_columns(pairs.path, present, {"--row": row, "--col": col})
    wanted = ["mean", *["std"] * spread.std, *["low", "high"] * (spread.level is not None)]
    wanted += [f"p_{level:g}" for level in _levels(model, model_path)] if spread.proba else []
    for name in wanted:
        if name in present:
            raise UserError(f"{pairs.path} has a column {name!r} already; rename it")
    # Text to text, cells that are none of our business come back as they were.
    text = table_kind(output, output=True, dialect=pairs.dialect) != ".parquet"
    table = read_table(pairs.path, tuple(present if text else [row, col]), dialect=pairs.dialect)
    memory.require(
        memory.pairs(len(table), text), f"predicting {len(table)} pairs", "split the table of pairs"
    )
    rows, cols = (
        label_names(table, name, pairs.path).like(known).values
        for name, known in ((row, model.row_labels_), (col, model.col_labels_))
    )
    for name, labels in ((row, rows), (col, cols)):
        table = table.set_column(table.column_names.index(name), name, [labels.tolist()])
    asked, kept = known_or(model, rows, cols, pairs.unknown, pairs.path)
    if not kept.all():
        table, rows, cols = table.filter(kept), rows[kept], cols[kept]
    for name, column in zip(wanted, _columns(asked, rows, cols, spread), strict=True):
        table = table.append_column(name, [np.asarray(column)])
    write_table(table, output, pairs.dialect)
    done(output, f"{len(table)} predictions")


def complete(
    model_path: Path, output: Path, memory_limit: float, dialect: Dialect, force: bool
) -> None:
    """Write every entry's mean as a wide table."""
    check_table_output(output, force, (model_path,), dialect)
    write_whole(load(model_path), output, memory_limit, dialect)


def write_whole(
    model: MatrixCompleter, output: Path, memory_limit: float, dialect: Dialect
) -> None:
    """Write the matrix of a model as a wide table; the limit is in GiB."""
    model.frame_backend_ = None
    memory.require(
        memory.matrix(*model.shape_, True),
        f"the complete {model.shape_[0]} x {model.shape_[1]} matrix as a table",
        "predict the entries you need",
    )
    try:
        matrix = model.complete(memory_limit=int(memory_limit * 2**30))
    except MemoryError as error:
        raise UserError(str(error).replace("memory_limit", "--memory-limit")) from None
    m, n = model.shape_
    cols = model.col_labels_ or Labels(np.arange(n), "column")
    write_table(wide_frame(matrix, model.row_labels_, cols, "pyarrow"), output, dialect)
    done(output, f"{m} x {n} entries")


def known_or(
    model: MatrixCompleter, rows: Any, cols: Any, unknown: str, path: Path
) -> tuple[Any, NDArray[np.bool_]]:
    """The model to ask about some entries, and which of them, shape (n_entries,).

    Parameters
    ----------
    model : MatrixCompleter
    rows, cols : ndarray of labels or positions, shape (n_entries,)
    unknown : {"error", "skip", "prior"}
        What to do with those that the model does not know.
    path : Path
        Where the names come from, for messages.
    """
    i, j = known_places(model, rows, cols)
    strange = (i < 0) | (j < 0)
    if unknown == "error" or not strange.any():
        # The model names what it does not know.
        return model, np.ones(len(strange), dtype=np.bool_)
    said = f"{path}: {strange.sum()} of {len(i)} entries are of rows or columns not in the model"
    if unknown == "skip":
        say(f"{said}: left out")
        return model, ~strange
    if not isinstance(model, ServingModel):
        raise UserError(f"--unknown prior: {type(model).__name__} expects nothing of new rows")
    say(f"{said}: predicted as any would be")
    return Anyone(model), np.ones(len(strange), dtype=np.bool_)


def _columns(model: Any, rows: Any, cols: Any, spread: Spread) -> list[Any]:
    if spread.std or spread.level is not None:
        mean, std = model.predict(rows, cols, return_std=True)
        found = [mean, *[std] * spread.std]
    else:
        found = [model.predict(rows, cols)]
    if spread.level is not None:
        found += model.predict_interval(rows, cols, level=spread.level)
    if spread.proba:
        found += list(model.predictive(rows, cols).probabilities.T)
    return found


def _levels(model: Any, path: Path) -> NDArray[np.float64]:
    """Values that a model gives probabilities of."""
    found = getattr(model, "levels_", np.empty(0))
    if not len(found):
        raise UserError(
            f"--proba: {path} is no model of levels; fit with --likelihood bernoulli or ordinal, "
            "or pass --level for bounds"
        )
    return np.asarray(found)
