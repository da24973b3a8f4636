"""Numbers, and marks of missing ones, as people write them into cells."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Array = NDArray[np.float64]
Kind = Literal["number", "whole", "truth"]

# How people write that a value is missing, in any capitals.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "#n/a", "<na>", "-nan"})
TRUTH = {"true": 1.0, "false": 0.0}
_WHOLE = r"^[+-]?[0-9]+$"


@dataclass(frozen=True)
class Column:
    """A column of cells, read as numbers.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        NaN where a cell is missing, and where it holds no number.
    kind : {"number", "whole", "truth"}
        Whether all are whole, or all are "true" or "false", which count as one and zero.
    sample : str
        One of the texts, of a column of the kind "truth".
    strays : dict of int to str
        Cells that are neither a number nor missing, by row.
    """

    values: Array
    kind: Kind
    sample: str = ""
    strays: dict[int, str] = field(default_factory=dict)

    @property
    def n_numbers(self) -> int:
        """How many cells hold a number."""
        return int(np.isfinite(self.values).sum())


class Numerals:
    """How numbers are written, and what marks a missing one.

    Parameters
    ----------
    marks : tuple of str
        What else marks a missing cell, beside `MISSING`. Numbers are compared as numbers.
    decimal : str
        "." or ",".

    Attributes
    ----------
    used : set of str
        Those of the marks that were met.
    """

    def __init__(self, marks: tuple[str, ...] = (), decimal: str = ".") -> None:
        self.decimal = decimal
        self.used: set[str] = set()
        self.words: dict[str, str] = {}
        self.numbers: dict[float, str] = {}
        for mark in marks:
            number = self.number(mark.strip())
            if number is None:
                self.words[mark.strip().lower()] = mark
            else:
                self.numbers[number] = mark
        self.missing = MISSING | self.words.keys()

    def number(self, text: str) -> float | None:
        """The number that a text is, None where it is none or is not finite."""
        if "_" in text:
            return None
        if self.decimal == ",":
            if "." in text:
                return None
            text = text.replace(",", ".")
        try:
            value = float(text)
        except ValueError:
            return None
        return value if np.isfinite(value) else None

    def without_marks(self, values: Array) -> Array:
        """The values with NaN where one of them is a mark; the marks met are noted."""
        for number, mark in self.numbers.items():
            hit = values == number
            if hit.any():
                self.used.add(mark)
                values[hit] = np.nan
        return values

    def read(self, cells: pa.Array) -> Column | None:
        """A column of raw cells at once; None where one of them has to be looked at alone."""
        try:
            texts = self._present(cells)
            found = self._pointed(texts).cast(pa.float64())
        except pa.ArrowInvalid:
            return None
        values = np.array(found.to_numpy(zero_copy_only=False))
        if np.isnan(values).sum() > texts.null_count or np.isinf(values).any():
            return None
        values = self.without_marks(values)
        left = pc.filter(texts, pa.array(~np.isnan(values)))
        whole = len(left) > 0 and pc.all(pc.match_substring_regex(left, _WHOLE)).as_py()
        return Column(values, "whole" if whole else "number")

    def _present(self, cells: pa.Array) -> pa.Array:
        """Contents of the cells, null where one is missing."""
        texts = pc.ascii_trim_whitespace(cells)
        if pc.any(pc.starts_with(texts, '"')).as_py():
            texts = pc.replace_substring_regex(texts, r'^"([^"]*)"$', r"\1")
            texts = pc.ascii_trim_whitespace(texts)
        lower = pc.ascii_lower(texts)
        for word, mark in self.words.items():
            if pc.any(pc.equal(lower, word)).as_py():
                self.used.add(mark)
        gone = pc.is_in(lower, pa.array(sorted(self.missing), pa.large_string()))
        return pc.if_else(gone, None, texts)

    def _pointed(self, texts: pa.Array) -> pa.Array:
        """Numbers with a decimal point; what had one where a comma is due is none."""
        if self.decimal == ".":
            return texts
        return pc.replace_substring(pc.replace_substring(texts, ".", "?"), ",", ".")

    def read_slowly(self, texts: list[str]) -> Column:
        """A column of contents, cell by cell."""
        values, strays = np.full(len(texts), np.nan), {}
        for i, text in enumerate(texts):
            lower = text.lower()
            if lower in self.missing:
                self.used |= {self.words[lower]} if lower in self.words else set()
                continue
            number = self.number(text)
            if number is None:
                strays[i] = text
            else:
                values[i] = number
        truths = [TRUTH.get(text.lower(), np.nan) for text in strays.values()]
        if strays and np.isnan(values).all() and not np.isnan(truths).any():
            values[list(strays)] = truths
            return Column(values, "truth", next(iter(strays.values())))
        values = self.without_marks(values)
        seen = np.flatnonzero(np.isfinite(values)).tolist()
        whole = bool(seen) and all(re.match(_WHOLE, texts[i]) for i in seen)
        return Column(values, "whole" if whole else "number", strays=strays)


def truth_text(value: float, sample: str) -> str:
    """ "true" or "false" in the capitals of a sample."""
    text = "true" if value >= 0.5 else "false"
    if sample.isupper():
        return text.upper()
    return text.capitalize() if sample[:1].isupper() else text
