"""Seconds of whole fits of tables and of chains, beside scikit-learn's IterativeImputer."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from benchmarks.reporting import table
from benchmarks.speed.cases import CASES, Held
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from bmcg import BMCG, Observations


def growing(jobs: int | None) -> Iterator[str]:
    """A line for each case, as they come."""
    lines: list[list[str]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _warm(jobs)
        for name in CASES:
            lines.append(line(name, jobs))
            print(" | ".join(lines[-1]), flush=True)
            yield _page(lines)


def _page(lines: list[list[str]]) -> str:
    head = ["case", "shape", "observed", "asked, s", "defaults, s", "CPU s", "RMSE", "held by",
            "`column` alone, s", "CPU s", "RMSE", "sweeps", "rank", "IterativeImputer, s",
            "CPU s", "RMSE", "verdict"]  # fmt: skip
    return (
        'One fit each. `column` alone is `BMCG(posterior="column")`: the variational fit with '
        "its own questions. Chains come with sensors; tables are standardised. The verdict is on "
        f"the seconds of the defaults.\n\n{table(head, lines)}"
    )


def line(name: str, jobs: int | None) -> list[str]:
    """All figures of one case."""
    case = CASES[name]
    X, given, held = case.read()
    seen = Observations.from_any(X)
    m, n = seen.shape
    model, *ours = timed(lambda: BMCG(random_state=0, n_jobs=jobs).fit(X, **given), held)
    plain, *alone = timed(
        lambda: BMCG(posterior="column", random_state=0, n_jobs=jobs).fit(X, **given), held
    )
    asked, rival = case.asked, ["–"] * 3
    if np.isnan(asked):
        figures = impute(seen, held)
        asked, rival = figures[0], [f"{figures[0]:.2f}", f"{figures[1]:.2f}", f"{figures[2]:.4f}"]
    return [
        name,
        f"{m:,} × {n:,}",
        f"{len(seen) / (m * n):.0%}",
        f"{asked:.2f}",
        *(f"{ours[0]:.2f}", f"{ours[1]:.2f}", f"{ours[2]:.4f}", model.posterior_),
        *(f"{alone[0]:.2f}", f"{alone[1]:.2f}", f"{alone[2]:.4f}"),
        *(str(plain.n_sweeps_), str(plain.rank_)),
        *rival,
        "met" if ours[0] <= asked else f"{ours[0] / asked:.1f} times",
    ]


def timed(fit: Callable[[], Any], held: Held) -> tuple[Any, float, float, float]:
    """The model, its seconds on the clock and of the processor, and its held-out RMSE."""
    wall, processor = time.perf_counter(), time.process_time()
    model = fit()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    error = model.predict(held[0], held[1]) - held[2]
    return model, wall, processor, float(np.sqrt(np.mean(error**2)))


def impute(seen: Observations, held: Held) -> tuple[float, float, float]:
    """IterativeImputer with its defaults: seconds, CPU seconds and RMSE."""
    X = np.full(seen.shape, np.nan)
    X[seen.row_indices, seen.col_indices] = seen.values
    wall, processor = time.perf_counter(), time.process_time()
    filled = IterativeImputer(random_state=0).fit_transform(X)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    error = filled[held[0], held[1]] - held[2]
    return wall, processor, float(np.sqrt(np.mean(error**2)))


def _warm(jobs: int | None) -> None:
    """Compile what the first case would else pay for."""
    X, given, _ = CASES["birmingham"].read()
    for posterior in ("auto", "column"):
        BMCG(posterior=posterior, random_state=0, max_sweeps=3, n_jobs=jobs).fit(X, **given)
