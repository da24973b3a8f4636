"""One model on one set: fitted, and scored on what it has not seen."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.metrics import average_precision_score

from bmcg import BMCG

from .sets import CASES, Case, with_outliers

Array = NDArray[np.float64]

# Of a Gaussian's probabilities: a share that knows nothing keeps its log score finite.
FLOOR = 1e-3
# Set to models: name to (parameters, transform of the values).
PLAIN: dict[str, Any] = {"likelihood": "gaussian"}
# A model of a user who sets nothing but the likelihood: questions, graphs and posterior included.
COMES = ", as it comes"
RARE = {
    f"{name}{kind}": {"likelihood": name}
    for name in ("gaussian", "bernoulli")
    for kind in ("", COMES)
}
MODELS: dict[str, dict[str, dict[str, Any]]] = {
    "movielens-100k": {"gaussian": PLAIN, "ordinal": {"likelihood": "ordinal"}},
    "bookcrossing": {"gaussian": PLAIN, "ordinal": {"likelihood": "ordinal"}},
    "thumbs": {"gaussian": PLAIN, "bernoulli": {"likelihood": "bernoulli"}},
    "fdataset": RARE,
    "dti_enzyme": RARE,
    "foursquare": {
        "gaussian of log1p": PLAIN,
        "poisson": {"likelihood": "poisson"},
        "negative_binomial": {"likelihood": "negative_binomial"},
    },
    "sc_mixology": {
        "gaussian of log1p": PLAIN,
        "poisson": {"likelihood": "poisson"},
        "negative_binomial": {"likelihood": "negative_binomial"},
    },
    "hangzhou": {
        "gaussian": PLAIN,
        "gaussian, noise of rows": {"noise": "rows"},
        "poisson": {"likelihood": "poisson"},
        "negative_binomial": {"likelihood": "negative_binomial"},
    },
}
SPOILT = ("planted", "stars")
for _set in SPOILT:
    MODELS[_set] = {
        f"{name}, {kind}": parameters
        for name, parameters in (("gaussian", PLAIN), ("student", {"likelihood": "student"}))
        for kind in ("clean", "outliers")
    }


def measure(name: str, model: str, seed: int, posterior: str, threads: int = 1) -> dict[str, Any]:
    """All figures of one cell."""
    case = CASES[name](seed)
    if model.endswith("outliers"):
        case = with_outliers(case, seed)
    logs = model.endswith("log1p")
    train = case.train.with_values(np.log1p(case.train.values)) if logs else case.train
    fixed: dict[str, Any] = {"posterior": posterior, "bias": True, "selection": False}
    if model.endswith(COMES):
        fixed = {}
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = BMCG(random_state=seed, n_jobs=threads, **fixed, **MODELS[name][model]).fit(
            train, *case.graphs
        )
    seconds = time.perf_counter() - began
    found = fitted.fitted_.predictive(case.rows, case.cols)
    out: dict[str, Any] = {"seconds": seconds, "rank": fitted.rank_, "sweeps": fitted.n_sweeps_}
    out["posterior"] = fitted.posterior_
    return {**out, **scores(case, found, fitted, logs, name not in SPOILT)}


def scores(case: Case, found: Any, fitted: BMCG, logs: bool, discrete: bool) -> dict[str, Any]:
    """RMSE, mean log score, and what a set has besides."""
    x, mean = case.values, found.mean
    if logs:
        # The mean of e^z − 1 where z is Gaussian.
        mean = np.exp(found.location + 0.5 * found.spread**2) - 1.0
    low, high = case.train.values.min(), case.train.values.max()
    score = (
        found.log_density(x)
        if hasattr(found, "levels") or not hasattr(found, "spread")
        else (discretised(found, x, case.train.values, logs) if discrete else found.log_density(x))
    )
    out: dict[str, Any] = {
        "rmse": float(np.sqrt(np.mean((np.clip(mean, low, None) - x) ** 2))),
        "log_score": float(score.mean()),
    }
    values = np.unique(case.train.values)
    if values.tolist() == [0.0, 1.0]:
        p, base = np.clip(mean, 0.0, 1.0), case.train.values.mean()
        out["aupr"] = float(average_precision_score(x, mean))
        out["brier"] = float(np.mean((p - x) ** 2))
        out["brier_base"] = float(np.mean((base - x) ** 2))
    elif discrete and len(values) <= 10:
        out["rmse"] = float(np.sqrt(np.mean((np.clip(mean, low, high) - x) ** 2)))
        out["held"] = held(case, found, fitted)
    return out


def discretised(found: Any, x: Array, seen: Array, logs: bool) -> Array:
    """Log probability of values under a Gaussian: its mass up to half the way to the next value.

    What lies beyond the lowest and the highest value counts to these; a share `FLOOR` of the
    mass is that of the values themselves.
    """
    levels, counts = np.unique(np.concatenate((seen, x)), return_counts=True)
    step = levels[1:] - levels[:-1] if len(levels) <= 10 else np.ones(len(levels) - 1)
    at = np.searchsorted(levels, x)
    half = 0.5 * float(step.min())
    below = np.where(at == 0, -np.inf, x - half)
    above = np.where(at == len(levels) - 1, np.inf, x + half)
    if logs:
        below, above = (np.log1p(np.maximum(end, -1.0 + 1e-12)) for end in (below, above))
    mass = ndtr((above - found.location) / found.spread)
    mass -= ndtr((below - found.location) / found.spread)
    return np.log((1.0 - FLOOR) * mass + FLOOR * (counts / counts.sum())[at])


def held(case: Case, found: Any, fitted: BMCG) -> dict[str, float]:
    """Share of each true level that sets of 90 % hold; of a Gaussian, its intervals."""
    x = case.values
    levels = np.unique(case.train.values)
    if hasattr(found, "probabilities"):
        table = found.probabilities >= fitted._thresholds(0.9)
        inside = table[np.arange(len(x)), np.searchsorted(levels, x)]
    else:
        low, high = found.interval(0.9)
        inside = (low <= x) & (x <= high)
    return {
        f"{level:g}": float(inside[x == level].mean()) for level in levels if (x == level).any()
    }
