"""The page of what was measured."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

from benchmarks.reporting import machine, table

from .sets import MASKS, NOTHING, TABLES

HEAD = """# Tables of sensors

Printed by `python -m benchmarks.local`. RMSE on held-out entries; published figures are those that
the authors printed, with settings chosen by them and the median where several runs were printed.
Seconds are of the processor. "held" is the share of held-out values within bands of 90 %.

"""
FOLDED = """## Masks of the publishers

`bmcg impute` as it comes: several ways, weighed by gaps that are left out (the last column says
which). "days alone" is `fold_days` with `BMCG(posterior="column")`: a row of
each station and step of the day, a column of each day. RM hides single entries, NM whole days of a
station, BM all stations for six steps. Zeros count as missing, as the publishers have it.

"""
ALONG = """## The local term

Each station along the hours (`local="cols"`), beside the same model without it, and other ways to
fill a table.

"""
AGAINST = """## Where there is nothing local

Rows and columns in the order of their numbers, which mean nothing, as chains: users and films of
MovieLens 100K (u1), drugs and kinases of davis. `independent` is drawn: a daily pattern and noise
alone. `local="auto"` asks left-out entries whether a term along the columns, the rows or both
stays; "change" is of the RMSE on held-out entries beside the same model without the question.

"""
ALONE, AUTO = "bmcg, low rank", "bmcg, local auto"


def page(cells: dict[str, dict[str, Any]]) -> str:
    """All figures as Markdown."""
    commits = ", ".join(sorted({cell["commit"] for cell in cells.values()}))
    parts = [HEAD, FOLDED, _masks(cells), "\n\n", ALONG, _tables(cells)]
    parts += ["\n\n", AGAINST, _nothing(cells)]
    return "".join(parts) + f"\n\nMeasured at {commits}; {machine()}.\n"


def _masks(cells: dict[str, dict[str, Any]]) -> str:
    published = _published()
    rows = []
    for name in MASKS:
        cell = cells.get(f"{name}|bmcg impute")
        if cell is None:
            continue
        days = cells.get(f"{name}|bmcg, folded")
        alone = "" if days is None else f"{days['rmse all']:.2f} ({days['held all']:.1%})"
        others = sorted(published.get(name, {}).items(), key=lambda item: item[1])
        shown = ", ".join(f"{method} {error:.1f}" for method, error in others[:3])
        figures = [f"{cell['rmse all']:.2f}", f"{cell['held all']:.1%}", f"{cell['seconds']:.1f}"]
        rows.append([name, *figures, alone, shown, cell["note"]])
    head = ["mask", "bmcg impute", "held", "seconds", "days alone (held)", "best published", "ways"]
    return table(head, rows)


def _published() -> dict[str, dict[str, float]]:
    """RMSE of each method by mask, as their authors printed them."""
    path = Path(os.environ.get("BMCG_DATA", ".")) / "field" / "published_transdim.csv"
    found: dict[str, dict[str, float]] = {}
    if path.exists():
        with path.open(encoding="utf-8") as file:
            for line in csv.DictReader(file):
                name = f"{line['dataset'].lower()}-{line['mask']}"
                found.setdefault(name, {})[line["method"]] = float(line["RMSE_median"])
    return found


def _tables(cells: dict[str, dict[str, Any]]) -> str:
    rows = []
    for name in TABLES:
        for key, cell in cells.items():
            if key.split("|")[0] != name:
                continue
            for part in ("all", "single", "blocks"):
                if f"rmse {part}" in cell:
                    held = f"{cell[f'held {part}']:.1%}" if f"held {part}" in cell else ""
                    error = f"{cell[f'rmse {part}']:.3f}"
                    where = [name, part, key.split("|")[1], error, held]
                    rows.append([*where, f"{cell['seconds']:.1f}", cell["note"]])
    rows.sort(key=lambda row: (TABLES.index(row[0]), row[1], float(row[3])))
    return table(["table", "entries", "method", "RMSE", "held", "seconds", "found"], rows)


def _nothing(cells: dict[str, dict[str, Any]]) -> str:
    rows = []
    for name in NOTHING:
        alone, asked = (cells.get(f"{name}|{method}") for method in (ALONE, AUTO))
        if alone is None or asked is None:
            continue
        part = "rmse all" if "rmse all" in alone else "rmse single"
        change = asked[part] / alone[part] - 1.0
        kept = "stayed" if "local" in asked["note"] else "gone"
        figures = [f"{alone[part]:.4f}", f"{asked[part]:.4f}", f"{change:+.2%}", kept]
        rows.append([name, *figures, f"{alone['seconds']:.1f}", f"{asked['seconds']:.1f}"])
    head = ["set", "RMSE without", "RMSE, auto", "change", "the term", "CPU s", "CPU s, auto"]
    return table(head, rows)
