"""Whether the columns of a table of series share a unit, and are left as they are for the fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...estimators.scaling import ColumnScale, Scale, column_scale, standard_scale

Array = NDArray[np.float64]

# Columns share a unit where most of their deviations lie within this factor of each other, and
# their means within so many typical deviations.
FACTOR, APART = 10.0, 10.0


def series_scale(values: Array, scale: Scale, n_jobs: int | None) -> ColumnScale:
    """How columns are scaled: as `column_scale`, but as they are where they share a unit."""
    if scale == "auto" and share_a_unit(values):
        return column_scale(values, False, n_jobs)
    return column_scale(values, scale, n_jobs)


def share_a_unit(values: Array) -> bool:
    """Whether columns look like sensors of one kind.

    Degrees and hectopascals differ in their means or their deviations by more than sensors of one
    kind do: the deviations of the middle 80 % of the columns are within a factor of ten, their
    means within ten typical deviations.
    """
    if values.shape[1] < 2:
        return True
    own = standard_scale(values)
    seen = (~np.isnan(values)).sum(axis=0) >= 3
    if seen.sum() < 2:
        return True
    low, high = np.quantile(own.size[seen], (0.1, 0.9))
    first, last = np.quantile(own.centre[seen], (0.1, 0.9))
    typical = float(np.median(own.size[seen]))
    return bool(high <= FACTOR * low and last - first <= APART * typical)
