"""Names of rows and columns: looked up on the way in, handed back on the way out."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Labels:
    """An ordered set of distinct names for one side of the matrix.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The names in the order of the rows (or columns) they belong to.
    side : str
        ``"row"`` or ``"column"``, used in messages.
    name : str or None
        What the names are, such as the title of the column they came from.
    native : pandas index or None
        The names as the frame they came from had them; no part of a model file.
    """

    values: NDArray[Any]
    side: str
    name: str | None = None
    native: Any = field(default=None, repr=False, compare=False)
    _index: dict[Any, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        missing = missing_labels(self.values)
        if missing.any():
            raise ValueError(
                f"{self.side} labels must not be missing, but label {int(missing.argmax())} is"
            )
        keys = self.values.tolist()
        try:
            index = {key: i for i, key in enumerate(keys)}
        except TypeError as error:
            raise TypeError(f"{self.side} labels must be plain values: {error}") from None
        if len(index) != len(keys):
            # The dictionary keeps the last position of a name, so the first clash differs.
            twice = next(key for i, key in enumerate(keys) if index[key] != i)
            raise ValueError(f"{self.side} labels must be distinct, but {twice!r} appears twice")
        object.__setattr__(self, "_index", index)

    def __len__(self) -> int:
        return len(self.values)

    def positions(self, names: Any, argument: str) -> NDArray[np.intp]:
        """Positions of names, with an error that lists the first unknown ones.

        Parameters
        ----------
        names : array_like of shape (n_names,)
        argument : str
            The argument the names came in by, for the message.

        Returns
        -------
        ndarray of shape (n_names,)
        """
        found = self.find(names)
        if (found < 0).any():
            asked = self._keys(names)
            unknown = list(dict.fromkeys(asked[at] for at in np.flatnonzero(found < 0)))
            raise KeyError(
                f"{argument}: unknown {self.side} labels {listed(unknown)}; "
                f"known labels look like {self.values[:1].tolist()[0]!r}"
            )
        return found

    def find(self, names: Any) -> NDArray[np.intp]:
        """Positions of names, −1 for the unknown ones, shape (n_names,)."""
        asked, get = self._keys(names), self._index.get
        try:
            return np.fromiter((get(name, -1) for name in asked), np.intp, len(asked))
        except TypeError as error:
            raise TypeError(f"{self.side} labels must be plain values: {error}") from None

    def _keys(self, names: Any) -> list[Any]:
        """Names as the keys of the index; moments in time count in the labels' own unit."""
        asked = as_label_array(names).ravel()
        if self.values.dtype.kind != "M" or len(asked) == 0:
            return asked.tolist()
        try:
            moments = asked if asked.dtype.kind == "M" else asked.astype("datetime64[us]")
            ours = moments.astype(self.values.dtype)
        except (TypeError, ValueError):
            return asked.tolist()
        keys = ours.tolist()
        # Five o'clock is not the day it lies in: what the labels' unit cannot say is unknown.
        for at in np.flatnonzero(ours != moments):
            keys[at] = str(moments[at])
        return keys

    def extended(self, names: NDArray[Any]) -> Labels:
        """These labels, and others after them."""
        if len(names) == 0:
            return self
        kinds = {self.values.dtype.kind, names.dtype.kind}
        both = (
            np.concatenate((self.values, names))
            if len(kinds) == 1
            else _objects(self.values.tolist() + names.tolist())
        )
        return Labels(both, self.side, self.name)

    def encode(self) -> NDArray[np.uint8]:
        """The labels as the bytes of a JSON object, for a model file."""
        kind = self.values.dtype.kind
        items = self.values.astype(str).tolist() if kind == "M" else self.values.tolist()
        dtype = self.values.dtype.str if kind in "iufM" else "O"
        try:
            text = json.dumps({"dtype": dtype, "name": self.name, "items": items})
        except TypeError as error:
            raise TypeError(
                f"{self.side} labels must be numbers, strings or dates to be saved: {error}"
            ) from None
        return np.frombuffer(text.encode(), dtype=np.uint8)

    @classmethod
    def decode(cls, data: NDArray[np.uint8], side: str) -> Labels:
        """The inverse of `encode`."""
        stored = json.loads(bytes(data).decode())
        items = stored["items"]
        if stored["dtype"] == "O":
            # JSON knows no tuples, the labels of a hierarchical index.
            items = [tuple(item) if isinstance(item, list) else item for item in items]
            return cls(_objects(items), side, stored["name"])
        kind = np.dtype(stored["dtype"])
        if kind.kind not in "iufM" or kind.itemsize > 8:
            raise ValueError(f"{side} labels of type {kind}")
        return cls(np.asarray(items, dtype=kind), side, stored["name"])


def as_label_array(names: Any) -> NDArray[Any]:
    """Names as a one-dimensional array: numbers stay numbers, all else becomes objects."""
    if isinstance(names, (list, tuple)) and any(isinstance(name, (str, tuple)) for name in names):
        # NumPy would turn a number beside a string into a string, and tuples into a matrix.
        return _objects(names)
    values = np.asarray(names)
    return _objects(values.ravel().tolist()) if values.dtype.kind in "US" else values


def listed(names: Sequence[Any], shown: int = 5) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(repr(name) for name in names[:shown]) + more


def missing_labels(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which names are None, NaN, NaT or NA, shape (n,)."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=np.bool_)
    return np.fromiter((_is_missing(value) for value in values), np.bool_, len(values))


def factorise(
    names: Any, known: ArrayLike | None, side: str, name: str | None = None
) -> tuple[NDArray[np.intp], Labels]:
    """Positions of names among all distinct ones.

    Parameters
    ----------
    names : array_like of shape (n_names,)
    known : array_like, optional
        All labels in their order; by default those that occur, sorted where they can be.
    side, name : str
        As in `Labels`.

    Returns
    -------
    positions : ndarray of shape (n_names,)
    labels : Labels
    """
    given = as_label_array(names)
    missing = missing_labels(given)
    if missing.any():
        raise ValueError(
            f"{side} labels must not be missing, but that of line {int(missing.argmax())} is"
        )
    if known is not None:
        labels = Labels(as_label_array(known), side, name)
        return labels.positions(given, f"{side} labels"), labels
    if given.dtype.kind != "O":
        distinct, inverse = np.unique(given, return_inverse=True)
        return inverse.astype(np.intp, copy=False), Labels(distinct, side, name)
    # Hashing beats sorting for strings. Labels of mixed types have no order: as they come.
    items = list(dict.fromkeys(given.tolist()))
    with contextlib.suppress(TypeError):
        items.sort()
    labels = Labels(_objects(items), side, name)
    return labels.positions(given, f"{side} labels"), labels


def _objects(items: Any) -> NDArray[Any]:
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out


def _is_missing(value: Any) -> bool:
    # pandas' own missing values are recognised by name: pandas need not be installed.
    return (
        value is None
        or (isinstance(value, float) and value != value)
        or type(value).__name__ in ("NAType", "NaTType")
    )
