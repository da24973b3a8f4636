"""Long frames, one observation a line, told from wide ones before they are fitted as a matrix."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

# A long table has two labels and a value, and perhaps a time and a few more.
MOST_COLUMNS = 6
# Pairs of labels are drawn from all pairs without repetition. As many pairs of two unrelated
# columns would hold this many repetitions, and none with a probability of exp(-10).
EXPECTED_REPEATS = 10.0
# Enough lines to find a repeated pair of most tables that have one.
GLANCE = 5_000

ROW_NAMES = frozenset(
    [
        "user",
        "customer",
        "person",
        "sample",
        "subject",
        "patient",
        "member",
        "account",
        "row",
        "time",
        "timestamp",
        "date",
    ]
)
COL_NAMES = frozenset(
    [
        "item",
        "movie",
        "film",
        "product",
        "book",
        "song",
        "track",
        "artist",
        "gene",
        "snp",
        "marker",
        "site",
        "sensor",
        "station",
        "col",
        "column",
    ]
)
VALUE_NAMES = frozenset(
    ["rating", "value", "score", "count", "stars", "expression", "reading", "measurement"]
)

ADVICE = (
    "a table with one observation a line goes through "
    "Observations.from_frame(frame, row=..., col=..., value=...)"
)


def refuse_long(table: nw.DataFrame[Any]) -> None:
    """Raise where a frame that is to be read as a matrix has one observation a line.

    Parameters
    ----------
    table : narwhals DataFrame
    """
    found = named_like_long(table.columns) or shaped_like_long(table)
    if found is None:
        return
    row, col, value = (repr(name) if name is not None else "..." for name in found)
    m, n = table.shape
    raise ValueError(
        f"X: the frame seems to have one observation a line, with {row} and {col} as labels, but "
        f"would be read as a matrix of {m} x {n}: pass "
        f"Observations.from_frame(frame, row={row}, col={col}, value={value}), or "
        "frame.to_numpy() if it is a matrix all the same"
    )


def named_like_long(names: list[Any]) -> tuple[Any, Any, Any] | None:
    """Row, column and value among the names of a table's columns, where all three are there."""
    if not 3 <= len(names) <= MOST_COLUMNS:
        return None
    plain = {name: _plain(name) for name in names}
    roles = [
        next((name for name in names if plain[name] in known), None)
        for known in (ROW_NAMES, COL_NAMES, VALUE_NAMES)
    ]
    return None if None in roles else (roles[0], roles[1], roles[2])


def shaped_like_long(table: nw.DataFrame[Any]) -> tuple[Any, Any, Any] | None:
    """Two columns of whole numbers that each repeat and no pair of which does, and a third."""
    m, n = table.shape
    if not 2 <= n <= MOST_COLUMNS or m < 20 * n:
        return None
    ids = {name: codes for name in table.columns if (codes := _codes(table, name)) is not None}
    for row, col in combinations(ids, 2):
        if _pairs_are_keys(ids[row], ids[col]):
            rest = [name for name in table.columns if name not in (row, col)]
            return row, col, rest[0] if rest else None
    return None


def _plain(name: Any) -> str:
    """A name without case, underscores and a final id: user_id, UserID and user are one."""
    return re.sub(r"(?<=.)ids?$", "", re.sub(r"[\W_]", "", str(name).lower()))


def _codes(table: nw.DataFrame[Any], name: Any) -> NDArray[np.int64] | None:
    """Positions of a column's distinct values, where it may hold labels: repeated ones."""
    column = table.get_column(name)
    if not (column.dtype.is_integer() or column.dtype == nw.String) or column.null_count():
        return None
    distinct, codes = np.unique(column.to_numpy(), return_inverse=True)
    repeats = len(codes) >= 2 * len(distinct) and len(distinct) > 1
    return codes.astype(np.int64) if repeats else None


def _pairs_are_keys(a: NDArray[np.int64], b: NDArray[np.int64]) -> bool:
    """Whether no pair occurs twice where unrelated columns would have many that do."""
    pairs = a * (int(b.max()) + 1) + b
    if len(np.unique(pairs[:GLANCE])) < min(GLANCE, len(pairs)):
        return False
    same = [float(((np.bincount(codes) / len(codes)) ** 2).sum()) for codes in (a, b)]
    expected = len(pairs) * (len(pairs) - 1) / 2 * same[0] * same[1]
    return expected >= EXPECTED_REPEATS and len(np.unique(pairs)) == len(pairs)
