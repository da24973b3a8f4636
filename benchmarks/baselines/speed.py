"""Seconds and memory of the compared methods: GRALS, BPMF beside smurff, the dense methods.

    BMCG_DATA=/path/to/data python -m benchmarks.baselines.speed
    BMCG_DATA=/path/to/data python -m benchmarks.baselines.speed --part grals

Run from the root of the repository, on a machine that does nothing else. smurff runs in the
environment of benchmarks/peers. Seconds of CPU of every other method stand beside its errors in
docs/results/anchors.md. Writes docs/results/baseline-speed.md; parts not asked for keep their
last figures, which docs/results/baseline-speed.json holds.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.peers.__main__ import PYTHON, environment, export, run_peer
from benchmarks.reporting import ROOT, machine, table, write_page

from bmcg import datasets
from bmcg.backends import count_jobs
from bmcg.baselines import BMCGPGAMP, BPMF, GRALS, MCOnGraphs, bpmf
from bmcg.datasets import Dataset
from bmcg.files.storage import write_atomically
from bmcg.metrics import rmse

PAGE = ROOT / "docs" / "results" / "baseline-speed.md"
KEPT = PAGE.with_suffix(".json")
GRALS_LIMIT, BPMF_LIMIT = 10.0, 2.0
# As smurff is run by benchmarks/peers.
DRAWS = {"rank": 16, "noise_precision": "learn", "burn_in": 40, "max_iter": 120}
LARGE: dict[str, Callable[[], Dataset]] = {
    "MovieLens 100K": datasets.load_monti_movielens,
    "Flixster": datasets.load_flixster,
    "Douban": datasets.load_douban,
    "MovieLens 1M": datasets.load_movielens_1m,
}


def load_average() -> str:
    """How busy the machine was: timings under load say little."""
    return f"{os.getloadavg()[0]:.1f}"


def time_grals(threads: int, repeats: int = 3) -> list[list[str]]:
    """MovieLens 1M, rank 10, the demo's 200 sweeps: each repeat on a line."""
    data = LARGE["MovieLens 1M"]()
    graphs = data.row_graph, data.col_graph
    GRALS(max_iter=2, n_jobs=threads).fit(data.observations, *graphs)
    lines = []
    for _ in range(repeats):
        busy, wall, cpu = load_average(), time.perf_counter(), time.process_time()
        model = GRALS(tol=0.0, random_state=0, n_jobs=threads).fit(data.observations, *graphs)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        error = rmse(data.test_values, model.fitted_.mean(data.test_rows, data.test_cols))
        met = "met" if wall < GRALS_LIMIT else "missed"
        lines.append([f"{model.n_iter_}", f"{error:.4f}", f"{wall:.1f}", f"{cpu:.1f}", met, busy])
        print("GRALS", *lines[-1], flush=True)
    return lines


def seconds_of_draws(data: Dataset, threads: int) -> tuple[float, float]:
    """Median wall seconds of our sweeps after the burn-in, and the error."""
    times: list[float] = []
    draw = bpmf.draw_noise_precision

    def stamped(*arguments: Any) -> float:
        times.append(time.perf_counter())
        return draw(*arguments)

    with patch.object(bpmf, "draw_noise_precision", stamped):
        model = BPMF(**DRAWS, random_state=0, n_jobs=threads).fit(data.observations)
    error = rmse(data.test_values, model.fitted_.mean(data.test_rows, data.test_cols))
    return float(np.median(np.diff(times[DRAWS["burn_in"] :]))), error


def time_draws(threads: int) -> list[list[str]]:
    """A draw of ours and of smurff's, one after the other on each data set."""
    if not PYTHON.exists():
        environment()
    lines = []
    for name in ("MovieLens 100K", "MovieLens 1M"):
        data = LARGE[name]()
        BPMF(rank=16, max_iter=1, burn_in=0, n_jobs=threads).fit(data.observations)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "split.npz"
            export(data, path)
            busy = load_average()
            ours, error = seconds_of_draws(data, threads)
            found = run_peer("smurff", path, threads)
        if isinstance(found, str):
            lines.append([name, f"{1e3 * ours:.1f}", f"failed: {found}", "", "", "", busy])
        else:
            theirs = float(np.median(np.diff(found.seconds)))
            ratio = ours / theirs
            met = "met" if ratio <= BPMF_LIMIT else "missed"
            errors = f"{error:.4f} / {found.errors[-1]:.4f}"
            milliseconds = [f"{1e3 * one:.1f}" for one in (ours, theirs)]
            lines.append([name, *milliseconds, f"{ratio:.2f}", met, errors, busy])
        print("BPMF", *lines[-1], flush=True)
    return lines


def state_memory(threads: int) -> list[list[str]]:
    """What the dense methods say they need on the large sets, and whether they start."""
    lines = []
    for name, load in LARGE.items():
        data = load()
        for label, method in (("MC on Graphs", MCOnGraphs), ("BMC-GP-GAMP", BMCGPGAMP)):
            for limit in (None, 2**34):
                model = method() if limit is None else method(memory_limit=limit)
                try:
                    model._check_parameters(data.observations)
                    outcome = "starts"
                except MemoryError:
                    outcome = "refuses"
                lines.append(
                    [
                        f"{name}, {' × '.join(map(str, data.observations.shape))}",
                        label,
                        f"{model.memory_ / 2**30:.2f}",
                        f"{model.memory_limit / 2**30:.0f}",
                        outcome,
                    ]
                )
                print("memory", *lines[-1], flush=True)
    return lines


PARTS: dict[str, Callable[[int], list[list[str]]]] = {
    "grals": time_grals,
    "bpmf": time_draws,
    "memory": state_memory,
}


def page(kept: dict[str, Any]) -> str:
    """The three tables."""

    def part(name: str, *header: str) -> str:
        if name not in kept:
            return "Not measured yet."
        return f"{table(header, kept[name]['lines'])}\n\n{kept[name]['machine']}."

    return f"""# Speed and memory of the compared methods

`BMCG_DATA=... python -m benchmarks.baselines.speed` from the root of the repository. "Load" is the
machine's load average when a timing began: other work was running wherever it exceeds the number
of threads. Seconds of every other method and data set stand beside its error in
[the comparison with the authors' codes](anchors.md).

## GRALS on MovieLens 1M

Rank 10, the authors' demonstration settings, 10-NN feature graphs. Asked: under {GRALS_LIMIT:.0f} s
on two cores; the authors' C++ code needs 22 s of CPU.

{part("grals", "sweeps", "RMSE", "wall s", "CPU s", "asked", "load")}

## BPMF beside smurff

16 factors, noise precision drawn, 40 + 120 draws; the median over the kept draws, one program
after the other. Asked: at most {BPMF_LIMIT:.0f} times smurff's.

{part("bpmf", "data", "ours, ms", "smurff 1.1, ms", "ratio", "asked", "RMSE of both", "load")}

## Memory of the dense methods

What a fit states before it starts, and whether it starts under the default limit and under one of
16 GiB. That it can run does not make it quick: an iteration of MC on Graphs decomposes a matrix of
this size, one of BMC-GP-GAMP also a square one.

{part("memory", "data", "method", "GiB stated", "limit, GiB", "outcome")}
"""


def main() -> None:
    """Measure the parts asked for and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", action="append", choices=list(PARTS))
    parser.add_argument("--jobs", type=int, default=None, help="threads; all cores by default")
    options = parser.parse_args()
    threads = count_jobs(options.jobs)
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for name in options.part or PARTS:
        lines = PARTS[name](threads)
        kept[name] = {"lines": lines, "machine": f"{machine()}, {threads} threads"}
        text = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
        write_atomically(KEPT, lambda path, text=text: Path(path).write_text(text))
    write_page(PAGE, page(kept))


if __name__ == "__main__":
    main()
