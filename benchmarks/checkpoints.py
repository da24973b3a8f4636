"""Kill fits at random moments, let every one go on to its end, and weigh what checkpoints cost.

    python benchmarks/checkpoints.py                       # 50 + 50 kills, on data drawn here
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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bmcg import BMCG, datasets
from bmcg.datasets import DatasetUnavailableError
from bmcg.files import checkpoints
from bmcg.files.storage import CHECKPOINT, read_tensors
from reporting import ROOT, machine, table, write_page

PAGE = ROOT / "docs" / "results" / "checkpoints.md"
SWEEPS = 60
# What a fit carries from sweep to sweep differs between these.
KINDS: dict[str, dict[str, Any]] = {
    "column, learned graph weights": {"posterior": "column"},
    "row, biases": {"posterior": "row", "bias": True},
    "joint, Monte Carlo draws": {"posterior": "joint", "engine": "monte_carlo"},
}
# Seconds between checkpoints of MovieLens 1M; users have `checkpoints.SECONDS`, ten times as many.
OFTEN = checkpoints.SECONDS / 10


def fit(kind: str, path: Path | None, resume: bool = False) -> float:
    """The last bound of a fit that learns the weights of two graphs and drops columns."""
    data = datasets.graph_low_rank(rank=4, shape=(60, 50))
    graph = {"true": data.row_graph, "shuffled": data.row_graph[::-1][:, ::-1]}
    settled = {"max_sweeps": SWEEPS, "tol": 0.0, "bias": False, "random_state": 0, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BMCG(**{**settled, **KINDS[kind]}, checkpoint=path, resume=resume)
        return float(model.fit(data.observations, graph, data.col_graph).elbo_trace_[-1])


@dataclass
class Tally:
    """What was seen of the file under its final name."""

    kills: int = 0
    reads: int = 0
    broken: int = 0
    into_a_write: int = 0
    before_a_file: int = 0
    ended: int = 0
    worst: float = 0.0

    def read(self, path: Path) -> None:
        """Read the whole file; anything but a whole checkpoint is broken."""
        try:
            read_tensors(path, CHECKPOINT)
        except FileNotFoundError:
            return
        except ValueError:
            self.broken += 1
        self.reads += 1

    def compare(self, found: float, bound: float) -> None:
        """A fit went on to its end."""
        self.ended += 1
        self.worst = max(self.worst, abs(found / bound - 1.0))

    def row(self, name: str) -> list[str]:
        """A line of the table."""
        numbers = (
            self.kills, self.into_a_write, self.before_a_file, self.reads, self.broken, self.ended
        )  # fmt: skip
        return [name, *map(str, numbers), f"{self.worst:.1e}"]


HEADER = (
    "fit", "kills", "into a write", "before the first", "reads of the file", "broken",
    "fits that ended and were compared", "largest relative difference of the bound",
)  # fmt: skip


def kill(kind: str, path: Path, seconds: float, tally: Tally) -> bool:
    """Whether a fit was killed before its end; the file is read all the while."""
    process = multiprocessing.get_context("fork").Process(target=fit, args=(kind, path, True))
    process.start()
    until = time.perf_counter() + seconds
    while process.is_alive() and time.perf_counter() < until:
        tally.read(path)
    if process.is_alive():
        os.kill(process.pid, signal.SIGKILL)
    process.join()
    if process.exitcode != -signal.SIGKILL:
        return False
    tally.kills += 1
    tally.read(path)
    tally.into_a_write += len(list(path.parent.iterdir())) > path.exists()
    tally.before_a_file += not path.exists()
    return True


def timed(kind: str) -> tuple[float, float]:
    """The bound of a fit that is left alone, and its seconds with a checkpoint every sweep."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        bound = fit(kind, Path(folder) / "fit.checkpoint")
        return bound, time.perf_counter() - started


def many_fits(wanted: int, rng: random.Random) -> list[list[str]]:
    """As many fits, each killed once and taken up again to its end."""
    tallies = {kind: Tally() for kind in KINDS}
    alone = {kind: fit(kind, None) for kind in KINDS}
    lengths = {kind: timed(kind)[1] for kind in KINDS}
    kinds = list(KINDS)
    while (done := sum(tally.kills for tally in tallies.values())) < wanted:
        kind = kinds[done % len(kinds)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "fit.checkpoint"
            if kill(kind, path, rng.uniform(0.0, lengths[kind]), tallies[kind]):
                tallies[kind].compare(fit(kind, path, True), alone[kind])
    return [tallies[kind].row(f"each killed once: {kind}") for kind in kinds]


def one_fit(wanted: int, rng: random.Random) -> list[str]:
    """Fits killed again and again, each taken up where the last kill left it, to the end."""
    kind, tally = next(iter(KINDS)), Tally()
    bound, length = fit(kind, None), timed(kind)[1]
    while tally.kills < wanted:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "fit.checkpoint"
            while tally.kills < wanted and kill(kind, path, rng.uniform(0.0, 0.25 * length), tally):
                if path.exists() and len(read_tensors(path, CHECKPOINT)[0]["trace"]) > SWEEPS - 5:
                    break
            tally.compare(fit(kind, path, True), bound)
    return tally.row(f"killed again and again: {kind}")


def kills(wanted: int) -> str:
    """Both, with a checkpoint after every sweep."""
    checkpoints.SECONDS, checkpoints.SHARE = 0.0, np.inf
    rng = random.Random(0)
    return table(HEADER, [*many_fits(wanted, rng), one_fit(wanted, rng)])


@contextmanager
def writes() -> Iterator[list[float]]:
    """Seconds of every checkpoint written inside."""
    seconds: list[float] = []
    inner = checkpoints.Checkpoint.write

    def write(self: checkpoints.Checkpoint, mark: Any) -> bool:
        started = time.perf_counter()
        done = inner(self, mark)
        seconds.append(time.perf_counter() - started)
        return done

    checkpoints.Checkpoint.write = write
    try:
        yield seconds
    finally:
        checkpoints.Checkpoint.write = inner


class Timed(NamedTuple):
    """A whole fit: seconds by the clock, seconds of processors, and its model."""

    clock: float
    processors: float
    model: BMCG


def timed_fit(data: datasets.Dataset, sweeps: int, path: Path | None) -> Timed:
    """A fit of the family whose sweeps are cheapest and whose checkpoints are large."""
    model = BMCG(
        rank=16,
        posterior="row",
        bias=False,
        max_sweeps=sweeps,
        tol=0.0,
        random_state=0,
        checkpoint=path,
    )
    clock, processors = time.perf_counter(), time.process_time()
    model.fit(data.observations, data.row_graph, data.col_graph)
    return Timed(time.perf_counter() - clock, time.process_time() - processors, model)


def cost(turns: int, sweeps: int) -> str:
    """Whole fits of MovieLens 1M in turns: two without checkpoints, one with."""
    try:
        data = datasets.load_movielens_1m()
    except DatasetUnavailableError as error:
        return f"MovieLens 1M was not measured: {error}"
    interval, checkpoints.SECONDS = checkpoints.SECONDS, OFTEN
    rows, each = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        timed_fit(data, 3, None)  # kernels are compiled or loaded, memory is touched
    for turn in range(turns):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), writes() as spent:
            warnings.simplefilter("ignore")
            path = Path(folder) / "fit.checkpoint"
            # The one with checkpoints is first, second or third, so that no place favours it.
            found: list[Timed] = []
            for place in range(3):
                found.append(timed_fit(data, sweeps, path if place == turn % 3 else None))
            kept = found.pop(turn % 3)
            for other in found:
                # Otherwise the times would be of different work.
                np.testing.assert_array_equal(other.model.elbo_trace_, kept.model.elbo_trace_)
            rows.append(cost_row(found, kept, spent))
            print(*rows[-1], flush=True)
            each += spent
            size = path.stat().st_size / 2**20
    usual = max(interval, max(each) / checkpoints.SHARE)
    return (
        f'MovieLens 1M, both graphs, `posterior="row"`, {kept.model.n_sweeps_} sweeps, rank '
        f"{kept.model.rank_}: whole fits in turns, with a checkpoint every {OFTEN:g} s and one at "
        "the end, ten times as often as users have them. All fits of a turn have the same bounds "
        "to the last bit. Two fits of each turn are without checkpoints: how much they differ is "
        "what the other work on the machine does to such times, and smaller differences say "
        "nothing; the seconds spent writing are measured by themselves.\n\n"
        f"{table(COST, rows)}\n\n"
        f"A checkpoint has {size:.1f} MiB and takes {np.mean(each):.2f} s (at most {max(each):.2f} "
        f"s). Every {interval:g} s, as users have it, that is at most "
        f"{100 * max(each) / (usual + max(each)):.2f} % of a long fit's time; where writing takes "
        f"longer, checkpoints become rarer, so that it never takes more than "
        f"{100 * checkpoints.SHARE:g} %.\n"
    )


def cost_row(alone: list[Timed], kept: Timed, spent: list[float]) -> list[str]:
    """One turn: both fits without, how far apart they are, the one with against their mean."""
    cells = []
    for seconds in (
        [one.clock for one in (*alone, kept)],
        [one.processors for one in (*alone, kept)],
    ):
        first, second, with_them = seconds
        mean = (first + second) / 2
        cells += [
            f"{first:.1f}, {second:.1f}",
            f"{100 * abs(first - second) / mean:.1f}",
            f"{with_them:.1f}",
            f"{100 * (with_them / mean - 1):+.1f}",
        ]
    share = 100 * sum(spent) / kept.clock
    return [*cells, str(len(spent)), f"{sum(spent):.2f}", f"{share:.2f}"]


COST = (
    "s without, twice", "apart, %", "s with", "difference, %",
    "processor s without, twice", "apart, %", "processor s with", "difference, %",
    "checkpoints", "s writing", "% of the fit",
)  # fmt: skip


INTRO = """# Fits that are killed

A fit is ended with SIGKILL at random moments and goes on from its checkpoint, every time; its end
is compared with that of a fit that was left alone. All the while the file is read under its final
name: a read that does not give a whole checkpoint counts as broken. Kills fall anywhere in the
fit; a checkpoint is written after every sweep, so that many fall into a write. A kill before the
first checkpoint leaves no file, and the fit begins anew. In the last line the same fit is killed
again after it has gone on, until it is near its end.

"""


def main() -> None:
    """Measure, print, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=30)
    parser.add_argument("--no-page", action="store_true")
    args = parser.parse_args()
    # Measured first: the kills write after every sweep, which users' fits do not.
    price = cost(args.turns, args.sweeps)
    text = f"{kills(args.kills)}\n\n## What checkpoints cost\n\n{price}\n"
    print(text)
    if not args.no_page:
        command = f"`python benchmarks/checkpoints.py`, {machine()}.\n\n"
        write_page(PAGE, INTRO + command + text)


if __name__ == "__main__":
    main()
