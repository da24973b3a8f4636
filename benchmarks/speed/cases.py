"""Tables and chains with a limit on their time: what is read, and what is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmcg import datasets
from bmcg.datasets import Dataset

Array = NDArray[np.float64]
Held = tuple[NDArray[Any], NDArray[Any], Array]


@dataclass(frozen=True)
class Case:
    """One of them.

    Attributes
    ----------
    read : callable
        The matrix, what `fit` gets besides, and held-out entries (rows, columns, values).
    asked : float
        Most seconds; NaN where scikit-learn's IterativeImputer sets the limit.
    """

    read: Callable[[], tuple[Any, dict[str, Any], Held]]
    asked: float


def half_observed() -> tuple[Any, dict[str, Any], Held]:
    """599 × 1,279, rank 10 with noise of 0.3 in units of the signal, half of it observed."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((599, 10)) @ rng.standard_normal((10, 1279)) / np.sqrt(10)
    X += 0.3 * rng.standard_normal(X.shape)
    hidden = rng.random(X.shape) < 0.5
    return np.where(hidden, np.nan, X), {}, (*np.nonzero(hidden), X[hidden])


def _held(data: Dataset) -> Held:
    return data.test_rows, data.test_cols, data.test_values


def _plain(read: Callable[[], Dataset]) -> Callable[[], tuple[Any, dict[str, Any], Held]]:
    def load() -> tuple[Any, dict[str, Any], Held]:
        data = read()
        return data.observations, {}, _held(data)

    return load


def _tied(read: Callable[[], Dataset]) -> Callable[[], tuple[Any, dict[str, Any], Held]]:
    def load() -> tuple[Any, dict[str, Any], Held]:
        data = read()
        given = {"row_graph": data.row_graph, "col_graph": data.col_graph}
        return data.observations, given, _held(data)

    return load


def _table(name: Any, hidden: int) -> Case:
    return Case(_plain(lambda: datasets.load_table(name, hidden)), np.nan)


# Short ones first: pages are written as they come.
CASES = {
    **{
        f"{name}-{hidden}": _table(name, hidden)
        for name in ("concrete", "wine_red")
        for hidden in (20, 50)
    },
    "half": Case(half_observed, 5.0),
    "birmingham": Case(_tied(lambda: datasets.load_birmingham("RM40")), 5.0),
    "spam-20": _table("spam", 20),
    "spam-50": _table("spam", 50),
    "hangzhou": Case(_tied(lambda: datasets.load_hangzhou("RM40")), 5.0),
    "aqi36": Case(_tied(datasets.load_aqi36), 10.0),
    "mice": Case(_plain(datasets.load_mice), 20.0),
}
