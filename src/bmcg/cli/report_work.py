"""A report from files: the model, held-out entries, and the fit without graphs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import typer

from ..estimators import BMCG
from ..files.storage import write_atomically
from ..report import Entries, find, render
from .commands import DataForm, GraphChoice, _load, _read_long, _title, _with_labels
from .compiling import announced_compilation
from .outcome import UserError, check_input, check_output, spoken_warnings
from .tables import column_names, like_known, read_table, require_columns


@dataclass(frozen=True)
class Tables:
    """The tables a report may use, and the names of their columns."""

    test: Path | None
    data: Path | None
    row: str | None
    col: str | None
    value: str | None


def report(path: Path, output: Path, tables: Tables, force: bool) -> None:
    """Write the page about a model file."""
    for given in (tables.test, tables.data):
        if given is not None:
            check_input(given)
    check_output(output, force, (path, tables.test, tables.data))
    if tables.value is None and (tables.test is not None or tables.data is not None):
        raise UserError("pass --value NAME, the column with the values")
    model = _load(path)
    if not isinstance(model, BMCG):
        raise UserError(f"{path} holds a model of {type(model).__name__}; a report needs BMCG")
    test = None if tables.test is None else _entries(model, tables.test, tables)
    without = None if tables.data is None else _without_graphs(model, tables.data, tables)
    text = render(model, find(model, test, without), test, title=path.stem)
    write_atomically(output, lambda name: Path(name).write_text(text, encoding="utf-8"))
    typer.echo(f"{output}: {len(text) / 2**20:.1f} MiB")


def _entries(model: BMCG, path: Path, tables: Tables) -> Entries:
    row = tables.row or _title(model.row_labels_, "row")
    col = tables.col or _title(model.col_labels_, "col")
    value = tables.value or ""
    names = {"--row": row, "--col": col, "--value": value}
    require_columns(path, column_names(path), names)
    table = read_table(path, (row, col))
    table, rows = _with_labels(table, row, path)
    table, cols = _with_labels(table, col, path)
    try:
        values = np.asarray(table[value].to_numpy(), dtype=np.float64)
    except ValueError:
        raise UserError(f"{path}: column {value!r} holds text, pass a column of numbers") from None
    if not len(values) or not np.isfinite(values).all():
        raise UserError(f"{path}: column {value!r} must hold a finite number in every line")
    return Entries(like_known(rows, model.row_labels_), like_known(cols, model.col_labels_), values)


def _without_graphs(model: BMCG, path: Path, tables: Tables) -> BMCG:
    row = tables.row or _title(model.row_labels_, "row")
    col = tables.col or _title(model.col_labels_, "col")
    form = DataForm(path, row, col, tables.value, False, "error")
    observations = _read_long(form, GraphChoice(None, None, "error"))
    if observations.shape != model.shape_:
        raise UserError(
            f"{path} makes a matrix of {observations.shape[0]} x {observations.shape[1]}, but the "
            f"model was fitted on {model.shape_[0]} x {model.shape_[1]}: pass the same table"
        )
    again = BMCG(**model.get_params())
    with spoken_warnings(), announced_compilation(verbose=False):
        return again.fit(observations)
