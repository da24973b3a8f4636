"""What a method reached and when, and the file that keeps it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reporting import ROOT, machine

from bmcg.files.storage import write_atomically

# Cells that failed for want of the package are tried again once it is there.
ABSENT = "not installed: "


@dataclass(frozen=True)
class Outcome:
    """One method on one split: the error after each step, seconds of each, seconds in all.

    `processor` are those of the processor, where they are known.
    """

    method: str
    errors: list[float]
    seconds: list[float]
    total: float
    processor: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "errors", [round(float(one), 6) for one in self.errors])
        object.__setattr__(self, "seconds", [round(float(one), 4) for one in self.seconds])

    def seconds_to(self, error: float) -> float:
        """Until the error was first at most this; infinite if it never was."""
        reached = np.flatnonzero(np.asarray(self.errors) <= error)
        return float(self.seconds[reached[0]]) if len(reached) else np.inf


@dataclass(frozen=True)
class Cell:
    """An outcome, or why there is none, with what it was measured under."""

    outcome: Outcome | None
    failure: str
    threads: int
    # Of the process: timings of a lowered priority are replaced by others, never the reverse.
    niceness: int
    load: float
    # The package's own tree; empty for peers, which do not depend on it.
    source: str
    machine: str


def source() -> str:
    """Name of the tree of src/bmcg, with a mark where files differ from it."""

    def git(*arguments: str) -> str:
        found = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
        return found.stdout.strip()

    changed = "+changes" if git("status", "--porcelain", "src/bmcg") else ""
    return git("rev-parse", "--short=8", "HEAD:src/bmcg") + changed


# Asked at the start: a working tree may move on while a benchmark runs.
SOURCE = source()


class Cells:
    """Measured cells by name, written after each.

    Parameters
    ----------
    path : Path
        JSON file.
    threads : int
        Of the cells to be measured now.
    fresh : bool
        Measure all again.
    """

    def __init__(self, path: Path, threads: int, *, fresh: bool = False) -> None:
        self.path, self.threads, self.fresh = path, threads, fresh
        self.cells: dict[str, Cell] = {}
        if path.exists():
            stored = json.loads(path.read_text(encoding="utf-8"))
            self.cells = {name: _cell(given) for name, given in stored.items()}

    def measure(
        self, name: str, run: Callable[[], Outcome | str], *, ours: bool = False, absent: str = ""
    ) -> Cell:
        """The cell of this name: as it is kept, else measured now and kept."""
        old = self.cells.get(name)
        if old is not None and not self.fresh and self._serves(old, ours, absent):
            return old
        load = os.getloadavg()[0]
        found = f"{ABSENT}{absent}" if absent else run()
        failed = isinstance(found, str)
        cell = Cell(
            outcome=None if failed else found,  # type: ignore[arg-type]
            failure=found if failed else "",  # type: ignore[arg-type]
            threads=self.threads,
            niceness=os.nice(0),
            load=round(load, 1),
            source=SOURCE if ours else "",
            machine=machine(),
        )
        self.cells[name] = cell
        self._write()
        return cell

    def _serves(self, old: Cell, ours: bool, absent: str) -> bool:
        if old.failure.startswith(ABSENT) and not absent:
            return False
        same = old.threads == self.threads and (not ours or old.source == SOURCE)
        return same and old.niceness <= os.nice(0)

    def _write(self) -> None:
        lines = (
            f"{json.dumps(name)}: {json.dumps(asdict(cell), ensure_ascii=False)}"
            for name, cell in sorted(self.cells.items())
        )
        text = "{\n" + ",\n".join(lines) + "\n}\n"
        write_atomically(self.path, lambda path: Path(path).write_text(text, encoding="utf-8"))


def _cell(given: dict[str, Any]) -> Cell:
    outcome = given.pop("outcome")
    return Cell(outcome=None if outcome is None else Outcome(**outcome), **given)
