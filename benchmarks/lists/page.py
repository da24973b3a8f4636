"""The page of the figures."""

from __future__ import annotations

from typing import Any

from benchmarks.reporting import table

from .others import SETTINGS
from .sets import SETS

NAMES = {
    "popularity": "popularity",
    "item-KNN": "item-KNN (implicit)",
    "EASE": "EASE",
    "ALS": "ALS (implicit)",
    "BPR": "BPR (implicit)",
    "bmcg": '`BMCG(missing="weak-zero")`',
    "bmcg, knowing": "the same",
}


def page(kept: dict[str, Any]) -> str:
    """All tables."""
    parts = [
        "# Lists",
        "What somebody chose, and whether a list of ten or twenty holds what was held out. Other "
        "methods have six settings each, of which the best on a validation split (a fifth of each "
        "row's training entries) by NDCG@10 is fitted again on all; nothing is chosen for us: "
        "weights and components are learned by the fit itself, from left-out training entries, "
        "and all else is as it comes. Means over the rows that have something held out; "
        "what was learned from is left out of the lists. One thread; seconds of one fit (ours: "
        "of the processor), and of all that it took to choose.",
    ]
    for name, one in SETS.items():
        lines = _lines(kept, name)
        if lines:
            header = ["method", "NDCG@10", "recall@20", "seconds", "with the choice", "setting"]
            parts += [f"## {one.title}", table(header, lines)]
    parts += ["## Sum", _sum(kept)]
    machines = sorted({cell["machine"] for cell in kept.values()})
    parts.append(f"`python -m benchmarks.lists`; measured by {'; '.join(machines)}.")
    return "\n\n".join(parts) + "\n"


def _lines(kept: dict[str, Any], name: str) -> list[list[str]]:
    cells = {m: kept[f"{name}/{m}"] for m in NAMES if f"{name}/{m}" in kept}
    lines = []
    for method, cell in cells.items():
        title = NAMES[method] + (f", with {cell['known']}" if "known" in cell else "")
        best = [f"{cell[m]:.4f}" for m in ("ndcg", "recall")]
        best = [
            f"**{words}**" if cell[m] == max(c[m] for c in cells.values()) else words
            for words, m in zip(best, ("ndcg", "recall"), strict=True)
        ]
        setting = ", ".join(f"{key} {value}" for key, value in cell["setting"].items())
        times = [f"{cell[key]:.1f}" for key in ("seconds", "all_seconds")]
        lines.append([title, *best, *times, setting])
    return lines


def _sum(kept: dict[str, Any]) -> str:
    """Where ours is at least at the level of the best other, and by how much."""
    rows = []
    for name in SETS:
        others = [kept[f"{name}/{m}"] for m in SETTINGS if f"{name}/{m}" in kept]
        mine = [kept[f"{name}/{m}"] for m in ("bmcg", "bmcg, knowing") if f"{name}/{m}" in kept]
        for cell in mine if others else ():
            gains = [cell[m] / max(c[m] for c in others) - 1.0 for m in ("ndcg", "recall")]
            title = f"{name}, with {cell['known']}" if "known" in cell else name
            rows.append([title, *(f"{100 * gain:+.1f} %" for gain in gains)])
    return table(["ours against the best other", "NDCG@10", "recall@20"], rows)
