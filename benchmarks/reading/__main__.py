"""Seconds and memory from a file to a result: writes docs/results/reading.md.

    python -m benchmarks.reading [CASE ...]

Cases are those of `CASES`; all by default. Figures of other cases stay as they were found last.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reporting import ROOT, machine, table, write_page

from . import genotypes, ratings, wide
from .measuring import Case, measure

PAGE = ROOT / "docs" / "results" / "reading.md"
KEPT = PAGE.with_suffix(".json")
CASES: dict[str, Case] = {
    "ratings": ratings.CASE,
    "genotypes": genotypes.CASE,
    "wide": wide.CASE,
}

HEAD = """# Reading files

From a file to a result, step by step. Each case runs in a process of its own, after a small fit
that loads the compiled kernels; memory is the most the process has held by the end of a step.
"""


def main() -> None:
    """Measure the cases named and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="*", help=f"of {', '.join(CASES)}; all by default")
    given = parser.parse_args()
    unknown = set(given.case) - set(CASES)
    if unknown:
        parser.error(f"unknown case {', '.join(sorted(unknown))}: of {', '.join(CASES)}")
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for name in given.case or CASES:
        rows = [
            [step.name, f"{step.seconds:.2f}", f"{step.peak_mib:,.0f}"]
            for step in measure(CASES[name])
        ]
        text = table(["step", "seconds", "peak memory, MiB"], rows)
        print(f"{CASES[name].title}\n\n{text}\n")
        kept[name] = f"{text}\n\n{machine()}"
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    parts = [f"## {CASES[name].title}\n\n{kept[name]}\n" for name in CASES if name in kept]
    made = "Made by `python -m benchmarks.reading`.\n"
    write_page(PAGE, "\n".join([HEAD, *parts, made]))


if __name__ == "__main__":
    main()
