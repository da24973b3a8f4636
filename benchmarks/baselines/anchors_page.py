"""The page of the comparison with the authors' codes and the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.baselines.explanations import EXPLANATIONS, NOTES
from benchmarks.baselines.paper import paper_section
from benchmarks.baselines.rows import ALLOWED, AUTHORS, GENOTYPES, IMAGES, Anchor
from benchmarks.reporting import machine, table

from bmcg.baselines import METHODS, default_grid

Cell = Mapping[str, Any]
HEADER = ("method", "data", "settings", "reference", "ours", "ratio", "verdict", "CPU s", "chosen")


def ratio(anchor: Anchor, cell: Cell) -> float:
    """Our error over the reference; decibels are turned into errors first."""
    if anchor.source == IMAGES:
        return float(10 ** ((anchor.reference - cell["ours"]) / 20))
    return float(cell["ours"] / anchor.reference)


def missed(anchor: Anchor, cell: Cell) -> bool:
    """Whether the cell is there and further off than allowed."""
    return "ours" in cell and ratio(anchor, cell) > 1 + ALLOWED[anchor.source]


def verdict(anchor: Anchor, cell: Cell) -> str:
    """Met, inside the spread of masks, or missed."""
    if "ours" not in cell:
        return cell.get("not_run", "not measured yet")
    if not missed(anchor, cell):
        return "better" if ratio(anchor, cell) < 1 - ALLOWED[anchor.source] else "met"
    if min(cell["errors"]) <= anchor.reference <= max(cell["errors"]):
        return "missed on average, inside the masks"
    return "missed"


def figures(anchor: Anchor, cell: Cell) -> list[str]:
    """The cells of one line of a table."""
    digits = 2 if anchor.source == IMAGES else 4
    head = [anchor.method, anchor.dataset, anchor.label, f"{anchor.reference:.{digits}f}"]
    if "ours" not in cell:
        return [*head, "", "", verdict(anchor, cell), "", ""]
    ours = f"{cell['ours']:.{digits}f}"
    if len(cell["errors"]) > 1:
        low, high, spread = min(cell["errors"]), max(cell["errors"]), np.std(cell["errors"])
        ours += f" ± {spread:.4f} ({low:.4f} to {high:.4f}, {len(cell['errors'])} masks)"
    chosen = cell["chosen"]
    choice = "" if chosen is None else ", ".join(f"{key} {chosen[key]:g}" for key in chosen)
    numbers = [ours, f"{ratio(anchor, cell):.3f}", verdict(anchor, cell)]
    return [*head, *numbers, f"{cell['seconds']:.1f}", choice]


def counts(rows: Sequence[Anchor], cells: Mapping[str, Cell]) -> str:
    """How many of the figures are met, one verdict for each method, data set and figure."""
    words: dict[str, int] = {}
    for anchor in rows:
        word = verdict(anchor, cells.get(anchor.key, {}))
        word = word if word in ("better", "met", "missed") or "masks" in word else "not run"
        words[word] = words.get(word, 0) + 1
    return ", ".join(f"{words[word]} {word}" for word in sorted(words))


def section(rows: Sequence[Anchor], cells: Mapping[str, Cell]) -> str:
    """Counts and the table."""
    lines = [figures(anchor, cells.get(anchor.key, {})) for anchor in rows]
    return f"{len(rows)} rows: {counts(rows, cells)}.\n\n{table(HEADER, lines)}"


def grids() -> str:
    """What tuning tries."""
    lines = [
        f"- {name}: "
        + "; ".join(f"`{key}` {', '.join(map(str, values))}" for key, values in grid.items())
        for name in METHODS
        if (grid := default_grid(METHODS[name]))
    ]
    return "\n".join(lines)


def together(measurements: Sequence[Anchor], cells: Mapping[str, Cell]) -> str:
    """Where references lie among the masks, and how methods rise and fall over the same masks."""
    found = []
    for one in measurements:
        errors = cells.get(one.key, {}).get("errors", [])
        if len(errors) > 2:
            distance = (one.reference - np.mean(errors)) / np.std(errors, ddof=1)
            found.append(f"{one.method} ({one.label}) on {one.dataset}: {distance:+.1f}")
    away = f"\n\nReference minus mean, in standard deviations over masks: {'; '.join(found)}."
    away, found = (away if found else ""), []
    for one, other in combinations(measurements, 2):
        a, b = (cells.get(each.key, {}).get("errors", []) for each in (one, other))
        if one.dataset == other.dataset and len(a) == len(b) > 2:
            correlation = np.corrcoef(a, b)[0, 1]
            names = f"{one.method} ({one.label}) and {other.method} ({other.label})"
            found.append(f"{names} on {one.dataset}: {correlation:.2f}")
    return away + (f" Correlation over the masks: {'; '.join(found)}." if found else "")


def explained(cells: Mapping[str, Cell]) -> str:
    """Why figures were missed, each reason with its measurement."""
    parts = []
    for title, (text, measurements) in NOTES.items():
        lines = [figures(anchor, cells.get(anchor.key, {})) for anchor in measurements]
        shown = f"{table(HEADER, lines)}{together(measurements, cells)}"
        parts.append(f"### {title}\n\n{text}\n\n{shown}")
    return "\n\n".join(parts)


def render(rows: Sequence[Anchor], cells: Mapping[str, Cell], folder: Path) -> str:
    """The whole page; the paper's tables from the Parquet files of `folder`."""
    of = {
        source: [one for one in rows if one.source == source and one not in EXPLANATIONS]
        for source in ALLOWED
    }
    commits = sorted({cells[one.key]["commit"] for one in rows if one.key in cells})
    return f"""# Beside the authors' codes and the paper

`BMCG_DATA=... python -m benchmarks.baselines.anchors` from the root of the repository writes this
page; it goes on where it was interrupted. Root mean squared error on the test entries, not
clipped; on genotypes ({", ".join(GENOTYPES)}: the share of entries observed) the error rate; on
images the peak signal-to-noise ratio of the whole image in dB. Ratio: our error over the
reference, below one is better. Seconds of CPU are those of one fit, tuning included, on a machine
shared with other work.

Which genotypes the references had observed is not known, so ours are means over random masks,
with the extremes: a reference between them is what one mask or another gives. Where "chosen" is
filled in, `bmcg.baselines.tune` chose on three folds of the *observed* entries from one grid for
all data sets, powers of ten around the setting that the authors published:

{grids()}

## The authors' own codes, same settings

A figure is met within 1 %. Graphs as shipped; GRALS, PMF and GPMF start from the numbers that the
authors' C++ code draws. "Reads test positions" scores edges as the published script of GPMF does;
no method of this package does that otherwise.

{section(of[AUTHORS], cells)}

## The paper's Tables 1 and 2

A figure is met within 2 %. Errors are those of [recommendation](recommendation.md) and
[genotypes](genotype.md), graphs as in the paper; where the authors' settings miss, the method tuned
on observed entries follows, whatever it gives, chosen from the smaller grid of those benches.

{paper_section(folder)}

## VBMC and BPMF on images

10 % of the pixels, noise at 5 dB. The paper does not say in which unit it fits pixels. VBMC as its
authors start it fails in grey levels up to 255 and works in units of one; ours divides by the size
of the data and does not depend on the unit. BPMF's noise precision of 2 is a standard deviation of
0.7: in grey levels that takes all noise for signal, from 0 to 1 it leaves hardly more than the
mean. A learned precision needs no unit.

{section(of[IMAGES], cells)}

## Figures that were missed, and why

{explained(cells)}

{machine()}. Cells were measured at commits {", ".join(commits)}.
"""
