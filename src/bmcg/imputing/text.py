"""Delimited text kept cell by cell as it is written, so that only missing cells change."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .matrix import Filled

Array = NDArray[np.float64]

# How people write that a value is missing, in any capitals.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "#n/a", "<na>", "-nan"})
_BROKEN = "\r\n"


@dataclass(frozen=True)
class TextTable:
    """A table as its file writes it.

    Attributes
    ----------
    names : list of str
        Titles of the columns.
    lines : list of list of str
        Raw cells of each line, quotes and blanks included; the title line first.
    ends : list of str
        What ends each line.
    delimiter : str
    missing : frozenset of str
        Marks of a missing cell, in lower case.
    """

    names: list[str]
    lines: list[list[str]]
    ends: list[str]
    delimiter: str
    missing: frozenset[str]

    @classmethod
    def read(cls, path: Path, delimiter: str, marks: tuple[str, ...] = ()) -> TextTable:
        """Read a file, compressed or not.

        Parameters
        ----------
        path : Path
        delimiter : str
        marks : tuple of str
            What else marks a missing cell.
        """
        with pa.input_stream(str(path), compression="detect") as stream:
            # Bytes that are not UTF-8 pass through unchanged.
            text = stream.read().decode("utf-8", "surrogateescape")
        lines, ends = _split(text, delimiter)
        if not lines:
            raise ValueError(f"{path} is empty: expected a line of titles and lines of values")
        names = [_content(cell.removeprefix("\ufeff")) for cell in lines[0]]
        for number, line in enumerate(lines[1:], start=2):
            if len(line) != len(names):
                raise ValueError(
                    f"{path}: line {number} has {len(line)} cells, the line of titles has "
                    f"{len(names)}"
                )
        if len(lines) == 1:
            raise ValueError(f"{path} has titles, but no line of values")
        return cls(names, lines, ends, delimiter, MISSING | {mark.lower() for mark in marks})

    @property
    def n_rows(self) -> int:
        """Lines of values."""
        return len(self.lines) - 1

    def texts(self, col: int) -> list[str]:
        """Contents of a column."""
        return [_content(line[col]) for line in self.lines[1:]]

    def numbers(self, col: int) -> tuple[Array, bool] | None:
        """A column as numbers and whether all are whole; None where it holds anything else."""
        values, whole = np.full(self.n_rows, np.nan), True
        for i, text in enumerate(self.texts(col)):
            if text.lower() in self.missing:
                continue
            number = _number(text)
            if number is None:
                return None
            values[i] = number
            whole = whole and text.lstrip("+-").isdigit()
        return values, whole

    def write(self, path: Any, cells: dict[tuple[int, int], str]) -> None:
        """Write the table with some cells replaced.

        Parameters
        ----------
        path : path-like
        cells : dict
            New text by (row, column), rows counted without the line of titles.
        """
        lines = [*self.lines]
        for i in {i for i, _ in cells}:
            lines[i + 1] = [*lines[i + 1]]
        for (i, j), text in cells.items():
            lines[i + 1][j] = text
        with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            for line, end in zip(lines, self.ends, strict=True):
                file.write(self.delimiter.join(line) + end)


def number_text(value: float, std: float, whole: bool) -> str:
    """A prediction with the digits that its standard deviation leaves meaning to."""
    if whole:
        return str(round(value))
    if not (np.isfinite(std) and std > 0):
        return f"{value:.10g}"
    digits = max(0, 2 - int(np.floor(np.log10(std))))
    return f"{value:.{digits}f}" if digits <= 12 else f"{value:.10g}"


def std_cells(filled: Filled, columns: list[int]) -> dict[tuple[int, int], str]:
    """Standard deviations as texts for `TextTable.write`, at the columns' places."""
    places = zip(filled.rows, filled.cols, filled.std, strict=True)
    return {(int(i), columns[j]): f"{std:.4g}" for i, j, std in places}


def _split(text: str, delimiter: str) -> tuple[list[list[str]], list[str]]:
    """Raw cells of every line that is not blank, and what ends the line."""
    if '"' not in text:
        whole = text.splitlines(keepends=True) if not _odd_breaks(text) else _break(text)
        bodies = [(line.rstrip(_BROKEN), line) for line in whole]
        cells = [body.split(delimiter) for body, _ in bodies]
        ends = [line[len(body) :] for body, line in bodies]
    else:
        cells, ends = _split_quoted(text, delimiter)
    kept_cells: list[list[str]] = []
    kept_ends: list[str] = []
    for line, end in zip(cells, ends, strict=True):
        if line != [""]:
            kept_cells.append(line)
            kept_ends.append(end)
        elif kept_ends:
            # A blank line holds no cells; it stays behind the line before it.
            kept_ends[-1] += end
    return kept_cells, kept_ends


def _odd_breaks(text: str) -> bool:
    """Whether `str.splitlines` would break the text where a CSV file does not."""
    return any(mark in text for mark in "\v\f\x1c\x1d\x1e\x85\u2028\u2029")


def _break(text: str) -> list[str]:
    return [line for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", text) if line]


def _split_quoted(text: str, delimiter: str) -> tuple[list[list[str]], list[str]]:
    d = re.escape(delimiter)
    field = re.compile(rf'[ ]*"(?:[^"]|"")*"[^{d}\r\n]*|[^{d}\r\n]*')
    cells: list[list[str]] = [[]]
    ends: list[str] = []
    at = 0
    while at <= len(text):
        found = field.match(text, at)
        assert found is not None
        cells[-1].append(found.group())
        at = found.end()
        if at >= len(text):
            ends.append("")
            break
        if text[at] == delimiter:
            at += 1
            continue
        end = "\r\n" if text.startswith("\r\n", at) else text[at]
        ends.append(end)
        at += len(end)
        if at == len(text):
            break
        cells.append([])
    return cells, ends


def _content(cell: str) -> str:
    """What a raw cell holds, without blanks around it and without its quotes."""
    text = cell.strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"').strip()
    return text


def _number(text: str) -> float | None:
    if "_" in text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
