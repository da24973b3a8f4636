"""Columns in different units brought to one scale, where the evidence says that they differ.

The model has one noise level. In a table of ages, weights and heights that level fits none of
them; in a table of sensors of one kind it fits all, and dividing the quiet ones by their small
deviations would blow up their noise. Which of the two holds is asked of the data: the same short
fit is made of the values as they are and of the standardised ones, and the evidence bounds, in the
same units, are compared.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..observations import Observations
from .bmcg import BMCG

Array = NDArray[np.float64]
Scale = bool | Literal["auto"]

# The fits that decide: short, small, in the cheapest family, on no more rows than this.
TRIAL_SWEEPS = 20
TRIAL_RANK = 8
TRIAL_ROWS = 2000
# Values that a column needs for a deviation of its own.
FEWEST = 3


@dataclass(frozen=True)
class ColumnScale:
    """What is taken from each column, and what it is then divided by.

    Attributes
    ----------
    centre, size : ndarray of shape (n,)
    """

    centre: Array
    size: Array

    @property
    def is_identity(self) -> bool:
        """Whether the columns stay as they are."""
        return not self.centre.any() and bool((self.size == 1.0).all())

    def forward(self, values: Array) -> Array:
        """Values (m, n) in the units of the fit."""
        return (values - self.centre) / self.size

    def mean(self, mean: Array, cols: NDArray[np.intp]) -> Array:
        """Means of entries in some columns, (..., n_entries), in the columns' own units."""
        return self.centre[cols] + self.size[cols] * mean

    def std(self, std: Array, cols: NDArray[np.intp]) -> Array:
        """Deviations of entries in some columns, (..., n_entries), in the columns' own units."""
        return self.size[cols] * std


def column_scale(values: Array, scale: Scale = "auto", n_jobs: int | None = None) -> ColumnScale:
    """How the columns of a matrix are to be scaled for a fit.

    Parameters
    ----------
    values : ndarray of shape (m, n)
        NaN where missing.
    scale : {"auto", True, False}
        Whether every column is brought to mean zero and deviation one; "auto" does so where the
        evidence bound of a short fit is higher with it.
    n_jobs : int, optional

    Returns
    -------
    ColumnScale
    """
    if not (isinstance(scale, (bool, np.bool_)) or scale == "auto"):
        raise ValueError(f'scale={scale!r}: choose one of "auto", True, False')
    n = values.shape[1]
    plain = ColumnScale(np.zeros(n), np.ones(n))
    if not scale or n == 1 or np.isnan(values).all():
        return plain
    scaled = standard_scale(values)
    if scale == "auto" and not _units_differ(values, scaled, n_jobs):
        return plain
    return scaled


def standard_scale(values: Array) -> ColumnScale:
    """Mean and standard deviation of each column; those of the others where it has none."""
    seen = ~np.isnan(values)
    counts = seen.sum(axis=0)
    # Over its largest value first: squares of what is far from one must not overflow.
    peak = np.max(np.abs(values), axis=0, where=seen, initial=0.0)
    peak[peak == 0.0] = 1.0
    parts = np.where(seen, values, 0.0) / peak
    centre = parts.sum(axis=0) / np.maximum(counts, 1)
    spread = np.where(seen, parts - centre, 0.0)
    size = np.sqrt((spread**2).sum(axis=0) / np.maximum(counts, 1))
    # What is constant but for rounding has no deviation to divide by.
    usable = (counts >= FEWEST) & (size > 1e-12)
    centre, size = peak * centre, peak * size
    size[~usable] = np.median(size[usable]) if usable.any() else 1.0
    if (counts == 0).any():
        centre[counts == 0] = centre[counts > 0].mean()
    return ColumnScale(centre, size)


def _units_differ(values: Array, scaled: ColumnScale, n_jobs: int | None) -> bool:
    """Whether the evidence is higher for the scaled values, in the units of the plain ones.

    A density changes with its units: log p(x) = log p(z) − Σ log size. Mean and size of a column
    are two parameters fitted to its values, ½ log n each (Schwarz 1978).
    """
    m = len(values)
    part = values[:: -(-m // TRIAL_ROWS)]
    counts = (~np.isnan(part)).sum(axis=0)
    if not counts.any():
        return False
    units = float((counts * np.log(scaled.size)).sum())
    fitted = float(np.log(np.maximum(counts, 1)).sum())
    return _bound(scaled.forward(part), n_jobs) - units - fitted > _bound(part, n_jobs)


def _bound(values: Array, n_jobs: int | None) -> float:
    trial = BMCG(
        rank=TRIAL_RANK,
        posterior="row",
        max_sweeps=TRIAL_SWEEPS,
        random_state=0,
        n_jobs=n_jobs,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial.fit(Observations.from_any(values))
    if trial.stop_reason_ == "interrupted":
        # A trial has nothing to save: the interrupt is the caller's.
        raise KeyboardInterrupt
    return float(trial.elbo_trace_[-1])
