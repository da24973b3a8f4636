"""Small faults put into the source at random: do the tests notice?

    python -m benchmarks.mutation --watch tests/linalg tests/inference tests/observations
    python -m benchmarks.mutation --faults 200 --seed 0 --record
    python -m benchmarks.mutation --again tests/observations/test_x.py --record

Run from the root of the repository. The first command copies source and tests to build/mutation
and notes which functions every test calls. The second changes one operator, comparison or constant
of the copy at a time and runs the tests that call the function it lies in, the quickest first,
until one fails; where none is known to, those of files that name it. All of them are tests of
`make test`, which therefore notices at least as many. Writes docs/results/mutation.jsonl, as it
goes, and the page, which lists the survivors. The third tries the survivors again with tests that
take longer, or were written since. What is known of a survivor is said in reasons.json, by seed and
number.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from typing import Any

from benchmarks.reporting import COMMIT, ROOT, write_page

from .choosing import Known, is_compiled
from .faults import ROOMS, Fault, again, drawn_at
from .page import PAGE, RECORD, page
from .trying import NO_END, broken, fails, mend, prepare

TREE = ROOT / "build" / "mutation"
MAP = TREE / "map.jsonl"
# Seconds of a processor for tests whose time is not known, and for compiling.
UNKNOWN, COMPILING = 30.0, 90.0


def make_tree() -> None:
    """Copy what is tracked, once."""
    if TREE.exists():
        return
    names = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    for name in names:
        (TREE / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, TREE / name)
    # Times of files are kept, and with them compiled kernels.
    for file in (ROOT / "src").rglob("__pycache__/*.nb[ci]"):
        (TREE / file.relative_to(ROOT)).parent.mkdir(exist_ok=True)
        shutil.copy2(file, TREE / file.relative_to(ROOT))
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
    slack = 15.0 + (COMPILING if is_compiled(known.package, fault.path) else 0.0)
    with broken(TREE, fault):
        found = fails(TREE, near.names, 3 * near.seconds + slack) if near.names else ""
        if not near.names:
            others = known.mentioning(fault.path, fault.function)
            found = fails(TREE, others, UNKNOWN + slack) if others else ""
            # Nothing failed while there was time; that there was too little says nothing.
            found = "" if found == NO_END else found
    # A test that was not watched may fail without a fault too.
    if found and "::" in found and found not in near.names and fails(TREE, [found], UNKNOWN):
        found = ""
    return found, time.monotonic() - began


def was_there(commit: str, test: str) -> bool:
    """Whether a commit has a test."""
    file, _, name = test.partition("::")
    asked = ["git", "show", f"{commit}:{file}"]
    text = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return f"def {name.partition('[')[0]}(" in text


def try_again(lines: list[dict[str, Any]], tests: list[str], numbers: list[int] | None) -> None:
    """Put survivors in once more, before tests that were not tried or were written since."""
    for name in subprocess.check_output(["git", "ls-files", "tests"], cwd=ROOT, text=True).split():
        (TREE / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, TREE / name)
    whole = fails(TREE, tests, UNKNOWN)
    if whole:
        raise SystemExit(f"{whole} fails without a fault")
    package, commit = TREE / "src" / "bmcg", (TREE / "commit").read_text(encoding="utf-8")
    for line in lines:
        if line["noticed"] or line.get("now") or (numbers and line["number"] not in numbers):
            continue
        fault = again(package, line) if line["commit"] != commit else drawn_at(package, line)
        if fault is None:
            print(f"{line['number']} {line['file']}: the place is gone", flush=True)
            continue
        with broken(TREE, fault):
            found = fails(TREE, tests, UNKNOWN + COMPILING)
        if found and found != NO_END:
            line["noticed" if was_there(line["commit"], found) else "now"] = found
        print(f"{line['number']} {line['file']}: {found or 'SURVIVED'}", flush=True)


def keep(lines: list[dict[str, Any]]) -> None:
    """Write the record and the page."""
    RECORD.write_text("".join(json.dumps(x) + "\n" for x in lines), encoding="utf-8")
    PAGE.write_text(page(lines), encoding="utf-8")


def main() -> None:
    """Put faults in, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--watch", nargs="+", metavar="TESTS", help="note what tests call")
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=ROOMS, help="these alone")
    parser.add_argument("--again", nargs="+", metavar="TESTS", help="try survivors with these")
    parser.add_argument("--numbers", nargs="+", type=int, help="these survivors alone")
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
    if given.again:
        try_again(lines, given.again, given.numbers)
        given.faults = 0
    done = {(x["seed"], x["number"]) for x in lines}
    for number in range(given.faults):
        fault = drawn_at(package, {"seed": given.seed, "number": number})
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
            keep(lines)
    if given.record:
        keep(lines)
        write_page(PAGE, page(lines))
    else:
        print(page(lines))


if __name__ == "__main__":
    main()
