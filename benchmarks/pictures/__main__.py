"""Every test picture under every damage, by bmcg and by others: docs/results/pictures.md.

    BMCG_DATA=... python -m benchmarks.pictures [--rivals PYTHON] [--pictures NAME ...]
    BMCG_DATA=... python -m benchmarks.pictures page

Run from the root of the repository. Cells are kept in docs/results/pictures.json; the same command
goes on where it was stopped, and measures nothing twice without --fresh. Others need an
interpreter with scikit-image and OpenCV. `--name` keeps figures of another commit's package, put
first on PYTHONPATH, under a name of their own.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reporting import COMMIT, ROOT, write_page

from bmcg.files.storage import write_atomically
from bmcg.inpainting import inpaint

from .cases import DAMAGE, case, decibels, pictures, places
from .page import page
from .rivals import NAMES, fill

KEPT = ROOT / "docs" / "results" / "pictures.json"


def main() -> None:
    """Measure what is missing and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures")
    parser.add_argument("part", nargs="?", choices=["page"], help="write the page alone")
    parser.add_argument("--rivals", help="an interpreter that has them")
    parser.add_argument("--pictures", nargs="+", default=list(pictures()))
    parser.add_argument("--damage", nargs="+", choices=DAMAGE, default=DAMAGE)
    parser.add_argument("--name", default="bmcg")
    parser.add_argument("--fresh", action="store_true", help="measure bmcg again")
    given = parser.parse_args()
    for name in given.pictures if given.part is None else ():
        for damage in given.damage:
            where = f"{name}|{damage}|"
            if given.rivals and where + NAMES[0] not in _read():
                _keep({where + key: cell for key, cell in _rivals(given.rivals, name, damage)})
            if not given.rivals and (given.fresh or where + given.name not in _read()):
                _keep({where + given.name: _own(name, damage)})
    write_page(KEPT.with_suffix(".md"), page(_read()))


def _own(name: str, damage: str) -> dict[str, Any]:
    """Means over the places where the damage is, and the most seconds."""
    found = [_one(name, damage, place) for place in range(places(damage))]
    cell = {key: float(np.mean([one[key] for one in found])) for key in ("psnr", "held")}
    held = [one["held"] for one in found]
    seconds = max(one["seconds"] for one in found)
    return cell | {"seconds": seconds, "places": held, "commit": COMMIT}


def _one(name: str, damage: str, place: int) -> dict[str, float]:
    truth, seen, known = case(name, damage, place)
    _warm()
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = inpaint(np.where(known, seen, 0.0), known, n_jobs=1)
    seconds = time.process_time() - began
    # A band is of the pixel as it would have been seen.
    held = np.mean((np.abs(found.mean - seen) <= 1.645 * found.std)[~known])
    return {"psnr": decibels(truth, known, found.mean), "seconds": seconds, "held": float(held)}


@cache
def _warm() -> None:
    """A first picture, small, for which kernels are compiled or read and packages imported."""
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inpaint(rng.standard_normal((64, 64)), rng.random((64, 64)) < 0.5, n_jobs=1)


def _rivals(python: str, name: str, damage: str) -> list[tuple[str, dict[str, Any]]]:
    truth, seen, known = case(name, damage)
    made = fill(python, np.where(known, seen, 0.0), known)
    return [
        (key, {"psnr": decibels(truth, known, part), "seconds": seconds})
        for key, (part, seconds) in made.items()
    ]


def _read() -> dict[str, dict[str, Any]]:
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def _keep(cells: dict[str, dict[str, Any]]) -> None:
    """Add cells to what is kept, read anew: two commands may run side by side."""
    text = json.dumps(_read() | cells, indent=1, sort_keys=True)
    write_atomically(KEPT, lambda path: Path(path).write_text(text + "\n"))
    for key, cell in cells.items():
        print(key, f"{cell['psnr']:.2f} dB, {cell['seconds']:.1f} s", flush=True)


if __name__ == "__main__":
    main()
