"""Delimited text kept byte by byte as it is written, so that only missing cells change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .. import memory
from .cells import Index, find_cells
from .numerals import Column, Numerals

Array = NDArray[np.float64]

# Bytes that tell how many cells there are.
GLANCE = 1 << 16


@dataclass(frozen=True)
class TextTable:
    """A table as its file writes it.

    Attributes
    ----------
    path : Path
    names : list of str
        Titles of the columns.
    text : bytes
        The whole file.
    starts, ends : ndarray of int64, shape (n_rows, n_columns)
        Where each cell lies in it, quotes and blanks included; the line of titles has no row.
    """

    path: Path
    names: list[str]
    text: bytes
    starts: Index
    ends: Index

    @classmethod
    def read(cls, path: Path, delimiter: str) -> TextTable:
        """Read a file, compressed or not.

        Parameters
        ----------
        path : Path
        delimiter : str
        """
        try:
            with pa.input_stream(str(path), compression="detect") as stream:
                text = stream.read()
        except OSError as error:
            raise ValueError(f"{path} is not a complete compressed file: {error}") from None
        if text[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise ValueError(f"{path} is written in UTF-16: save it as UTF-8")
        count = text[:GLANCE].count(delimiter.encode()) / max(len(text[:GLANCE]), 1) * len(text)
        need = memory.cells(len(text), count, text.count(2 * delimiter.encode()))
        memory.require(need, f"filling {path}", "leave out columns")
        starts, ends, counts = find_cells(text, delimiter)
        if len(counts) == 0:
            raise ValueError(f"{path} is empty: expected a line of titles and lines of values")
        width = int(counts[0])
        names = [_content(text[s:e]) for s, e in zip(starts[:width], ends[:width], strict=True)]
        _check_delimiter(path, names, delimiter)
        uneven = np.flatnonzero(counts != width)
        if len(uneven):
            line, k = int(uneven[0]), int(counts[uneven[0]])
            number = _line(text, int(starts[counts[:line].sum()]))
            raise ValueError(f"{path}: line {number} has {k} cells, the line of titles has {width}")
        if len(counts) == 1:
            raise ValueError(f"{path} has titles, but no line of values")
        shape = len(counts) - 1, width
        return cls(path, names, text, starts[width:].reshape(shape), ends[width:].reshape(shape))

    @property
    def n_rows(self) -> int:
        """Lines of values."""
        return len(self.starts)

    def line(self, row: int) -> int:
        """The line of the file that a row begins on, counted from one."""
        return _line(self.text, int(self.starts[row, 0]))

    def raw(self, row: int, col: int) -> bytes:
        """A cell as it is written."""
        return self.text[self.starts[row, col] : self.ends[row, col]]

    def texts(self, col: int) -> list[str]:
        """Contents of a column, without blanks and quotes around them."""
        places = zip(self.starts[:, col].tolist(), self.ends[:, col].tolist(), strict=True)
        return [_content(self.text[s:e]) for s, e in places]

    def column(self, col: int, numerals: Numerals) -> Column:
        """A column as numbers, as far as it holds any."""
        fast = numerals.read(self._arrow(col))
        return numerals.read_slowly(self.texts(col)) if fast is None else fast

    def _arrow(self, col: int) -> pa.Array:
        """Cells of a column as they are written, not checked to be UTF-8."""
        b = np.frombuffer(self.text, dtype=np.uint8)
        starts, widths = self.starts[:, col], self.ends[:, col] - self.starts[:, col]
        offsets = np.concatenate(([0], np.cumsum(widths)))
        data = b[np.repeat(starts - offsets[:-1], widths) + np.arange(offsets[-1])]
        buffers = [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.large_string(), len(starts), buffers)

    def write(self, path: Any, cells: dict[tuple[int, int], str], empty: Any = ()) -> None:
        """Write the table with some cells replaced.

        Parameters
        ----------
        path : path-like
        cells : dict
            New text by (row, column), rows counted without the line of titles.
        empty : sequence of int
            Columns whose other cells are left empty.
        """
        gone = np.zeros(self.starts.shape, dtype=np.bool_)
        gone[:, list(empty)] = True
        rows, cols = (np.array([at[k] for at in cells], dtype=np.intp) for k in (0, 1))
        gone[rows, cols] = True
        text = _without(self.text, self.starts[gone], self.ends[gone])
        # Cells stand in the order of the text, so that what was cut before each adds up.
        cut = np.zeros(gone.shape, dtype=np.int64)
        cut[gone] = np.cumsum(self.ends[gone] - self.starts[gone])
        at = self.ends[rows, cols] - cut[rows, cols]
        order = np.argsort(at, kind="stable")
        texts, pieces, here = list(cells.values()), [], 0
        for k, place in zip(order.tolist(), at[order].tolist(), strict=True):
            pieces += [text[here:place], texts[k].encode()]
            here = place
        with open(path, "wb") as file:
            file.write(b"".join(pieces))
            file.write(text[here:])


def number_text(value: float, std: float, whole: bool) -> str:
    """A prediction with the digits that its standard deviation leaves meaning to."""
    if whole:
        return str(round(value))
    if not (math.isfinite(std) and std > 0):
        return f"{value:.10g}"
    digits = max(0, 2 - math.floor(math.log10(std)))
    return f"{value:.{digits}f}" if digits <= 12 else f"{value:.10g}"


def _content(cell: bytes) -> str:
    """What a raw cell holds, without blanks around it and without its quotes."""
    # Bytes that are not UTF-8 pass through unchanged.
    text = cell.decode("utf-8", "surrogateescape").strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"').strip()
    return text


def _without(text: bytes, starts: Index, ends: Index) -> bytes:
    """A text without some of its cells."""
    inside = np.zeros(len(text) + 1, dtype=np.int8)
    inside[starts] += 1
    inside[ends] -= 1
    kept = np.cumsum(inside[:-1], dtype=np.int8) == 0
    return np.frombuffer(text, dtype=np.uint8)[kept].tobytes()


def _line(text: bytes, at: int) -> int:
    """The line of a file that a place lies on, counted from one."""
    return 1 + text.count(b"\n" if b"\n" in text else b"\r", 0, at)


def _check_delimiter(path: Path, names: list[str], delimiter: str) -> None:
    """Refuse a table of one column whose title another delimiter would take apart."""
    if len(names) > 1:
        return
    for other, word in ((";", "';'"), ("\t", "tab"), (",", "','"), ("|", "'|'")):
        if other != delimiter and other in names[0]:
            renamed = "" if delimiter != "\t" else "give it a name that ends in .csv and "
            raise ValueError(
                f"{path}: there is no {delimiter!r} in its line of titles, but {other!r} is: "
                f"{renamed}pass --delimiter {word}"
            )
