"""Attacks for as long as wanted: `python -m tests.fuzz --seed 0 --examples 1000000`.

Every reader takes its share, in a process of its own with a limit on memory, so that a crash is
found like any other finding. What was found is written beside its input, to be kept in the corpus;
what was run is a line of a table, `docs/results/fuzz.jsonl`, and the page that is made of it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from bmcg.files.storage import write_atomically

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "docs" / "results" / "fuzz.jsonl"
PAGE = RECORD.with_suffix(".md")
# Bytes that an attacked process may take, and inputs that it gets before a fresh one begins.
MEMORY = 4 << 30
BATCH = 5_000
LIBRARIES = ("numpy", "pyarrow", "scipy", "safetensors", "pillow", "anndata", "hypothesis")


def attack_many(name: str, seed: int, first: int, n: int, found: Any, folder: str) -> None:
    """Attack one reader, or the public calls, with some of the inputs of a seed."""
    import resource

    from .calls import call_at_random
    from .readers import READERS
    from .strangers import edited_file

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    outcomes: Counter[str] = Counter()
    at = Path(folder)
    for number in range(first, first + n):
        r = Random(f"{seed} {name} {number}")
        try:
            if name == "calls":
                outcomes[call_at_random(r)] += 1
            elif name.startswith("edited "):
                outcomes[edited_file(name.partition(" ")[2], r, at)] += 1
            else:
                data = READERS[name].drawn(r)
                (at.parent / f"{name}.last").write_bytes(data)
                outcomes[READERS[name].attack(data, at)] += 1
        except BaseException as error:
            outcomes["findings"] += 1
            found.put(("finding", name, number, f"{type(error).__name__}: {error}"[:500]))
        for left in at.iterdir():
            left.unlink()
    found.put(("done", name, n, dict(outcomes)))


def run(name: str, seed: int, first: int, n: int) -> tuple[Counter[str], list[str]]:
    """A batch in a process of its own; one that ends by itself is a finding."""
    context = multiprocessing.get_context("spawn")
    found: Any = context.SimpleQueue()
    outcomes: Counter[str] = Counter()
    findings: list[str] = []
    base = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with TemporaryDirectory(dir=base) as folder:
        (Path(folder) / "work").mkdir()
        arguments = (name, seed, first, n, found, str(Path(folder) / "work"))
        process = context.Process(target=attack_many, args=arguments)
        process.start()
        while process.is_alive() or not found.empty():
            if found.empty():
                time.sleep(0.05)
                continue
            kind, _, number, what = found.get()
            if kind == "done":
                outcomes.update(what)
            else:
                findings.append(f"{name}, seed {seed}, input {number}: {what}")
        process.join()
        if process.exitcode:
            findings.append(f"{name}, seed {seed}, inputs from {first}: ended {process.exitcode}")
    return outcomes, findings


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
    fixed = RECORD.with_name("fuzz-fixed.md").read_text(encoding="utf-8")
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
            f"{', '.join(map(str, seeds))}.",
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
    given = parser.parse_args()
    names = given.only or [*READERS, "edited model", "edited checkpoint", "calls"]
    share = -(-given.examples // len(names))
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    start, lines, first = time.monotonic(), [], 0
    while first < share and time.monotonic() - start < given.seconds:
        n = min(BATCH, share - first)
        for name in names:
            outcomes, findings = run(name, given.seed, first, n)
            for finding in findings:
                print(finding, flush=True)
            print(f"{name}: inputs {first} to {first + n}: {dict(outcomes)}", flush=True)
            lines.append(
                {
                    "target": name,
                    "seed": given.seed,
                    "first": first,
                    "outcomes": outcomes,
                    "versions": f"Python {platform.python_version()}, {versions}",
                }
            )
            if time.monotonic() - start > given.seconds:
                break
        first += n
    if given.record:
        known = RECORD.read_text(encoding="utf-8") if RECORD.exists() else ""
        text = known + "".join(json.dumps(line) + "\n" for line in lines)
        write_atomically(RECORD, lambda name: Path(name).write_text(text, encoding="utf-8"))
        every = [json.loads(line) for line in text.splitlines()]
        write_atomically(PAGE, lambda name: Path(name).write_text(page(every), encoding="utf-8"))


if __name__ == "__main__":
    main()
