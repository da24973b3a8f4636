"""What every kind of file offers to the command that fills it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .matrix import Filled

Array = NDArray[np.float64]


class Source(Protocol):
    """A file opened for imputing.

    Attributes
    ----------
    values : ndarray of shape (m, n)
        The matrix, NaN where missing.
    row_names, col_names : ndarray of shape (m,) and (n,), or None
        Labels, None where there are only positions.
    row_groups : ndarray of shape (m,) or None
        Where rows follow each other only within a group, such as a chromosome.
    notes : list of str
        What a person should know: columns left as they are, records not used.
    standardize : bool or None
        Whether the columns are in different units; None where only their values can tell.
    """

    @property
    def values(self) -> Array: ...

    @property
    def row_names(self) -> NDArray[Any] | None: ...

    @property
    def col_names(self) -> NDArray[Any] | None: ...

    @property
    def row_groups(self) -> NDArray[Any] | None: ...

    @property
    def notes(self) -> list[str]: ...

    @property
    def standardize(self) -> bool | None: ...

    def write(self, path: Path, filled: Filled) -> None:
        """Write the input again with its missing values filled."""

    def write_std(self, path: Path, filled: Filled) -> None:
        """Write the standard deviations of the filled values."""
