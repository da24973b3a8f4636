"""What lies around a wide gap tells how well it can be filled.

A hole in the sky is filled better than one among branches. How much better, as far as the picture
itself shows: from holes that were really left out, the slope of log squared error in the log
variance of the known pixels around, believed as far as it exceeds its standard error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt, label, maximum

from .gaps import SHALLOW, depth

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]

# Share of left-out pixels that bands are fitted to hold, and half their width in deviations.
LEVEL, QUANTILE = 0.9, 1.6448536269514722
# Where most errors are nothing beside a few, a deviation is still half of the root mean square.
LEAST_WIDTH = 0.25
# Gaps without which nothing is said about slopes.
LEAST_GAPS = 4


class Wide(NamedTuple):
    """The gaps of a picture that are deeper than half a patch.

    Attributes
    ----------
    number : ndarray of int, shape (h, w)
        Of the gap that a pixel lies in, zero where in none.
    around : ndarray of shape (n_gaps + 1,)
        Log variance of the known pixels around each, as far away as it is deep.
    """

    number: Index
    around: Array


def wide_gaps(values: Array, known: Bool) -> Wide:
    """Those of a picture (channels, h, w)."""
    number, count = label(~known, structure=np.ones((3, 3)))
    deepest = np.zeros(count + 1)
    if count:
        deepest[1:] = maximum(depth(known), number, np.arange(1, count + 1))
    number = np.where(deepest[number] > SHALLOW, number, 0)
    overall = values[:, known].var(axis=1).mean()
    around = np.full(count + 1, overall)
    if number.any():
        away, (rows, cols) = distance_transform_edt(number == 0, return_indices=True)
        nearest = number[rows, cols]
        here = known & (away <= deepest[nearest])
        n = np.bincount(nearest[here], minlength=count + 1)
        sums = [
            [np.bincount(nearest[here], x[here] ** power, count + 1) for x in values]
            for power in (1, 2)
        ]
        first, second = np.array(sums) / np.maximum(n, 1)
        around = np.where(n > 0, (second - first**2).mean(axis=0), overall)
    return Wide(number, np.log(np.maximum(around, 1e-6 * overall + 1e-12)))


class Left(NamedTuple):
    """Pixels of wide gaps that were left out, (h, w) each.

    Attributes
    ----------
    wide : Wide
        With the left-out pixels missing.
    weight : ndarray
        How much a pixel tells for itself, zero where it was not left out.
    ratio : ndarray
        Its squared error, over what is expected at its depth.
    """

    wide: Wide
    weight: Array
    ratio: Array


class Surroundings:
    """By how much squared errors exceed what is expected at their depth.

    Parameters
    ----------
    trials : list of Left
    """

    def __init__(self, trials: list[Left]) -> None:
        parts = [_by_gap(trial) for trial in trials]
        around, weight, ratio = (np.concatenate(x) for x in zip(*parts, strict=True))
        self.slope, self.centre, self.width = 0.0, 0.0, 1.0
        self.limits = (0.0, 0.0)
        if len(around) < LEAST_GAPS:
            return
        self.slope, self.centre = _slope(around, np.log(np.maximum(ratio, 1e-12)), weight)
        self.limits = float(around.min()), float(around.max())
        scores = [trial.ratio / self._factor(trial.wide) for trial in trials]
        told = [(trial.weight > 0) & (trial.wide.number > 0) for trial in trials]
        score, weight = (
            np.concatenate([x[here] for x, here in zip(what, told, strict=True)])
            for what in (scores, [trial.weight for trial in trials])
        )
        self.width = max(_quantile(score, weight) / QUANTILE**2, LEAST_WIDTH)

    def __call__(self, wide: Wide) -> Array:
        """At every pixel, shape (h, w); bands of 90 % then hold as many of those left out."""
        return self.width * self._factor(wide)

    def _factor(self, wide: Wide) -> Array:
        # Beyond what was seen, no more is said.
        around = np.clip(wide.around, *self.limits)
        return np.asarray(np.exp(self.slope * (around - self.centre))[wide.number])


def _by_gap(trial: Left) -> tuple[Array, Array, Array]:
    """Surroundings, weight and mean ratio of each gap, (n_gaps,) each."""
    at, size = trial.wide.number.ravel(), len(trial.wide.around)
    weight, total = (
        np.bincount(at, what.ravel(), size).astype(np.float64)
        for what in (trial.weight, trial.weight * trial.ratio)
    )
    some = weight > 0
    some[0] = False
    return trial.wide.around[some], weight[some], total[some] / weight[some]


def _slope(x: Array, y: Array, weight: Array) -> tuple[float, float]:
    """The slope of y in x, from zero to one and as far as it is sure, and the mean of x."""
    share = weight / weight.sum()
    centre = float(share @ x)
    dx, dy = x - centre, y - share @ y
    spread = float(share @ dx**2)
    if spread <= 0.0:
        return 0.0, centre
    slope = float(share @ (dx * dy)) / spread
    error = float(share @ (dy - slope * dx) ** 2) / (spread * (len(x) - 2))
    sure = max(0.0, 1.0 - error / max(slope**2, 1e-300))
    return float(np.clip(slope, 0.0, 1.0)) * sure, centre


def _quantile(what: Array, weight: Array) -> float:
    order = np.argsort(what)
    share = np.cumsum(weight[order]) / weight.sum()
    return float(what[order][min(int(np.searchsorted(share, LEVEL)), len(what) - 1)])
