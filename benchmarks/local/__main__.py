"""Tables of sensors, folded into days and with a local term: docs/results/local.md.

    BMCG_DATA=... python -m benchmarks.local [--sets SET ...]
    BMCG_DATA=... python -m benchmarks.local page

Run from the root of the repository. What was measured is kept in docs/results/local.json; the same
command goes on where it was stopped, and measures nothing twice without --fresh.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.reporting import COMMIT, ROOT, write_page

from bmcg.files.storage import write_atomically

from .measure import METHODS, measure
from .page import ALONE, AUTO, page
from .sets import MASKS, NOTHING, TABLES

KEPT = ROOT / "docs" / "results" / "local.json"
PAGE = ROOT / "docs" / "results" / "local.md"
FOLDED = "bmcg, folded"
SETS = {name: ["bmcg impute", FOLDED] for name in MASKS} | {
    name: [method for method in METHODS if method not in (FOLDED, AUTO)] for name in TABLES
}
SETS |= {name: [ALONE, AUTO] for name in NOTHING}


def main() -> None:
    """Measure what is missing and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.local")
    parser.add_argument("part", nargs="?", choices=["page"], help="write the page alone")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    given = parser.parse_args()
    cells: dict[str, dict[str, Any]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for name in given.sets if given.part is None else ():
        for method in (method for method in SETS[name] if method in given.methods):
            key = f"{name}|{method}"
            if key in cells and not given.fresh:
                continue
            cells[key] = {**measure(name, method), "commit": COMMIT}
            print(key, json.dumps(cells[key]), flush=True)
            text = json.dumps(cells, indent=1, sort_keys=True)
            write_atomically(KEPT, lambda path, text=text: Path(path).write_text(text + "\n"))
    write_page(PAGE, page(cells))


if __name__ == "__main__":
    main()
