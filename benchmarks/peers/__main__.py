"""Other packages on the same splits, in an environment of their own.

    BMCG_DATA=/path/to/data python -m benchmarks.peers
    BMCG_DATA=/path/to/data python -m benchmarks.peers --data flixster --method smurff

Run from the root of the repository. Creates benchmarks/peers/.venv from requirements.txt where
it is missing, hands the splits over as .npz files in a temporary folder, runs every package and
our families one after the other, and writes docs/results/peers.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.reporting import ROOT, machine, table, write_page
from benchmarks.speed.time_to_accuracy import warm_up
from benchmarks.speed.traces import trace_fit

from bmcg import datasets
from bmcg.datasets import Dataset
from bmcg.inference.families import FAMILIES
from bmcg.inference.fit import Settings
from bmcg.kernels.threads import count_jobs

HERE = Path(__file__).resolve().parent
PYTHON = HERE / ".venv" / "bin" / "python"
PAGE = ROOT / "docs" / "results" / "peers.md"
PEERS = ("smurff", "myfm", "cmfrec", "implicit", "surprise-svd", "surprise-svdpp")
# A method has reached its error when it first comes this close to what it ends with.
CLOSE = 1e-3
RACE, RACE_TARGET, RACE_SHARE = "ml-1m", 0.8360, 0.25
TIMEOUT = 1200


@dataclass(frozen=True)
class Split:
    """A data set and how our families are run on it."""

    title: str
    load: Callable[[], Dataset]
    ridge: float
    bias: bool
    families: tuple[str, ...] = FAMILIES


SPLITS = {
    "ml-100k": Split("MovieLens 100K u1", datasets.load_monti_movielens, 1e-6, False),
    "flixster": Split("Flixster", datasets.load_flixster, 1e-6, False),
    "douban": Split("Douban", datasets.load_douban, 0.1, False),
    "ml-1m": Split("MovieLens 1M 90/10", datasets.load_movielens_1m, 1e-6, True, ("row", "column")),
}


@dataclass(frozen=True)
class Outcome:
    """One method on one split: the error after each step, seconds of each, seconds in all."""

    method: str
    errors: list[float]
    seconds: list[float]
    total: float

    def seconds_to(self, error: float) -> float:
        """Until the error was first at most this; infinite if it never was."""
        reached = np.flatnonzero(np.asarray(self.errors) <= error)
        return float(self.seconds[reached[0]]) if len(reached) else np.inf


def environment() -> None:
    """Create the peers' environment where it is missing or was left half done."""
    done = HERE / ".venv" / ".installed"
    if done.exists():
        return
    subprocess.run([sys.executable, "-m", "venv", str(HERE / ".venv")], check=True)
    subprocess.run(
        [str(PYTHON), "-m", "pip", "install", "-r", str(HERE / "requirements.txt")], check=True
    )
    done.touch()


def export(data: Dataset, path: Path) -> None:
    """The split as plain arrays."""
    observations = data.observations
    np.savez(
        path,
        shape=np.asarray(observations.shape),
        rows=observations.row_indices,
        cols=observations.col_indices,
        values=observations.values,
        test_rows=data.test_rows,
        test_cols=data.test_cols,
        test_values=data.test_values,
    )


def run_peer(method: str, path: Path, threads: int) -> Outcome | str:
    """One package in its own process; a message where it failed."""
    command = [str(PYTHON), str(HERE / "methods.py"), method, str(path), str(threads)]
    try:
        found = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return f"stopped after {TIMEOUT} s"
    if found.returncode:
        return found.stderr.strip().splitlines()[-1]
    return Outcome(**json.loads(found.stdout.splitlines()[-1]))


def run_ours(split: Split, data: Dataset, family: str, n_jobs: int) -> Outcome:
    """One of our families."""
    settings = Settings(family=family, rank=20, max_sweeps=40, bias=split.bias)  # type: ignore[arg-type]
    found = trace_fit(data, settings, ridge=split.ridge, n_jobs=n_jobs)
    name = f"bmcg `{family}`{', biases' if split.bias else ''}"
    return Outcome(name, found.errors.tolist(), found.seconds.tolist(), found.total)


def line(split: Split, found: Outcome) -> list[str]:
    """One line of the table."""
    last = found.errors[-1]
    return [
        split.title,
        found.method,
        f"{last:.4f}",
        f"{found.seconds_to(last * (1 + CLOSE)):.1f}",
        f"{found.total:.1f}",
    ]


def race(outcomes: list[Outcome]) -> str:
    """ML-1M to the same error: ours against smurff's."""
    smurff = next((one for one in outcomes if one.method.startswith("smurff")), None)
    ours = min(
        (one for one in outcomes if one.method.startswith("bmcg")),
        key=lambda one: one.seconds_to(RACE_TARGET),
        default=None,
    )
    if smurff is None or ours is None:
        return ""
    mine, theirs = ours.seconds_to(RACE_TARGET), smurff.seconds_to(RACE_TARGET)
    # Where smurff does not get there its whole run counts, to its favour.
    reached = np.isfinite(theirs)
    share = mine / (theirs if reached else smurff.total)
    return (
        f"MovieLens 1M to RMSE {RACE_TARGET:.4f}: {ours.method} {mine:.1f} s, {smurff.method} "
        f"{f'{theirs:.1f} s' if reached else f'not within its {smurff.total:.1f} s'}: "
        f"**{share:.2f}** of its time, and {mine / smurff.total:.2f} of its whole run (at most "
        f"{RACE_SHARE} asked: {'met' if share <= RACE_SHARE else 'missed'})."
    )


def main() -> None:
    """Run all, print the table, write the page when nothing was left out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", action="append", choices=list(SPLITS))
    parser.add_argument("--method", action="append", choices=[*PEERS, "bmcg"])
    parser.add_argument("--jobs", type=int, default=None, help="threads; all cores by default")
    parser.add_argument("--no-page", action="store_true", help="print only")
    options = parser.parse_args()
    threads, methods = count_jobs(options.jobs), options.method or [*PEERS, "bmcg"]
    environment()
    if "bmcg" in methods:
        warm_up()
    rows, remarks = [], ""
    with tempfile.TemporaryDirectory() as folder:
        for name in options.data or SPLITS:
            split = SPLITS[name]
            data = split.load()
            path = Path(folder) / f"{name}.npz"
            export(data, path)
            outcomes: list[Outcome] = []
            for method in methods:
                if method == "bmcg":
                    continue
                found = run_peer(method, path, threads)
                if isinstance(found, str):
                    rows.append([split.title, method, f"failed: {found}", "", ""])
                else:
                    outcomes.append(found)
                    rows.append(line(split, found))
                print(" | ".join(rows[-1]), flush=True)
            for family in split.families if "bmcg" in methods else ():
                outcomes.append(run_ours(split, data, family, threads))
                rows.append(line(split, outcomes[-1]))
                print(" | ".join(rows[-1]), flush=True)
            if name == RACE:
                remarks = race(outcomes)
    text = page(rows, remarks, threads)
    print(text)
    if options.data is None and options.method is None and not options.no_page:
        write_page(PAGE, text)


def page(rows: list[list[str]], remarks: str, threads: int) -> str:
    """The table with what is needed to repeat it."""
    header = ("data", "method", "RMSE", "s to the RMSE", "s in all")
    return f"""# Beside other packages

`BMCG_DATA=... python -m benchmarks.peers` from the root of the repository.

{machine()}, {threads} threads. Same splits for all, predictions not clipped. "s to the RMSE" is
the time until a method first came within 0.1 % of the error it ends with, where it can be asked
on the way, else its whole time; computing the error is left out. Peers: smurff 1.1 BPMF (16
factors, 40 + 120 draws, adaptive noise), myFM 0.4.0 (rank 10, 200 draws, one-hot users and
items), cmfrec 3.5.1 (rank 20, the best of penalties 5, 10 and 20 on the *test* entries),
implicit 0.7.2 ALS (rank 20, weights for observed entries; a ranking method, its scores are
regressed on the ratings), Surprise 1.1.5 with its defaults. bmcg: graphs as published (MovieLens
1M: 10-NN feature graphs), at most 20 columns and 40 sweeps; the peers are given no graph.

{table(header, rows)}

{remarks}
"""


if __name__ == "__main__":
    main()
