"""Commands that are killed, that meet a full disk, and that run out of memory.

    python -m benchmarks.survive --kills 1000 --limits --record
    python -m benchmarks.survive --memory --steps --record

Run from the root of the repository. Each command runs in a process that is forked from one where
all is imported and compiled, so that a kill falls into its work. After a kill no half file may be
visible under any name that was asked for, and the same command, given again, must end in the same
result as one that was left alone. On a disk with a few bytes left, under a limit on the length of
a file, and with less and less memory, a command must end well or with one line that says what it
could not do. Larger jobs tell what they need before the work, which is held against what they took
at their worst moment. Writes docs/results/survive.jsonl, as it goes, and its page.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.reporting import COMMIT

from bmcg.cli.app import app
from bmcg.files.storage import write_atomically

from .attacks import (
    child,
    file_limit,
    finished,
    fresh,
    killed,
    memory_limit,
    nothing,
    small_disk,
    starved,
)
from .jobs import JOBS, prepare, result
from .memory import larger
from .page import PAGE, RECORD, page

# Long enough for the line that says what went wrong, which goes to a file too.
LENGTHS = (1_000, 3_000, 10_000, 30_000, 100_000)
SPARE = (1 << 30, 256 << 20, 128 << 20, 64 << 20, 32 << 20, 16 << 20, 8 << 20, 4 << 20, 1 << 20,
         1 << 16, 0)  # fmt: skip


def left_alone(inputs: Path) -> tuple[dict[str, dict[str, Any]], dict[str, float]]:
    """What every command ends in, and the seconds it takes once all is compiled."""
    truth, took = {}, {}
    for name, job in JOBS.items():
        silent = contextlib.redirect_stdout(io.StringIO())
        with fresh(inputs) as warm, contextlib.chdir(warm), silent:
            app(list(job.arguments), prog_name="bmcg", standalone_mode=False)
        with fresh(inputs) as folder:
            began = time.monotonic()
            code = finished(child(job.arguments, folder, nothing))
            took[name] = time.monotonic() - began
            assert code == 0, (name, (folder.parent / "work.stderr").read_text())
            truth[name] = {output: result(folder / output) for output in job.outputs}
            if name == "fit":
                shutil.copy(folder / "model.safetensors", inputs / "given.safetensors")
        print(f"{name}: {took[name]:.2f} s", flush=True)
    return truth, took


def order(kills: int, r: random.Random) -> list[str]:
    """Commands to kill, in a random order."""
    total = sum(job.share for job in JOBS.values())
    names = [name for name, job in JOBS.items() for _ in range(round(kills * job.share / total))]
    r.shuffle(names)
    return names


def limited(
    inputs: Path, truth: dict[str, dict[str, Any]], names: tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    """Commands on smaller and smaller disks, with shorter files and with less memory."""
    for name in names or JOBS:
        for length in LENGTHS:
            with fresh(inputs) as folder:
                found = starved(name, inputs, truth[name], file_limit(length), folder)
            yield line("bytes a file", name, length, found)
        for spare in SPARE:
            with fresh(inputs) as folder:
                found = starved(name, inputs, truth[name], memory_limit(spare), folder)
            yield line("bytes of memory", name, spare, found)
        step, spare = (32_768 if name in ("report", "bench") else 8_192), 0
        while spare < 1_000_000:
            with small_disk(inputs, spare) as disk:
                if disk is None:
                    break
                found = starved(name, inputs, truth[name], nothing, disk)
            yield line("bytes of disk", name, spare, found)
            if found[0] == "done":
                break
            spare += step


def line(kind: str, name: str, limit: int, found: tuple[str, str]) -> dict[str, Any]:
    """What is recorded of a run under a limit."""
    return {"kind": kind, "command": name, "limit": limit, "verdict": found[0], "said": found[1],
            "commit": COMMIT}  # fmt: skip


def save(known: list[dict[str, Any]]) -> None:
    """Write the record and its page."""
    text = "".join(json.dumps(one) + "\n" for one in known)
    write_atomically(RECORD, lambda name: Path(name).write_text(text, encoding="utf-8"))
    write_atomically(PAGE, lambda name: Path(name).write_text(page(known), encoding="utf-8"))


def replaced(known: list[dict[str, Any]], one: dict[str, Any]) -> None:
    """Add a run in the place of the same one before."""
    same = ("kind", "command", "limit")
    known[:] = [old for old in known if any(old.get(key) != one.get(key) for key in same)]
    known.append(one)


def measure(known: list[dict[str, Any]], names: tuple[str, ...], steps: bool, record: bool) -> None:
    """Measure larger jobs; what was known of the same ones is replaced."""
    for one in larger(names, steps):
        replaced(known, one)
        print(json.dumps(one), flush=True)
        if record:
            save(known)
    if not record:
        print(page(known))


def main() -> None:
    """Attack and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="of all commands together")
    parser.add_argument("--limits", action="store_true", help="disks and memory too")
    parser.add_argument("--memory", action="store_true", help="what larger jobs need, alone")
    parser.add_argument("--steps", action="store_true", help="and with less and less of it")
    parser.add_argument(
        "--jobs", nargs="*", default=(), help="of the limited or larger ones; all by default"
    )
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    r, start, known = random.Random(given.seed), time.monotonic(), []
    if RECORD.exists() and given.record:
        known = [json.loads(one) for one in RECORD.read_text(encoding="utf-8").splitlines()]
    if given.memory:
        measure(known, tuple(given.jobs), given.steps, given.record)
        return
    with tempfile.TemporaryDirectory() as base:
        inputs = Path(base) / "inputs"
        inputs.mkdir()
        prepare(inputs)
        truth, took = left_alone(inputs)
        tally: dict[tuple[str, str], dict[str, Any]] = {}
        for number, name in enumerate(order(given.kills, r)):
            if time.monotonic() - start > given.seconds:
                break
            verdict, again = killed(name, inputs, truth[name], took[name], r)
            # The machine may be busier or idler than it was.
            took[name] = 0.8 * took[name] + 0.2 * again
            if (name, verdict) not in tally:
                tally[name, verdict] = {"kind": "kill", "command": name, "verdict": verdict,
                                        "n": 0, "seed": given.seed, "commit": COMMIT}  # fmt: skip
                known.append(tally[name, verdict])
            tally[name, verdict]["n"] += 1
            if verdict not in ("killed", "ended before"):
                print(f"{name}, kill {number}: {verdict}", flush=True)
            if given.record and number % 25 == 24:
                save(known)
        for one in limited(inputs, truth, tuple(given.jobs)) if given.limits else ():
            replaced(known, one)
            print(
                one["command"], one["kind"], one["limit"], one["verdict"], one["said"], flush=True
            )
            if given.record:
                save(known)
    if given.record:
        save(known)
    else:
        print(page(known))


if __name__ == "__main__":
    main()
