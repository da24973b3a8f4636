"""Each case fitted twice, with its graphs and without, and measured on held-out entries."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..estimators import BMCG
from ..metrics import coverage, error_rate, psnr, rmse
from .cases import Case

Array = NDArray[np.float64]

LEVEL = 0.9


@dataclass(frozen=True)
class Result:
    """What one fit found.

    Attributes
    ----------
    matrix : ndarray of shape (m, n)
    spread : ndarray of shape (m, n)
        Posterior standard deviation of every entry, noise left out.
    rank, n_sweeps : int
    noise : float
        Standard deviation.
    error : float
        In the case's own measure, on held-out entries.
    covered : float
        Share of held-out entries, observed anew, inside their 90 % intervals.
    seconds : float
    """

    matrix: Array
    spread: Array
    rank: int
    n_sweeps: int
    noise: float
    error: float
    covered: float
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """A case with its two fits."""

    case: Case
    with_graphs: Result
    without: Result


def fit_case(case: Case, seed: int) -> Outcome:
    """Fit a case with its graphs and without."""
    return Outcome(case, _fit(case, seed, True), _fit(case, seed, False))


def _fit(case: Case, seed: int, graphs: bool) -> Result:
    data = case.data
    # The sides are small: LAPACK is fast enough and has nothing to compile.
    model = BMCG(engine="dense", random_state=seed)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(
            data.observations,
            row_graph=data.row_graph if graphs else None,
            col_graph=data.col_graph if graphs else None,
        )
    seconds = time.perf_counter() - started
    low, high = model.predict_interval(data.test_rows, data.test_cols, level=LEVEL)
    m, n = model.shape_
    rows, cols = np.divmod(np.arange(m * n), n)
    _, spread = model.predict(rows, cols, return_std=True, include_noise=False)
    matrix = model.complete()
    return Result(
        matrix,
        spread.reshape(m, n),
        model.rank_,
        model.n_sweeps_,
        model.noise_std_,
        _error(case, matrix),
        coverage(case.again, low, high),
        seconds,
    )


def _error(case: Case, matrix: Array) -> float:
    data = case.data
    if case.measure == "psnr":
        assert data.truth is not None
        return psnr(data.truth, np.clip(matrix, 0.0, 255.0))
    found = matrix[data.test_rows, data.test_cols]
    measure = rmse if case.measure == "rmse" else error_rate
    return measure(data.test_values, found)
