"""What was measured, cell by cell, in one JSON file that is written after each."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from benchmarks.peers.outcomes import SOURCE
from benchmarks.reporting import COMMIT, ROOT

from bmcg.files.storage import write_atomically

from .measure import ABSENT, FAILED
from .methods import NAMES, OURS

KEPT = ROOT / "docs" / "results" / "field.json"
Place = tuple[str, str, int]


class Store:
    """Cells by set, method and seed.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path = KEPT) -> None:
        self.path = path
        self.cells: dict[Place, dict[str, Any]] = {}
        if path.exists():
            for cell in json.loads(path.read_text("utf-8")):
                if cell["method"] in NAMES:
                    self.cells[cell["set"], cell["method"], cell["seed"]] = cell

    def stands(self, place: Place, limit: float) -> bool:
        """Whether a cell need not be measured again.

        Ours does as long as the package is the same; what was stopped does until it may take
        longer; what was not installed never does.
        """
        cell = self.cells.get(place)
        if cell is None or cell["status"] == ABSENT:
            return False
        if cell["status"] == FAILED and cell.get("limit", limit) < limit:
            return False
        return place[1] not in OURS or cell["source"] == SOURCE

    def add(self, place: Place, found: dict[str, Any], threads: int) -> None:
        """Keep a cell; other seeds of ours that an older package measured go."""
        name, method, seed = place
        if method in OURS:
            self.cells = {
                kept: cell
                for kept, cell in self.cells.items()
                if kept[:2] != place[:2] or cell["source"] == SOURCE
            }
        about = {"set": name, "method": method, "seed": seed, "commit": COMMIT, "source": SOURCE}
        load = round(os.getloadavg()[0], 1)
        self.cells[place] = {**about, "threads": threads, "load": load, **_rounded(found)}
        lines = ",\n".join(json.dumps(self.cells[key]) for key in sorted(self.cells))
        write_atomically(
            self.path, lambda path: Path(path).write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        )


def _rounded(found: dict[str, Any]) -> dict[str, Any]:
    return {
        key: round(value, 6) if isinstance(value, float) else value
        for key, value in found.items()
        if value is not None
    }
