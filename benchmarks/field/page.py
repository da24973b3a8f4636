"""The page of the field, from the cells that were kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from benchmarks.reporting import table

from .measure import OK
from .methods import NAMES, OURS
from .sets import BINARY, PICTURE, SETS
from .store import Place

Cells = Mapping[Place, dict[str, Any]]
# Not counted among the best of a row: they know that neighbours in time are alike.
ASIDE = ("interpolation",)
# They see the observation pattern, and are compared with ours that do.
PATTERN = ("myfm-features",)
# What is asked: regret at most, and with what comes with a set over without.
MOST_REGRET, MOST_HARM = 1.02, 1.005
NOT_YET = "not measured"


def figures(cells: Cells, name: str, method: str, what: str) -> list[float]:
    """A figure of all seeds that have it."""
    return [
        cell[what]
        for place, cell in sorted(cells.items())
        if place[:2] == (name, method) and cell["status"] == OK and what in cell
    ]


def mean(cells: Cells, name: str, method: str, what: str = "rmse") -> float:
    """Over the seeds; NaN where there is none."""
    found = figures(cells, name, method, what)
    return float(np.mean(found)) if found else float("nan")


def best_other(cells: Cells, name: str, pattern: bool = False) -> tuple[str, float]:
    """The other method of least error on a set, and its error.

    Parameters
    ----------
    cells : dict
    name : str
        Of the set.
    pattern : bool
        Of those that see the observation pattern, or of those that do not.
    """
    others = [method for method in NAMES if method not in (*OURS, *ASIDE)]
    errors = {m: mean(cells, name, m) for m in others if (m in PATTERN) == pattern}
    known = {method: error for method, error in errors.items() if np.isfinite(error)}
    if not known:
        return "–", float("nan")
    best = min(known, key=known.__getitem__)
    return best, known[best]


def headline(cells: Cells, name: str, pattern: bool = False) -> float:
    """Our error by default: with what comes with the set where something does."""
    if pattern:
        return mean(cells, name, "bmcg-pattern")
    given = mean(cells, name, "bmcg-given")
    return given if np.isfinite(given) else mean(cells, name, "bmcg")


def regret(cells: Cells, name: str, pattern: bool = False) -> float:
    """Our error over that of the best other method that sees as much."""
    return headline(cells, name, pattern) / best_other(cells, name, pattern)[1]


def page(cells: Cells) -> str:
    """The summary, and a table for each set."""
    names = [name for name in SETS if any(place[0] == name for place in cells)]
    sections = [f"## {name}\n\n{_set(cells, name)}" for name in names]
    commits = sorted({cell["commit"] for cell in cells.values()})
    head = f"""# The field

`BMCG_DATA=... python -m benchmarks.field` measures, and with `page` writes this page alone. One
setting of each method for all sets: the library's defaults for BMCG; rank 10 for the others that
take one, on standardised values. "Given" is what comes with a set (graphs and features), "pattern"
its graphs and the observation pattern as features of both sides. Errors are RMSE on held-out
entries, means over seeds. The *regret* is our error over the least of the other methods that see as
much: with what is given where anything is, beside those that do not see the pattern; and with the
pattern, beside myFM with the graphs and the pattern as features. Linear interpolation stands aside,
for it knows the order of times. Tables are standardised by their observed entries. Where the
publishers give one split all seeds share it. Cells have one thread each and run beside others, on
two machines: seconds are the cost, not a race.

Commits of the cells: {", ".join(commits) or "none"}.

{_summary(cells, names)}
"""
    return "\n\n".join([head.rstrip(), *sections]) + "\n"


def _summary(cells: Cells, names: list[str]) -> str:
    rows = []
    for name in names:
        errors = [mean(cells, name, method) for method in OURS]
        (other, least), (seeing, lowest) = best_other(cells, name), best_other(cells, name, True)
        harm = errors[1] / errors[0]
        inside = mean(cells, name, "bmcg-given", "inside_90")
        if not np.isfinite(inside):
            inside = mean(cells, name, "bmcg", "inside_90")
        rows.append(
            [
                name,
                SETS[name].kind,
                *(_number(error) for error in errors[:2]),
                f"{_number(least)} ({other})",
                _number(regret(cells, name), 3),
                _number(errors[2]),
                f"{_number(lowest)} ({seeing})",
                _number(regret(cells, name, True), 3),
                _number(harm, 3),
                _share(inside),
            ]
        )
    header = ("set", "kind", "BMCG", "given", "best other", "regret")
    header = (*header, "pattern", "best that sees it", "regret")
    lines = table((*header, "given over not", "in 90 %"), rows)
    return f"{lines}\n\n{_verdict(cells, names)}"


def _verdict(cells: Cells, names: list[str]) -> str:
    counted = [name for name in names if SETS[name].kind != PICTURE]
    known = {
        f"{name}{' with the pattern' if pattern else ''}": regret(cells, name, pattern)
        for name in counted
        for pattern in (False, True)
    }
    known = {name: value for name, value in known.items() if np.isfinite(value)}
    over = [name for name, value in known.items() if value > MOST_REGRET]
    won = sum(value <= 1.0 for value in known.values())
    harmed = [
        name
        for name in names
        if mean(cells, name, "bmcg-given") > MOST_HARM * mean(cells, name, "bmcg")
    ]
    off = [
        name
        for name in names
        if SETS[name].kind != BINARY
        and np.isfinite(_inside(cells, name))
        and not 0.88 <= _inside(cells, name) <= 0.92
    ]
    return f"""- Regret over {MOST_REGRET} (pictures aside): {", ".join(over) or "none"}.
- Regret of 1.00 or less: {won} of {len(known)} (two thirds are asked for).
- More than 0.5 % worse with what is given: {", ".join(harmed) or "none"}.
- 90 % intervals outside 88–92 % (0/1 aside): {", ".join(off) or "none"}."""


def _inside(cells: Cells, name: str) -> float:
    found = mean(cells, name, "bmcg-given", "inside_90")
    return found if np.isfinite(found) else mean(cells, name, "bmcg", "inside_90")


def _set(cells: Cells, name: str) -> str:
    rows = []
    for method in NAMES:
        found = [cell for place, cell in sorted(cells.items()) if place[:2] == (name, method)]
        errors = figures(cells, name, method, "rmse")
        if not errors:
            reason = found[0].get("reason", found[0]["status"]) if found else NOT_YET
            if found and found[0]["status"] == "not for this set":
                continue
            rows.append([method, reason, "", "", "", "", "", ""])
            continue
        spread = f" ± {np.std(errors):.4f}" if len(errors) > 1 else ""
        inside = [_share(mean(cells, name, method, f"inside_{k}")) for k in (50, 90, 95)]
        rows.append(
            [
                method,
                f"{_number(float(np.mean(errors)))}{spread}",
                _number(mean(cells, name, method, "aupr")),
                *inside,
                _number(mean(cells, name, method, "seconds"), 1),
                str(len(errors)),
            ]
        )
    if SETS[name].kind != BINARY:
        rows = [[*row[:2], *row[3:]] for row in rows]
    aupr = ("AUPR",) if SETS[name].kind == BINARY else ()
    header = ("method", "RMSE", *aupr, "in 50 %", "in 90 %", "in 95 %", "seconds", "seeds")
    return f"Comes with it: {SETS[name].what}.\n\n{table(header, rows)}"


def _number(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}f}" if np.isfinite(value) else "–"


def _share(value: float) -> str:
    return f"{100 * value:.1f}" if np.isfinite(value) else "–"
