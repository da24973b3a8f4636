"""Values that a fit can learn little from: all equal, as clicks are, or one far off all others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..observations import Observations
from ..observations.outliers import far_out, surely_none

ADVICE = (
    "there is nothing to tell entries apart by, and all predictions are alike. Where entries were "
    'chosen, as clicks and purchases are, which are there says more: fit with missing="weak-zero" '
    "(bmcg fit --implicit); else use values that differ, such as counts or ratings"
)


def size_if_equal(values: NDArray[np.float64]) -> float:
    """Size of the values where all are equal (one, where that is zero); zero where they differ."""
    if values.min() < values.max():
        return 0.0
    return float(abs(values[0])) or 1.0


def equal_words(values: NDArray[np.float64]) -> str | None:
    """A warning where several values are all equal."""
    if len(values) < 2 or not size_if_equal(values):
        return None
    return f"all {len(values)} observed values are {values[0]:g}: {ADVICE}"


def far_words(observations: Observations) -> str | None:
    """A warning where a value lies further out than all the rest by a wide gap."""
    x = observations.values
    if surely_none(x):
        return None
    far = np.flatnonzero(far_out(x[:, None])[:, 0])
    if not len(far):
        return None
    rows, cols = observations.row_labels, observations.col_labels
    i, j = int(observations.row_indices[far[0]]), int(observations.col_indices[far[0]])
    row, col = i if rows is None else rows.values[i], j if cols is None else cols.values[j]
    more = "" if len(far) == 1 else f", and {len(far) - 1} more such"
    return (
        f"the value {x[far[0]]:g} at row {row}, column {col} lies 100 times further out than the "
        f"rest{more}: it outweighs them all. If it is a slip or a mark for missing, leave it out; "
        'if such values do occur, fit with likelihood="student"'
    )
