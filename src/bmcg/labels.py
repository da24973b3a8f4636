"""Names of rows and columns: looked up on the way in, handed back on the way out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Labels:
    """An ordered set of distinct names for one side of the matrix.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The names in the order of the rows (or columns) they belong to.
    side : str
        ``"row"`` or ``"column"``, used in messages.
    """

    values: NDArray[Any]
    side: str
    _index: dict[Any, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        index = {key: i for i, key in enumerate(self.values.tolist())}
        if len(index) != len(self.values):
            seen: set[Any] = set()
            twice = next(v for v in self.values.tolist() if v in seen or seen.add(v))
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
        asked = as_label_array(names).ravel().tolist()
        found = [self._index.get(name, -1) for name in asked]
        unknown = [name for name, at in zip(asked, found, strict=True) if at < 0]
        if unknown:
            shown = ", ".join(repr(u) for u in unknown[:5])
            more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
            raise KeyError(
                f"{argument}: unknown {self.side} labels {shown}{more}; "
                f"known labels look like {self.values[0]!r}"
            )
        return np.asarray(found, dtype=np.intp)

    def encode(self) -> NDArray[np.uint8]:
        """The labels as the bytes of a JSON list, for a model file."""
        kind = self.values.dtype.kind
        items = self.values.astype(str).tolist() if kind == "M" else self.values.tolist()
        dtype = self.values.dtype.str if kind in "iufM" else "O"
        try:
            text = json.dumps({"dtype": dtype, "items": items})
        except TypeError as error:
            raise TypeError(
                f"{self.side} labels must be numbers, strings or dates to be saved: {error}"
            ) from None
        return np.frombuffer(text.encode(), dtype=np.uint8)

    @classmethod
    def decode(cls, data: NDArray[np.uint8], side: str) -> Labels:
        """The inverse of `encode`."""
        stored = json.loads(bytes(data).decode())
        return cls(_typed(stored["items"], stored["dtype"]), side)


def as_label_array(names: Any) -> NDArray[Any]:
    """Names as a one-dimensional array: numbers stay numbers, all else becomes objects."""
    if hasattr(names, "to_numpy"):
        names = names.to_numpy()
    values = np.asarray(names)
    if values.dtype.kind in "US":
        return np.asarray(values.tolist(), dtype=object)
    return values


def _typed(items: list[Any], dtype: str) -> NDArray[Any]:
    if dtype == "O":
        out = np.empty(len(items), dtype=object)
        out[:] = items
        return out
    return np.asarray(items, dtype=dtype)
