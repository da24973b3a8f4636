"""Graphs and features judged by the evidence: accuracy, calibration, and graphs that do not help.

    BMCG_DATA=/path/to/data python -m benchmarks.evidence
    BMCG_DATA=/path/to/data python -m benchmarks.evidence --part ratings --data flixster

Run from the root of the repository. One setting for all data: the library's defaults, the graphs
of the data set, the observation pattern as features of both sides, and the range of the observed
values. No fit looks at a test entry. Every cell is kept in docs/results/evidence.json as soon as it
is known, so that an interrupted run goes on; the page is drawn from that file.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from benchmarks.reporting import COMMIT, ROOT, machine, table, write_page

from bmcg import BMCG, Observations, datasets
from bmcg.bench.experiments import recommendation
from bmcg.bench.measuring import OK, Cell
from bmcg.bench.methods import bmcg_entries
from bmcg.bench.store import Store as BenchStore
from bmcg.datasets import Dataset
from bmcg.files.storage import write_atomically
from bmcg.metrics import coverage, gaussian_nlpd, homoscedastic_nlpd, rmse

STORE = ROOT / "docs" / "results" / "evidence.json"
PAGE = ROOT / "docs" / "results" / "evidence.md"
SEEDS = (0, 1, 2)
LEVELS = (0.5, 0.9, 0.95)
RATINGS: dict[str, tuple[str, Callable[[int], Dataset], float, str]] = {
    "flixster": ("Flixster", lambda _: datasets.load_flixster(), 0.8745, "0.872"),
    "douban": ("Douban", lambda _: datasets.load_douban(), 0.7240, "0.721"),
    "ml-100k": ("MovieLens 100K u1", lambda _: datasets.load_monti_movielens(), 0.8870, "0.889"),
    "ml-1m": ("MovieLens 1M 90/10", lambda s: datasets.load_movielens_1m(seed=s), 0.8225, "0.823"),
}
COLD_USERS = 200
# What `python -m benchmarks.peers --method myfm-features` keeps.
PEERS = ROOT / "docs" / "results" / "peers.json"


class Store:
    """Cells of the tables by name, on disk after each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cells: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def cell(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The cell of that name, made now if it is not there."""
        if name not in self.cells:
            self.cells[name] = make() | {"commit": COMMIT}
            text = json.dumps(self.cells, indent=1, sort_keys=True)
            write_atomically(self.path, lambda to: Path(to).write_text(text, encoding="utf-8"))
            print(name, self.cells[name], flush=True)
        return dict(self.cells[name])


def fitted(data: Dataset, model: BMCG, **sides: Any) -> float:
    """Fit, quietly; seconds it took."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the table says how a fit ended
        model.fit(data.observations, **sides)
    return time.perf_counter() - begin


def scores(data: Dataset, model: BMCG) -> dict[str, Any]:
    """Error and calibration on the held-out entries."""
    # By position: a data set may have labels, and its held-out entries are positions.
    at, truth, posterior = (data.test_rows, data.test_cols), data.test_values, model.fitted_
    mean, std = posterior.mean(*at), np.sqrt(posterior.variance(*at))
    return {
        "rmse": rmse(truth, mean),
        "coverage": [
            coverage(truth, *posterior.interval(*at, level=q, include_noise=True)) for q in LEVELS
        ],
        "nlpd": gaussian_nlpd(truth, mean, std),
        "nlpd_homoscedastic": homoscedastic_nlpd(truth, mean),
    }


def rating_cell(name: str, seed: int) -> dict[str, Any]:
    """Defaults, the data's graphs, pattern features.

    The fit is that of our row in `bmcg bench recommendation`, which finds its result there too:
    the range of the values matters to predictions alone.
    """
    data = RATINGS[name][1](seed)
    model = BMCG(random_state=seed, n_jobs=1, value_range="observed")
    seconds = fitted(
        data,
        model,
        row_graph=data.row_graph,
        col_graph=data.col_graph,
        row_features="pattern",
        col_features="pattern",
    )
    keep_for_bench(data, model, RATINGS[name][0], seed, seconds)
    return scores(data, model) | {
        "rank": model.rank_,
        "sweeps": model.n_sweeps_,
        "ended": model.stop_reason_,
        "seconds": seconds,
        "weights": [w.sentence for s in model.graph_weights_.values() for w in s.values()],
    }


def keep_for_bench(data: Dataset, model: BMCG, title: str, seed: int, seconds: float) -> None:
    """The same fit as a cell of the recommendation bench, whose ratings are not clipped."""
    case = next(c for c in recommendation(quick=False).cases if title.startswith(c.name))
    cell = Cell("recommendation", case, bmcg_entries()[0], seed, quick=False)
    free = replace(model.fitted_, limits=(-np.inf, np.inf))
    result = {
        "status": OK,
        "provenance": data.provenance,
        "rmse": rmse(data.test_values, free.mean(data.test_rows, data.test_cols)),
        "n_fits": 1,
        "found_rank": model.rank_,
        "seconds": seconds,
    }
    BenchStore("recommendation", STORE.parent, ROOT / "results").add(cell, result)


def shuffled(graph: sp.csr_array, seed: int = 0) -> sp.csr_array:
    """A random graph of the same degrees' order: nodes renamed at random."""
    order = np.random.default_rng(seed).permutation(graph.shape[0])
    return sp.csr_array(sp.csr_array(graph)[order][:, order])


def judge_cell(variant: str, seed: int) -> dict[str, Any]:
    """Flixster's users and items under graphs of different worth, strengths learned."""
    data = datasets.load_flixster()
    good = {"rows": data.row_graph, "cols": data.col_graph}
    graphs = {
        "none": lambda A: None,
        "good": lambda A: {"good": A},
        "useless": lambda A: {"useless": shuffled(A)},
        "good and useless": lambda A: {"good": A, "useless": shuffled(A)},
        "good twice": lambda A: {"good": A, "copy": A},
    }[variant]
    model = BMCG(posterior="joint", random_state=seed, value_range="observed")
    seconds = fitted(data, model, row_graph=graphs(good["rows"]), col_graph=graphs(good["cols"]))
    return {
        "rmse": scores(data, model)["rmse"],
        "seconds": seconds,
        "weights": [w.sentence for s in model.graph_weights_.values() for w in s.values()],
    }


def cold_cell(given: str, seed: int) -> dict[str, Any]:
    """Users without a single rating, predicted from what else is known of them."""
    data = datasets.load_movielens_100k()
    observations = data.observations
    rng = np.random.default_rng(seed)
    m, n = observations.shape
    cold = np.zeros(m, dtype=bool)
    cold[rng.choice(m, COLD_USERS, replace=False)] = True
    rows, cols, values = observations.row_indices, observations.col_indices, observations.values
    hidden = cold[rows]
    kept = Observations.from_triples(rows[~hidden], cols[~hidden], values[~hidden], shape=(m, n))
    # Named graphs have their strengths learned.
    sides: dict[str, Any] = {
        "row_graph": {"alike": data.row_graph},
        "col_graph": {"alike": data.col_graph},
    }
    if given == "features":
        sides = {"row_features": data.row_features.values, "col_features": data.col_features.values}
    model = BMCG(random_state=seed, value_range="observed")
    seconds = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.perf_counter()
        model.fit(kept, **sides)
        seconds = time.perf_counter() - begin
    i, j, truth = rows[hidden], cols[hidden], values[hidden]
    counts = np.bincount(kept.col_indices, minlength=n)
    sums = np.bincount(kept.col_indices, kept.values, minlength=n)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), kept.values.mean())
    return {
        "rmse": rmse(truth, model.predict(i, j)),
        "column_means": rmse(truth, means[j]),
        "coverage": [coverage(truth, *model.predict_interval(i, j, level=q)) for q in LEVELS],
        "seconds": seconds,
    }


def percent(shares: list[float]) -> str:
    return " / ".join(f"{100 * share:.1f}" for share in shares)


def peer_errors() -> dict[str, str]:
    """RMSE and seconds of myFM with graphs and pattern as features, by data set."""
    kept = json.loads(PEERS.read_text(encoding="utf-8")) if PEERS.exists() else {}
    found = {name: kept.get(f"{name}/myfm-features", {}).get("outcome") for name in RATINGS}
    return {
        name: f"{outcome['errors'][-1]:.4f} in {outcome['total']:.0f} s"
        for name, outcome in found.items()
        if outcome
    }


def rating_rows(store: Store) -> list[list[str]]:
    """The table of ratings from what the store holds."""
    rows, peers = [], peer_errors()
    for name, (title, _, target, best) in RATINGS.items():
        cells = [c for s in SEEDS if (c := store.cells.get(f"ratings {name} {s}"))]
        if not cells:
            rows.append([title, f"{target:.4f}", best, peers.get(name, ""), "not run", *[""] * 7])
            continue
        errors = [c["rmse"] for c in cells]
        spread = f" ± {np.std(errors, ddof=1):.4f}" if len(errors) > 1 else ""
        met = "yes" if np.mean(errors) <= target else "no"
        cover = np.mean([c["coverage"] for c in cells], axis=0).tolist()
        rows.append(
            [
                title,
                f"{target:.4f}",
                best,
                peers.get(name, "not run"),
                f"{np.mean(errors):.4f}{spread} (seeds: {len(cells)})",
                met,
                percent(cover),
                f"{np.mean([c['nlpd'] for c in cells]):.4f}",
                f"{np.mean([c['nlpd_homoscedastic'] for c in cells]):.4f}",
                ", ".join(str(c["rank"]) for c in cells),
                ", ".join(f"{c['sweeps']} {c['ended']}" for c in cells),
                f"{np.mean([c['seconds'] for c in cells]):.0f}",
            ]
        )
    return rows


def worth(store: Store) -> str:
    """What is left of a good graph's gain beside a useless one, and what that one costs alone."""
    found = {
        variant: np.mean([store.cells[key]["rmse"] for key in keys])
        for variant in ("none", "good", "good and useless", "useless")
        if (
            keys := [f"judge {variant} {s}" for s in SEEDS if f"judge {variant} {s}" in store.cells]
        )
    }
    if len(found) < 4:
        return ""
    kept = (found["none"] - found["good and useless"]) / (found["none"] - found["good"])
    cost = found["useless"] / found["none"] - 1
    return (
        f"Beside the useless graph {100 * kept:.1f} % of the good one's gain is left; the useless "
        f"one alone costs {100 * cost:+.2f} %."
    )


def page(store: Store) -> str:
    """Everything the store holds, as a page."""
    ratings = table(
        ("data", "waypoint", "best deep model", "myFM", "RMSE", "met", "covered, % (50 / 90 / 95)",
         "NLPD", "NLPD, one deviation", "rank", "sweeps", "seconds"),
        rating_rows(store),
    )  # fmt: skip
    judged = [
        [key.removeprefix("judge "), f"{c['rmse']:.4f}", "; ".join(c["weights"])]
        for key, c in sorted(store.cells.items())
        if key.startswith("judge ")
    ]
    cold = [
        [key.removeprefix("cold "), f"{c['rmse']:.4f}", f"{c['column_means']:.4f}",
         percent(c["coverage"])]
        for key, c in sorted(store.cells.items())
        if key.startswith("cold ")
    ]  # fmt: skip
    commits = ", ".join(sorted({c["commit"] for c in store.cells.values()}))
    return f"""# Graphs and features judged by the evidence

`BMCG_DATA=... python -m benchmarks.evidence`

{machine()}; cells from commits {commits}.

## Ratings
One setting for all: `BMCG(value_range="observed")` with the graphs of the data set and
`row_features="pattern", col_features="pattern"`. No fit looks at a test entry and nothing is tuned
for a data set; but rules of the library (when a component is dropped, when biases are used, that
strengths are always learned, which posterior goes with features, when features are left out) were
drawn up with test errors of these sets, and of the users without ratings below, in view. Fits ran
on one core each, beside other work. Cells of commits 7fd8bdbd and 1f194055 ended after two sweeps
of little gain in a row, later ones by the trend of the bound (decision 019).

{ratings}

"myFM" is version 0.4 with relation blocks of the graphs and the pattern, 200 draws at rank 10,
predictions not clipped (`python -m benchmarks.peers --method myfm-features`).

NLPD is the negative log predictive density of the held-out entries; beside it that of a Gaussian
with the same means and one deviation for all, itself fitted to the held-out errors.

## Graphs of different worth (Flixster, strengths learned)
{table(("graphs", "RMSE", "what the fit says of them"), judged)}

A useless graph is the good one with its nodes renamed at random. {worth(store)}

## Users without ratings (MovieLens 100K, {COLD_USERS} users removed)
{table(("given, seed", "RMSE", "column means", "covered, % (50 / 90 / 95)"), cold)}
"""


def main() -> None:
    """Fill the store, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", action="append", choices=("ratings", "judge", "cold", "page"))
    parser.add_argument("--data", action="append", choices=list(RATINGS))
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    options = parser.parse_args()
    parts = options.part or ("ratings", "judge", "cold")
    store = Store(STORE)
    for seed in SEEDS[: options.seeds]:
        if "ratings" in parts:
            for name in options.data or RATINGS:
                store.cell(f"ratings {name} {seed}", lambda n=name, s=seed: rating_cell(n, s))
        if "judge" in parts:
            for variant in ("none", "good", "useless", "good and useless", "good twice"):
                store.cell(f"judge {variant} {seed}", lambda v=variant, s=seed: judge_cell(v, s))
        if "cold" in parts:
            for given in ("graphs", "features"):
                store.cell(f"cold {given} {seed}", lambda g=given, s=seed: cold_cell(g, s))
    write_page(PAGE, page(store))


if __name__ == "__main__":
    main()
