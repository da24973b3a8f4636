"""Measures of predicted values and of the distributions around them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base import MatrixCompleter
from ..likelihoods.discrete import Counts, Levels
from ..likelihoods.predictive import NO_LIMITS, Predictive
from ..metrics import coverage, mae, rmse
from .splits import Split

Array = NDArray[np.float64]

# Levels of central intervals that calibration is told at.
LEVELS = np.linspace(0.1, 0.9, 9)
# Distributions that have probabilities of values, not densities.
DISCRETE = (Levels, Counts)


class ValueMeasures(NamedTuple):
    """Of held-out values.

    Attributes
    ----------
    rmse, mae : float
    log_score : float
        Mean log predictive density, in nats, or log probability of levels and counts; higher is
        better. NaN of a method without distributions, as all below.
    coverage : float
        Share of the values inside their central 90 % intervals.
    calibration : float
        Largest difference between the level of an interval and what it holds, over `LEVELS`.
    held : ndarray of shape (n_levels,)
        What intervals of these levels hold. Those of levels and counts are whole values and have to
        hold more; there, the share of the values whose place in their distribution, with a draw
        within their own probability, is in the middle.
    """

    rmse: float
    mae: float
    log_score: float
    coverage: float
    calibration: float
    held: Array


VALUE_MEASURES = ValueMeasures._fields[:-1]


def value_measures(
    values: Array, predicted: Array, distribution: Any = None, step: float = 0.0
) -> ValueMeasures:
    """Measures of predictions.

    Parameters
    ----------
    values, predicted : ndarray of shape (n,)
    distribution : Predictive, optional
        With `interval(level)` and `log_density(values)`, as `BMCG.predictive` gives it.
    step : float
        Distance between values that others give probabilities of: a density then counts with what
        it has up to half a step around a value. Nought for the density itself.
    """
    first = rmse(values, predicted), mae(values, predicted)
    if distribution is None:
        nan = float("nan")
        return ValueMeasures(*first, nan, nan, nan, np.full(len(LEVELS), np.nan))
    inside = coverage(values, *distribution.interval(float(LEVELS[-1])))
    if isinstance(distribution, DISCRETE):
        off = 2.0 * np.abs(distribution.pit(values) - 0.5)
        held = (off[:, None] <= LEVELS).mean(axis=0)
    else:
        held = np.array([coverage(values, *distribution.interval(level)) for level in LEVELS])
    if step and not isinstance(distribution, DISCRETE):
        score = log_mass(distribution, values, step)
    else:
        score = distribution.log_density(values)
    calibration = float(np.abs(held - LEVELS).max())
    return ValueMeasures(*first, float(np.mean(score)), float(inside), calibration, held)


def log_mass(distribution: Any, values: Array, step: float) -> Array:
    """Log of what densities have up to half a step around values, shape (n,).

    What lies beyond the least and the greatest of the values counts with these.
    """
    below, above = (distribution.pit(values + side * step / 2.0) for side in (-1.0, 1.0))
    below = np.where(values == values.min(), 0.0, below)
    above = np.where(values == values.max(), 1.0, above)
    return np.log(np.maximum(above - below, np.finfo(np.float64).tiny))


def step_of(values: Array) -> float:
    """The least distance between different values, nought where all are equal."""
    return float(np.diff(np.unique(values)).min(initial=np.inf)) if np.ptp(values) else 0.0


def judge_values(model: MatrixCompleter, split: Split, step: float = 0.0) -> ValueMeasures:
    """Measures of a fitted model's predictions of what was held out.

    Parameters
    ----------
    model : MatrixCompleter
    split : Split
    step : float
        As `value_measures` takes it.
    """
    i, j = split.rows, split.cols
    mean, found = model._mean(i, j), None
    if hasattr(model, "predictive"):
        found = model.fitted_.predictive(i, j, True)
    elif hasattr(model.fitted_, "variance"):
        found = Predictive(mean, np.sqrt(model._variance(i, j, True)), NO_LIMITS)
    return value_measures(split.values, mean, found, step)
