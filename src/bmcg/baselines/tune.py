"""Hyperparameters chosen on held-out observed entries, with the cost counted."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from ..base import MatrixCompleter
from ..checks import check_whole
from ..metrics import rmse
from ..observations import Observations

Grid = Mapping[str, Iterable[Any]]


@dataclass(frozen=True)
class Trial:
    """One choice of hyperparameters.

    Attributes
    ----------
    params : dict
    fold_errors : tuple of float
        Root mean squared error on each fold's held-out entries.
    error : float
        Root mean squared error over the held-out entries of all folds.
    seconds : float
        Wall time of its fits.
    """

    params: dict[str, Any]
    fold_errors: tuple[float, ...]
    error: float
    seconds: float


@dataclass(frozen=True)
class TuneResult:
    """What tuning found and what it cost.

    Attributes
    ----------
    best_params : dict
    table : tuple of Trial
        Every choice tried, in the order of the grid.
    n_fits : int
        Fits made, the last one on all observed entries included.
    seconds : float
        Wall time of all of it.
    estimator : MatrixCompleter
        Fitted with the best choice to all observed entries.
    """

    best_params: dict[str, Any]
    table: tuple[Trial, ...]
    n_fits: int
    seconds: float
    estimator: MatrixCompleter


def default_grid(method: MatrixCompleter | type[MatrixCompleter]) -> dict[str, list[Any]]:
    """The hyperparameters worth trying for a method; empty where it needs no tuning.

    Parameters
    ----------
    method : estimator or its class

    Returns
    -------
    dict of lists
    """
    return {name: list(values) for name, values in getattr(method, "_tuning_grid", {}).items()}


def tune(
    method: MatrixCompleter | type[MatrixCompleter],
    X: Any,
    row_graph: Any = None,
    col_graph: Any = None,
    *,
    grid: Grid | None = None,
    n_folds: int = 3,
    random_state: int | None = 0,
) -> TuneResult:
    """Choose hyperparameters by the error on held-out observed entries, then refit.

    Parameters
    ----------
    method : estimator or its class
        Parameters outside the grid are the estimator's own.
    X, row_graph, col_graph
        As in `fit`.
    grid : dict of lists, optional
        Values to try for each parameter; by default `default_grid(method)`.
    n_folds : int
        Each observed entry is held out once in this many folds.
    random_state : int or None
        Of the folds; also of the fits where the estimator has none of its own.

    Returns
    -------
    TuneResult
    """
    begin = time.perf_counter()
    observations = Observations.from_any(X)
    base = _estimator(method, random_state)
    choices = list(ParameterGrid(_checked(base, default_grid(base) if grid is None else grid)))
    check_whole("n_folds", n_folds, least=2)
    if n_folds > len(observations):
        raise ValueError(f"n_folds={n_folds}: there are only {len(observations)} observed entries")
    fold = np.random.default_rng(random_state).permutation(len(observations)) % n_folds
    if len(choices) > 1:
        table = tuple(
            _trial(base, choice, observations, row_graph, col_graph, fold) for choice in choices
        )
        best = min(table, key=lambda trial: trial.error).params
    else:
        table, best = (), choices[0]
    estimator = clone(base).set_params(**best).fit(X, row_graph, col_graph)
    n_fits = len(table) * n_folds + 1
    return TuneResult(best, table, n_fits, time.perf_counter() - begin, estimator)


def _estimator(
    method: MatrixCompleter | type[MatrixCompleter], random_state: int | None
) -> MatrixCompleter:
    base = method() if isinstance(method, type) else clone(method)
    if base.get_params().get("random_state", 0) is None:
        base.set_params(random_state=random_state)
    return base


def _checked(base: MatrixCompleter, grid: Grid) -> dict[str, list[Any]]:
    known = base.get_params()
    for name in grid:
        if name not in known:
            raise ValueError(
                f"grid: {type(base).__name__} has no parameter {name!r}; "
                f"it has {', '.join(sorted(known))}"
            )
    lists = {name: list(values) for name, values in grid.items()}
    for name, values in lists.items():
        if not values:
            raise ValueError(f"grid: no values to try for {name!r}")
    return lists


def _trial(
    base: MatrixCompleter,
    choice: dict[str, Any],
    observations: Observations,
    row_graph: Any,
    col_graph: Any,
    fold: NDArray[np.int64],
) -> Trial:
    begin = time.perf_counter()
    predicted = np.empty(len(observations))
    rows, cols = observations.row_indices, observations.col_indices
    errors = []
    for held in range(int(fold.max()) + 1):
        out = fold == held
        model = clone(base).set_params(**choice)
        model.fit(_subset(observations, ~out), row_graph, col_graph)
        predicted[out] = model.fitted_.mean(rows[out].astype(np.intp), cols[out].astype(np.intp))
        errors.append(rmse(observations.values[out], predicted[out]))
    error = rmse(observations.values, predicted)
    return Trial(choice, tuple(errors), error, time.perf_counter() - begin)


def _subset(observations: Observations, used: NDArray[np.bool_]) -> Observations:
    """Some of the entries on a matrix of the same shape and labels."""
    names = (observations.row_labels, observations.col_labels)
    return Observations.from_triples(
        observations.row_indices[used],
        observations.col_indices[used],
        observations.values[used],
        shape=observations.shape,
        row_labels=None if names[0] is None else names[0].values,
        col_labels=None if names[1] is None else names[1].values,
    )
