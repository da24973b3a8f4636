"""Wide tables: the columns of numbers are the matrix, everything else passes through."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from numpy.typing import NDArray

from ..files.storage import write_atomically
from .matrix import Filled
from .text import TextTable, number_text, std_cells

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """Which columns are what.

    Attributes
    ----------
    label : str or None
        Column that names the rows; not part of the matrix.
    skip : tuple of str
        Columns of numbers that are not part of the matrix either.
    keep_empty : bool
        Whether columns without any value are to be filled, from their graph.
    floats : bool
        Write decimals also in columns of whole numbers.
    """

    label: str | None = None
    skip: tuple[str, ...] = ()
    keep_empty: bool = False
    floats: bool = False


@dataclass(frozen=True)
class TextSource:
    """A CSV or TSV file; see `Source`."""

    table: TextTable
    columns: list[int]
    whole: list[bool]
    values: Array
    row_names: NDArray[Any] | None
    col_names: NDArray[Any] | None
    notes: list[str] = field(default_factory=list)
    row_groups: NDArray[Any] | None = None
    standardize: bool | None = None

    @classmethod
    def open(
        cls, path: Path, delimiter: str, layout: Layout, marks: tuple[str, ...] = ()
    ) -> TextSource:
        """Read a file and find its columns of numbers."""
        table = TextTable.read(path, delimiter, marks)
        _check_names(path, table.names, layout)
        columns, whole, parts, left = [], [], [], []
        for j, name in enumerate(table.names):
            if name == layout.label or name in layout.skip:
                continue
            found = table.numbers(j)
            if found is None or (np.isnan(found[0]).all() and not layout.keep_empty):
                left.append(name)
                continue
            columns.append(j)
            parts.append(found[0])
            whole.append(found[1] and not np.isnan(found[0]).all() and not layout.floats)
        names = None if layout.label is None else table.texts(table.names.index(layout.label))
        return cls(
            table,
            columns,
            whole,
            _matrix(path, parts, table.n_rows),
            None if names is None else np.array(names, dtype=object),
            np.array([table.names[j] for j in columns], dtype=object),
            _notes(left),
        )

    def write(self, path: Path, filled: Filled) -> None:
        """Write the file again; cells that were there are copied as they are written."""
        entries = zip(filled.rows, filled.cols, filled.mean, filled.std, strict=True)
        cells = {
            (int(i), self.columns[j]): number_text(mean, std, self.whole[j])
            for i, j, mean, std in entries
        }
        write_atomically(path, lambda temporary: self.table.write(temporary, cells))

    def write_std(self, path: Path, filled: Filled) -> None:
        """Write a table of the same layout; cells that were there are empty."""
        cells = {(i, j): "" for i in range(self.table.n_rows) for j in self.columns}
        cells |= std_cells(filled, self.columns)
        write_atomically(path, lambda temporary: self.table.write(temporary, cells))


@dataclass(frozen=True)
class ParquetSource:
    """A Parquet file; see `Source`."""

    table: pa.Table
    columns: list[int]
    floats: bool
    values: Array
    row_names: NDArray[Any] | None
    col_names: NDArray[Any] | None
    notes: list[str] = field(default_factory=list)
    row_groups: NDArray[Any] | None = None
    standardize: bool | None = None

    @classmethod
    def open(cls, path: Path, layout: Layout) -> ParquetSource:
        """Read a file and find its columns of numbers."""
        table = parquet.read_table(path)
        _check_names(path, table.column_names, layout)
        if len(table) == 0:
            raise ValueError(f"{path} is empty: it has columns, but no rows")
        columns, parts, left = [], [], []
        for j, name in enumerate(table.column_names):
            if name == layout.label or name in layout.skip:
                continue
            found = _as_numbers(table.column(j), f"{path}: column {name!r}")
            if found is None or (np.isnan(found).all() and not layout.keep_empty):
                left.append(name)
                continue
            columns.append(j)
            parts.append(found)
        names = None if layout.label is None else table.column(layout.label).to_pylist()
        return cls(
            table,
            columns,
            layout.floats,
            _matrix(path, parts, len(table)),
            None if names is None else np.array([str(name) for name in names], dtype=object),
            np.array([table.column_names[j] for j in columns], dtype=object),
            _notes(left),
        )

    def write(self, path: Path, filled: Filled) -> None:
        """Write the file again, every column in its own type."""
        table = self.table
        for j, at in enumerate(self.columns):
            entries = filled.of_column(j)
            if len(entries) == 0:
                continue
            old = table.column(at)
            keep = self.floats and not pa.types.is_floating(old.type)
            kind = pa.float64() if keep else old.type
            new = _filled_column(old, kind, filled.rows[entries], filled.mean[entries])
            table = table.set_column(at, table.schema.field(at).with_type(kind), new)
        write_atomically(path, lambda temporary: parquet.write_table(table, temporary))

    def write_std(self, path: Path, filled: Filled) -> None:
        """Write a table of the same layout; cells that were there are empty."""
        table = self.table
        stds = filled.matrix(np.full(filled.shape, np.nan), filled.std)
        for j, at in enumerate(self.columns):
            column = pa.array(stds[:, j], from_pandas=True)
            table = table.set_column(at, table.column_names[at], column)
        write_atomically(path, lambda temporary: parquet.write_table(table, temporary))


def _as_numbers(column: pa.ChunkedArray, where: str) -> Array | None:
    """A column as float64 with NaN, None where its type is no number."""
    kind = column.type
    if not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    ):
        return None
    values = column.cast(pa.float64(), safe=False).to_numpy()
    if np.isinf(values).any():
        raise ValueError(f"{where} holds infinity in row {int(np.isinf(values).argmax())}")
    return np.array(values)


def _filled_column(
    old: pa.ChunkedArray, kind: pa.DataType, rows: NDArray[np.intp], mean: Array
) -> pa.Array:
    """The column with some rows replaced, in the given type; all others bit for bit."""
    if pa.types.is_boolean(kind):
        made: list[Any] = (mean >= 0.5).tolist()
    elif pa.types.is_integer(kind):
        low, high = _integer_range(kind)
        made = [min(max(round(x), low), high) for x in mean.tolist()]
    elif pa.types.is_decimal(kind):
        return _filled_decimal(old, kind, rows, mean)
    else:
        made = mean.tolist()
    items = old.cast(kind).to_pylist()
    for at, value in zip(rows.tolist(), made, strict=True):
        items[at] = value
    return pa.array(items, type=kind)


def _filled_decimal(
    old: pa.ChunkedArray, kind: pa.DataType, rows: NDArray[np.intp], mean: Array
) -> pa.Array:
    from decimal import Decimal

    items = old.to_pylist()
    for at, value in zip(rows.tolist(), mean.tolist(), strict=True):
        items[at] = Decimal(f"{value:.{max(kind.scale, 0)}f}")
    return pa.array(items, type=kind)


def _integer_range(kind: pa.DataType) -> tuple[int, int]:
    signed = pa.types.is_signed_integer(kind)
    bits = kind.bit_width - signed
    return (-(2**bits) if signed else 0), 2**bits - 1


def _check_names(path: Path, names: list[str], layout: Layout) -> None:
    wanted = [name for name in (layout.label, *layout.skip) if name is not None]
    for name in wanted:
        if name not in names:
            raise ValueError(f"{path} has no column {name!r}; its columns are {', '.join(names)}")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{path} has more than one column {twice!r}; rename all but one")


def _matrix(path: Path, parts: list[Array], n_rows: int) -> Array:
    if not parts:
        raise ValueError(f"{path} has no column of numbers, so there is nothing to fill")
    return np.column_stack(parts) if n_rows else np.empty((0, len(parts)))


def _notes(left: list[str]) -> list[str]:
    if not left:
        return []
    shown = ", ".join(left[:5]) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
    return [f"columns without numbers are kept as they are: {shown}"]
