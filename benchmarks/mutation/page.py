"""The page of all faults that were recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.reporting import ROOT, machine, table

from .faults import ROOMS

RECORD = ROOT / "docs" / "results" / "mutation.jsonl"
PAGE = RECORD.with_suffix(".md")
# What is known of survivors, by seed and number, in words.
REASONS = Path(__file__).with_name("reasons.json")


def page(lines: list[dict[str, Any]]) -> str:
    """Markdown with the share of every room, and the survivors."""
    rows, left = [], []
    reasons = json.loads(REASONS.read_text(encoding="utf-8"))
    for room in ROOMS:
        here = [line for line in lines if line["room"] == room]
        caught = [line for line in here if line["noticed"] or line.get("now")]
        if here:
            share = f"{100 * len(caught) / len(here):.0f} %"
            rows.append([room, str(len(here)), str(len(caught)), share])
        for line in here:
            if not line["noticed"]:
                known = reasons.get(f"{line['seed']} {line['number']}", "")
                why = f": {known}" if known else ""
                now = f" (now noticed by `{line['now']}`)" if line.get("now") else ""
                where = f"`{line['file']}:{line['line']}`, `{line['function']}`"
                left.append(f"- {where}: `{line['fault']}`{why}{now}")
    n, first = len(lines), sum(bool(line["noticed"]) for line in lines)
    after = sum(bool(line["noticed"] or line.get("now")) for line in lines)
    commits = ", ".join(dict.fromkeys(line["commit"] for line in lines))
    seeds = ", ".join(dict.fromkeys(str(line["seed"]) for line in lines))
    return "\n\n".join(
        [
            "# Faults put in on purpose",
            "`python -m benchmarks.mutation` changes one operator, comparison or constant of a "
            "copy of the package and runs the tests that call the function it lies in, the "
            "quickest first, or those of files that name it where none is known to; survivors were "
            "tried again before tests that take longer. All are tests of `make test`, which "
            "notices at least as many. A fault that none notices is a survivor; some change "
            "nothing that can be seen.",
            f"{n} faults (seeds {seeds}), {first} noticed at first "
            f"({100 * first / max(n, 1):.0f} %), {after} after tests were added for survivors "
            f"({100 * after / max(n, 1):.0f} %). The first share is a lower bound: not every test "
            "was tried. The second is of tests that were written with these faults in view; of "
            "other faults a new seed would tell.",
            table(["room", "faults", "noticed", "share"], rows),
            "Survivors:\n\n" + ("\n".join(left) or "none"),
            f"{machine()}; source of commit {commits}.",
        ]
    ) + "\n"  # fmt: skip
