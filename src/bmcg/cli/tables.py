"""Tables on disk: CSV, TSV and Parquet, with labels that survive the way in and out."""

from __future__ import annotations

import csv as text_csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as parquet
from numpy.typing import NDArray

from ..files.storage import write_atomically
from ..observations.labels import Labels
from .outcome import UserError, check_input

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
COMPRESSED = (".gz", ".bz2", ".zst")

# Whole numbers as people write them. "007" and "1e3" are names: they would not come back.
WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"


def table_kind(path: Path, *, output: bool = False) -> str:
    """The suffix that says how a table is kept, `".parquet"` or one of `DELIMITERS`."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED and not output:
        suffixes.pop()
    kind = suffixes[-1] if suffixes else ""
    if kind in PARQUET:
        return ".parquet"
    if kind in DELIMITERS:
        return kind
    raise UserError(
        f"{path}: cannot tell the format from the name; "
        f"use one of {', '.join([*DELIMITERS, *PARQUET])}"
    )


def read_table(path: Path, labels: tuple[str, ...] = (), *, header: bool = True) -> pa.Table:
    """Read a table.

    Parameters
    ----------
    path : Path
    labels : tuple of str
        Columns that hold labels. In text files they are read as text, so that nothing of a
        label is lost.
    header : bool
        Whether the first line of a text file names the columns; otherwise they are numbered.
    """
    kind = table_kind(path)
    check_input(path)
    try:
        if kind == ".parquet":
            return parquet.read_table(path)
        return csv.read_csv(
            path,
            read_options=csv.ReadOptions(autogenerate_column_names=not header),
            parse_options=csv.ParseOptions(delimiter=DELIMITERS[kind]),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(labels, pa.string())),
        )
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"cannot read {path} as a {kind[1:]} table: {error}") from None


def column_names(path: Path) -> list[str]:
    """Names of a table's columns, without reading all of it."""
    kind = table_kind(path)
    check_input(path)
    try:
        if kind == ".parquet":
            return list(parquet.read_schema(path).names)
        options = csv.ParseOptions(delimiter=DELIMITERS[kind])
        with csv.open_csv(path, parse_options=options) as reader:
            return list(reader.schema.names)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"cannot read {path} as a {kind[1:]} table: {error}") from None


def require_columns(path: Path, names: list[str], wanted: dict[str, str]) -> None:
    """Raise unless a table has the columns that options name, each once."""
    for option, name in wanted.items():
        if name not in names:
            raise UserError(
                f"{path} has no column {name!r} ({option}); its columns are {', '.join(names)}"
            )
        if names.count(name) > 1:
            raise UserError(f"{path} has more than one column {name!r} ({option})")


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table under a temporary name and move it to its own."""
    kind = table_kind(path, output=True)

    def write(temporary: str) -> None:
        if kind == ".parquet":
            parquet.write_table(table, temporary)
        else:
            _write_text(table, temporary, DELIMITERS[kind])

    write_atomically(path, write)


def _write_text(table: pa.Table, path: str, delimiter: str) -> None:
    header = io.StringIO()
    text_csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(table.column_names)
    with open(path, "wb") as file:
        file.write(header.getvalue().encode())
        start = file.tell()
        # Arrow quotes all text or none: none is tried first, it refuses where that is wrong.
        try:
            csv.write_csv(table, file, _options(delimiter, "none"))
        except pa.ArrowInvalid:
            file.seek(start)
            file.truncate()
            csv.write_csv(table, file, _options(delimiter, "needed"))


def _options(delimiter: str, quoting: str) -> csv.WriteOptions:
    return csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=quoting)


def label_column(table: pa.Table, name: str, path: Path) -> NDArray[Any]:
    """Labels of a column: whole numbers where all of them are, else text, shape (n_lines,)."""
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        whole = pc.cast(column, pa.int64(), safe=False)
        if pc.all(pc.equal(whole, column)).as_py():
            column = whole
    if not (pa.types.is_integer(column.type) or pa.types.is_string(column.type)):
        column = column.cast(pa.string())
    _check_present(column, name, path)
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64()).to_numpy()
    return as_whole_numbers(column.to_numpy())


def as_whole_numbers(names: NDArray[Any]) -> NDArray[Any]:
    """Text labels as whole numbers, where every one of them is written like one."""
    text = pa.array(names.tolist(), pa.string())
    if len(text) and pc.all(pc.match_substring_regex(text, WHOLE)).as_py():
        return text.cast(pa.int64()).to_numpy()
    return names


def like_known(names: NDArray[Any], known: Labels | None) -> NDArray[Any]:
    """Labels of one file in the type that those of another have, so that 7 and "7" meet."""
    if known is None or len(names) == 0:
        return names
    kind = known.values.dtype.kind
    if kind == "O" and names.dtype.kind == "i":
        return np.array([str(name) for name in names.tolist()], dtype=object)
    if kind in "iu" and names.dtype.kind == "O":
        return as_whole_numbers(names)
    return names


def _check_present(column: Any, name: str, path: Path) -> None:
    missing = column.is_null()
    if pa.types.is_string(column.type):
        missing = pc.or_(missing, pc.fill_null(pc.equal(column, ""), True))
    if pc.any(missing).as_py():
        line = int(np.argmax(missing.to_numpy(zero_copy_only=False)))
        raise UserError(f"{path}: column {name!r} holds labels, but that of entry {line} is empty")
