"""Likelihoods on the data they are for, beside Gaussian noise: docs/results/likelihoods.md.

    BMCG_DATA=... python -m benchmarks.likelihoods [--sets SET ...] [--models MODEL ...] [--seeds 1]
    python -m benchmarks.likelihoods page

Run from the root of the repository. What was measured is kept in docs/results/likelihoods.json; the
same command goes on where it was stopped, and measures nothing twice without --fresh.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.reporting import COMMIT, ROOT, write_page

from bmcg.files.storage import write_atomically

from .measure import MODELS, measure
from .page import page

KEPT = ROOT / "docs" / "results" / "likelihoods.json"
PAGE = ROOT / "docs" / "results" / "likelihoods.md"


def main() -> None:
    """Measure what is missing and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.likelihoods")
    parser.add_argument("part", nargs="?", choices=["page"], help="write the page alone")
    parser.add_argument("--sets", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--models", nargs="+", help="names on the page; all by default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    given = parser.parse_args()
    cells: dict[str, dict[str, Any]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for seed in range(given.seeds if given.part is None else 0):
        for name in given.sets:
            for model in MODELS[name]:
                key = f"{name}|{model}|{seed}"
                if given.models and model not in given.models:
                    continue
                if key in cells and not given.fresh:
                    continue
                cells[key] = {**measure(name, model, seed, "row"), "commit": COMMIT}
                print(key, json.dumps(cells[key]), flush=True)
                text = json.dumps(cells, indent=1, sort_keys=True)
                write_atomically(KEPT, lambda path, text=text: Path(path).write_text(text + "\n"))
    write_page(PAGE, page(cells))


if __name__ == "__main__":
    main()
