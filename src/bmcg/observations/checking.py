"""What entries are made of, checked: numbers, positions, shapes, sparse matrices of others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .frames import numeric
from .labels import Labels

# Squares of larger values, and sums of them, do not fit into a float.
LARGEST = 1e100


def finite(values: Any, argument: str) -> NDArray[np.float64]:
    """The values as floats of one axis, of which none is NaN or infinite."""
    array = np.ascontiguousarray(numeric(values, argument).ravel())
    good = np.isfinite(array)
    if not good.all():
        at = int(good.argmin())
        raise ValueError(
            f"{argument} must be finite, but entry {at} is {array[at]} "
            f"({len(array) - int(good.sum())} such entries); leave missing entries out"
        )
    return array


def check_size(r: NDArray[np.int32], c: NDArray[np.int32], x: NDArray[np.float64]) -> None:
    """Raise where a value at row r and column c is too large to be squared; all (n,)."""
    at = int(np.abs(x).argmax())
    if abs(x[at]) > LARGEST:
        raise ValueError(
            f"values hold {x[at]:g} in row {r[at]}, column {c[at]} (counted from 0): more than "
            f"{LARGEST:g} cannot be squared; leave the entry out where it marks a missing value, "
            "or change the unit"
        )


def whole_positions(positions: ArrayLike, argument: str) -> NDArray[np.int32]:
    """Positions on a side as whole numbers, shape (n,)."""
    array = np.asarray(positions).ravel()
    if array.size == 0:
        return array.astype(np.int32)
    whole = array.dtype.kind in "iu" or (
        array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.floor(array)).all()
    )
    if not whole:
        raise ValueError(
            f"{argument} must hold whole numbers (positions), got {array.dtype}; "
            "for labels use Observations.from_frame"
        )
    low, high = array.min(), array.max()
    if low < 0:
        raise ValueError(f"{argument} must not be negative, got {low}")
    if high >= np.iinfo(np.int32).max:
        raise ValueError(f"{argument} holds position {high}: a side may hold at most 2**31 - 1")
    return array.astype(np.int32, copy=False)


def whole_shape(
    shape: tuple[int, int] | None,
    rows: NDArray[np.int32],
    cols: NDArray[np.int32],
    names: tuple[Labels | None, Labels | None],
) -> tuple[int, int]:
    """Rows and columns of a matrix that holds these positions and has these labels."""
    least = (int(rows.max()) + 1, int(cols.max()) + 1)
    if shape is None:
        size = [low if lab is None else len(lab) for low, lab in zip(least, names, strict=True)]
    else:
        try:
            size = [int(side) for side in shape]
        except (TypeError, ValueError, OverflowError):
            size = []
        if len(size) != 2 or size != list(shape):
            raise ValueError(f"shape={shape!r}: pass two whole numbers, rows and columns")
    for axis, word in enumerate(("rows", "cols")):
        lab = names[axis]
        if lab is not None and len(lab) != size[axis]:
            raise ValueError(f"{len(lab)} {lab.side} labels for {size[axis]} {word}")
        if size[axis] < least[axis]:
            raise ValueError(
                f"{word} holds position {least[axis] - 1}, outside a matrix of {tuple(size)}; "
                "positions count from 0"
            )
    if max(size) > np.iinfo(np.int32).max:
        raise ValueError(f"shape={tuple(size)}: a side may hold at most 2**31 - 1 positions")
    return size[0], size[1]


def check_places(X: Any, argument: str) -> None:
    """Raise where a sparse matrix has entries outside of it: compiled code would follow them."""
    if X.format in ("csr", "csc", "bsr"):
        try:
            X.check_format(full_check=True)
            # SciPy takes differences, which overflow, and none of a matrix without entries.
            falls = bool((X.indptr[1:] < X.indptr[:-1]).any())
        # Places may be of a type that nothing can be compared with.
        except (ValueError, TypeError) as error:
            raise ValueError(f"{argument} is not a whole sparse matrix: {error}") from None
        if falls:
            raise ValueError(f"{argument} is not a whole sparse matrix: indptr falls")
