"""The page of what was measured."""

from __future__ import annotations

from typing import Any

from benchmarks.reporting import machine, table

from .cases import DAMAGE, HOLES, NOISE, PLACES, SIDE
from .rivals import NAMES

BEFORE = "before"
HEAD = f"""# Pictures

Printed by `python -m benchmarks.pictures`: 256 × 256 test pictures, some of their pixels missing,
"noise" of {NOISE:.0f} grey levels on what is known. Decibels are PSNR over the missing pixels
against the clean picture; seconds are of the processor, one thread, in a process that has filled
another picture before; "held" is the share of missing
pixels, as they would have been seen with the same noise, within bands of 90 %.
Others as their packages have them by default (OpenCV: a radius of 3).
"before" is bmcg at 6b21f487: a surface alike in all directions, patches and lines.
{HOLES} holes of {SIDE} × {SIDE} pixels, put into {PLACES} places of each picture, are wider than
what any of them can know about: there the bands count. Figures of holes are means over the places,
the most seconds of one, and the shares held in each place.

"""


def page(cells: dict[str, dict[str, Any]]) -> str:
    """All figures as Markdown."""
    parts = [HEAD]
    for damage in DAMAGE:
        rows = _rows(cells, damage)
        if rows:
            head = ["picture", "bmcg", "held", "seconds", BEFORE, *NAMES, "best of others"]
            parts.append(f"## {damage[0].upper() + damage[1:]}\n\n{table(head, rows)}\n\n")
    commits = sorted({cell["commit"] for cell in cells.values() if "commit" in cell})
    return "".join(parts) + f"Measured at {', '.join(commits)}; {machine()}.\n"


def _rows(cells: dict[str, dict[str, Any]], damage: str) -> list[list[str]]:
    rows = []
    for name in sorted({key.split("|")[0] for key in cells}):
        here = {
            key.split("|")[2]: c for key, c in cells.items() if key.startswith(f"{name}|{damage}|")
        }
        if "bmcg" not in here:
            continue
        own = here["bmcg"]
        others = [here[key]["psnr"] for key in (BEFORE, *NAMES) if key in here]
        shown = [f"{here[key]['psnr']:.2f}" if key in here else "" for key in (BEFORE, *NAMES)]
        gap = f"{own['psnr'] - max(others):+.2f}" if others else ""
        held = f"{own['held']:.0%}"
        if len(own.get("places", ())) > 1:
            held += f" ({', '.join(f'{share:.0%}' for share in own['places'])})"
        figures = f"{own['psnr']:.2f}", held, f"{own['seconds']:.1f}"
        rows.append([name, *figures, *shown, gap])
    return rows
