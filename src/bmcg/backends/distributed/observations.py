"""Observations of which each process has a share: entries of its rows, and of its columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...observations import Observations, View
from ...observations.entries import Aggregate, group_entries
from ...observations.grouping import members
from ...observations.labels import Labels
from .array import ShardedArray
from .backend import balanced
from .group import Group, connect

Index = NDArray[np.int32]


@dataclass(frozen=True)
class SharedObservations(Observations):
    """The observed entries of a matrix, of which this process has its share.

    Row and column pointers are those of the whole matrix; indices and values are those of the
    own rows, and of the own columns.

    Attributes
    ----------
    group : Group
    """

    group: Group = field(default=cast(Group, None), repr=False)

    @property
    def row_indices(self) -> NDArray[np.int32]:
        """Refused: no process has those of all entries."""
        raise self._apart("positions of all entries")

    @property
    def col_indices(self) -> NDArray[np.int32]:
        """Refused: no process has those of all entries."""
        raise self._apart("positions of all entries")

    @property
    def col_order(self) -> NDArray[np.intp]:
        """Refused: entries lie with the owners of rows, and of columns."""
        raise self._apart("an order of all entries")

    def with_values(self, values: NDArray[np.float64]) -> Observations:
        """Refused: no process has all entries."""
        raise self._apart("values of all entries")

    def _apart(self, what: str) -> Exception:
        return NotImplementedError(
            f"{what}: the entries are shared between {self.group.size} processes; fit in one "
            "process where all of them are needed"
        )

    def of_rows(self, rows: NDArray[np.integer[Any]]) -> tuple[Index, Index, NDArray[np.float64]]:
        """Entries of some rows, for every process: rows, columns and values, in row order."""
        indptr, indices, values = self.by_row
        bounds = balanced(indptr, self.group.size)
        start, stop = bounds[self.group.rank], bounds[self.group.rank + 1]
        counts = np.diff(indptr[start : stop + 1])
        chosen = np.isin(np.arange(start, stop), rows)
        kept = np.repeat(chosen, counts)
        i = np.repeat(np.arange(start, stop, dtype=np.int32), counts)[kept]
        sizes = np.ravel(self.group.all(np.array([len(i)], dtype=np.int64)))
        places = np.concatenate(([0], np.cumsum(sizes))).tolist()
        local = values.local  # type: ignore[attr-defined]
        found = (self.group.gather(x, places, x.dtype) for x in (i, indices[kept], local[kept]))
        return cast(Any, tuple(found))

    def fingerprint(self) -> int:
        """The same number whoever holds the entries."""
        bounds = balanced(self.by_row.indptr, self.group.size)
        start, stop = bounds[self.group.rank], bounds[self.group.rank + 1]
        indptr = self.by_row.indptr[start : stop + 1] - self.by_row.indptr[start]
        local = self.by_row.values.local  # type: ignore[attr-defined]
        own = View(indptr, self.by_row.indices, local)
        parts = self.group.all(np.array([own.fingerprint(start)], dtype=np.uint64).view(np.int64))
        return int(np.add.reduce([part.view(np.uint64)[0] for part in parts]))

    @property
    def own_bytes(self) -> int:
        """Memory of the entries in this process."""
        parts = (self.by_row, self.by_col)
        return sum(x.indices.nbytes + x.values.local.nbytes for x in parts)  # type: ignore[attr-defined]


def shared(observations: Observations, duplicates: Aggregate = "error") -> SharedObservations:
    """Observations of all processes together, from those that each of them brings.

    Every process calls this with entries of its own: some files, some lines, any part. Labels are
    united; each entry goes to the process that owns its row, and to the one that owns its column.

    Parameters
    ----------
    observations : Observations
        Of this process; with labels in all processes or in none.
    duplicates : {"error", "mean", "sum"}
        What to do with an entry that more than one process brings.
    """
    return share(
        observations.row_indices,
        observations.col_indices,
        observations.values,
        (observations.row_labels, observations.col_labels),
        observations.shape,
        duplicates,
    )


def share(
    rows: Index,
    cols: Index,
    values: NDArray[np.float64],
    labels: tuple[Labels | None, Labels | None],
    shape: tuple[int, int],
    duplicates: Aggregate = "error",
) -> SharedObservations:
    """As `shared`, from positions among the labels of this process."""
    group = connect()
    if duplicates in ("first", "last"):
        raise ValueError(
            f'duplicates="{duplicates}": entries of several processes have no order; '
            'use "error", "mean" or "sum"'
        )
    given = zip(labels, (rows, cols), shape, strict=True)
    (names, i, m), (col_names, j, n) = (_united(group, *side) for side in given)
    x = np.ascontiguousarray(values, dtype=np.float64)
    if int(group.counts(np.array([len(x)]))[0]) == 0:
        raise ValueError("values: there are no observations, nothing can be learned")
    by_row = _owned(group, (i, j, x), (m, n), duplicates, (names, col_names))
    own = by_row.values.local  # type: ignore[attr-defined]
    triple = by_row.indices, _members(group, by_row.indptr), own
    by_col = _owned(group, triple, (n, m), "error", (col_names, names))
    return SharedObservations((m, n), by_row, by_col, names, col_names, None, group)


def _united(
    group: Group, own: Labels | None, at: Index, n: int
) -> tuple[Labels | None, NDArray[np.int32], int]:
    """Labels of all processes in one order, own positions among them, and how many there are."""
    side = b"" if own is None or not len(own) else own.encode().tobytes()
    found = [
        Labels.decode(np.frombuffer(part, dtype=np.uint8), "row")
        for part in group.texts(side)
        if part
    ]
    bare = group.counts(np.array([own is None and n > 0]))[0]
    if bare and found:
        raise ValueError("some processes have labels and some have none: give all or none of them")
    if not found:
        return None, at.astype(np.int32), int(max(group.all(np.array([n])))[0])
    kinds = {labels.values.dtype.kind for labels in found}
    # A part whose names all look like numbers meets one where they do not: all are names.
    put = (lambda a: a) if len(kinds) == 1 else (lambda a: np.array([str(x) for x in a], object))
    every = np.unique(np.concatenate([put(labels.values) for labels in found]))
    word, title = ("", None) if own is None else (own.side, own.name)
    names = Labels(every, word, title or found[0].name)
    if own is None or not len(own):
        return names, at.astype(np.int32), len(names)
    places = np.searchsorted(every, put(own.values))
    return names, places.astype(np.int32)[at], len(names)


def _owned(
    group: Group,
    triple: tuple[Index, Index, NDArray[np.float64]],
    shape: tuple[int, int],
    duplicates: Aggregate,
    names: tuple[Labels | None, Labels | None],
) -> View:
    """Entries grouped by their first position, those of the own groups alone."""
    while True:
        i, j, x = triple
        indptr = np.concatenate(([0], np.cumsum(group.counts(np.bincount(i, minlength=shape[0])))))
        bounds = balanced(indptr, group.size)
        owners = np.searchsorted(np.array(bounds[1:-1]), i, side="right")
        i, j, x = (group.exchange(part, owners) for part in (i, j, x))
        found = group.agreed(lambda: group_entries(i, j, x, shape, duplicates, names))  # noqa: B023
        if int(group.counts(np.array([len(found.values)]))[0]) == indptr[-1]:
            places = indptr[list(bounds)].tolist()
            values: Any = ShardedArray(found.values, tuple(places), group)
            return View(indptr, found.indices, values)
        # Repeated entries became one: shares are made anew.
        triple = members(found.indptr), found.indices, found.values


def _members(group: Group, indptr: NDArray[np.int64]) -> NDArray[np.int32]:
    """The own rows' positions, one for each of their entries."""
    bounds = balanced(indptr, group.size)
    start, stop = bounds[group.rank], bounds[group.rank + 1]
    return np.repeat(np.arange(start, stop, dtype=np.int32), np.diff(indptr[start : stop + 1]))
