"""Tables of numbers and categories as points between which distances mean something."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..observations.frames import eager
from ..observations.labels import listed

# Robust standard scores beyond it are pulled in: one outlier must not stretch all distances.
SCORE_LIMIT = 5.0


class ColumnCode(NamedTuple):
    """How one column of a table becomes features.

    Attributes
    ----------
    name : str
    centre, spread : float
        Of a column of numbers, whose feature is a standard score.
    categories : tuple of str or None
        Of a column of anything else, with an indicator for each.
    """

    name: str
    centre: float = 0.0
    spread: float = 0.0
    categories: tuple[str, ...] | None = None

    @property
    def width(self) -> int:
        """Features it makes; none where all known values were equal numbers."""
        return int(self.spread > 0) if self.categories is None else len(self.categories)


class TableCode(NamedTuple):
    """Columns as standard scores and indicators, each with the same say in distances.

    Attributes
    ----------
    columns : tuple of ColumnCode
    """

    columns: tuple[ColumnCode, ...]

    @classmethod
    def learn(cls, frame: Any) -> TableCode:
        """The code of a table; see `encode_table`."""
        return cls(tuple(_column_code(name, *column) for name, column in _columns(frame).items()))

    def encode(self, frame: Any) -> tuple[sp.csr_array, NDArray[np.bool_]]:
        """Features of a table with these columns, and which lines have any value.

        A category that the code does not know counts as missing.
        """
        columns = _columns(frame)
        absent = [code.name for code in self.columns if code.name not in columns]
        if absent:
            raise ValueError(f"frame has no column {listed(absent)}; it has {listed([*columns])}")
        n = len(next(iter(columns.values()))[0])
        known = np.zeros(n, dtype=bool)
        blocks = []
        for code in self.columns:
            values, missing = columns[code.name]
            known |= ~missing
            numbers = as_numbers(values, f"frame column {code.name!r}")
            if (numbers is None) != (code.categories is not None):
                expected = "numbers" if code.categories is None else "categories"
                raise ValueError(f"frame column {code.name!r} held {expected} before")
            blocks.append(
                _indicators(values, missing, code) if numbers is None else _scores(numbers, code)
            )
        return sp.hstack(blocks, format="csr"), known

    def to_json(self) -> list[Any]:
        """Lists of plain values, for a model file."""
        return [list(code) for code in self.columns]

    @classmethod
    def from_json(cls, stored: list[Any]) -> TableCode:
        """The inverse of `to_json`."""
        return cls(
            tuple(
                ColumnCode(name, centre, spread, None if names is None else tuple(names))
                for name, centre, spread, names in stored
            )
        )


def encode_table(frame: Any) -> tuple[sp.csr_array, NDArray[np.bool_]]:
    """Columns as standard scores and indicators, each with the same say in distances.

    Parameters
    ----------
    frame : data frame (pandas, polars, arrow, ...) or numeric array, shape (n_lines, n_columns)

    Returns
    -------
    features : csr_array of shape (n_lines, n_features)
        A score for each numeric column that is not constant, an indicator for each category;
        all zero at a missing value.
    known : ndarray of bool, shape (n_lines,)
        Lines with at least one value.
    """
    return TableCode.learn(frame).encode(frame)


def as_numbers(values: NDArray[Any], argument: str) -> NDArray[np.float64] | None:
    """Numbers as they are, dates and durations in seconds, missing as NaN; None for the rest.

    Parameters
    ----------
    values : ndarray of shape (n,)
    argument : str
        What to call the values in a message.

    Returns
    -------
    ndarray of shape (n,) or None
    """
    if values.dtype.kind in "mM":
        missing = np.isnat(values)
        unit = "timedelta64[us]" if values.dtype.kind == "m" else "datetime64[us]"
        numbers = values.astype(unit).astype(np.int64) / 1e6
        numbers[missing] = np.nan
        return numbers
    if values.dtype.kind not in "uif":
        return None
    if np.isinf(values).any():
        at = int(np.flatnonzero(np.isinf(values))[0])
        raise ValueError(f"{argument} must be finite, but entry {at} is {values[at]}")
    return values.astype(np.float64)


def _columns(frame: Any) -> dict[str, tuple[NDArray[Any], NDArray[np.bool_]]]:
    """Values of each column and where they are missing."""
    if isinstance(frame, np.ndarray):
        if frame.ndim != 2 or 0 in frame.shape or frame.dtype.kind not in "buif":
            raise ValueError(
                f"frame is an array of shape {frame.shape} and type {frame.dtype}: pass a data "
                "frame, or a two-dimensional array of numbers with at least one line"
            )
        return {str(at): (column, np.isnan(column)) for at, column in enumerate(frame.T)}
    try:
        table = eager(frame, "frame")
    except TypeError:
        raise TypeError(
            f"frame is a {type(frame).__name__}: pass a data frame or a numeric array"
        ) from None
    if 0 in table.shape:
        raise ValueError(f"frame has shape {table.shape}: there is nothing to build a graph from")
    return {str(name): _values(name, table.get_column(name)) for name in table.columns}


def _values(name: str, series: nw.Series[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    if series.dtype.is_nested():
        raise ValueError(
            f"frame column {name!r} holds {series.dtype}: split it into columns of single values"
        )
    missing = series.is_null().to_numpy()
    if series.dtype.is_numeric():
        values = series.to_numpy().astype(np.float64)
        missing = missing | np.isnan(values)
    else:
        values = series.to_numpy()
    return values, missing


def _column_code(name: str, values: NDArray[Any], missing: NDArray[np.bool_]) -> ColumnCode:
    x = as_numbers(values, f"frame column {name!r}")
    if x is None:
        return ColumnCode(name, categories=tuple(sorted({str(v) for v in values[~missing]})))
    known = x[~np.isnan(x)]
    if len(known) == 0 or known.min() == known.max():
        return ColumnCode(name)
    low, centre, high = (float(q) for q in np.quantile(known, [0.25, 0.5, 0.75]))
    # The interquartile range of a normal distribution is 1.349 standard deviations.
    return ColumnCode(name, centre, (high - low) / 1.349 or float(known.std()))


def _scores(x: NDArray[np.float64], code: ColumnCode) -> sp.csr_array:
    """Robust standard scores, shape (n, 1), or (n, 0) where they say nothing."""
    if code.width == 0:
        return sp.csr_array((len(x), 0))
    score = np.clip((x - code.centre) / code.spread, -SCORE_LIMIT, SCORE_LIMIT)
    return sp.csr_array(np.nan_to_num(score, nan=0.0)[:, None])


def _indicators(values: NDArray[Any], missing: NDArray[np.bool_], code: ColumnCode) -> sp.csr_array:
    """One column for each category, shape (n, n_categories)."""
    place = {name: at for at, name in enumerate(code.categories or ())}
    found = [(i, place.get(str(values[i]), -1)) for i in np.flatnonzero(~missing)]
    i, j = np.array([pair for pair in found if pair[1] >= 0], dtype=np.intp).reshape(-1, 2).T
    return sp.csr_array((np.ones(len(i)), (i, j)), shape=(len(values), code.width))
