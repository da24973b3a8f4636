"""Single values so far from all others of their column that they are hardly readings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# How many times further from the median than all the rest. Between the largest and the second
# largest of a sample from a bell curve the ratio is hardly two; a log-normal of three orders of
# magnitude reaches a hundred once in some hundred columns.
FAR = 100.0
# The same where more than half of the column is one value, and says nothing of its spread.
FAR_OF_CONSTANT = 1e4
# A column of fewer values says too little, and more of them than this share are no exception.
FEWEST = 8
SHARE = 0.1
# Of so many values, so many are looked at first.
MANY = 1 << 18
SAMPLED = 1 << 17


def far_out(values: Array) -> NDArray[np.bool_]:
    """Values that lie further from their column's median than all the rest by a wide gap.

    The gap is sought between values, not between one value and a typical deviation: heavy tails
    thin out little by little, a slip of the decimal point or a mark such as -999 stands alone.

    Parameters
    ----------
    values : ndarray of shape (m, n)
        NaN where missing.

    Returns
    -------
    ndarray of bool, shape (m, n)
    """
    found = np.zeros(values.shape, dtype=np.bool_)
    for j, column in enumerate(values.T):
        seen = np.flatnonzero(~np.isnan(column))
        if len(seen) >= FEWEST:
            distance = np.abs(column[seen] - np.median(column[seen]))
            found[seen, j] = distance > _limit(distance)
    return found


def surely_none(values: Array) -> bool:
    """Whether a sample of many values shows that none can lie behind a gap.

    What lies behind it is `FAR` times further out than all but a share of the values, and none
    lies further out than the whole range.
    """
    if len(values) < MANY:
        return False
    sample = some_of(values)
    least = float(values.max() - values.min()) / FAR
    wide = np.abs(sample - np.median(sample)) >= least
    # Twice the share, because a sample may err.
    return bool(least > 0 and wide.mean() > 2 * SHARE)


def some_of(values: Array) -> Array:
    """Values evenly picked of many, which tell shares of them as well; all of fewer."""
    return values if len(values) < MANY else values[:: len(values) // SAMPLED]


def _limit(distance: Array) -> float:
    """The largest distance that is not behind the gap."""
    order = np.sort(distance)
    most = max(1, int(SHARE * len(order)))
    below, above = order[-most - 1 : -1], order[-most:]
    ratio = FAR if np.median(order) > 0 else FAR_OF_CONSTANT
    gap = np.flatnonzero((below > 0) & (above > ratio * below))
    return float(below[gap[0]]) if len(gap) else np.inf
