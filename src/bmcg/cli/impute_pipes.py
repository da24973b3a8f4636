"""A table from standard input, filled to standard output, by way of files."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from .impute_check import Files
from .outcome import STANDARD


@contextmanager
def piped(files: Files, form: str) -> Iterator[Files]:
    """The files with temporary ones in the place of pipes.

    Filling reads a table and then writes it cell by cell as it was, so it works on files.

    Parameters
    ----------
    files : Files
    form : str
        Format of the pipes: "csv", "tsv" or "parquet".
    """
    if STANDARD not in (files.table, files.output):
        yield files
        return
    with tempfile.TemporaryDirectory() as folder:
        if files.table == STANDARD:
            table = Path(folder) / f"standard-input.{form}"
            table.write_bytes(sys.stdin.buffer.read())
            files = replace(files, table=table)
        if files.output != STANDARD:
            yield files
            return
        output = Path(folder) / f"standard-output.{form}"
        yield replace(files, output=output, to_pipe=True)
        sys.stdout.buffer.write(output.read_bytes())
        sys.stdout.buffer.flush()
