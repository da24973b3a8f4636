"""Kill a fit at random moments, let it go on, and compare the end; weigh what checkpoints cost.

    python benchmarks/checkpoints.py                       # 50 kills, on data drawn here
    BMCG_DATA=/path/to/data python benchmarks/checkpoints.py   # and the cost on MovieLens 1M

Every sweep is written down during the kills, which is the hardest case: a kill then often falls
into a write. Prints Markdown tables and writes them to docs/results/checkpoints.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from bmcg import BMCG, checkpoints, datasets
from bmcg.datasets import DatasetUnavailableError
from bmcg.inference.mark import Mark
from bmcg.storage import CHECKPOINT, read_tensors
from reporting import ROOT, machine, table, write_page

PAGE = ROOT / "docs" / "results" / "checkpoints.md"
SWEEPS = 40


def fit(path: Path | None, resume: bool = False) -> BMCG:
    """A fit that learns the weights of two graphs and drops columns on its way."""
    data = datasets.graph_low_rank(rank=4, shape=(120, 100))
    graph = {"true": data.row_graph, "shuffled": data.row_graph[::-1][:, ::-1]}
    model = BMCG(
        max_sweeps=SWEEPS, tol=0.0, bias=False, random_state=0, n_jobs=1, checkpoint=path,
        resume=resume,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data.observations, graph, data.col_graph)


def kill_once(path: Path, seconds: float) -> bool:
    """Whether a fit was killed before its end."""
    process = multiprocessing.get_context("fork").Process(target=fit, args=(path, True))
    process.start()
    process.join(seconds)
    if process.is_alive():
        os.kill(process.pid, signal.SIGKILL)
    process.join()
    return process.exitcode == -signal.SIGKILL


def kills(wanted: int) -> str:
    """Kill fits until there were as many kills as wanted; each that ends is compared."""
    checkpoints.SECONDS, checkpoints.SHARE = 0.0, np.inf
    fit(None)
    started = time.perf_counter()
    bound = fit(None).elbo_trace_[-1]
    length, rng = time.perf_counter() - started, random.Random(0)
    done = broken = ended = stray = 0
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.checkpoint"
        while done < wanted:
            done += kill_once(path, rng.uniform(0.0, 0.4 * length))
            if not path.exists():
                continue
            stray = max(stray, len(list(path.parent.iterdir())) - 1)
            try:
                sweeps = len(read_tensors(path, CHECKPOINT)[0]["trace"])
            except ValueError:
                broken += 1
                continue
            if sweeps >= SWEEPS // 2 or done == wanted:
                worst = max(worst, abs(fit(path, True).elbo_trace_[-1] / bound - 1.0))
                ended += 1
                path.unlink()
    rows = [
        ["kills", str(done)],
        ["broken files under the final name", str(broken)],
        ["most stray files beside it", str(stray)],
        ["fits that went on to their end", str(ended)],
        ["largest relative difference of the final bound", f"{worst:.1e}"],
    ]
    return table(("", "found"), rows)


def cost() -> str:
    """What one checkpoint of MovieLens 1M takes, against the time between two."""
    try:
        data = datasets.load_movielens_1m()
    except DatasetUnavailableError as error:
        return f"MovieLens 1M was not measured: {error}"
    found: list[list[str]] = []
    for posterior in ("column", "row"):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = Path(folder) / "fit.checkpoint"
            model = BMCG(
                posterior=posterior, max_sweeps=3, bias=False, random_state=0, checkpoint=path
            )
            model.fit(data.observations, data.row_graph, data.col_graph)
            mark = Mark.from_arrays(read_tensors(path, CHECKPOINT)[0])
            kept = checkpoints.Checkpoint(path, checkpoints.Identity("", "", "", {}, 0))
            started = time.perf_counter()
            kept.write(mark)
            seconds = time.perf_counter() - started
            size = path.stat().st_size / 2**20
        pause = max(checkpoints.SECONDS, seconds / checkpoints.SHARE)
        found.append(
            [
                posterior,
                str(mark.state.rank),
                f"{size:.1f}",
                f"{seconds:.2f}",
                f"{100 * seconds / (pause + seconds):.2f}",
            ]
        )
    return table(("posterior", "rank", "MiB", "seconds to write", "% of the fit's time"), found)


def main() -> None:
    """Measure, print, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--no-page", action="store_true")
    args = parser.parse_args()
    # Measured first: the kills write after every sweep, which users' fits do not.
    price = cost()
    text = f"{kills(args.kills)}\n\nOne checkpoint of MovieLens 1M:\n\n{price}\n"
    print(text)
    if not args.no_page:
        intro = (
            "# Fits that are killed\n\nA fit is ended with SIGKILL at random moments and goes on "
            "from its checkpoint; its end is compared with that of a fit that was left alone.\n"
            f"`python benchmarks/checkpoints.py`, {machine()}.\n\n"
        )
        write_page(PAGE, intro + text)


if __name__ == "__main__":
    main()
