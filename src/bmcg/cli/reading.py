"""Observations from tables: one a line, or the matrix itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..observations import Observations, View
from ..observations.entries import Aggregate
from ..observations.frames import numeric
from ..observations.labels import Labels
from .names import Names, label_names, like_known, title
from .outcome import UserError, one_line
from .tables import PLAIN, Dialect, column_names, read_table, require_columns, shown

BACKEND = "pyarrow"


@dataclass(frozen=True)
class DataForm:
    """Where the observations are and how the table is laid out.

    Attributes
    ----------
    path : Path
    row, col, value : str or None
        Names of columns.
    wide : bool
        Whether the table is the matrix itself; `row` then names the column of row labels.
    duplicates : str
        What to do with an entry that is given more than once.
    dialect : Dialect
    counts : bool
        Whether a line without a value stands for one.
    more : tuple of Path
        Further files of lines like those of the first.
    """

    path: Path
    row: str | None
    col: str | None
    value: str | None
    wide: bool = False
    duplicates: str = "error"
    dialect: Dialect = PLAIN
    counts: bool = False
    more: tuple[Path, ...] = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files."""
        return (self.path, *self.more)

    def counted(self, implicit: bool) -> DataForm:
        """The same of what was seen: lines are counted where no column of values is named."""
        if not implicit:
            return self
        how = "sum" if self.duplicates == "error" else self.duplicates
        return replace(self, counts=True, duplicates=how)

    def named_by(self, rows: Labels | None, cols: Labels | None) -> DataForm:
        """The same with names that a model knows where none were given."""
        if self.wide:
            named = rows is not None and rows.name is not None
            return replace(self, row=self.row or (title(rows, "") if named else None))
        return replace(self, row=self.row or title(rows, "row"), col=self.col or title(cols, "col"))


class Cells(NamedTuple):
    """Entries as a table lists them, in its order.

    Attributes
    ----------
    rows, cols : Names
        Distinct labels are None's place holders, the positions, where a side has none.
    values : ndarray of float64, shape (n_cells,)
    row_title, col_title : str or None
        What the labels are called; None where a side has none, or they have no name.
    labelled : (bool, bool)
        Whether rows and columns have labels.
    """

    rows: Names
    cols: Names
    values: NDArray[np.float64]
    row_title: str | None
    col_title: str | None
    labelled: tuple[bool, bool] = (True, True)

    def labels(self, axis: int) -> Labels | None:
        """The labels of a side, None where it has none."""
        if not self.labelled[axis]:
            return None
        names, word = (self.rows, "row") if axis == 0 else (self.cols, "column")
        return Labels(names.distinct, word, self.row_title if axis == 0 else self.col_title)


def read_cells(form: DataForm) -> Cells:
    """Read the entries of a table, long or wide; missing cells of a wide one are left out."""
    return _wide_cells(form) if form.wide else _long_cells(form)


def read_observations(form: DataForm) -> Observations:
    """Read what was observed, with labels in order (rows of a wide table in its own)."""
    cells = read_cells(form)
    shape = len(cells.rows.distinct), len(cells.cols.distinct)
    try:
        found = Observations.from_triples(
            cells.rows.codes,
            cells.cols.codes,
            cells.values,
            shape=shape,
            row_labels=cells.labels(0),
            col_labels=cells.labels(1),
            duplicates=cast(Aggregate, form.duplicates),
        )
    except ValueError as error:
        raise UserError(f"{form.path}: {_as_options(error)}") from None
    return replace(found, backend=BACKEND)


def observations_like(
    form: DataForm, rows: Labels | None, cols: Labels | None, shape: tuple[int, int]
) -> Observations:
    """Observations of a table at the places that a model has for their labels.

    Parameters
    ----------
    form : DataForm
    rows, cols : Labels or None
        Of the model.
    shape : (int, int)
        Of the model.
    """
    cells = read_cells(form.named_by(rows, cols))
    places = [
        _places(names, labelled, known, n, word, form.path)
        for names, labelled, known, n, word in zip(
            cells[:2], cells.labelled, (rows, cols), shape, ("row", "column"), strict=True
        )
    ]
    try:
        found = Observations.from_triples(
            places[0],
            places[1],
            cells.values,
            shape=shape,
            row_labels=rows,
            col_labels=cols,
            duplicates=cast(Aggregate, form.duplicates),
        )
    except ValueError as error:
        raise UserError(f"{form.path}: {_as_options(error)}") from None
    return replace(found, backend=BACKEND)


def typed_like(
    observations: Observations,
    rows: Labels | None,
    cols: Labels | None,
    typed: Callable[[NDArray[Any], Labels], NDArray[Any]] = like_known,
) -> Observations:
    """The same with labels in the types that a model's have, so that 7 and "7" meet.

    `of_one_kind` in the place of `typed` refuses labels that cannot be.
    """
    changed = {}
    for name, known in (("row_labels", rows), ("col_labels", cols)):
        labels = getattr(observations, name)
        if labels is not None and known is not None:
            changed[name] = replace(labels, values=typed(labels.values, known))
    return replace(observations, **changed)


def _places(
    names: Names, labelled: bool, known: Labels | None, n: int, word: str, path: Path
) -> NDArray[np.intp]:
    """Where the model has the cells of one side, shape (n_cells,)."""
    if known is None or not labelled:
        if labelled and names.distinct.dtype.kind != "i":
            raise UserError(f"{path}: the model has no {word} labels, only positions")
        at = names.distinct.astype(np.intp)
        if len(at) and (at.min() < 0 or at.max() >= n):
            raise UserError(f"{path}: {word} {at.max()} is outside a model of {n} {word}s")
        return at[names.codes]
    try:
        return known.positions(names.like(known).distinct, str(path))[names.codes]
    except KeyError as error:
        raise UserError(one_line(error)) from None


def grown(observations: Observations, rows: Labels | None, cols: Labels | None) -> Observations:
    """The same entries in a matrix with further rows and columns, which have none."""
    sizes = [
        n if labels is None else len(labels)
        for n, labels in zip(observations.shape, (rows, cols), strict=True)
    ]

    def longer(view: View, n: int) -> View:
        more = n + 1 - len(view.indptr)
        return view._replace(indptr=np.pad(view.indptr, (0, more), mode="edge"))

    return replace(
        observations,
        shape=(sizes[0], sizes[1]),
        by_row=longer(observations.by_row, sizes[0]),
        by_col=longer(observations.by_col, sizes[1]),
        row_labels=rows,
        col_labels=cols,
    )


def check_long(form: DataForm) -> None:
    """Raise unless every file has the columns that options name."""
    for path in form.paths:
        present = column_names(path, form.dialect)
        for option in ("row", "col") if form.counts else ("row", "col", "value"):
            if getattr(form, option) is None:
                clicks = "; lines that are clicks have none: fit --implicit"
                raise UserError(
                    f"pass --{option} NAME, a column of {path} ("
                    f"{shown(present)}), or --wide for a matrix{clicks * (option == 'value')}"
                )
        row, col = cast(tuple[str, str], (form.row, form.col))
        if row == col or form.value in (row, col):
            same = "--row and --col" if row == col else "--value and a side"
            raise UserError(f"{path}: {same} name one column, {form.value if row != col else row}")
        valued = {} if form.value is None else {"--value": form.value}
        require_columns(path, present, {"--row": row, "--col": col} | valued)


def _long_cells(form: DataForm) -> Cells:
    check_long(form)
    row, col = cast(tuple[str, str], (form.row, form.col))
    tables = [read_table(path, (row, col), dialect=form.dialect) for path in form.paths]
    if len(tables) > 1:
        wanted = [name for name in (row, col, form.value) if name is not None]
        parts = [table.select(wanted) for table in tables]
        return cells_of(_joined(parts, form), form)
    return cells_of(tables[0], form)


def _joined(parts: list[pa.Table], form: DataForm) -> pa.Table:
    """Lines of several files as one table; labels of two kinds become text."""
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowException:
        fields = [(form.row, pa.string()), (form.col, pa.string())]
        for name, kind in fields:
            at = parts[0].column_names.index(cast(str, name))
            parts = [part.set_column(at, name, part.column(name).cast(kind)) for part in parts]
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowException as error:
        files = ", ".join(map(str, form.paths[:3]))
        raise UserError(f"{files}: columns of different kinds: {one_line(error)}") from None


def cells_of(table: pa.Table, form: DataForm) -> Cells:
    """Entries of a table of lines."""
    row, col = cast(tuple[str, str], (form.row, form.col))
    rows, cols = (label_names(table, name, form.path) for name in (row, col))
    ones = np.ones(len(table))
    values = ones if form.value is None else _numbers(table, form.value, form.path)
    return Cells(rows, cols, values, row, col)


def _wide_cells(form: DataForm) -> Cells:
    if form.more:
        raise UserError(
            f"--wide takes one table, not {len(form.paths)}: {form.more[0]} is one more"
        )
    if form.col is not None or form.value is not None:
        raise UserError("--wide takes no --col and no --value: the table is the matrix")
    present = column_names(form.path, form.dialect)
    labels = () if form.row is None else (form.row,)
    require_columns(form.path, present, dict.fromkeys(["--row"] * len(labels), form.row or ""))
    table = read_table(form.path, labels, dialect=form.dialect)
    rows = np.arange(len(table))
    if form.row is not None:
        found = label_names(table, form.row, form.path)
        if len(found.distinct) < len(table):
            twice = found.distinct[np.argmax(np.bincount(found.codes) > 1)]
            raise UserError(f"{form.path}: row labels must be distinct, {twice!r} appears twice")
        rows = found.values  # in the order of the table, which a graph may follow
        table = table.drop_columns([form.row])
    if table.num_columns == 0:
        raise UserError(f"{form.path}: there are row labels and no column beside them")
    if len(set(table.column_names)) < table.num_columns:
        raise UserError(f"{form.path}: columns must have distinct names")
    matrix = np.column_stack([_numbers(table, name, form.path) for name in table.column_names])
    i, j = np.nonzero(~np.isnan(matrix))
    names = np.array(table.column_names, dtype=object)
    return Cells(
        Names(i.astype(np.int32), rows),
        Names(j.astype(np.int32), names),
        matrix[i, j],
        form.row,
        None,
        (form.row is not None, True),
    )


def _numbers(table: pa.Table, name: str, path: Path) -> NDArray[np.float64]:
    column = table.column(name)
    kind = column.type
    plain = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    try:
        if any(test(kind) for test in plain) or pa.types.is_null(kind):
            return cast(Any, column.cast(pa.float64())).to_numpy()
        return numeric(column.to_numpy(), f"column {name!r}")
    except (ValueError, pa.ArrowException) as error:
        raise UserError(f"{path}: {one_line(error)}") from None


def _as_options(error: ValueError) -> str:
    """The library's advice in the words of the command line."""
    return one_line(error).replace("pass duplicates=", "pass --duplicates ").replace('"', "")
