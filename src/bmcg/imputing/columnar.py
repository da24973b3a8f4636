"""Wide tables in Parquet: every column in its own type, values bit for bit."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
from numpy.typing import NDArray

from .. import memory
from ..files.storage import write_atomically
from .matrix import Filled
from .numerals import Numerals
from .tables import Choice, Layout

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ParquetSource:
    """A Parquet file; see `Source`.

    Attributes
    ----------
    table : Table
    columns : list of int
        Place of each column of the matrix in the table.
    floats : bool
        Write decimals also in columns of whole numbers.
    """

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
    def open(cls, path: Path, layout: Layout, numerals: Numerals | None = None) -> ParquetSource:
        """Read a file and find its columns of numbers."""
        numerals = numerals or Numerals()
        try:
            found = parquet.read_metadata(path)
            count = float(found.num_rows * found.num_columns)
            memory.require(memory.cells(8 * count, count), f"filling {path}", "leave out columns")
            table = parquet.read_table(path)
            table.validate(full=True)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise ValueError(f"cannot read {path} as a Parquet table: {error}") from None
        layout.check(path, table.column_names)
        layout = _with_index(table, layout)
        if len(table) == 0:
            raise ValueError(f"{path} is empty: it has columns, but no rows")
        choice = Choice(path, layout)
        for j, name in enumerate(table.column_names):
            if choice.wanted(name):
                values = _as_numbers(table.column(j), f"{path}: column {name!r}")
                choice.add(j, name, None if values is None else numerals.without_marks(values))
        names = None if layout.label is None else table.column(layout.label).to_pylist()
        return cls(
            table,
            choice.places,
            layout.floats,
            choice.matrix(),
            None if names is None else np.array([str(name) for name in names], dtype=object),
            np.array(choice.names, dtype=object),
            choice.notes(),
        )

    def place(self, row: int) -> str:
        """A row, in words."""
        return f"row {row}"

    def write(self, path: Path, filled: Filled) -> None:
        """Write the file again, every column in its own type."""
        table = self.table
        for j, at in enumerate(self.columns):
            entries = filled.of_column(j)
            if len(entries) == 0:
                continue
            old = table.column(at)
            widen = self.floats and not pa.types.is_floating(old.type)
            kind = pa.float64() if widen or pa.types.is_null(old.type) else old.type
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


def _with_index(table: pa.Table, layout: Layout) -> Layout:
    """The layout without the columns that pandas keeps its index in: they name the rows."""
    stored = (table.schema.metadata or {}).get(b"pandas")
    found = [] if stored is None else json.loads(stored).get("index_columns", [])
    names = [name for name in found if isinstance(name, str) and name in table.column_names]
    label = layout.label or (names[0] if len(names) == 1 else None)
    return replace(layout, label=label, skip=(*layout.skip, *names))


def _as_numbers(column: pa.ChunkedArray, where: str) -> Array | None:
    """A column as float64 with NaN, None where its type is no number."""
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
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
        made = [_decimal(x, kind) for x in mean.tolist()]
    else:
        made = mean.tolist()
    gone = np.zeros(len(old), dtype=np.bool_)
    gone[rows] = True
    whole = old.cast(kind).combine_chunks()
    return pc.replace_with_mask(whole, pa.array(gone), pa.array(made, type=kind))


def _decimal(value: float, kind: pa.DataType) -> Decimal:
    """The nearest number that a decimal type can hold."""
    unit = Decimal(1).scaleb(-kind.scale)
    most = Decimal(10 ** (kind.precision) - 1) * unit
    return min(max(Decimal(value).quantize(unit), -most), most)


def _integer_range(kind: pa.DataType) -> tuple[int, int]:
    signed = pa.types.is_signed_integer(kind)
    bits = kind.bit_width - signed
    return (-(2**bits) if signed else 0), 2**bits - 1
