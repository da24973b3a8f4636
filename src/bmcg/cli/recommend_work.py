"""Recommendations from a model file, to the terminal or to a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from .. import memory
from ..observations.labels import Labels
from ..serving import ServingModel
from ..serving.anyone import known_places
from ..serving.ranking import Recommendations
from .names import as_whole_numbers, label_column, of_one_kind, title
from .outcome import UserError, check_inputs, done, say
from .predict_work import load
from .tables import Dialect, check_table_output, column_names, read_table, shown, write_table


@dataclass(frozen=True)
class Lists:
    """Whom to recommend to, what to choose from, and what to leave out."""

    labels: list[str] | None
    rows: Path | None
    all_rows: bool
    candidates: Path | None
    exclude: Path | None
    unknown: str

    def check(self, output: Path | None) -> None:
        """Raise where it is not clear whom to recommend to."""
        ways = (bool(self.labels), self.rows is not None, self.all_rows)
        if sum(ways) != 1 or (self.all_rows and output is None):
            raise UserError("pass one of --for LABEL, --rows FILE, or --all with -o FILE")
        if self.unknown == "prior":
            raise UserError("--unknown prior: rows without any entry all get one list; fold-in")
        check_inputs(self.rows, self.candidates, self.exclude)


def recommend_rows(
    path: Path,
    lists: Lists,
    output: Path | None,
    wanted: dict[str, Any],
    dialect: Dialect,
    force: bool,
) -> None:
    """Recommend for rows by their labels, those of a table, or all."""
    lists.check(output)
    if output is not None:
        given = (path, lists.rows, lists.candidates, lists.exclude)
        check_table_output(output, force, given, dialect)
    model = load(path)
    if not isinstance(model, ServingModel):
        raise UserError(f"{path} holds a model of {type(model).__name__}, which cannot recommend")
    sides = (model.row_labels_, "row"), (model.col_labels_, "column")
    rows: NDArray[Any] | None = None
    if lists.labels:
        names = np.array(lists.labels, dtype=object)
        rows = as_whole_numbers(names) if sides[0][0] is None else of_one_kind(names, sides[0][0])
    elif lists.rows is not None:
        rows = _known(model, labels_of(lists.rows, *sides[0], dialect), 0, lists)
    if lists.candidates is not None:
        chosen = labels_of(lists.candidates, *sides[1], dialect)
        wanted["candidates"] = _known(model, chosen, 1, lists)
    if lists.exclude is not None:
        wanted = _without(model, lists, wanted, dialect)
    lines = (model.shape_[0] if rows is None else len(rows)) * min(wanted["n"], model.shape_[1])
    memory.require(
        memory.lists(lines), f"{lines} lines of recommendations", "ask for fewer rows at a time"
    )
    found = model.recommend(rows, **wanted)
    names_of = title(model.row_labels_, "row"), title(model.col_labels_, "column")
    if output is None:
        _show(found, names_of)
        return
    write_table(found.to_frame("pyarrow", names_of), output, dialect)
    done(output, f"{len(found)} recommendations")


def labels_of(path: Path, known: Labels | None, word: str, dialect: Dialect) -> NDArray[Any]:
    """Labels of a table: the column named as in the data, else the first."""
    names = column_names(path, dialect)
    wanted = title(known, word)
    name = wanted if wanted in names else names[0]
    found = label_column(read_table(path, (name,), dialect=dialect), name, path)
    return of_one_kind(found, known)


def _known(model: ServingModel, names: NDArray[Any], axis: int, lists: Lists) -> NDArray[Any]:
    """Names without those the model does not know, where such are to be left out."""
    empty: NDArray[np.intp] = np.empty(0, dtype=np.intp)
    pair = (names, empty) if axis == 0 else (empty, names)
    strange = known_places(model, *pair)[axis] < 0
    if lists.unknown == "error" or not strange.any():
        return names
    path = lists.rows if axis == 0 else lists.candidates
    say(f"{path}: {strange.sum()} of {len(names)} labels are not in the model: left out")
    return names[~strange]


def _without(
    model: ServingModel, lists: Lists, wanted: dict[str, Any], dialect: Dialect
) -> dict[str, Any]:
    """The request with pairs, or columns, to leave out."""
    path = lists.exclude
    assert path is not None
    present = column_names(path, dialect)
    known = model.row_labels_, model.col_labels_
    row, col = title(known[0], "row"), title(known[1], "column")
    pairs = row in present and col in present
    if not pairs and len(present) > 1 and col not in present:
        raise UserError(
            f"--exclude {path}: expected columns {row!r} and {col!r}, or {col!r} alone; its "
            f"columns are {shown(present)}"
        )
    if not pairs:
        out = labels_of(path, known[1], "column", dialect)
        columns = np.arange(model.shape_[1]) if known[1] is None else known[1].values
        chosen = wanted.get("candidates", columns)
        left_out = set(out.tolist())
        kept = [at for at, name in enumerate(chosen.tolist()) if name not in left_out]
        return {**wanted, "candidates": chosen[kept]}
    table = read_table(path, (row, col), dialect=dialect)
    ends = [
        of_one_kind(label_column(table, name, path), labels)
        for name, labels in zip((row, col), known, strict=True)
    ]
    # What the model does not know it does not recommend.
    i, j = known_places(model, *ends)
    both = (i >= 0) & (j >= 0)
    return {**wanted, "exclude": (ends[0][both], ends[1][both])}


def _show(found: Recommendations, names: tuple[str, str]) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in (*names, "rank", "mean", "std", "score"):
        table.add_column(heading, justify="left" if heading in names else "right")
    numbers = zip(found.rank, found.mean, found.std, found.score, strict=True)
    for row, col, (rank, mean, std, score) in zip(found.rows, found.cols, numbers, strict=True):
        table.add_row(str(row), str(col), str(rank), f"{mean:.4g}", f"{std:.3g}", f"{score:.4g}")
    # Piped output is not cut to the width of a terminal.
    console = Console() if Console().is_terminal else Console(width=10_000, no_color=True)
    console.print(table, soft_wrap=True)
