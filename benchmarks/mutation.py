"""Small faults put into the source at random: do the tests of the room notice?

    python benchmarks/mutation.py --faults 200 --seed 0 --record

A fault is one operator, constant or comparison changed in a copy of the package. The tests of its
room run against the copy, then those of the rooms above. Writes docs/results/mutation.jsonl and
the page, which lists the survivors.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from reporting import ROOT, machine, table, write_page

RECORD = ROOT / "docs" / "results" / "mutation.jsonl"
PAGE = RECORD.with_suffix(".md")
# Rooms, with the tests that know them, the nearest first.
ROOMS = {
    "observations": ("tests/observations", "tests/test_observations.py", "tests/test_labels.py",
                     "tests/test_long_frames.py", "tests/test_frame_kinds.py",
                     "tests/test_estimator_inputs.py"),
    "linalg": ("tests/linalg", "tests/inference", "tests/posterior"),
    "backends": ("tests/backends", "tests/linalg", "tests/inference"),
    "inference": ("tests/inference", "tests/test_bounds.py", "tests/test_sampled.py",
                  "tests/posterior"),
    "imputing": ("tests/imputing", "tests/cli/test_impute.py"),
}  # fmt: skip
SKIPPED = ("torch",)
# Tests that did not end in time tell nothing: a busy machine is no verdict.
UNDECIDED = "undecided"
SWAPS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Lt: ast.LtE,
    ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.FloorDiv: ast.Mult,
}  # fmt: skip


def places(tree: ast.Module) -> list[ast.AST]:
    """Nodes that a fault can be put into; those of texts, types and messages are left alone."""
    found: list[ast.AST] = []

    def walk(node: ast.AST) -> None:
        if isinstance(node, (ast.Raise, ast.AnnAssign, ast.JoinedStr, ast.Assert, ast.ClassDef)):
            if isinstance(node, ast.ClassDef):
                for part in node.body:
                    walk(part)
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for part in node.body:
                walk(part)
            return
        swapped = isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in SWAPS
        compared = isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS
        constant = isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float))
        if swapped or compared or constant:
            found.append(node)
        for part in ast.iter_child_nodes(node):
            walk(part)

    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            walk(node)
    return found


def fault(node: Any) -> str:
    """Change a node; what was done, in words."""
    before = ast.unparse(node)
    if isinstance(node, (ast.BinOp, ast.BoolOp)):
        node.op = SWAPS[type(node.op)]()
    elif isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()
    elif isinstance(node.value, bool):
        node.value = not node.value
    else:
        node.value = node.value + 1
    return f"{before} → {ast.unparse(node)}"


def drawn(r: random.Random, room: str) -> tuple[Path, int, str, str]:
    """A file with one fault: its path, the line, what was changed, and the new text."""
    folder = ROOT / "src" / "bmcg" / room
    files = [p for p in sorted(folder.rglob("*.py")) if not set(SKIPPED) & set(p.parts)]
    while True:
        path = r.choice(files)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = places(tree)
        if nodes:
            node: Any = r.choice(nodes)
            words = fault(node)
            return path, node.lineno, words, ast.unparse(ast.fix_missing_locations(tree))


def noticed(path: Path, text: str, tests: tuple[str, ...], limit: float) -> str:
    """Which tests fail with the fault: the first file or folder, "" where none does."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy)
        (copy / path.relative_to(ROOT / "src")).write_text(text, encoding="utf-8")
        env = {**os.environ, "PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"}
        for test in tests:
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", test]
            try:
                done = subprocess.run(
                    command, cwd=ROOT, env=env, capture_output=True, timeout=limit, check=False
                )
            except subprocess.TimeoutExpired:
                return UNDECIDED
            if done.returncode == 1:
                return test
            if done.returncode:
                return f"{test} (not collected)"
    return ""


def page(lines: list[dict[str, Any]]) -> str:
    """The page of all that was recorded."""
    rows, left = [], []
    for room in ROOMS:
        here = [line for line in lines if line["room"] == room]
        caught = [line for line in here if line["noticed"]]
        if here:
            share = f"{100 * len(caught) / len(here):.0f} %"
            rows.append([room, str(len(here)), str(len(caught)), share])
        left += [f"- `{line['file']}:{line['line']}`: `{line['fault']}`" for line in here
                 if not line["noticed"]]  # fmt: skip
    n, caught = len(lines), sum(bool(line["noticed"]) for line in lines)
    return "\n\n".join(
        [
            "# Faults put in on purpose",
            "`python benchmarks/mutation.py` changes one operator, comparison or constant of a "
            "copy of the package and runs the tests of its room, then those of rooms above. A "
            "fault that no test notices is a survivor; some change nothing that can be seen.",
            f"{n} faults, {caught} noticed ({100 * caught / max(n, 1):.0f} %).",
            table(["room", "faults", "noticed", "share"], rows),
            "Survivors:\n\n" + ("\n".join(left) or "none"),
            machine() + ".",
        ]
    ) + "\n"  # fmt: skip


def main() -> None:
    """Put faults in, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--limit", type=float, default=600, help="seconds of one set of tests")
    parser.add_argument("--only", choices=list(ROOMS), help="one room")
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    r, start = random.Random(given.seed), time.monotonic()
    known = RECORD.read_text(encoding="utf-8").splitlines() if RECORD.exists() else []
    lines = [json.loads(line) for line in known]
    for number in range(given.faults):
        room = given.only or list(ROOMS)[number % len(ROOMS)]
        path, line, words, text = drawn(r, room)
        if time.monotonic() - start > given.seconds:
            break
        found = noticed(path, text, ROOMS[room], given.limit)
        name = str(path.relative_to(ROOT))
        if found == UNDECIDED:
            print(f"{name}:{line}: {words}: no end within {given.limit:.0f} s", flush=True)
            continue
        lines.append({"room": room, "file": name, "line": line, "fault": words, "noticed": found})
        print(f"{name}:{line}: {words}: {found or 'SURVIVED'}", flush=True)
        if given.record:
            RECORD.write_text("".join(json.dumps(x) + "\n" for x in lines), encoding="utf-8")
            write_page(PAGE, page(lines))
    if not given.record:
        print(page(lines))


if __name__ == "__main__":
    main()
