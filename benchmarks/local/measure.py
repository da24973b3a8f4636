"""One model on one table of sensors."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmcg import BMCG
from bmcg.datasets import Dataset
from bmcg.graphs import fold_days, time_graph
from bmcg.imputing import fill_series

from .sets import NOTHING, STEPS, clock, load

Array = NDArray[np.float64]
LEVEL = 0.9


def measure(name: str, method: str) -> dict[str, Any]:
    """Errors on held-out entries, coverage of 90 % bands, seconds of the processor."""
    data, parts = load(name)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean, low, high, note = METHODS[method](name, data)
    seconds = time.process_time() - began
    error = mean - data.test_values
    found: dict[str, Any] = {"seconds": seconds, "note": note}
    for part, at in parts.items():
        found[f"rmse {part}"] = float(np.sqrt(np.mean(error[at] ** 2)))
        found[f"mae {part}"] = float(np.abs(error[at]).mean())
        if low is not None:
            inside = (low <= data.test_values) & (data.test_values <= high)
            found[f"held {part}"] = float(inside[at].mean())
    return found


def _folded(name: str, data: Dataset) -> tuple[Array, Any, Any, str]:
    folded = fold_days(data.observations, STEPS[name.split("-")[0]])
    model = BMCG(posterior="column", random_state=0)
    model.fit(folded.observations, row_graph=folded.row_graph)
    at = folded.at(data.test_rows, data.test_cols)
    return model.predict(*at), *model.predict_interval(*at, LEVEL), f"rank {model.rank_}"


def _series(name: str, data: Dataset) -> tuple[Array, Any, Any, str]:
    """What `bmcg impute` does with such a table, times as rows."""
    X = _table(data).T.copy()
    found = fill_series(X, clock(name, len(X)), data.row_graph, random_state=0, n_jobs=1)
    assert found is not None
    filled, blend = found
    parts = (filled.mean, *filled.interval(LEVEL))
    at = data.test_cols, data.test_rows
    mean, low, high = (filled.matrix(X, part)[at] for part in parts)
    return mean, low, high, str(blend)


def _along(local: Any) -> Any:
    def fit(name: str, data: Dataset) -> tuple[Array, Any, Any, str]:
        rows, cols = (time_graph(np.arange(k), n_neighbors=2) for k in data.observations.shape)
        # Rows that are only numbered have an order as columns have one.
        rows = rows if name in NOTHING else data.row_graph
        model = BMCG(posterior="column", local=local, random_state=0)
        model.fit(data.observations, rows, cols)
        at = data.test_rows, data.test_cols
        kept = "" if model.local_term_ is None else ", local term"
        mean = model.predict(*at)
        return mean, *model.predict_interval(*at, LEVEL), f"rank {model.rank_}{kept}"

    return fit


def _table(data: Dataset) -> Array:
    seen = data.observations
    X = np.full(seen.shape, np.nan)
    X[seen.row_indices, seen.col_indices] = seen.values
    return X


def _linear(name: str, data: Dataset) -> tuple[Array, Any, Any, str]:
    X, times = _table(data), np.arange(data.observations.shape[1])
    there = ~np.isnan(X)
    filled = np.stack(
        [np.interp(times, times[own], x[own]) for x, own in zip(X, there, strict=True)]
    )
    return filled[data.test_rows, data.test_cols], None, None, ""


def _sklearn(kind: str) -> Any:
    def fit(name: str, data: Dataset) -> tuple[Array, Any, Any, str]:
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401
        from sklearn.impute import IterativeImputer, KNNImputer

        imputer: Any = KNNImputer(n_neighbors=10)
        if kind == "iterative":
            imputer = IterativeImputer(random_state=0, n_nearest_features=20)
        filled = imputer.fit_transform(_table(data).T).T
        return filled[data.test_rows, data.test_cols], None, None, ""

    return fit


METHODS = {
    "bmcg impute": _series,
    "bmcg, folded": _folded,
    "bmcg, local term": _along("cols"),
    "bmcg, low rank": _along(None),
    "linear interpolation": _linear,
    "KNNImputer": _sklearn("knn"),
    "IterativeImputer": _sklearn("iterative"),
    "bmcg, local auto": _along("auto"),
}
