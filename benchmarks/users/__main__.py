"""What users were promised, measured: writes docs/results/users.md.

    BMCG_DATA=... python -m benchmarks.users [--biharmonic PYTHON] [PART ...]

Parts are fold-in, recommend, pictures, large, holes and vcf; all by default. Figures of other parts
stay as they were found last. Biharmonic inpainting needs an interpreter with scikit-image, which
bmcg does not; `python -m venv` and `pip install scikit-image` make one.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reporting import ROOT, machine, write_page

from . import fold_in_movielens, holes, pictures, recommend_speed, vcf_acceptance

PAGE = ROOT / "docs" / "results" / "users.md"
KEPT = PAGE.with_suffix(".json")


class Part(NamedTuple):
    """A title and what makes the text below it."""

    title: str
    measure: Callable[[argparse.Namespace], str]


PARTS = {
    "fold-in": Part("New users without a new fit", lambda given: fold_in_movielens.page()),
    "recommend": Part("Recommending from many items", lambda given: recommend_speed.page()),
    "pictures": Part("Pictures", lambda given: pictures.page(given.biharmonic)),
    "large": Part("A large picture", lambda given: pictures.large_page()),
    "holes": Part("Holes in pictures", lambda given: holes.page()),
    "vcf": Part("Genotypes", lambda given: vcf_acceptance.page()),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.users")
    parser.add_argument("part", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--biharmonic", metavar="PYTHON", default=sys.executable)
    given = parser.parse_args()
    if strange := set(given.part) - set(PARTS):
        parser.error(f"unknown {', '.join(sorted(strange))}: choose from {', '.join(PARTS)}")
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for name in given.part or PARTS:
        before = os.getloadavg()[0]
        text = PARTS[name].measure(given)
        after = os.getloadavg()[0]
        kept[name] = f"{text}\n\n{machine()}, load {before:.1f} before and {after:.1f} after."
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    head = (
        "# What users were promised\n\n`python -m benchmarks.users` measures and writes this page. "
        "Seconds depend on what else a machine does, so they stand beside the seconds of its "
        "processors (all threads together) and the load, the number of programs wanting to run."
    )
    sections = [f"## {part.title}\n\n{kept[name]}" for name, part in PARTS.items() if name in kept]
    write_page(PAGE, "\n\n".join([head, *sections]) + "\n")


if __name__ == "__main__":
    main()
