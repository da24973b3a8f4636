"""Values that are all equal, as clicks and purchases are: what can be said of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
