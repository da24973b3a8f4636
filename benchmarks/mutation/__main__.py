"""Small faults put into the source at random: do the tests notice?

    python -m benchmarks.mutation --watch tests/linalg tests/inference tests/observations
    python -m benchmarks.mutation --faults 200 --seed 0 --record

Run from the root of the repository. The first command copies source and tests to build/mutation
and notes which functions every test calls. The second changes one operator, comparison or constant
of the copy at a time and runs the tests that call the function it lies in, the quickest first,
until one fails; where none is known to, those of files that name it. All of them are tests of
`make test`, which therefore notices at least as many. Writes docs/results/mutation.jsonl, as it
goes, and the page, which lists the survivors.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from typing import Any

from benchmarks.reporting import COMMIT, ROOT, write_page

from .choosing import Known, is_compiled
from .faults import ROOMS, Fault, drawn
from .page import PAGE, RECORD, page
from .trying import NO_END, broken, fails, mend, prepare

TREE = ROOT / "build" / "mutation"
MAP = TREE / "map.jsonl"
# Seconds of a processor for tests whose time is not known, and for compiling.
UNKNOWN, COMPILING = 60.0, 90.0


def make_tree() -> None:
    """Copy what is tracked, once."""
    if TREE.exists():
        return
    names = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    for name in names:
        (TREE / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, TREE / name)
    (TREE / "commit").write_text(COMMIT, encoding="utf-8")


def watch(tests: list[str]) -> None:
    """Note what tests call, and compile what they need."""
    env = {
        **os.environ,
        "PYTHONPATH": f"{TREE / 'src'}{os.pathsep}{ROOT}",
        "MUTATION_PACKAGE": str(TREE / "src" / "bmcg"),
        "MUTATION_MAP": str(MAP),
    }
    plugin = "benchmarks.mutation.watching"
    command = [sys.executable, "-m", "pytest", "-q", "-p", plugin, "-p", "no:cacheprovider"]
    subprocess.run([*command, *tests], cwd=TREE, env=env, check=False)


def noticed(fault: Fault, known: Known) -> tuple[str, float]:
    """The test that fails, "" where none does, and the seconds it took to say so."""
    began = time.monotonic()
    near = known.near(fault.path, fault.function)
    slack = 30.0 + (COMPILING if is_compiled(known.package, fault.path) else 0.0)
    with broken(TREE, fault):
        found = fails(TREE, near.names, 5 * near.seconds + slack) if near.names else ""
        if not found:
            others = known.mentioning(fault.path, fault.function)
            found = fails(TREE, others, UNKNOWN + slack) if others else ""
            # Nothing failed while there was time; that there was too little says nothing.
            found = "" if found == NO_END else found
    return found, time.monotonic() - began


def main() -> None:
    """Put faults in, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--watch", nargs="+", metavar="TESTS", help="note what tests call")
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=ROOMS, help="these alone")
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    make_tree()
    if given.watch:
        watch(given.watch)
        return
    prepare()
    mend(TREE)
    package, start = TREE / "src" / "bmcg", time.monotonic()
    known = Known(package, MAP, TREE / "tests")
    commit = (TREE / "commit").read_text(encoding="utf-8")
    lines: list[dict[str, Any]] = []
    if RECORD.exists():
        lines = [json.loads(x) for x in RECORD.read_text(encoding="utf-8").splitlines()]
    done = {(x["seed"], x["number"]) for x in lines}
    for number in range(given.faults):
        fault = drawn(random.Random(f"{given.seed} {number}"), package, ROOMS[number % len(ROOMS)])
        if time.monotonic() - start > given.seconds:
            break
        if (given.seed, number) in done or fault.room not in given.rooms:
            continue
        found, took = noticed(fault, known)
        where = f"{fault.path}:{fault.line}"
        print(f"{number} {where}: {fault.words}: {found or 'SURVIVED'} ({took:.0f} s)", flush=True)
        lines.append(
            {"seed": given.seed, "number": number, "room": fault.room, "file": fault.path,
             "line": fault.line, "function": fault.function, "fault": fault.words,
             "noticed": found, "commit": commit}
        )  # fmt: skip
        if given.record:
            RECORD.write_text("".join(json.dumps(x) + "\n" for x in lines), encoding="utf-8")
            PAGE.write_text(page(lines), encoding="utf-8")
    if given.record:
        write_page(PAGE, page(lines))
    else:
        print(page(lines))


if __name__ == "__main__":
    main()
