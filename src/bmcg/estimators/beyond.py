"""Predictions far beyond all values: a fit that follows its entries and little else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..observations import Observations

Index = NDArray[np.intp]

# So many cells, drawn alike for every model, are looked at.
CELLS = 2000


def beyond_words(
    predict: Callable[[Index, Index], NDArray[np.float64]], observations: Observations
) -> str | None:
    """A warning where a cell is predicted further off than the values are wide, beyond their ends.

    Entries cannot say so of themselves: components that explain each of them leave no noise, and
    cells between them go anywhere. A model for few entries may go beyond their range, but not by
    all of it.

    Parameters
    ----------
    predict : callable
        Predictions at rows and columns, each of shape (n_cells,).
    observations : Observations
    """
    x = observations.values
    low, high = float(x.min()), float(x.max())
    rng = np.random.default_rng(0)
    i, j = (rng.integers(0, size, CELLS) for size in observations.shape)
    found = predict(i.astype(np.intp), j.astype(np.intp))
    least, most = float(found.min()), float(found.max())
    if low == high or not (least < 2 * low - high or most > 2 * high - low):
        return None
    return (
        f"predictions reach from {least:.3g} to {most:.3g} where all values lie between {low:.3g} "
        f"and {high:.3g}: the fit follows its {len(x)} entries and little else. Left-out entries "
        'decide on components with posterior="auto" and selection="auto"; a smaller rank would '
        'help, and value_range="observed" holds predictions to the range'
    )
