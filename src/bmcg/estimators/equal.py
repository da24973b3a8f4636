"""Values that a fit can learn little from: all equal, as clicks are, or a few that outweigh all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..observations import Observations
from ..observations.outliers import far_out, some_of, surely_none

ADVICE = (
    "there is nothing to tell entries apart by, and all predictions are alike. Where entries were "
    'chosen, as clicks and purchases are, which are there says more: fit with missing="weak-zero" '
    "(bmcg fit --implicit); else use values that differ, such as counts or ratings"
)

# Squared errors are about few values where this share of them holds most of all squares. Of a bell
# curve the furthest hundredth holds a thirteenth, of an exponential a fifth.
FEW, MOST = 0.01, 0.5


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
    """A warning where a value lies further out than all the rest by a wide gap, or few outweigh."""
    return _gap_words(observations) or _tail_words(some_of(observations.values))


def _tail_words(x: NDArray[np.float64]) -> str | None:
    distance = np.abs(x - np.median(x))
    count = int(FEW * len(x))
    # Values that mostly are one, such as zeros among few ones, are no spread with a tail.
    if not count or not np.median(distance):
        return None
    squares = np.sort((distance / distance.max()) ** 2)
    share = float(squares[-count:].sum() / squares.sum())
    if share < MOST:
        return None
    return (
        f"a hundredth of the values hold {100 * share:.0f} % of all squared distances from the "
        "median: least squares are about them alone, and little of the others is explained. Of "
        'readings that are now and then far off, fit with likelihood="student"; counts have '
        "likelihoods of their own, and amounts over orders of magnitude are better as logarithms"
    )


def _gap_words(observations: Observations) -> str | None:
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
