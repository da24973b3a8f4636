"""Seconds of whole fits with graphs and the pattern as features, beside myFM with the same."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.peers.environment import environment, export, run_peer
from benchmarks.peers.outcomes import Outcome
from benchmarks.reporting import table
from benchmarks.speed.dense import timed

from bmcg import BMCG, datasets
from bmcg.datasets import Dataset

# The share of myFM's time that is asked.
ASKED = 0.5
SETS: dict[str, Callable[[], Dataset]] = {
    "MovieLens 100K": datasets.load_monti_movielens,
    "Douban": datasets.load_douban,
    "Flixster": datasets.load_flixster,
}
HEAD = ["data", "myFM, s", "CPU s", "RMSE", "BMCG, s", "CPU s", "RMSE", "held by", "rank",
        "sweeps", "of them of questions", "share of myFM's CPU s"]  # fmt: skip


def growing(jobs: int | None) -> Iterator[str]:
    """A line for each set, as they come."""
    state, lines = environment(only=("myfm",)), []
    if state["myfm"]:
        raise SystemExit(f"myFM is not there: {state['myfm']}")
    for name, read in SETS.items():
        lines.append(line(name, read(), jobs))
        print(" | ".join(lines[-1]), flush=True)
        yield (
            "One fit each by the defaults, graphs as published, the pattern as features of both "
            "sides. myFM has the same, rank 10 and 200 draws, on one thread. At most "
            f"{ASKED} of its time is asked.\n\n{table(HEAD, lines)}"
        )


def line(name: str, data: Dataset, jobs: int | None) -> list[str]:
    """Both on one set."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "split.npz"
        export(data, path)
        peer = run_peer("myfm-features", path, 1)
    if not isinstance(peer, Outcome) or peer.processor is None:
        raise SystemExit(f"myFM failed on {name}: {peer}")
    graphs = {"row_graph": data.row_graph, "col_graph": data.col_graph}
    given = {**graphs, "row_features": "pattern", "col_features": "pattern"}
    held = data.test_rows, data.test_cols, data.test_values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Kernels are loaded, and compiled the first time, before the clock runs.
        for posterior, known in (("sampled", graphs), ("joint", given)):
            short = {"posterior": posterior, "selection": False, "rank": 16, "max_sweeps": 2}
            BMCG(**short, n_jobs=jobs).fit(data.observations, **known)
        model, wall, processor, error = timed(
            lambda: BMCG(random_state=0, n_jobs=jobs).fit(data.observations, **given), held
        )
    asked = sum(verdict.sweeps for verdict in model.selection_.verdicts)
    share = processor / peer.processor
    return [
        name,
        *(f"{peer.total:.1f}", f"{peer.processor:.1f}", f"{peer.errors[-1]:.4f}"),
        *(f"{wall:.1f}", f"{processor:.1f}", f"{error:.4f}"),
        *(model.posterior_, str(model.rank_), str(model.n_sweeps_ + asked), str(asked)),
        f"{share:.2f}" + (", met" if share <= ASKED else ", missed"),
    ]
