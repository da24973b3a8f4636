"""One loaded model asked from many threads and processes, and many fits in one process.

    python benchmarks/load.py --seconds 600 --fits 500 --record

Every thread asks the same questions again and again; an answer that differs from the first by a
bit is counted. Memory is that of the process, read at the beginning and at the end.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from bmcg import BMCG, datasets, load_model
from reporting import ROOT, machine, table, write_page

PAGE = ROOT / "docs" / "results" / "load.md"
THREADS = 16
PROCESSES = 4


def questions(model: Any) -> dict[str, Any]:
    """What a service asks of a model, by name."""
    rows, cols = np.arange(20), np.arange(20)
    entries = np.full((1, model.shape_[1]), np.nan)
    entries[0, :4] = 1.0, 0.5, -1.0, 2.0
    return {
        "predict 20": lambda: model.predict(rows, cols, return_std=True),
        "recommend 10 of all": lambda: model.recommend([3], 10).cols,
        "fold in a row": lambda: model.fold_in(entries).predict([0] * 5, cols[:5]),
    }


def serve(path: str, seconds: float, out: Any) -> None:
    """Ask one loaded model from many threads."""
    warnings.simplefilter("ignore")
    model = load_model(path)
    ask = questions(model)
    truth = {name: np.asarray(call()) for name, call in ask.items()}
    took: dict[str, list[float]] = {name: [] for name in ask}
    wrong = [0]
    own = psutil.Process()

    def work() -> None:
        while time.monotonic() < end:
            for name, call in ask.items():
                began = time.perf_counter()
                found = np.asarray(call())
                took[name].append(time.perf_counter() - began)
                if not np.array_equal(found, truth[name]):
                    wrong[0] += 1

    for phase in (seconds * 0.1, seconds * 0.9):
        # What threads need once is taken in the first phase.
        end = time.monotonic() + phase
        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        if phase > seconds / 2:
            before = own.memory_info().rss
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    out.put(({name: np.array(t) for name, t in took.items()}, wrong[0],
             own.memory_info().rss - before, before))  # fmt: skip


def soak(fits: int, seconds: float) -> tuple[int, list[int]]:
    """Memory after each of many fits in one process."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 30))
    X[rng.random(X.shape) < 0.4] = np.nan
    sizes, own, end = [], psutil.Process(), time.monotonic() + seconds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(fits):
            posterior = ("column", "row", "joint", "sampled")[number % 4]
            BMCG(posterior=posterior, max_sweeps=5, n_draws=5, n_jobs=1, random_state=number).fit(X)
            sizes.append(own.memory_info().rss)
            if time.monotonic() > end:
                break
    return len(sizes), sizes


def main() -> None:
    """Measure and print, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--fits", type=int, default=500)
    parser.add_argument("--soak-seconds", type=float, default=float("inf"))
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    data = datasets.random_low_rank(3, 0.4, shape=(200, 120))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.safetensors")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            BMCG(posterior="row", max_sweeps=10, random_state=0, n_jobs=1).fit(
                data.observations
            ).save(path)
        context = multiprocessing.get_context("spawn")
        out: Any = context.Queue()
        work = [
            context.Process(target=serve, args=(path, given.seconds, out)) for _ in range(PROCESSES)
        ]
        for process in work:
            process.start()
        found = [out.get() for _ in work]
        for process in work:
            process.join()
    rows = []
    for name in found[0][0]:
        all_of = np.concatenate([one[0][name] for one in found]) * 1e3
        spread = np.percentile(all_of, (50, 99))
        rows.append([name, f"{len(all_of):,}", f"{spread[0]:.2f}", f"{spread[1]:.2f}"])
    wrong = sum(one[1] for one in found)
    growth = max(100 * one[2] / one[3] for one in found)
    n, sizes = soak(given.fits, given.soak_seconds)
    warm = sizes[max(len(sizes) // 5, 0)]
    text = "\n\n".join(
        [
            "# Under load",
            f"One model file, loaded by {PROCESSES} processes and asked by {THREADS} threads in "
            f"each for {given.seconds:.0f} s (`python benchmarks/load.py`). The cores are shared "
            "by all threads, so latencies are those of a machine with far too much to do.",
            table(["question", "answers", "median, ms", "99 %, ms"], rows),
            f"{wrong} answers differ from the first by as much as a bit. Memory of a process grew "
            f"by at most {growth:.1f} % after the first tenth of the time.",
            f"{n} fits in one process, of four posteriors in turn: {warm / 2**20:.0f} MiB after a "
            f"fifth of them, {sizes[-1] / 2**20:.0f} MiB at the end "
            f"({100 * (sizes[-1] / warm - 1):+.1f} %).",
            machine() + ".",
        ]
    )  # fmt: skip
    if given.record:
        write_page(PAGE, text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
