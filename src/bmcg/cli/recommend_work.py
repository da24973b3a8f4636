"""Recommendations from a model file, to the terminal or to a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from ..files.loading import load_model
from ..observations.labels import Labels
from ..serving import ServingModel
from ..serving.ranking import Recommendations
from .outcome import UserError, check_input, check_output
from .tables import as_whole_numbers, like_known, table_kind, write_table


def recommend_rows(
    path: Path, rows: list[str] | None, output: Path | None, wanted: dict[str, Any], force: bool
) -> None:
    """Recommend for rows by their labels, or for all where `rows` is None."""
    check_input(path)
    if rows == [] or (rows is None and output is None):
        raise UserError("pass --row LABEL, or --all with -o FILE")
    if output is not None:
        table_kind(output, output=True)
        check_output(output, force, (path,))
    model = load_model(path)
    if not isinstance(model, ServingModel):
        raise UserError(f"{path} holds a model of {type(model).__name__}, which cannot recommend")
    found = model.recommend(None if rows is None else _labels(rows, model.row_labels_), **wanted)
    names = _title(model.row_labels_, "row"), _title(model.col_labels_, "column")
    if output is None:
        _show(found, names)
        return
    write_table(found.to_frame("pyarrow", names), output)
    typer.echo(f"{output}: {len(found)} recommendations")


def _labels(rows: list[str], known: Labels | None) -> Any:
    names = np.array(rows, dtype=object)
    return as_whole_numbers(names) if known is None else like_known(names, known)


def _title(labels: Labels | None, otherwise: str) -> str:
    return otherwise if labels is None or labels.name is None else labels.name


def _show(found: Recommendations, names: tuple[str, str]) -> None:
    table = Table(box=None, pad_edge=False)
    for title in (*names, "rank", "mean", "std", "score"):
        table.add_column(title, justify="left" if title in names else "right")
    numbers = zip(found.rank, found.mean, found.std, found.score, strict=True)
    for row, col, (rank, mean, std, score) in zip(found.rows, found.cols, numbers, strict=True):
        table.add_row(str(row), str(col), str(rank), f"{mean:.4g}", f"{std:.3g}", f"{score:.4g}")
    # Piped output is not cut to the width of a terminal.
    console = Console() if Console().is_terminal else Console(width=10_000, no_color=True)
    console.print(table, soft_wrap=True)
