"""Other packages on the same splits, in an environment of their own.

    BMCG_DATA=/path/to/data python -m benchmarks.peers
    BMCG_DATA=/path/to/data python -m benchmarks.peers --data flixster --method smurff
    BMCG_DATA=/path/to/data python -m benchmarks.peers race
    python -m benchmarks.peers install

Run from the root of the repository. Creates benchmarks/peers/.venv where it is missing, hands the
splits over as .npz files in a temporary folder, and runs every package and our families one after
the other. `race` takes MovieLens 1M to a given error, smurff and us in turn, always anew. `install`
retries packages that could not be installed. What was measured for the table is kept in
docs/results/peers.json after each cell, and not measured again unless the package, the threads or a
lowered priority changed, or `--fresh` is given; docs/results/peers.md is written from it.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.reporting import ROOT, write_page
from benchmarks.speed.time_to_accuracy import warm_up
from benchmarks.speed.traces import trace_fit

from bmcg.backends import count_jobs
from bmcg.datasets import Dataset
from bmcg.inference.fit import Settings

from .environment import PYTHON, environment, export, run_peer
from .outcomes import Cell, Cells, Outcome
from .pages import cell_line, page
from .splits import PEERS, RACE, SPLITS, Split, contestants, package

__all__ = ["PYTHON", "environment", "export", "run_peer"]

PAGE = ROOT / "docs" / "results" / "peers.md"


def run_ours(split: Split, data: Dataset, family: str, threads: int) -> Outcome:
    """One of our families; the error after each sweep is computed outside the timed part."""
    settings = Settings(family=family, rank=20, max_sweeps=40, bias=split.bias)  # type: ignore[arg-type]
    found = trace_fit(data, settings, ridge=split.ridge, n_jobs=threads)
    name = f"bmcg `{family}`{', biases' if split.bias else ''}"
    return Outcome(name, found.errors.tolist(), found.seconds.tolist(), found.total)


class Bench:
    """Measures cells one after the other.

    Parameters
    ----------
    cells : Cells
    absent : dict
        For each package the reason why it is not installed, or nothing.
    """

    def __init__(self, cells: Cells, absent: dict[str, str]) -> None:
        self.cells, self.absent, self.warm = cells, absent, False

    def ours(self, name: str, split: Split, data: Dataset, family: str) -> Cell:
        """A cell of ours; kernels are compiled before the first."""

        def run() -> Outcome:
            if not self.warm:
                warm_up()
                self.warm = True
            return run_ours(split, data, family, self.cells.threads)

        return self._show(name, self.cells.measure(name, run, ours=True))

    def peer(self, name: str, method: str, path: Path) -> Cell:
        """A cell of another package."""
        cell = self.cells.measure(
            name,
            lambda: run_peer(method, path, self.cells.threads),
            absent=self.absent[package(method)],
        )
        return self._show(name, cell)

    def _show(self, name: str, cell: Cell) -> Cell:
        print(" | ".join([name, *cell_line(cell)]), flush=True)
        return cell


def fill_table(bench: Bench, names: list[str], methods: list[str], folder: Path) -> None:
    """Every method on every split."""
    for name in names:
        split = SPLITS[name]
        data, path = split.load(), folder / f"{name}.npz"
        export(data, path)
        for method in methods:
            if method != "bmcg":
                bench.peer(f"{name}/{method}", method, path)
                continue
            for family in split.families:
                bench.ours(f"{name}/bmcg-{family}", split, data, family)


def run_race(bench: Bench, rounds: int, folder: Path) -> None:
    """smurff and us in turn, each first in every other round."""
    split = SPLITS[RACE]
    data, path = split.load(), folder / "race.npz"
    export(data, path)
    for turn in range(rounds):
        for method in contestants(turn):
            name = f"race/{turn}/{method}"
            if method == "bmcg":
                bench.ours(name, split, data, "row")
            else:
                bench.peer(name, method, path)


def main() -> None:
    """Measure what is missing, print and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=("table", "race", "install"), default="table")
    parser.add_argument("--data", action="append", choices=list(SPLITS))
    parser.add_argument("--method", action="append", choices=[*PEERS, "bmcg"])
    parser.add_argument("--rounds", type=int, default=3, help="of the race")
    parser.add_argument("--jobs", type=int, default=None, help="threads; all cores by default")
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    options = parser.parse_args()
    absent = environment(again=options.part == "install")
    for name, reason in absent.items():
        print(f"{name}: {reason or 'installed'}", flush=True)
    if options.part == "install":
        return
    # A race against a time of another day would be none.
    fresh = options.fresh or options.part == "race"
    cells = Cells(PAGE.with_suffix(".json"), count_jobs(options.jobs), fresh=fresh)
    bench = Bench(cells, absent)
    with tempfile.TemporaryDirectory() as folder:
        if options.part == "race":
            run_race(bench, options.rounds, Path(folder))
        else:
            methods = options.method or [*PEERS, "bmcg"]
            fill_table(bench, options.data or list(SPLITS), methods, Path(folder))
    text = page(cells.cells)
    print(text)
    write_page(PAGE, text)


if __name__ == "__main__":
    main()
