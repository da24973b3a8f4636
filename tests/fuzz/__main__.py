"""Attacks for as long as wanted: `python -m tests.fuzz --seed 0 --examples 1000000`.

Every reader takes its share, in a process of its own with a limit on memory, so that a crash is
found like any other finding. What was found is written beside its input, to be kept in the corpus;
what was run is a line of a table, `docs/results/fuzz.jsonl`, and the page that is made of it.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bmcg.files.storage import write_atomically

from .running import run

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "docs" / "results" / "fuzz.jsonl"
PAGE = RECORD.with_suffix(".md")
# Inputs that a process gets before a fresh one begins.
BATCH = 4_000
# Milliseconds that an input takes about: every target gets the same time.
COST = {
    "long.csv": 1.5, "long.tsv": 1.5, "long.csv.gz": 0.9, "long.parquet": 1.2, "wide.csv": 1.5,
    "wide.parquet": 1.0, "impute.csv": 1.3, "impute-unnamed.csv": 1.8, "impute.csv.gz": 1.0,
    "impute.parquet": 1.1, "vcf": 2.2, "vcf.gz": 1.8, "bed": 0.8, "bim": 0.8, "fam": 0.8,
    "h5ad": 13.0, "picture": 3.0, "mask": 0.7, "edges.csv": 2.7, "graph.npz": 1.4,
    "graph.mtx": 0.6, "edges.parquet": 1.2, "features.csv": 1.2, "features.parquet": 1.1,
    "exposure.csv": 1.3, "pairs.csv": 1.4, "map": 0.6, "map.gz": 0.7, "panel.vcf": 1.2,
    "times.csv": 1.1, "model": 0.8, "checkpoint": 0.4, "edited model": 5.7,
    "edited checkpoint": 6.1,
}  # fmt: skip
LIBRARIES = ("numpy", "pyarrow", "scipy", "safetensors", "pillow", "anndata", "hypothesis")


def page(lines: list[dict[str, Any]]) -> str:
    """The page of all runs that were recorded."""
    totals: dict[str, Counter[str]] = {}
    for line in lines:
        totals.setdefault(line["target"], Counter()).update(line["outcomes"])
    rows = [
        f"| {name} | {sum(c.values()):,} | {c['answered']:,} | {c['refused']:,} | {c['findings']} |"
        for name, c in sorted(totals.items())
    ]
    every = sum((c for c in totals.values()), Counter())
    calls = sum(totals.get("calls", Counter()).values())
    seeds = sorted({line["seed"] for line in lines})
    versions = sorted({line["versions"] for line in lines})
    fixed = Path(__file__).with_name("found.md").read_text(encoding="utf-8")
    return "\n".join(
        [
            "# Attacked",
            "",
            "`make fuzz SEED=0 EXAMPLES=100000` draws broken files for every reader and odd",
            "arguments for the public calls. Each must be answered, or refused by an error of the",
            "project's own that names the file, in bounded time and memory (4 GiB of address",
            "space), with no input changed and no file left; anything else is a finding.",
            "",
            f"So far {sum(every.values()) - calls:,} files and {calls:,} calls, seeds "
            f"{', '.join(map(str, seeds))}. Every finding of the table is among what is listed",
            "below, and was mended unless it says otherwise; inputs after it were drawn anew.",
            "",
            "| target | inputs | answered | refused | findings |",
            "|---|---|---|---|---|",
            *rows,
            "",
            f"Versions: {'; '.join(versions)}.",
            "",
            fixed,
        ]
    )


def main() -> None:
    """Attack, print what is found, and record what was run."""
    from .readers import READERS

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--examples", type=int, default=100_000, help="of all targets together")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument("--only", nargs="*", help="targets, all by default")
    parser.add_argument("--record", action="store_true", help="write the table and the page")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    parser.add_argument("--merge", nargs="+", type=Path, help="add the records of other clones")
    given = parser.parse_args()
    if given.page or given.merge:
        record(*new_lines(given.merge or []))
        return
    names = given.only or [*READERS, "edited model", "edited checkpoint", "calls"]
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    start = time.monotonic()
    for name, first, n in batches(names, given.examples):
        if time.monotonic() - start > given.seconds:
            break
        outcomes, findings = run(name, given.seed, first, n)
        for finding in findings:
            print(finding, flush=True)
        print(f"{name}: inputs {first} to {first + n}: {dict(outcomes)}", flush=True)
        if given.record:
            record(
                {
                    "target": name,
                    "seed": given.seed,
                    "first": first,
                    "outcomes": outcomes,
                    "commit": commit(),
                    "versions": f"Python {platform.python_version()}, {versions}",
                }
            )


def batches(names: list[str], examples: int) -> Iterator[tuple[str, int, int]]:
    """Target, first input and number of inputs of every batch, targets in turn."""
    weights = {name: 1.0 / COST.get(name, 4.0) for name in names}
    shares = {name: round(examples * w / sum(weights.values())) for name, w in weights.items()}
    for first in range(0, max(shares.values()), BATCH):
        for name, share in shares.items():
            if first < share:
                yield name, first, min(BATCH, share - first)


def new_lines(records: list[Path]) -> Iterator[dict[str, Any]]:
    """Batches of other records that the table does not have."""
    known = set()
    for path in (RECORD, *records):
        for text in path.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            key = line["target"], line["seed"], line["first"], line.get("commit")
            if key not in known and path != RECORD:
                yield line
            known.add(key)


def record(*lines: dict[str, Any]) -> None:
    """Add batches to the table, and write the page anew."""
    known = RECORD.read_text(encoding="utf-8") if RECORD.exists() else ""
    text = known + "".join(json.dumps(line) + "\n" for line in lines)
    write_atomically(RECORD, lambda name: Path(name).write_text(text, encoding="utf-8"))
    every = [json.loads(one) for one in text.splitlines()]
    write_atomically(PAGE, lambda name: Path(name).write_text(page(every), encoding="utf-8"))


def commit() -> str:
    """The commit that was attacked."""
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
