"""Where the cells of a delimited text begin and end, without taking the text apart."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]
Bytes = NDArray[np.uint8]

MARK = b"\xef\xbb\xbf"  # what some programs put before UTF-8
_LF, _CR, _QUOTE = ord("\n"), ord("\r"), ord('"')


class Cells(NamedTuple):
    """Places of the cells in the text, line by line; blank lines have none.

    Attributes
    ----------
    starts, ends : ndarray of int64, shape (n_cells,)
        Each cell as it is written, quotes and blanks included.
    counts : ndarray of int64, shape (n_lines,)
        Cells of each line.
    """

    starts: Index
    ends: Index
    counts: Index


def find_cells(text: bytes, delimiter: str) -> Cells:
    """Find every cell of a text.

    Parameters
    ----------
    text : bytes
        In UTF-8, or any other encoding that has ASCII's signs at ASCII's places.
    delimiter : str
        One sign of ASCII.
    """
    b = np.frombuffer(text, dtype=np.uint8)
    d = ord(delimiter)
    if _QUOTE not in b:
        at, widths = _separators(b, d)
    elif (found := _outside_quotes(b, d)) is not None:
        at, widths = found
    else:
        at, widths = _by_pattern(text, delimiter)
    first = len(MARK) if text.startswith(MARK) else 0
    starts = np.concatenate(([first], at + widths))
    ends = np.concatenate((at, [len(b)]))
    # The first cell of every line, and one behind the last.
    lines = np.concatenate(([0], np.flatnonzero(b[at] != d) + 1, [len(starts)]))
    if len(b) == first or (len(at) and b[at[-1]] != d and at[-1] + widths[-1] == len(b)):
        starts, ends, lines = starts[:-1], ends[:-1], lines[:-1]
    counts = np.diff(lines)
    blank = (counts == 1) & (starts[lines[:-1]] == ends[lines[:-1]])
    if blank.any():
        kept = np.repeat(~blank, counts)
        starts, ends, counts = starts[kept], ends[kept], counts[~blank]
    return Cells(starts, ends, counts)


def _separators(b: Bytes, d: int) -> tuple[Index, Index]:
    """Where cells end, and how many bytes lie between one cell and the next."""
    is_break = (b == _LF) | (b == _CR)
    pairs = np.flatnonzero((b[:-1] == _CR) & (b[1:] == _LF))
    is_break[pairs + 1] = False
    at = np.flatnonzero(is_break | (b == d))
    widths = np.ones(len(at), dtype=np.int64)
    widths[np.searchsorted(at, pairs)] = 2
    return at, widths


def _outside_quotes(b: Bytes, d: int) -> tuple[Index, Index] | None:
    """As `_separators`, where every quote opens or closes a cell or is doubled; else None."""
    quotes = np.flatnonzero(b == _QUOTE)
    if len(quotes) % 2:
        return None
    opening = quotes[::2]
    before = b[np.maximum(opening - 1, 0)]
    at_start = (opening == 0) | np.isin(before, (d, _LF, _CR, _QUOTE))
    if not at_start.all():
        return None
    at, widths = _separators(b, d)
    outside = np.searchsorted(quotes, at) % 2 == 0
    return at[outside], widths[outside]


def _by_pattern(text: bytes, delimiter: str) -> tuple[Index, Index]:
    """As `_separators`, cell by cell: a quote within a cell that has none around it is a sign."""
    d = re.escape(delimiter).encode()
    cell = re.compile(rb'(?:[ ]*"(?:[^"]|"")*")?[^' + d + rb"\r\n]*")
    at: list[int] = []
    widths: list[int] = []
    here = len(MARK) if text.startswith(MARK) else 0
    while True:
        found = cell.match(text, here)
        assert found is not None
        end = found.end()
        if end >= len(text):
            return np.array(at, dtype=np.int64), np.array(widths, dtype=np.int64)
        at.append(end)
        widths.append(2 if text.startswith(b"\r\n", end) else 1)
        here = end + widths[-1]
