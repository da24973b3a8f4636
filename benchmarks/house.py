"""Bounds after every sweep, of every fit that a model takes, held against those of another commit.

    python -m benchmarks.house record FILE [small|large]     (in a checkout of either commit)
    python -m benchmarks.house compare FILE                  (in the one to be judged)

Bounds are heard where they are computed, so trials and second fits count as well.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from bmcg import BMCG, Observations, datasets
from bmcg.demo.cases import draw_cases
from bmcg.graphs import chain_graph, knn_graph

# The loop's module has had more than one name.
LOOPS = ("bmcg.inference.variational", "bmcg.inference.run")


def planted(m: int = 60, n: int = 40) -> tuple[Observations, dict[str, Any]]:
    """A small matrix of rank three, with graphs and features of both sides."""
    rng = np.random.default_rng(0)
    F, G = rng.normal(size=(m, 3)), rng.normal(size=(n, 2))
    X = (F + 0.3 * rng.normal(size=(m, 3))) @ rng.normal(size=(3, n)) + 0.4 * rng.normal(
        size=(m, n)
    )
    seen = np.nonzero(rng.random((m, n)) < 0.5)
    known = {
        "row_graph": {"near": knn_graph(F, n_neighbors=4), "chain": chain_graph(m)},
        "col_graph": chain_graph(n),
        "row_features": F,
        "col_features": G,
    }
    return Observations.from_triples(*seen, X[seen], shape=(m, n)), known


def cases(size: str) -> Iterator[tuple[str, Any, dict[str, Any], dict[str, Any]]]:
    """Name, observations, what is known besides, and settings."""
    if size == "small":
        data, known = planted()
        yield from _families("planted", data, known, {"max_sweeps": 25})
        plain = {name: known[name] for name in ("row_graph", "col_graph")}
        for option in ("dense", "sparse", "monte_carlo"):
            for family in ("column", "joint"):
                given = {"engine": option, "posterior": family, "max_sweeps": 15}
                yield f"planted {family} {option}", data, plain, given
        yield "planted fixed", data, plain, {"learn_graphs": False, "ridge": 0.01}
        yield "planted single", data, plain, {"posterior": "row", "storage": "float32"}
        yield "planted to the end", data, plain, {}
        return
    for case in draw_cases(0):
        graphs = {"row_graph": case.data.row_graph, "col_graph": case.data.col_graph}
        for name, given in (("graphs", graphs), ("bare", {})):
            yield f"demo {case.name} {name}", case.data.observations, given, {"max_sweeps": 40}
    ratings = datasets.load_movielens_100k()
    known = {"row_graph": ratings.row_graph, "col_graph": ratings.col_graph}
    known |= {"row_features": "pattern", "col_features": "pattern"}
    yield from _families("MovieLens 100K", ratings.observations, known, {"max_sweeps": 6})


def _families(
    name: str, data: Any, known: dict[str, Any], settings: dict[str, Any]
) -> Iterator[tuple[str, Any, dict[str, Any], dict[str, Any]]]:
    graphs = {key: known[key] for key in ("row_graph", "col_graph")}
    features = {key: known[key] for key in ("row_features", "col_features")}
    for family in ("row", "column", "joint"):
        for bias in (False, True):
            for word, given in (("bare", {}), ("graphs", graphs)):
                label = f"{name} {family} {word}{' biases' if bias else ''}"
                yield label, data, given, {**settings, "posterior": family, "bias": bias}
        if family != "column":
            for word, given in (("features", features), ("both", known)):
                yield f"{name} {family} {word}", data, given, {**settings, "posterior": family}


def bounds(data: Any, known: dict[str, Any], settings: dict[str, Any]) -> list[float]:
    """Every bound that one call of `fit` computes, in order."""
    loop = next(filter(None, map(_module, LOOPS)))
    heard: list[float] = []
    original = loop.elbo

    def listening(*arguments: Any, **options: Any) -> float:
        heard.append(original(*arguments, **options))
        return heard[-1]

    with patch.object(loop, "elbo", listening), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        BMCG(random_state=0, n_jobs=1, **settings).fit(data, **known)
    return heard


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def record(path: Path, size: str) -> None:
    """Write the bounds of every case."""
    found = {name: bounds(*case) for name, *case in cases(size)}
    path.write_text(json.dumps({"size": size, "bounds": found}, indent=1))


def compare(path: Path) -> float:
    """Print the largest relative difference of every case, and return that of all."""
    stored = json.loads(path.read_text())
    worst = 0.0
    for name, *case in cases(stored["size"]):
        old, new = np.asarray(stored["bounds"][name]), np.asarray(bounds(*case))
        same = len(old) == len(new)
        gap = float(np.max(np.abs(new - old) / np.abs(old))) if same else np.inf
        worst = max(worst, gap)
        print(f"{name:40s} {len(old):4d} bounds {len(new):4d} now   {gap:.1e}", flush=True)
    print(f"largest relative difference {worst:.1e}")
    return worst


if __name__ == "__main__":
    if sys.argv[1] == "record":
        record(Path(sys.argv[2]), sys.argv[3])
    else:
        sys.exit(compare(Path(sys.argv[2])) > 1e-9)
