"""Tables on disk or in a pipe: CSV, TSV and Parquet, read and written."""

from __future__ import annotations

import csv as text_csv
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet

from .. import memory
from ..files.storage import write_atomically
from .outcome import STANDARD, UserError, check_input, check_output, short, wrote

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
COMPRESSED = (".gz", ".bz2", ".zst")
# What Arrow raises of broken files; names of columns that are not UTF-8 are found by Python.
UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError)
# Bytes that tell how long lines are, and how much longer a compressed table may be.
GLANCE = 1 << 16
EXPANDED = 4.0
SPELLED = {"tab": "\t", "\\t": "\t", "space": " "}


@dataclass(frozen=True)
class Dialect:
    """What names of files do not say.

    Attributes
    ----------
    format : str
        Of standard input and output: "csv", "tsv" or "parquet".
    delimiter : str or None
        Of .csv files, and of standard input and output as CSV; a comma where None.
    """

    format: str = "csv"
    delimiter: str | None = None

    def __post_init__(self) -> None:
        given = SPELLED.get(self.delimiter or "", self.delimiter)
        if given is not None and len(given.encode()) != 1:
            raise UserError(
                f"--delimiter {self.delimiter}: pass one character, such as ';', or tab"
            )
        object.__setattr__(self, "delimiter", given)

    def of(self, kind: str) -> str:
        """The delimiter of a kind of text table."""
        if kind == ".csv" and self.delimiter is not None:
            return self.delimiter
        return DELIMITERS[kind]


PLAIN = Dialect()


def table_kind(path: Path, *, output: bool = False, dialect: Dialect = PLAIN) -> str:
    """The suffix that says how a table is kept, `".parquet"` or one of `DELIMITERS`."""
    if path == STANDARD:
        return f".{dialect.format}"
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


def check_table_output(
    path: Path, force: bool, inputs: tuple[Path | None, ...], dialect: Dialect = PLAIN
) -> None:
    """Raise unless a table can be written under this name, or to standard output."""
    table_kind(path, output=True, dialect=dialect)
    if path != STANDARD:
        check_output(path, force, inputs)


# Columns that a message names, and letters that they may have.
COLUMNS, LETTERS = 30, 600
# Standard input is read once, though its header is asked for first.
_piped: tuple[Any, bytes] | None = None


def _source(path: Path) -> Any:
    """What Arrow reads: the name of a file, or all that standard input brought."""
    global _piped
    if path != STANDARD:
        check_input(path)
        return path
    if _piped is None or _piped[0] is not sys.stdin:
        _piped = sys.stdin, sys.stdin.buffer.read()
    return pa.BufferReader(_piped[1])


def read_table(
    path: Path,
    labels: tuple[str, ...] = (),
    *,
    header: bool = True,
    dialect: Dialect = PLAIN,
) -> pa.Table:
    """Read a table.

    Parameters
    ----------
    path : Path
    labels : tuple of str
        Columns that hold labels. In text files they are read as text, so that nothing of a
        label is lost.
    header : bool
        Whether the first line of a text file names the columns; otherwise they are numbered.
    dialect : Dialect
    """
    kind = table_kind(path, dialect=dialect)
    try:
        memory.require(
            memory.table(*_extent(path, kind)),
            f"reading {path}",
            "leave out lines, or take a machine with more",
        )
        if kind == ".parquet":
            table = parquet.read_table(_source(path))
            # Arrow takes places in a dictionary at their word.
            table.validate(full=True)
            return table
        return csv.read_csv(
            _source(path),
            read_options=csv.ReadOptions(autogenerate_column_names=not header),
            parse_options=csv.ParseOptions(delimiter=dialect.of(kind)),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(labels, pa.string())),
        )
    except UNREADABLE as error:
        raise UserError(f"cannot read {path} as a {kind[1:]} table: {_why(error)}") from None


def _extent(path: Path, kind: str) -> tuple[float, float]:
    """Bytes of a table as text and its lines, by its size and its first lines."""
    if path == STANDARD:
        return 0.0, 0.0
    if kind == ".parquet":
        found = parquet.read_metadata(path)
        return float(8 * found.num_rows * found.num_columns), float(found.num_rows)
    packed = path.suffix.lower() in COMPRESSED
    size = float(path.stat().st_size) * (EXPANDED if packed else 1.0)
    with pa.input_stream(str(path), compression="detect") as stream:
        if not packed:
            # The first lines of a sorted table are its shortest.
            stream.seek(int(size) // 2)
        some = stream.read(GLANCE)
    return size, size * some.count(b"\n") / max(len(some), 1)


def column_names(path: Path, dialect: Dialect = PLAIN) -> list[str]:
    """Names of a table's columns, without reading all of it."""
    kind = table_kind(path, dialect=dialect)
    try:
        if kind == ".parquet":
            return list(parquet.read_schema(_source(path)).names)
        options = csv.ParseOptions(delimiter=dialect.of(kind))
        with csv.open_csv(_source(path), parse_options=options) as reader:
            return list(reader.schema.names)
    except UNREADABLE as error:
        raise UserError(f"cannot read {path} as a {kind[1:]} table: {_why(error)}") from None


def shown(names: list[str]) -> str:
    """The columns of a table for a message, as far as there is room."""
    text = ", ".join(names[:COLUMNS])
    more = f" and {len(names) - COLUMNS} more" if len(names) > COLUMNS else ""
    return (text if len(text) <= LETTERS else f"{text[:LETTERS]} ...") + more


def _why(error: Exception) -> str:
    """What Arrow says of a table, and what it leaves out."""
    long = "cannot infer number of columns" in str(error) or "straddling" in str(error)
    return short(error) + ("; of lines over 1 MiB, make a Parquet table" if long else "")


def require_columns(path: Path, names: list[str], wanted: dict[str, str]) -> None:
    """Raise unless a table has the columns that options name, each once."""
    for option, name in wanted.items():
        if name not in names:
            raise UserError(
                f"{path} has no column {name!r} ({option}); its columns are {shown(names)}"
                f"{_other_delimiter(names)}"
            )
        if names.count(name) > 1:
            raise UserError(f"{path} has more than one column {name!r} ({option})")


def _other_delimiter(names: list[str]) -> str:
    """Advice where what came as one column looks like several."""
    found = next((mark for mark in ";\t|" if len(names) == 1 and mark in names[0]), None)
    if found is None:
        return ""
    return f"; is it separated by {found!r}? pass --delimiter '{found}'"


def write_table(table: pa.Table, path: Path, dialect: Dialect = PLAIN) -> None:
    """Write a table under a temporary name and move it to its own, or to standard output."""
    kind = table_kind(path, output=True, dialect=dialect)
    if path == STANDARD:
        whole = io.BytesIO()
        _write(table, whole, kind, dialect)
        sys.stdout.buffer.write(whole.getbuffer())
        sys.stdout.buffer.flush()
        return

    def write(temporary: str) -> None:
        with open(temporary, "wb") as file:
            _write(table, file, kind, dialect)

    write_atomically(path, write)
    wrote(path)


def _write(table: pa.Table, file: Any, kind: str, dialect: Dialect) -> None:
    if kind == ".parquet":
        parquet.write_table(table, file)
        return
    delimiter = dialect.of(kind)
    header = io.StringIO()
    text_csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(table.column_names)
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
