"""The methods of the field, each with its one setting: data in, predictions out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from bmcg import BMCG, Observations
from bmcg.baselines import METHODS
from bmcg.datasets import Dataset

from .sets import SENSORS, SETS, TABLE

Array = NDArray[np.float64]
LEVELS = (0.5, 0.9, 0.95)
# Dense matrices of this many entries are the largest that MC on Graphs and GAMP are given, and
# dense kernels of this many nodes the largest for KPMF.
DENSE, KERNEL = 4_000_000, 6_000
# Entries' worth of "no effect" in the damped means.
DAMPING = 5.0


class Unsuited(Exception):
    """A method is not for this set; the message says why."""


@dataclass(frozen=True)
class Predicted:
    """Held-out entries as a method has them.

    Attributes
    ----------
    mean : ndarray of shape (n_test,)
    intervals : list of (low, high), one for each of `LEVELS`, or None
    rank : int or None
    """

    mean: Array
    intervals: list[tuple[Array, Array]] | None = None
    rank: int | None = None


Method = Callable[[str, Dataset, int, int], Predicted]


def held_out(data: Dataset) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """Rows and columns of the held-out entries as a fitted model knows them: by label, if any."""
    seen = data.observations
    rows, cols = (
        at if labels is None else np.asarray(labels.values)[at]
        for at, labels in (
            (data.test_rows, seen.row_labels),
            (data.test_cols, seen.col_labels),
        )
    )
    return rows, cols


def ours(given: bool, pattern: bool) -> Method:
    """BMCG by its defaults, without or with what comes with the set, and the pattern."""

    def run(name: str, data: Dataset, seed: int, threads: int) -> Predicted:
        side: list[object] = [None] * 4
        if given:
            features = [
                None if f is None else f.values for f in (data.row_features, data.col_features)
            ]
            side = [data.row_graph, data.col_graph, *features]
            if all(one is None for one in side) and not pattern:
                raise Unsuited("nothing comes with the set")
        if pattern:
            # The pattern takes the place of features.
            side[2:] = ["pattern", "pattern"]
        model = BMCG(random_state=seed, n_jobs=threads)
        model.fit(data.observations, *side)
        at = held_out(data)
        intervals = [model.predict_interval(*at, level=level) for level in LEVELS]
        return Predicted(np.asarray(model.predict(*at)), intervals, int(model.rank_))

    return run


def baseline(method: str, **parameters: object) -> Method:
    """One of `bmcg.baselines` on standardised values."""
    kind = METHODS[method]

    def run(name: str, data: Dataset, seed: int, threads: int) -> Predicted:
        _check_size(method, data)
        graphs = [
            data.row_graph if kind._uses_row_graph else None,
            data.col_graph if kind._uses_col_graph else None,
        ]
        if method != "BPMF" and all(graph is None for graph in graphs):
            raise Unsuited("needs a graph")
        seen = data.observations
        level, spread = float(seen.values.mean()), float(seen.values.std()) or 1.0
        scaled = Observations.from_triples(
            seen.row_indices, seen.col_indices, (seen.values - level) / spread, shape=seen.shape
        )
        known = kind().get_params()
        general = {"random_state": seed, "n_jobs": threads}
        model = kind(**{k: v for k, v in general.items() if k in known}, **parameters)
        model.fit(scaled, *graphs)
        # Without labels: by position.
        at = data.test_rows, data.test_cols
        if not hasattr(model.fitted_, "variance"):
            return Predicted(level + spread * np.asarray(model.predict(*at)))
        mean, std = (np.asarray(part) for part in model.predict(*at, return_std=True))
        return Predicted(level + spread * mean, _gaussian(level + spread * mean, spread * std))

    return run


def damped_means(name: str, data: Dataset, seed: int, threads: int) -> Predicted:
    """Overall mean and effects of rows and columns, each drawn towards nought."""
    seen = data.observations
    i, j, x = seen.row_indices, seen.col_indices, seen.values
    (m, n), level = seen.shape, float(x.mean())
    a, b = np.zeros(m), np.zeros(n)
    for _ in range(20):
        a = np.bincount(i, x - level - b[j], m) / (np.bincount(i, minlength=m) + DAMPING)
        b = np.bincount(j, x - level - a[i], n) / (np.bincount(j, minlength=n) + DAMPING)
    mean = level + a[data.test_rows] + b[data.test_cols]
    return Predicted(mean, _gaussian(mean, np.full(len(mean), (x - level - a[i] - b[j]).std())))


def imputer(kind: str) -> Method:
    """scikit-learn's imputers, on tables."""

    def run(name: str, data: Dataset, seed: int, threads: int) -> Predicted:
        if SETS[name].kind != TABLE:
            raise Unsuited("for tables")
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401
        from sklearn.impute import IterativeImputer, KNNImputer

        made = KNNImputer() if kind == "knn" else IterativeImputer(random_state=seed)
        filled = made.set_params(keep_empty_features=True).fit_transform(_dense(data))
        return Predicted(filled[data.test_rows, data.test_cols])

    return run


def interpolation(name: str, data: Dataset, seed: int, threads: int) -> Predicted:
    """Linear in time, sensor by sensor."""
    if SETS[name].kind != SENSORS:
        raise Unsuited("for sensors")
    X = _dense(data)
    times, overall = np.arange(X.shape[1]), np.nanmean(X)
    for line in X:
        there = np.isfinite(line)
        line[:] = np.interp(times, times[there], line[there]) if there.any() else overall
    return Predicted(X[data.test_rows, data.test_cols])


OURS = ("bmcg", "bmcg-given", "bmcg-pattern")
# Run in the peers' own environment, see `peers.py`.
PACKAGES = ("smurff", "myfm", "myfm-features")
HERE: dict[str, Method] = {
    "bmcg": ours(given=False, pattern=False),
    "bmcg-given": ours(given=True, pattern=False),
    "bmcg-pattern": ours(given=True, pattern=True),
    "means": damped_means,
    "bpmf": baseline("BPMF", rank=10, noise_precision="learn"),
    "grals": baseline("GRALS", rank=10),
    "kpmf": baseline("KPMF", rank=10),
    "mc-on-graphs": baseline("MC on Graphs"),
    "bmc-gp-gamp": baseline("BMC-GP-GAMP"),
    "knn": imputer("knn"),
    "iterative": imputer("iterative"),
    "interpolation": interpolation,
}
NAMES = (*HERE, *PACKAGES)


def _check_size(method: str, data: Dataset) -> None:
    m, n = data.observations.shape
    if method in ("MC on Graphs", "BMC-GP-GAMP") and m * n > DENSE:
        raise Unsuited(f"dense: {m} x {n} is over {DENSE:,} entries")
    if method == "KPMF" and max(m, n) > KERNEL:
        raise Unsuited(f"dense kernels: {max(m, n):,} nodes are over {KERNEL:,}")


def _dense(data: Dataset) -> Array:
    X = np.full(data.observations.shape, np.nan)
    seen = data.observations
    X[seen.row_indices, seen.col_indices] = seen.values
    return X


def _gaussian(mean: Array, std: Array) -> list[tuple[Array, Array]]:
    widths = [norm.ppf(0.5 + level / 2) * std for level in LEVELS]
    return [(mean - width, mean + width) for width in widths]
