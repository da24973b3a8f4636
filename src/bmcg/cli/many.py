"""`bmcg fit` as one of several processes: its share of the files, and who speaks for all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet

from ..observations import Observations
from .outcome import STANDARD, UserError, is_advice, one_line, say
from .reading import DataForm, cells_of, check_long
from .tables import table_kind


def size_of_world() -> int:
    """How many processes torchrun, or the like, has started for this command."""
    known = all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR"))
    return int(os.environ["WORLD_SIZE"]) if known else 1


@contextmanager
def one_of_many() -> Iterator[Any]:
    """The group of this process, or None where it is alone.

    The first process speaks; another one only to say what went wrong, if it is the first to know.
    """
    if size_of_world() < 2:
        yield None
        return
    try:
        from ..backends.distributed.group import connect, disconnect, speaks_first
    except ImportError:
        raise UserError(
            'several processes need PyTorch, which is not installed: pip install "bmcg[gpu]"'
        ) from None
    group, out, err = connect(), sys.stdout, sys.stderr
    if not group.is_first:
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        yield group
        disconnect()
    except (Exception, KeyboardInterrupt) as error:
        sys.stdout, sys.stderr = out, err
        if not is_advice(error):
            raise
        if speaks_first():
            say(f"error: {one_line(error)}")
        # No other process may be left to say good-bye to.
        sys.stderr.flush()
        os._exit(1)
    finally:
        sys.stdout, sys.stderr = out, err


def read_share(form: DataForm, group: Any) -> Observations:
    """Observations of all processes, of which each reads some of the lines."""
    from ..backends.distributed.observations import share

    if form.wide or STANDARD in form.paths:
        raise UserError(
            f"{group.size} processes share files of lines: --wide and standard input (-) are "
            "for one process"
        )

    def read() -> Any:
        check_long(form)
        return cells_of(_lines(form, group.rank, group.size), form)

    cells = group.agreed(read)
    how: Any = form.duplicates
    shape = len(cells.rows.distinct), len(cells.cols.distinct)
    places = cells.rows.codes, cells.cols.codes, cells.values
    found = share(*places, (cells.labels(0), cells.labels(1)), shape, how)
    return replace(found, backend="pyarrow")


def _lines(form: DataForm, rank: int, size: int) -> pa.Table:
    """Every so many-th piece of the files: row groups of Parquet, blocks of text."""
    wanted = [name for name in (form.row, form.col, form.value) if name is not None]
    parts, number = [], 0
    for path in form.paths:
        for part in _pieces(path, wanted, form):
            if number % size == rank:
                parts.append(part().select(wanted))
            number += 1
    if not parts:
        return _pieces_schema(form, wanted)
    return pa.concat_tables(parts, promote_options="permissive")


def _pieces(path: Path, wanted: list[str], form: DataForm) -> Iterator[Any]:
    kind = table_kind(path, dialect=form.dialect)
    try:
        if kind == ".parquet":
            file = parquet.ParquetFile(path)
            for at in range(file.num_row_groups):
                yield lambda at=at: file.read_row_group(at, columns=wanted)
            return
        types = dict.fromkeys((form.row, form.col), pa.string())
        if form.value is not None:
            types[form.value] = pa.float64()
        with csv.open_csv(
            path,
            parse_options=csv.ParseOptions(delimiter=form.dialect.of(kind)),
            convert_options=csv.ConvertOptions(column_types=types, include_columns=wanted),
        ) as reader:
            for batch in reader:
                yield lambda batch=batch: pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"cannot read {path} as a {kind[1:]} table: {error}") from None


def _pieces_schema(form: DataForm, wanted: list[str]) -> pa.Table:
    """No lines: more processes than pieces."""
    kinds = {form.value: pa.float64()}
    return pa.table({name: pa.array([], kinds.get(name, pa.int64())) for name in wanted})
