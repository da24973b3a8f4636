"""Data frames of any library, read once into arrays and labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, cast

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .labels import Labels, as_label_array, factorise
from .long import ADVICE, refuse_long

# Words for one and zero.
PAIRS = (("yes", "no"), ("true", "false"))
WORDS = {word: word in ("yes", "true") for pair in PAIRS for word in pair}
# So few different words may be levels.
FEW_WORDS = 20


@dataclass(frozen=True)
class WideTable:
    """A matrix kept as a frame: its columns are the matrix's, its index names the rows.

    Attributes
    ----------
    values : ndarray of shape (m, n)
        NaN where missing.
    row_labels : Labels or None
        None where the library has no index.
    col_labels : Labels
    backend : str
    """

    values: NDArray[np.float64]
    row_labels: Labels | None
    col_labels: Labels
    backend: str

    @classmethod
    def read(cls, frame: Any) -> Self:
        """Read a wide frame of numbers."""
        table = eager(frame, "X")
        refuse_long(table)
        columns = [_column(table.get_column(name), name) for name in table.columns]
        values = np.column_stack(columns) if columns else np.empty((len(table), 0))
        cols = _axis_labels(frame.columns, list(table.columns), "column")
        return cls(values, row_index(frame), cols, str(table.implementation.value))


@dataclass(frozen=True)
class LongTable:
    """Observations kept one a line.

    Attributes
    ----------
    rows, cols : ndarray of intp, shape (n_observed,)
    values : ndarray of shape (n_observed,)
    row_labels, col_labels : Labels
    backend : str
    """

    rows: NDArray[np.intp]
    cols: NDArray[np.intp]
    values: Any
    row_labels: Labels
    col_labels: Labels
    backend: str

    @classmethod
    def read(
        cls,
        frame: Any,
        row: str | None,
        col: str | None,
        value: str | None,
        row_labels: ArrayLike | None,
        col_labels: ArrayLike | None,
    ) -> Self:
        """Read the three named columns of a long frame."""
        table = eager(frame, "frame")
        for argument, name in (("row", row), ("col", col), ("value", value)):
            if name is None or name not in table.columns:
                raise ValueError(
                    f"{argument}={name!r} is not a column of the frame; "
                    f"its columns are {', '.join(map(str, table.columns))}"
                )
        if len({row, col, value}) < 3:
            raise ValueError(f"row={row!r}, col={col!r}, value={value!r}: name three columns")
        r, all_rows = factorise(table.get_column(str(row)), row_labels, "row", str(row))
        c, all_cols = factorise(table.get_column(str(col)), col_labels, "column", str(col))
        values = _column(table.get_column(str(value)), str(value), "value")
        return cls(r, c, values, all_rows, all_cols, str(table.implementation.value))


def numeric(values: Any, argument: str) -> NDArray[np.float64]:
    """Numbers as float64, or an error that names the argument; None becomes NaN.

    Yes and no, true and false, are one and zero.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise ValueError("Complex data not supported; pass real numbers")
        if array.dtype.kind in "mM":
            raise ValueError("dates and durations are no numbers")
        if array.dtype.kind in "OUT" and (found := _yes_or_no(array)) is not None:
            return found
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument} must hold numbers only: {_why(values, error)}") from None


def _why(values: Any, error: Exception) -> str:
    """The first word that is no number, and the way out where words look like levels."""
    words = [x for x in np.asarray(values, dtype=object).flat if isinstance(x, str)]
    pair = next((p for p in PAIRS if words and words[0].strip().lower() in p), ())
    wrong = [x for x in words if x.strip().lower() not in pair and not _is_number(x)]
    if not wrong or len(set(wrong)) > FEW_WORDS:
        return str(error)
    return (
        f"{wrong[0]!r} is none. Words for one and zero are yes and no, or true and false; "
        "write ordered levels as numbers, in their order"
    )


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _yes_or_no(array: NDArray[Any]) -> NDArray[np.float64] | None:
    """Ones and zeros, where every word is yes or no, or every one true or false; else None."""
    # A glance at the first word: large tables of numbers as text are no place to search in.
    if next((str(x) for x in array.flat if isinstance(x, str)), "").strip().lower() not in WORDS:
        return None
    words = {str(x).strip().lower() for x in array.flat if isinstance(x, str)}
    if not any(words <= set(pair) for pair in PAIRS):
        return None
    out = np.full(array.shape, np.nan)
    for at, x in enumerate(array.flat):
        if isinstance(x, str):
            out.flat[at] = float(WORDS[x.strip().lower()])
        elif x is not None:
            out.flat[at] = float(x)
    return out


def is_frame(value: Any) -> bool:
    """Whether something has named columns, as data frames do."""
    # Asked of the class: the columns of a lazy frame are costly to know.
    return not isinstance(value, np.ndarray) and hasattr(type(value), "columns")


def row_index(frame: Any) -> Labels | None:
    """Names of a frame's rows, where its library knows such."""
    table = nw.from_native(frame, eager_only=True, pass_through=True)
    index = nw.maybe_get_index(table) if isinstance(table, nw.DataFrame) else None
    return None if index is None else _axis_labels(index, index, "row")


def wide_frame(matrix: NDArray[np.float64], rows: Labels | None, cols: Labels, backend: str) -> Any:
    """A matrix as a frame of the given library, with its labels.

    Where the library has no index, the rows' labels are the first column.
    """
    data: dict[str, Any] = {str(j): column for j, column in enumerate(matrix.T)}
    frame = nw.from_dict(data, backend=cast(Any, backend)).to_native()
    if hasattr(frame, "index") and hasattr(frame, "columns"):
        for axis, labels in enumerate((rows, cols)):
            if labels is not None and labels.native is not None:
                frame = frame.set_axis(labels.native, axis=axis)
            elif labels is not None:
                frame = frame.set_axis(_axis(labels, frame), axis=axis)
                frame = frame if labels.name is None else frame.rename_axis(labels.name, axis=axis)
        return frame
    named: dict[str, Any] = dict(zip(map(str, cols.values), matrix.T, strict=True))
    if rows is not None:
        title = rows.name or "row"
        while title in named:
            title += "_"
        named = {title: rows.values.tolist(), **named}
    return nw.from_dict(named, backend=cast(Any, backend)).to_native()


def like(values: NDArray[np.float64], *given: Any) -> Any:
    """Results as a series like the first of the given ones that has their length."""
    for source in given:
        series = nw.from_native(source, series_only=True, pass_through=True)
        if isinstance(series, nw.Series) and len(series) == len(values):
            if hasattr(source, "index") and hasattr(source, "iloc"):
                return type(source)(values, index=source.index)
            made = nw.new_series(series.name, values, backend=series.implementation)
            return made.to_native()
    return values


def eager(frame: Any, argument: str) -> nw.DataFrame[Any]:
    """A frame of any library behind one face; the argument's name is for messages."""
    try:
        table = nw.from_native(frame, eager_only=True)
        # NaN is not NaN to Python, but asking pandas for one brings all of them.
        if sum(name != name for name in table.columns) > 1:
            raise ValueError(f"{argument}: columns must have distinct names; several are NaN")
        return table
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"{argument}: columns must have distinct names; {error}") from None
    except TypeError:
        raise TypeError(
            f"{argument}: cannot read a {type(frame).__name__} as a data frame; pass a pandas, "
            "polars or arrow table (a lazy one must be collected first)"
        ) from None


def _column(column: nw.Series[Any], name: Any, argument: str = "X") -> NDArray[np.float64]:
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return column.cast(nw.Float64).to_numpy()
    try:
        return numeric(column, f"{argument}: column {name!r}")
    except ValueError as error:
        if argument != "X":
            raise
        raise ValueError(f"{error}; {ADVICE}") from None


def _axis_labels(axis: Any, names: Any, side: str) -> Labels:
    """Labels of one axis of a frame, which remember the index that they were."""
    if not hasattr(axis, "dtype"):
        return Labels(as_label_array(names), side, _name(axis))
    # An index of moments keeps its type; a list of them would be objects that no file can hold.
    return Labels(as_label_array(axis), side, _name(axis), axis)


def _axis(labels: Labels, frame: Any) -> Any:
    """Names for an axis of a pandas frame; tuples make a hierarchical index."""
    names = labels.values
    if names.dtype.kind == "O" and all(isinstance(name, tuple) for name in names):
        return nw.get_native_namespace(frame).MultiIndex.from_tuples(names.tolist())
    return names


def _name(index: Any) -> str | None:
    """Title of a pandas index, where it has one."""
    name = getattr(index, "name", None)
    return None if name is None else str(name)
