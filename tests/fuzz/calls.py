"""Public calls with odd arguments: shapes, types, labels, values and options drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from bmcg import BMCG, BMCGImputer, Observations, graphs, metrics
from bmcg.baselines import METHODS
from bmcg.evaluation import evaluate, k_folds, leave_out, random_split
from bmcg.graphs.adjacency import as_adjacency
from bmcg.imputing import fill
from bmcg.inpainting import inpaint

from .seeds import small_models
from .verdict import Outcome, judged

NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e-320, 1e99, 1e120, 1e308, -1e308, 3.0, 7.25)
ODD = (np.nan, np.inf, -np.inf)
NAMES: tuple[Any, ...] = (
    "a",
    "b",
    "",
    "a,b",
    '"',
    "=1+1",
    "é",
    "\U0001f600",
    0,
    1,
    -1,
    2.5,
    True,
    None,
)
SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5)
THINGS: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2, 10**12, 0.5, 1e-9, -0.5, 2.0, float("nan"),
    float("inf"), "", "auto", "x",     [], [1, 2], (0, 1), (1, 0), {}, "row", "mean", b"x", object,
)  # fmt: skip


def vector(r: Random, n: int, odd: float = 0.05) -> np.ndarray:
    """Values, most of them near one, some at the limits."""
    values = [r.gauss(0, 1) if r.random() < 0.85 else r.choice(NUMBERS) for _ in range(n)]
    values = [r.choice(ODD) if r.random() < odd else value for value in values]
    with np.errstate(all="ignore"):
        return np.array(values).astype(r.choice(("f8", "f8", "f8", "f4", "i8", "i1", "?", "O")))


def matrix(r: Random) -> Any:
    """Something that may be taken for a matrix with holes."""
    m, n = r.choice(SIZES), r.choice(SIZES)
    X = vector(r, m * n).reshape(m, n)
    if X.dtype.kind == "f" and X.size:
        X[np.array([r.random() < 0.3 for _ in range(X.size)]).reshape(X.shape)] = np.nan
    how = r.randrange(9)
    if how == 0:
        return sp.csr_array(X) if X.dtype.kind in "fi" else X
    if how == 1:
        return pd.DataFrame(
            X, [r.choice(NAMES) for _ in range(m)], [r.choice(NAMES) for _ in range(n)]
        )
    if how == 2:
        return pd.DataFrame(X)
    if how == 3:
        return np.ma.masked_invalid(X) if X.dtype.kind == "f" else X
    if how == 4:
        return X.tolist()
    if how == 5:
        return r.choice(
            (X.ravel(), X[None], np.asfortranarray(X), X[:, ::-1], X.T, r.choice(THINGS))
        )
    return X


def graph(r: Random, n: int) -> Any:
    """Something that may be taken for a graph of n nodes."""
    how = r.randrange(7)
    n = n if r.random() < 0.8 else r.choice(SIZES)
    if how == 0:
        return r.choice(THINGS)
    if how == 1:
        return [(r.randrange(-1, n + 1), r.randrange(0, n + 1)) for _ in range(r.randrange(5))]
    if how == 2:
        return pd.DataFrame(
            {"a": [r.choice(NAMES)], "b": [r.choice(NAMES)], "w": [r.choice(NUMBERS)]}
        )
    A = np.abs(vector(r, n * n, 0.02).astype(object).astype("f8")).reshape(n, n)
    if how in (3, 4):
        A = (A + A.T) / 4
    return sp.csr_array(A) if how in (4, 5) else A


def options(r: Random, of: Any) -> dict[str, Any]:
    """A few parameters of an estimator, sensible ones and others."""
    sensible: dict[str, tuple[Any, ...]] = {
        "posterior": ("column", "row", "joint", "sampled", "variational"),
        "bias": (True, False),
        "engine": ("dense", "sparse", "monte_carlo"),
        "likelihood": (
            "gaussian",
            "student",
            "bernoulli",
            "ordinal",
            "poisson",
            "negative_binomial",
        ),
        "noise": ("auto", "shared", "rows", "cols"),
        "missing": ("unknown", "weak-zero"),
        "value_range": (None, "observed", (0, 1), (-100, 100)),
        "learn_graphs": (True, False),
        "storage": ("float64", "float32"),
        "rank": (1, 2, 5),
        "ridge": (None, 1e-6, 1.0),
    }
    names = r.sample(sorted(of._get_param_names()), r.choice((0, 1, 2, 3)))
    found = {
        name: r.choice(sensible.get(name, THINGS)) if r.random() < 0.8 else r.choice(THINGS)
        for name in names
        if name
        not in ("verbose", "max_sweeps", "n_draws", "checkpoint", "resume", "device", "n_jobs")
    }
    quick = {"max_sweeps": 2, "n_draws": 2, "random_state": 0, "n_jobs": 1, "posterior": "row"}
    if r.random() < 0.9:
        # Most fits are asked nothing about biases and units, which takes several fits each.
        quick |= {"bias": False, "scale": False}
    known = of._get_param_names()
    return {name: value for name, value in quick.items() if name in known} | found


def _fit(r: Random) -> None:
    X = matrix(r)
    m, n = np.shape(X)[:2] if np.ndim(X) == 2 else (2, 2)
    row = graph(r, m) if r.random() < 0.4 else None
    col = graph(r, n) if r.random() < 0.2 else None
    features = matrix(r) if r.random() < 0.1 else None
    model = BMCG(**options(r, BMCG)).fit(X, row, col, row_features=features)
    found = np.asarray(model.complete(), dtype=float)
    assert found.shape == model.shape_
    assert np.isfinite(found).all()


def _observe(r: Random) -> None:
    if r.random() < 0.4:
        found = Observations.from_any(matrix(r))
    else:
        n = r.choice(SIZES)
        rows, cols = ([r.randrange(-1, 6) for _ in range(n)] for _ in range(2))
        shape = r.choice((None, (6, 6), (3, 3), (0, 0), r.choice(THINGS)))
        labels = r.choice((None, [r.choice(NAMES) for _ in range(6)]))
        how = r.choice(("error", "mean", "sum", "first", "last", r.choice(THINGS)))
        found = Observations.from_triples(
            rows, cols, vector(r, n), shape, row_labels=labels, duplicates=how
        )
    assert len(found) > 0
    assert np.isfinite(found.values).all()
    repr(found)


def _long(r: Random) -> None:
    n = r.choice(SIZES)
    columns = {
        "u": [r.choice(NAMES) for _ in range(n)],
        "i": [r.choice(NAMES) for _ in range(n)],
        "x": vector(r, n),
    }
    found = Observations.from_frame(
        pd.DataFrame(columns), r.choice(("u", "u", "u", "z", None)), "i", "x", duplicates="mean"
    )
    assert len(found) > 0


def _imputer(r: Random) -> None:
    X = matrix(r)
    out = BMCGImputer(**options(r, BMCGImputer)).fit_transform(X)
    assert np.shape(out)[0] == np.shape(X)[0]


def _fill(r: Random) -> None:
    X = matrix(r)
    scale = r.choice(("auto", True, False, r.choice(THINGS)))
    quick = {"posterior": "row", "max_sweeps": 2, "random_state": 0, "n_jobs": 1}
    filled, _ = fill(X, scale=scale, bias=r.random() < 0.1, **quick)
    assert np.isfinite(filled.mean).all()


def _ask(r: Random) -> None:
    model = r.choice(list(small_models().values()))

    def some() -> Any:
        labels = ["r0", "r3", 0, 2, 5, 8, -1, 99, 1.5, None, "é"]
        return r.choice([[r.choice(labels) for _ in range(r.choice((0, 1, 2)))], r.choice(THINGS)])

    how = r.randrange(8)
    if how == 6 and isinstance(model, BMCG):
        found = model.similar(
            some(), r.choice((1, 3, 0, "x", 10**9)), candidates=r.choice((None, some()))
        )
        assert (np.abs(found.similarity) <= 1 + 1e-9).all()
        assert (found.cols != found.others).all()
    elif how == 7 and isinstance(model, BMCG):
        more = {"diversity": r.choice((0.5, *THINGS)), "popularity": r.choice((0.0, 1.0, *THINGS))}
        model.recommend(some(), 2, candidates=r.choice((None, some())), **more)
    elif how == 0:
        model.predict(some(), some(), return_std=r.random() < 0.5)
    elif how == 1 and isinstance(model, BMCG):
        model.predict_interval(some(), some(), r.choice(THINGS))
    elif how == 2 and isinstance(model, BMCG):
        model.sample(
            some(), some(), r.choice((1, 2, "x", -1, 0, 1.5)), random_state=r.choice((0, "x"))
        )
    elif how == 3 and isinstance(model, BMCG):
        model.recommend(some(), r.choice((1, 3, 0, -1, "x", None, 10**9)))
    elif how == 4 and isinstance(model, BMCG):
        model.fold_in(matrix(r))
    else:
        model.score(matrix(r))


def _graphs(r: Random) -> None:
    n = r.choice(SIZES)
    how = r.randrange(7)
    if how == 0:
        A = as_adjacency(graph(r, n), n, None, "row_graph")
    elif how == 1:
        A = graphs.knn_graph(matrix(r), r.choice((1, 2, 3, 0, -1, "x", 100)))
    elif how == 2:
        A = graphs.chain_graph(r.choice((n, r.choice(THINGS[:7]))))
    elif how == 3:
        A = graphs.grid_graph(r.choice(((n, 2), n, (2, -1), (3, "x"), r.choice(THINGS[:7]))))
    elif how == 4:
        A = graphs.time_graph(vector(r, n))
    elif how == 5:
        X = matrix(r)
        A = graphs.pattern_graph(Observations.from_any(X) if r.random() < 0.8 else X)
    else:
        A = graphs.feature_graph(matrix(r))
    assert A.shape[0] == A.shape[1]
    assert np.isfinite(A.data).all()


def _metrics(r: Random) -> None:
    n = r.choice(SIZES)
    m = n if r.random() < 0.8 else r.choice(SIZES)
    name = r.choice(("rmse", "mae", "coverage", "pit", "gaussian_nlpd", "homoscedastic_nlpd"))
    measure: Callable[..., Any] = getattr(metrics, name)
    wide = 2 if name in ("rmse", "mae", "homoscedastic_nlpd") else 3
    # What cannot be squared is no value of a model.
    given = (np.clip(vector(r, n if at else m).astype(float), -1e99, 1e99) for at in range(wide))
    measure(*given)


def _splits(r: Random) -> None:
    observed = Observations.from_any(matrix(r))
    how = r.randrange(3)
    if how == 0:
        list(k_folds(observed, r.choice((2, 3, 1, 0, "x", 1.5))))
    elif how == 1:
        random_split(observed, r.choice((0.5, 0.1, 0, 1, -1, "x", float("nan"))))
    else:
        leave_out(observed, r.choice((1, 2, 0, -1, "x")))


def _inpaint(r: Random) -> None:
    picture = vector(r, 12 * 14, 0.0).astype(object).astype("f8").reshape(12, 14)
    if r.random() < 0.3:
        picture = np.dstack([picture, picture.T.reshape(12, 14), -picture])
    known = np.array([r.random() < 0.7 for _ in range(168)]).reshape(12, 14)
    known = r.choice((known, known, known, known[1:], known * 1, r.choice(THINGS)))
    found = inpaint(picture, known, n_jobs=1, max_sweeps=2)
    assert found.mean.shape == found.std.shape == picture.shape
    assert np.isfinite(found.mean).all()
    assert (found.std >= 0).all()


def _evaluate(r: Random) -> None:
    splits = random_split(Observations.from_any(matrix(r)), 0.4)
    at, relevant = r.choice((1, 2, 10, r.choice(THINGS))), r.choice((None, None, 0.0, *THINGS))
    model = METHODS["LMaFit"](**options(r, METHODS["LMaFit"]))
    found = evaluate({"m": model}, splits, at=at, relevant=relevant)
    assert found.to_markdown()
    lists = found["m"]
    assert all(not lists[name] > 1 for name in ("precision", "recall", "ndcg", "map", "hit_rate"))


CALLS = (
    _fit, _fit, _observe, _observe, _long, _imputer, _fill, _ask, _ask, _graphs, _graphs, _metrics,
    _splits, _inpaint, _evaluate,
)  # fmt: skip


def call_at_random(r: Random) -> Outcome:
    """One call, judged."""
    call = r.choice(CALLS)
    return judged(lambda: call(r))
