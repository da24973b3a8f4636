"""Wide tables of text: the columns of numbers are the matrix, everything else passes through."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.storage import write_atomically
from .matrix import Filled
from .numerals import Column, Numerals, truth_text
from .text import TextTable, number_text

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """Which columns are what.

    Attributes
    ----------
    label : str or None
        Column that names the rows; not part of the matrix.
    skip : tuple of str
        Columns that are not part of the matrix either.
    keep_empty : bool
        Whether columns without any value are to be filled, from their graph.
    floats : bool
        Write decimals also in columns of whole numbers.
    """

    label: str | None = None
    skip: tuple[str, ...] = ()
    keep_empty: bool = False
    floats: bool = False

    def check(self, path: Path, names: list[str]) -> None:
        """Refuse names that the table lacks, and names that it has twice."""
        for name in (self.label, *self.skip):
            if name is not None and name not in names:
                shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
                raise ValueError(f"{path} has no column {name!r}; its columns are {shown}")
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise ValueError(f"{path} has more than one column {twice!r}; rename all but one")


class Choice:
    """Goes through the columns of a table and keeps those of the matrix.

    Parameters
    ----------
    path : Path
    layout : Layout
    """

    def __init__(self, path: Path, layout: Layout) -> None:
        self.path, self.layout = path, layout
        self.places: list[int] = []
        self.names: list[str] = []
        self.parts: list[Array] = []
        self.text: list[str] = []
        self.empty: list[str] = []

    def wanted(self, name: str) -> bool:
        """Whether a column may be part of the matrix."""
        return name != self.layout.label and name not in self.layout.skip

    def add(self, place: int, name: str, values: Array | None) -> bool:
        """Take a column, unless it holds no number; None says that it is of another type."""
        if values is None:
            self.text.append(name)
            return False
        if np.isnan(values).all() and not self.layout.keep_empty:
            self.empty.append(name)
            return False
        self.places.append(place)
        self.names.append(name)
        self.parts.append(values)
        return True

    def matrix(self) -> Array:
        """The columns taken, shape (n_rows, n_columns)."""
        if not self.parts:
            raise ValueError(f"{self.path} has no column of numbers, so there is nothing to fill")
        return np.column_stack(self.parts)

    def notes(self) -> list[str]:
        """What a person should know of the columns."""
        found = []
        if self.text:
            found.append(f"columns without numbers are kept as they are: {shown(self.text)}")
        if self.empty:
            found.append(
                f"columns without any value stay empty: {shown(self.empty)}; --col-graph or "
                "--col-chain would fill them from their neighbours"
            )
        for name, values in zip(self.names, self.parts, strict=True):
            if len(values) > 2 and (np.diff(values) == 1.0).all():
                found.append(
                    f"column {name!r} counts the rows and is taken for a column of values; if it "
                    f"names them, pass --row {name!r}"
                )
        return found


@dataclass(frozen=True)
class TextSource:
    """A CSV or TSV file; see `Source`.

    Attributes
    ----------
    table : TextTable
    columns : list of int
        Place of each column of the matrix in the table.
    read : list of Column
        What those columns were read from.
    layout : Layout
    decimal : str
    """

    table: TextTable
    columns: list[int]
    read: list[Column]
    layout: Layout
    decimal: str
    values: Array
    row_names: NDArray[Any] | None
    col_names: NDArray[Any] | None
    notes: list[str] = field(default_factory=list)
    row_groups: NDArray[Any] | None = None
    standardize: bool | None = None

    @classmethod
    def open(
        cls, path: Path, delimiter: str, layout: Layout, numerals: Numerals | None = None
    ) -> TextSource:
        """Read a file and find its columns of numbers."""
        numerals = numerals or Numerals()
        table = TextTable.read(path, delimiter)
        layout.check(path, table.names)
        choice, read = Choice(path, layout), []
        for j, name in enumerate(table.names):
            if not choice.wanted(name):
                continue
            column = table.column(j, numerals)
            if column.strays and column.n_numbers:
                raise ValueError(_stray(table, name, column))
            if choice.add(j, name, None if column.strays else column.values):
                read.append(column)
        names = None if layout.label is None else table.texts(table.names.index(layout.label))
        return cls(
            table,
            choice.places,
            read,
            layout,
            numerals.decimal,
            choice.matrix(),
            None if names is None else np.array(names, dtype=object),
            np.array(choice.names, dtype=object),
            choice.notes(),
        )

    def place(self, row: int) -> str:
        """A row, in words."""
        return f"line {self.table.line(row)}"

    def write(self, path: Path, filled: Filled) -> None:
        """Write the file again; cells that were there are copied as they are written."""
        entries = zip(*(part.tolist() for part in filled.entries), strict=True)
        cells = {
            (i, self.columns[j]): self._text(self.read[j], mean, std) for i, j, mean, std in entries
        }
        write_atomically(path, lambda temporary: self.table.write(temporary, cells))

    def write_std(self, path: Path, filled: Filled) -> None:
        """Write a table of the same layout; cells that were there are empty."""
        entries = zip(*(part.tolist() for part in filled.entries), strict=True)
        cells = {(i, self.columns[j]): self._pointed(f"{std:.4g}") for i, j, _, std in entries}
        write_atomically(path, lambda name: self.table.write(name, cells, empty=self.columns))

    def _text(self, column: Column, mean: float, std: float) -> str:
        if column.kind == "truth" and not self.layout.floats:
            return truth_text(mean, column.sample)
        whole = column.kind == "whole" and not self.layout.floats
        return self._pointed(number_text(mean, std, whole))

    def _pointed(self, text: str) -> str:
        return text if self.decimal == "." else text.replace(".", self.decimal)


def shown(names: list[str]) -> str:
    """The first few of many names."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _stray(table: TextTable, name: str, column: Column) -> str:
    """What to say of a column of numbers that holds something else."""
    row, text = next(iter(column.strays.items()))
    n = len(column.strays)
    more = f" ({n} such cells)" if n > 1 else ""
    comma = "if it is a decimal comma, pass --decimal ','; " if "," in text else ""
    return (
        f"{table.path}: column {name!r} holds numbers, but line {table.line(row)} holds {text!r}"
        f"{more}: {comma}if it marks a missing value, pass --missing {text!r}; to keep the column "
        f"as it is, pass --skip {name!r}"
    )
