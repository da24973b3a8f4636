"""Measures of predicted values and of the distributions around them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base import MatrixCompleter
from ..likelihoods.predictive import NO_LIMITS, Predictive
from ..metrics import coverage, mae, rmse
from .splits import Split

Array = NDArray[np.float64]

# Levels of central intervals that calibration is told at.
LEVELS = np.linspace(0.1, 0.9, 9)


class ValueMeasures(NamedTuple):
    """Of held-out values.

    Attributes
    ----------
    rmse, mae : float
    log_score : float
        Mean log predictive density, in nats; higher is better. NaN of a method without
        distributions, as all below.
    coverage : float
        Share of the values inside their central 90 % intervals.
    calibration : float
        Largest difference between the level of an interval and what it holds, over `LEVELS`.
    held : ndarray of shape (n_levels,)
        What intervals of these levels hold.
    """

    rmse: float
    mae: float
    log_score: float
    coverage: float
    calibration: float
    held: Array


VALUE_MEASURES = ValueMeasures._fields[:-1]


def value_measures(values: Array, predicted: Array, distribution: Any = None) -> ValueMeasures:
    """Measures of predictions.

    Parameters
    ----------
    values, predicted : ndarray of shape (n,)
    distribution : Predictive, optional
        With `interval(level)` and `log_density(values)`, as `BMCG.predictive` gives it.
    """
    first = rmse(values, predicted), mae(values, predicted)
    if distribution is None:
        nan = float("nan")
        return ValueMeasures(*first, nan, nan, nan, np.full(len(LEVELS), np.nan))
    held = np.array([coverage(values, *distribution.interval(level)) for level in LEVELS])
    return ValueMeasures(
        *first,
        float(np.mean(distribution.log_density(values))),
        float(held[-1]),
        float(np.abs(held - LEVELS).max()),
        held,
    )


def judge_values(model: MatrixCompleter, split: Split) -> ValueMeasures:
    """Measures of a fitted model's predictions of what was held out.

    Parameters
    ----------
    model : MatrixCompleter
    split : Split
    """
    i, j = split.rows, split.cols
    mean, found = model._mean(i, j), None
    if hasattr(model, "predictive"):
        found = model.fitted_.predictive(i, j, True)
    elif hasattr(model.fitted_, "variance"):
        found = Predictive(mean, np.sqrt(model._variance(i, j, True)), NO_LIMITS)
    return value_measures(split.values, mean, found)
