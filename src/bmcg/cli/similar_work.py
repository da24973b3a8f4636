"""Columns that are alike, from a model file, to the terminal or to a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from .. import memory
from ..serving import ServingModel
from ..serving.alike import Similar
from .names import as_whole_numbers, of_one_kind, title
from .outcome import UserError, check_inputs, done
from .predict_work import load
from .recommend_work import labels_of
from .tables import Dialect, check_table_output, write_table


def similar_columns(
    path: Path,
    labels: list[str] | None,
    cols: Path | None,
    candidates: Path | None,
    n: int,
    output: Path | None,
    dialect: Dialect,
    force: bool,
) -> None:
    """Say what is like columns by their labels, like those of a table, or like each."""
    if labels and cols is not None:
        raise UserError("--for and --cols: give one of them")
    if not labels and cols is None and output is None:
        raise UserError("pass --for LABEL or --cols FILE, or -o FILE for all columns")
    check_inputs(cols, candidates)
    if output is not None:
        check_table_output(output, force, (path, cols, candidates), dialect)
    model = load(path)
    if not isinstance(model, ServingModel):
        raise UserError(f"{path} holds a model of {type(model).__name__}, which knows none alike")
    known = model.col_labels_
    wanted: NDArray[Any] = np.arange(model.shape_[1]) if known is None else known.values
    if labels:
        names = np.array(labels, dtype=object)
        wanted = as_whole_numbers(names) if known is None else of_one_kind(names, known)
    elif cols is not None:
        wanted = labels_of(cols, known, "column", dialect)
    chosen = None if candidates is None else labels_of(candidates, known, "column", dialect)
    lines = len(wanted) * min(n, model.shape_[1] if chosen is None else len(chosen))
    memory.require(
        memory.alike(lines), f"{lines} lines of similar columns", "ask for fewer columns at a time"
    )
    found = model.similar(wanted, n, candidates=chosen)
    name = title(known, "column")
    if output is None:
        _show(found, name)
        return
    write_table(found.to_frame("pyarrow", name), output, dialect)
    done(output, f"{len(found)} pairs")


def _show(found: Similar, name: str) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in (name, "similar", "rank", "similarity"):
        table.add_column(heading, justify="left" if heading in (name, "similar") else "right")
    for col, other, rank, value in zip(
        found.cols, found.others, found.rank, found.similarity, strict=True
    ):
        table.add_row(str(col), str(other), str(rank), f"{value:.3f}")
    # Piped output is not cut to the width of a terminal.
    console = Console() if Console().is_terminal else Console(width=10_000, no_color=True)
    console.print(table, soft_wrap=True)
