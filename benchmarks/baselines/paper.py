"""The compared methods beside the paper's Tables 1 and 2, from what `bmcg bench` has measured."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reporting import table

from bmcg.bench.experiments import Case, Entry, genotype, recommendation
from bmcg.bench.measuring import OK
from bmcg.bench.published import published
from bmcg.bench.store import read

# The share by which an error may exceed the paper's.
ALLOWED = 0.02
HEADER = ("method", "data", "settings", "paper", "ours", "ratio", "verdict", "s", "chosen")
Rows = list[dict[str, Any]]


def paper_section(folder: Path) -> str:
    """Counts and the table, from the Parquet files of a folder."""
    lines = []
    for experiment in (recommendation(quick=False), genotype(quick=False)):
        path = folder / f"{experiment.name}.parquet"
        measured = read(path) if path.exists() else []
        for case in experiment.cases:
            if case.group == experiment.groups[0]:
                lines += case_lines(experiment.name, case, measured)
    words = Counter(
        line[6] if line[6] in ("better", "met", "missed") else "without a figure" for line in lines
    )
    counted = ", ".join(f"{words[word]} {word}" for word in sorted(words))
    return f"{len(lines)} rows: {counted}.\n\n{table(HEADER, lines)}"


def case_lines(bench: str, case: Case, measured: Rows) -> list[list[str]]:
    """One line for each method at its authors' settings, a second where it had to be tuned."""
    lines = []
    plain = {entry.method: entry for entry in case.entries if not entry.tuned}
    tuned = {entry.method: entry for entry in case.entries if entry.tuned}
    for method, entry in plain.items():
        reference = published(bench, method, case.published or case.name)
        if method == "BMCG" or reference is None:
            continue
        lines.append(entry_line(case, entry, reference, measured))
        if lines[-1][6] == "missed" and method in tuned:
            lines.append(entry_line(case, tuned[method], reference, measured))
    return lines


def entry_line(case: Case, entry: Entry, reference: float, measured: Rows) -> list[str]:
    """The cells of one line."""
    found = [
        row
        for row in measured
        if (row["group"], row["case"], row["label"]) == (case.group, case.name, entry.label)
    ]
    settings = "tuned on observed entries" if entry.tuned else "defaults"
    head = [entry.method, case.name, settings, f"{reference:.4f}"]
    good = [row for row in found if row["status"] == OK]
    if not good:
        return [*head, "", "", found[0]["reason"] if found else "not measured", "", ""]
    errors = np.array([row[case.metric] for row in good])
    ours = f"{errors.mean():.4f}"
    if len(errors) > 1:
        ours += f" ± {errors.std(ddof=1):.4f} (seeds: {len(errors)})"
    ratio = errors.mean() / reference
    verdict = "missed" if ratio > 1 + ALLOWED else "better" if ratio < 1 - ALLOWED else "met"
    chosen = json.loads(good[0]["chosen"] or "{}")
    choice = ", ".join(f"{key} {value}" for key, value in chosen.items())
    seconds = float(np.mean([row["seconds"] for row in good]))
    return [*head, ours, f"{ratio:.3f}", verdict, f"{seconds:.1f}", choice]
