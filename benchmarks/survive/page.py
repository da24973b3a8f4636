"""The page of all that was recorded."""

from __future__ import annotations

from collections import Counter
from typing import Any

from benchmarks.reporting import ROOT, machine, table

RECORD = ROOT / "docs" / "results" / "survive.jsonl"
PAGE = RECORD.with_suffix(".md")
FINE = ("killed", "ended before")


def page(lines: list[dict[str, Any]]) -> str:
    """Markdown of kills and limits."""
    kills: dict[str, Counter[str]] = {}
    limits: dict[tuple[str, str], Counter[str]] = {}
    other: list[str] = []
    needs = [line for line in lines if line["kind"] == "need"]
    steps = [line for line in lines if line["kind"] == "bytes of address space"]
    lines = [line for line in lines if line not in needs and line not in steps]
    for line in lines:
        if line["kind"] == "kill":
            kills.setdefault(line["command"], Counter())[line["verdict"]] += line["n"]
            if line["verdict"] not in FINE:
                other.append(f"- {line['command']}, killed: {line['verdict']}")
            continue
        limits.setdefault((line["command"], line["kind"]), Counter())[line["verdict"]] += 1
        if line["verdict"] not in ("done", "refused"):
            where = f"{line['command']}, {line['limit']:,} {line['kind']}"
            other.append(f"- {where}: {line['verdict']} `{line['said']}`")
    parts = [*_kills(kills), *_limits(limits), *_needs(needs, steps)]
    return "\n\n".join([*parts, *_end(other, [*lines, *needs, *steps])]) + "\n"


def _kills(kills: dict[str, Counter[str]]) -> list[str]:
    rows = [
        [name, f"{sum(c.values()):,}", f"{c['killed']:,}", f"{c['ended before']:,}",
         str(sum(n for verdict, n in c.items() if verdict not in FINE))]
        for name, c in kills.items()
    ]  # fmt: skip
    every = sum(kills.values(), Counter())
    bad = sum(n for verdict, n in every.items() if verdict not in FINE)
    return [
        "# Killed, and starved",
        "`python -m benchmarks.survive --kills 1000 --limits --record` kills commands at random "
        "moments of their work, reads every file that can be seen, and gives the command again: "
        "the result must be that of a command that was left alone. A benchmark that was killed "
        "may have some of its lines; a half file, another line or another result is lost.",
        f"{sum(every.values()):,} runs, {every['killed']:,} of them killed, {bad} with a half file "
        "or another result.",
        table(["command", "runs", "killed", "ended first", "half files or lost"], rows),
    ]


def _limits(limits: dict[tuple[str, str], Counter[str]]) -> list[str]:
    if not limits:
        return []
    rows = [
        [name, kind, str(sum(c.values())), str(c["done"]), str(c["refused"]),
         str(sum(n for verdict, n in c.items() if verdict not in ("done", "refused")))]
        for (name, kind), c in limits.items()
    ]  # fmt: skip
    return [
        "Then files may not grow beyond a length, memory is what the process has at its start and "
        "less and less beside it, and the disk (a tmpfs) has a page more at every step until the "
        "command gets through. A command must end well, or with one line and nothing left behind. "
        "These jobs are small: what the process has freed before serves most of them, so the steps "
        "of memory say little. Lengths under 1,000 bytes are not tried: the line that tells of the "
        "error goes to a file here too. A benchmark keeps its finished cells in `.parts`; with a "
        "few MiB the processes of its cells cannot even import, and its table is another one.",
        table(["command", "limit on", "steps", "done", "refused", "other"], rows),
    ]


def _needs(needs: list[dict[str, Any]], steps: list[dict[str, Any]]) -> list[str]:
    if not needs:
        return []
    rows = []
    for line in needs:
        own = [step for step in steps if step["command"] == line["command"]]
        said = Counter(step["verdict"] for step in own)
        fine = ("done", "told", "ran out")
        bad = sum(n for verdict, n in said.items() if verdict not in fine)
        rows.append(
            [line["command"], f"{line['told'] / 2**20:,.0f}", f"{line['peak'] / 2**20:,.0f}",
             f"{line['told'] / max(line['peak'], 1.0):.2f}",
             *(([str(said[verdict]) for verdict in fine] + [str(bad)]) if own else ["–"] * 4)]
        )  # fmt: skip
    ratios = [line["told"] / max(line["peak"], 1.0) for line in needs]
    near = sum(0.7 <= ratio <= 1.3 for ratio in ratios)
    bad = [
        f"- {step['command']}, {step['limit']:g} of the need: {step['verdict']} `{step['said']}`"
        for step in steps
        if step["verdict"] not in ("done", "told", "ran out")
    ]
    return [
        "## Memory",
        "`python -m benchmarks.survive --memory --steps --record`: larger jobs, each in a process "
        "where all is imported and compiled. What a command says it needs beyond what the process "
        "holds is known from shapes before the work; its growth is what the process has at its "
        "worst moment more than at its start (resident). Then its address space may grow by 2, "
        "1.4, 1.2, 1, 0.9, 0.7, 0.5 and 0.25 times that need: a command is done, is told before "
        "the work, or runs out in it; in all cases but the first it ends with one line, and "
        f"nothing is left behind. {near} of {len(needs)} estimates are within 30 % of the growth.",
        table(
            [
                "job",
                "told, MiB",
                "grew by, MiB",
                "told / grew",
                "done",
                "told before",
                "ran out",
                "other",
            ],
            rows,
        ),
        *(["What ended otherwise:\n\n" + "\n".join(bad)] if bad else []),
    ]


def _end(other: list[str], lines: list[dict[str, Any]]) -> list[str]:
    commits = ", ".join(dict.fromkeys(line["commit"] for line in lines))
    return [
        *(["What ended otherwise:\n\n" + "\n".join(other[:30])] if other else []),
        f"{machine()}; runs of commits {commits}. Hidden temporary files of a killed process may "
        "stay behind; they never have a name that was asked for.",
    ]
