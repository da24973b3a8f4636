"""What was observed: validated once, frozen, seen by row and by column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, cast, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from .checking import check_places, check_size, finite, whole_positions, whole_shape
from .frames import LongTable, WideTable, is_frame, numeric
from .grouping import group, members, pointers, transpose
from .labels import Labels, as_label_array
from .view import View

Aggregate = Literal["error", "mean", "sum", "first", "last"]


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
    backend : str or None
        The library of the data frame they came from, by its import name.
    """

    shape: tuple[int, int]
    by_row: View
    by_col: View
    row_labels: Labels | None = None
    col_labels: Labels | None = None
    backend: str | None = None

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
        return members(self.by_row.indptr)

    @property
    def col_indices(self) -> NDArray[np.int32]:
        """Column of each observed value in row order, shape (n_observed,)."""
        return self.by_row.indices

    @cached_property
    def col_order(self) -> NDArray[np.intp]:
        """Place in row order of each value in column order: by_col.values = values[col_order]."""
        return np.argsort(self.by_row.indices, kind="stable")

    def of_rows(
        self, rows: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """Entries of some rows: rows, columns and values, in row order."""
        i = self.row_indices
        at = np.flatnonzero(np.isin(i, rows))
        return i[at], self.col_indices[at], self.values[at]

    def fingerprint(self) -> int:
        """A number of what the entries are, the same whoever holds which of them."""
        return self.by_row.fingerprint()

    def to_csr(self) -> sp.csr_array:
        """The entries as a sparse array; stored zeros are observed zeros."""
        indptr, indices, values = self.by_row
        return sp.csr_array((values, indices, indptr), shape=self.shape)

    def with_values(self, values: NDArray[np.float64]) -> Observations:
        """The same pattern with other values, given in row order, shape (n_observed,)."""
        by_row = self.by_row._replace(values=np.ascontiguousarray(values, dtype=np.float64))
        by_col = View(*transpose(*by_row, self.shape[1]))
        return replace(self, by_row=by_row, by_col=by_col)

    @classmethod
    def from_triples(
        cls,
        rows: ArrayLike,
        cols: ArrayLike,
        values: ArrayLike,
        shape: tuple[int, int] | None = None,
        *,
        row_labels: ArrayLike | Labels | None = None,
        col_labels: ArrayLike | Labels | None = None,
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
        if duplicates not in get_args(Aggregate):
            choices = ", ".join(map(repr, get_args(Aggregate)))
            raise ValueError(f"duplicates={duplicates!r}: choose one of {choices}")
        x = finite(values, "values")
        r, c = whole_positions(rows, "rows"), whole_positions(cols, "cols")
        if not len(r) == len(c) == len(x):
            raise ValueError(
                "rows, cols and values must have the same length, got "
                f"{len(r)}, {len(c)} and {len(x)}"
            )
        if len(x) == 0:
            raise ValueError("values: there are no observations, nothing can be learned")
        check_size(r, c, x)
        names = _labels(row_labels, "row"), _labels(col_labels, "column")
        size = whole_shape(shape, r, c, names)
        by_row = _merge(_by_row(r, c, x, size), duplicates, names)
        return cls(size, by_row, View(*transpose(*by_row, size[1])), *names)

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
            What to do with an entry that is given more than once.
        """
        table = LongTable.read(frame, row, col, value, row_labels, col_labels)
        found = cls.from_triples(
            table.rows,
            table.cols,
            table.values,
            row_labels=table.row_labels,
            col_labels=table.col_labels,
            duplicates=duplicates,
        )
        return replace(found, backend=table.backend)

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
            return _from_dense(numeric(np.ma.getdata(X), "X"), ~np.ma.getmaskarray(X))
        if is_frame(X):
            table = WideTable.read(X)
            found = _from_dense(table.values, ~np.isnan(table.values))
            return replace(
                found,
                row_labels=table.row_labels,
                col_labels=table.col_labels,
                backend=table.backend,
            )
        values = numeric(X, "X")
        return _from_dense(values, ~np.isnan(values))


def group_entries(
    rows: NDArray[np.int32],
    cols: NDArray[np.int32],
    values: NDArray[np.float64],
    shape: tuple[int, int],
    duplicates: Aggregate,
    names: tuple[Labels | None, Labels | None] = (None, None),
) -> View:
    """Triples grouped by row and checked, of some of the rows or all; repeated ones merged."""
    if len(values) == 0:
        return View(np.zeros(shape[0] + 1, np.int64), cols, values)
    x = finite(values, "values")
    check_size(rows, cols, x)
    return _merge(_by_row(rows, cols, x, shape), duplicates, names)


def _labels(labels: ArrayLike | Labels | None, side: str) -> Labels | None:
    if labels is None or isinstance(labels, Labels):
        return labels
    return Labels(as_label_array(labels), side)


def _by_row(
    r: NDArray[np.int32], c: NDArray[np.int32], x: NDArray[np.float64], size: tuple[int, int]
) -> View:
    """Entries by row, columns ascending; repeated entries next to each other, as given."""
    same_row = r[1:] == r[:-1]
    if ((r[1:] > r[:-1]) | (same_row & (c[1:] > c[:-1]))).all():
        # Already in order: copied, so that the observations stay what they are.
        return View(pointers(r, size[0]), c.copy(), x.copy())
    return View(*transpose(*group(c, r, x, size[1]), size[0]))


def _merge(view: View, how: Aggregate, names: tuple[Labels | None, Labels | None]) -> View:
    """Each entry once, repeated ones combined or refused."""
    indptr, indices, values = view
    first = np.ones(len(values), dtype=np.bool_)
    np.not_equal(indices[1:], indices[:-1], out=first[1:])
    first[indptr[:-1][np.diff(indptr) > 0]] = True
    n_repeated = len(values) - int(first.sum())
    if n_repeated == 0:
        return view
    if how == "error":
        at = int(first.argmin())
        where = int(np.searchsorted(indptr, at, side="right")) - 1, int(indices[at])
        row, column = (
            position if lab is None else repr(lab.values[position : position + 1].tolist()[0])
            for position, lab in zip(where, names, strict=True)
        )
        raise ValueError(
            f"entry (row {row}, column {column}) is given more than once "
            f"({n_repeated} repeated entries); "
            'pass duplicates="mean", "sum", "first" or "last" to combine them'
        )
    starts = np.flatnonzero(first)
    kept = np.concatenate(([0], np.cumsum(first)))[indptr]
    return View(kept, indices[starts], _aggregate(values, starts, how))


def _aggregate(x: NDArray[np.float64], starts: NDArray[np.intp], how: str) -> NDArray[np.float64]:
    stops = np.append(starts[1:], len(x))
    if how == "first":
        return x[starts]
    if how == "last":
        return x[stops - 1]
    total = np.add.reduceat(x, starts)
    return total if how == "sum" else total / (stops - starts)


def _from_sparse(X: Any) -> Observations:
    if len(X.shape) != 2:
        raise ValueError(f"X must be a matrix, got a sparse array of shape {X.shape}")
    if X.nnz == 0:
        raise ValueError("X stores no entries: there are no observations, nothing can be learned")
    check_places(X, "X")
    coo = sp.coo_array(X)
    data = numeric(coo.data, "X")
    bad = ~np.isfinite(data)
    if bad.any():
        at = int(bad.argmax())
        raise ValueError(
            f"X must be finite where it is stored, but entry ({coo.row[at]}, {coo.col[at]}) is "
            f"{data[at]}; leave missing entries out"
        )
    return Observations.from_triples(
        coo.row, coo.col, data, shape=cast("tuple[int, int]", coo.shape)
    )


def _from_dense(values: NDArray[np.float64], seen: NDArray[np.bool_]) -> Observations:
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
    x = values[rows, cols]
    if len(x) == 0:
        raise ValueError("X: there are no observations, nothing can be learned")
    bad = ~np.isfinite(x)
    if bad.any():
        at = int(bad.argmax())
        raise ValueError(
            f"X must not hold infinity, but entry ({rows[at]}, {cols[at]}) is {x[at]}; "
            "mark missing entries with NaN"
        )
    return Observations.from_triples(rows, cols, x, shape=values.shape)
