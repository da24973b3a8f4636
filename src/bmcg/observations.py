"""What was observed: validated once, frozen, seen by row and by column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from .labels import Labels, as_label_array

Aggregate = Literal["error", "mean", "sum", "first", "last"]


class View(NamedTuple):
    """Observed entries grouped by one side, as compressed sparse rows.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_groups + 1,)
    indices : ndarray of int32, shape (n_observed,)
        Positions on the other side, ascending within a group.
    values : ndarray of float64, shape (n_observed,)
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class Observations:
    """The observed entries of an m×n matrix.

    Build one with `from_triples`, `from_frame` or `from_any`; the constructor trusts its input.

    Attributes
    ----------
    shape : (int, int)
    by_row, by_col : View
        The same entries grouped by row and by column, with 32-bit indices.
    row_labels, col_labels : Labels or None
    """

    shape: tuple[int, int]
    by_row: View
    by_col: View
    row_labels: Labels | None = None
    col_labels: Labels | None = None

    def __len__(self) -> int:
        return len(self.by_row.values)

    def __repr__(self) -> str:
        m, n = self.shape
        share = 100.0 * len(self) / (m * n)
        return f"Observations({m} x {n}, {len(self)} observed, {share:.3g} %)"

    @property
    def values(self) -> NDArray[np.float64]:
        """Observed values in row order, shape (n_observed,)."""
        return self.by_row.values

    @property
    def row_indices(self) -> NDArray[np.int32]:
        """Row of each observed value in row order, shape (n_observed,)."""
        counts = np.diff(self.by_row.indptr)
        return np.repeat(np.arange(self.shape[0], dtype=np.int32), counts)

    @property
    def col_indices(self) -> NDArray[np.int32]:
        """Column of each observed value in row order, shape (n_observed,)."""
        return self.by_row.indices

    def to_csr(self) -> sp.csr_array:
        """The entries as a sparse array; stored zeros are observed zeros."""
        indptr, indices, values = self.by_row
        return sp.csr_array((values, indices, indptr), shape=self.shape)

    def with_values(self, values: NDArray[np.float64]) -> Observations:
        """The same pattern with other values, given in row order, shape (n_observed,)."""
        order = np.argsort(self.by_row.indices, kind="stable")
        return Observations(
            self.shape,
            self.by_row._replace(values=values),
            self.by_col._replace(values=values[order]),
            self.row_labels,
            self.col_labels,
        )

    @classmethod
    def from_triples(
        cls,
        rows: ArrayLike,
        cols: ArrayLike,
        values: ArrayLike,
        shape: tuple[int, int] | None = None,
        *,
        row_labels: ArrayLike | None = None,
        col_labels: ArrayLike | None = None,
        duplicates: Aggregate = "error",
    ) -> Observations:
        """Observations from positions and values.

        Parameters
        ----------
        rows, cols : array_like of int, shape (n_observed,)
            Zero-based positions.
        values : array_like of float, shape (n_observed,)
        shape : (int, int), optional
            Size of the matrix; by default the smallest that holds every position.
        row_labels, col_labels : array_like, optional
            Distinct names of all rows and columns.
        duplicates : {"error", "mean", "sum", "first", "last"}
            What to do with an entry that is given more than once.
        """
        r, c = _positions(rows, "rows"), _positions(cols, "cols")
        x = _finite(values, "values")
        if not len(r) == len(c) == len(x):
            raise ValueError(
                "rows, cols and values must have the same length, got "
                f"{len(r)}, {len(c)} and {len(x)}"
            )
        if len(x) == 0:
            raise ValueError("values: there are no observations, nothing can be learned")
        named_rows = _labels(row_labels, "row")
        named_cols = _labels(col_labels, "column")
        m, n = _shape(shape, r, c, named_rows, named_cols)
        r, c, x = _resolve_duplicates(r, c, x, n, duplicates)
        by_row = _group(r, c, x, m)
        by_col = _group(c, r, x, n)
        return cls((m, n), by_row, by_col, named_rows, named_cols)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        row: str | None = None,
        col: str | None = None,
        value: str | None = None,
        *,
        row_labels: ArrayLike | None = None,
        col_labels: ArrayLike | None = None,
        duplicates: Aggregate = "error",
    ) -> Observations:
        """Observations from a long data frame (pandas, polars, arrow, ...).

        Parameters
        ----------
        frame : data frame
            One observation a line.
        row, col, value : str
            The names of the columns that hold row label, column label and value.
        row_labels, col_labels : array_like, optional
            All labels, where some have no observation; by default those that occur, sorted.
        duplicates : {"error", "mean", "sum", "first", "last"}
        """
        table = nw.from_native(frame, eager_only=True)
        names = {"row": row, "col": col, "value": value}
        for argument, name in names.items():
            if name is None or name not in table.columns:
                raise ValueError(
                    f"{argument}={name!r} is not a column of the frame; "
                    f"its columns are {', '.join(map(str, table.columns))}"
                )
        r, all_rows = _factorise(table[str(row)].to_numpy(), row_labels, "row")
        c, all_cols = _factorise(table[str(col)].to_numpy(), col_labels, "column")
        x = table[str(value)].to_numpy()
        return cls.from_triples(
            r, c, x, row_labels=all_rows, col_labels=all_cols, duplicates=duplicates
        )

    @classmethod
    def from_any(cls, X: Any) -> Observations:
        """Observations from whatever `BMCG.fit` accepts.

        Parameters
        ----------
        X : Observations, ndarray with NaN, masked array, sparse matrix or wide data frame
        """
        if isinstance(X, cls):
            return X
        if sp.issparse(X):
            return _from_sparse(X)
        if isinstance(X, np.ma.MaskedArray):
            return _from_dense(np.ma.getdata(X), ~np.ma.getmaskarray(X))
        if not isinstance(X, np.ndarray) and hasattr(X, "columns"):
            return _from_wide_frame(X)
        values = _numeric(X, "X")
        return _from_dense(values, ~np.isnan(values))


def _numeric(values: Any, argument: str) -> NDArray[np.float64]:
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise ValueError(f"{argument}: Complex data not supported; pass real numbers")
    if array.dtype.kind not in "buif":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{argument} must hold numbers only: {error}") from None
    return array.astype(np.float64, copy=False)


def _finite(values: Any, argument: str) -> NDArray[np.float64]:
    array = np.ascontiguousarray(_numeric(values, argument).ravel())
    bad = ~np.isfinite(array)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"{argument} must be finite, but entry {at} is {array[at]} "
            f"({int(bad.sum())} such entries); leave missing entries out"
        )
    return array


def _positions(positions: ArrayLike, argument: str) -> NDArray[np.int64]:
    array = np.asarray(positions).ravel()
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.floor(array)).all():
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError(
            f"{argument} must hold whole numbers (positions), got {array.dtype}; "
            "for labels use Observations.from_frame"
        )
    if array.min() < 0:
        raise ValueError(f"{argument} must not be negative, got {array.min()}")
    return array.astype(np.int64, copy=False)


def _labels(labels: ArrayLike | None, side: str) -> Labels | None:
    return None if labels is None else Labels(as_label_array(labels), side)


def _shape(
    shape: tuple[int, int] | None,
    rows: NDArray[np.int64],
    cols: NDArray[np.int64],
    row_labels: Labels | None,
    col_labels: Labels | None,
) -> tuple[int, int]:
    least = (int(rows.max()) + 1, int(cols.max()) + 1)
    names = (row_labels, col_labels)
    if shape is None:
        shape = tuple(  # type: ignore[assignment]
            low if lab is None else len(lab) for low, lab in zip(least, names, strict=True)
        )
    assert shape is not None
    size = (int(shape[0]), int(shape[1]))
    for axis, word in enumerate(("rows", "cols")):
        if size[axis] < least[axis]:
            raise ValueError(
                f"{word} holds position {least[axis] - 1}, outside a matrix of shape {size}"
            )
        lab = names[axis]
        if lab is not None and len(lab) != size[axis]:
            raise ValueError(f"{len(lab)} {lab.side} labels for {size[axis]} {word}")
    if max(size) > np.iinfo(np.int32).max:
        raise ValueError(f"shape {size}: a side may hold at most 2**31 - 1 positions")
    return size


def _resolve_duplicates(
    r: NDArray[np.int64],
    c: NDArray[np.int64],
    x: NDArray[np.float64],
    n: int,
    how: Aggregate,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Entries sorted by row, then column, each once."""
    key = r * n + c
    if len(key) > 1 and (np.diff(key) > 0).all():
        return r, c, x
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.concatenate(([True], key[1:] != key[:-1]))
    if not first.all():
        if how == "error":
            at = int(key[int(np.flatnonzero(~first)[0])])
            raise ValueError(
                f"entry (row {at // n}, column {at % n}) is given more than once "
                f"({int((~first).sum())} repeated entries); "
                'pass duplicates="mean", "sum", "first" or "last" to combine them'
            )
        starts = np.flatnonzero(first)
        x = _aggregate(x[order], starts, how)
        order = order[starts]
        return r[order], c[order], x
    return r[order], c[order], x[order]


def _aggregate(x: NDArray[np.float64], starts: NDArray[np.intp], how: str) -> NDArray[np.float64]:
    stops = np.append(starts[1:], len(x))
    rules: dict[str, Callable[[], NDArray[np.float64]]] = {
        "sum": lambda: np.add.reduceat(x, starts),
        "mean": lambda: np.add.reduceat(x, starts) / (stops - starts),
        "first": lambda: x[starts],
        "last": lambda: x[stops - 1],
    }
    if how not in rules:
        raise ValueError(f'duplicates={how!r}: choose "error", {", ".join(map(repr, rules))}')
    return rules[how]()


def _group(
    major: NDArray[np.int64], minor: NDArray[np.int64], x: NDArray[np.float64], n_groups: int
) -> View:
    """Entries sorted by their row-major key, grouped by `major`."""
    counts = np.bincount(major, minlength=n_groups)
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    if len(major) > 1 and (np.diff(major) < 0).any():
        order = np.argsort(major, kind="stable")
        minor, x = minor[order], x[order]
    return View(indptr, minor.astype(np.int32), np.ascontiguousarray(x))


def _factorise(
    names: Any, known: ArrayLike | None, side: str
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    given = as_label_array(names)
    if given.dtype.kind == "f" and np.isnan(given).any():
        raise ValueError(
            f"{side} labels must not be missing, but line {np.isnan(given).argmax()} is"
        )
    if known is not None:
        all_labels = as_label_array(known)
        return Labels(all_labels, side).positions(given, f"{side} labels"), all_labels
    try:
        distinct, inverse = np.unique(given, return_inverse=True)
    except TypeError:
        # Labels of mixed types have no order: keep the order of first appearance.
        index: dict[Any, int] = {}
        inverse = np.asarray([index.setdefault(v, len(index)) for v in given.tolist()])
        distinct = as_label_array(list(index))
    return inverse.astype(np.intp), distinct


def _from_sparse(X: Any) -> Observations:
    coo = sp.coo_array(X)
    return Observations.from_triples(coo.row, coo.col, coo.data, shape=coo.shape)


def _from_dense(values: NDArray[Any], seen: NDArray[np.bool_]) -> Observations:
    if values.ndim != 2:
        raise ValueError(
            f"X must be a matrix: Expected 2D array, got {values.ndim}D array instead. "
            "Reshape your data"
        )
    if 0 in values.shape:
        axis = "sample" if values.shape[0] == 0 else "feature"
        raise ValueError(
            f"X: Found array with 0 {axis}(s) (shape={values.shape}) "
            "while a minimum of 1 is required."
        )
    rows, cols = np.nonzero(seen)
    x = _numeric(values[rows, cols], "X")
    if len(x) == 0:
        raise ValueError("X: there are no observations, nothing can be learned")
    if np.isinf(x).any():
        at = int(np.isinf(x).argmax())
        raise ValueError(
            f"X must not hold infinity, but entry ({rows[at]}, {cols[at]}) is {x[at]}; "
            "mark missing entries with NaN"
        )
    return Observations.from_triples(rows, cols, x, shape=values.shape)


def _from_wide_frame(X: Any) -> Observations:
    """A wide frame: its columns are the matrix's, its index (pandas) names the rows."""
    table = nw.from_native(X, eager_only=True)
    columns = []
    for name in table.columns:
        column = table[name]
        if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
            column_values = column.to_numpy()
            columns.append(_numeric(column_values, f"X: column {name!r}"))
        else:
            columns.append(column.cast(nw.Float64).to_numpy())
    values = np.column_stack(columns) if columns else np.empty((len(table), 0))
    found = _from_dense(values, ~np.isnan(values))
    index = nw.maybe_get_index(table)
    row_labels = None if index is None else Labels(as_label_array(index), "row")
    col_labels = Labels(as_label_array(list(X.columns)), "column")
    return Observations(found.shape, found.by_row, found.by_col, row_labels, col_labels)
