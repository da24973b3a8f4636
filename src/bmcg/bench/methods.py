"""Who takes part: every method of the paper with its setting, and the tuned variants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# The one setting of BMCG behind every "ours" in every table: the library's defaults.
OURS: dict[str, Any] = {}
OURS_LABEL = "BMCG (ours, one setting for everything)"
COLUMN_LABEL = "BMCG (column, as in the paper)"
# How the label of a row ends whose hyperparameters were chosen on observed entries.
TUNED = "(tuned)"

# In the order of the paper's tables. Ranks: 100 where a method finds its own, else 10.
PAPER_METHODS: dict[str, dict[str, Any]] = {
    "BMCG": {"posterior": "column", "rank": 100, "bias": False, "learn_graphs": False},
    "MC on Graphs": {},
    "L1MC": {"rank": 100},
    "LMaFit": {"rank": 100},
    "GRALS": {"rank": 10},
    "GPMF": {"rank": 10},
    "BMC-GP-GAMP": {},
    "KPMF": {"rank": 10},
    "BPMF": {"rank": 10},
    "VBMC": {"rank": 100},
}
# What tuning tries: coarser than `bmcg.baselines.default_grid`, so that every table can hold
# the tuned rows, and powers of ten around the authors' setting, drawn up without a look at any
# test error. MC on Graphs tunes itself; BMCG, VBMC and BMC-GP-GAMP are said to need none.
TUNING_GRIDS: dict[str, dict[str, list[Any]]] = {
    "L1MC": {"rank": [5, 100], "refine": [False, True]},
    "LMaFit": {"rank": [1, 3, 5, 10], "estimate_rank": [False]},
    "GRALS": {"graph_weight": [0.04, 0.4, 4.0], "ridge": [1e-4, 1.0]},
    "GPMF": {"graph_weight": [0.04, 0.4, 4.0], "ridge": [1e-4, 1.0]},
    "KPMF": {"kernel_weight": [0.11, 1.1], "noise_variance": [0.02, 0.2, 2.0]},
    "BPMF": {"rank": [5, 10], "noise_precision": [2.0, "learn"]},
}
# Measured last for each seed: minutes where the others take seconds.
SLOW = ("MC on Graphs", "BMC-GP-GAMP", "VBMC")
# Iterations of a quick run, where only the machinery matters.
QUICK_LIMITS = {"max_sweeps": 3, "max_iter": 3, "pmf_iter": 3}


@dataclass(frozen=True)
class Entry:
    """One row of a table.

    Attributes
    ----------
    label : str
    method : str
        As the paper names it, a key of `bmcg.baselines.METHODS`.
    params : dict
    tuned : bool
        Whether hyperparameters are chosen on held-out observed entries first.
    pattern : bool
        Whether it takes the observation pattern as features where a case offers it.
    """

    label: str
    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    tuned: bool = False
    pattern: bool = False


def bmcg_entries() -> tuple[Entry, Entry]:
    """BMCG twice: our setting, and the paper's factorisation."""
    return (
        Entry(OURS_LABEL, "BMCG", OURS, pattern=True),
        Entry(COLUMN_LABEL, "BMCG", PAPER_METHODS["BMCG"]),
    )


def all_entries(*, tuned: bool = True) -> tuple[Entry, ...]:
    """Every method of the paper, those that need tuning twice.

    Parameters
    ----------
    tuned : bool
        False leaves the tuned rows out.
    """
    rows = [*bmcg_entries()]
    for method, params in PAPER_METHODS.items():
        if method != "BMCG":
            rows.append(Entry(method, method, params))
            if tuned and method in TUNING_GRIDS:
                rows.append(Entry(f"{method} {TUNED}", method, params, tuned=True))
    return tuple(rows)


def chosen(entries: tuple[Entry, ...], names: tuple[str, ...]) -> tuple[Entry, ...]:
    """Entries of the methods that were asked for; all where none was.

    Parameters
    ----------
    entries : tuple of Entry
    names : tuple of str
        Methods as the paper names them, in any case.
    """
    known = {name.lower(): name for name in PAPER_METHODS}
    for name in names:
        if name.lower() not in known:
            raise ValueError(f"--methods {name}: choose from {', '.join(PAPER_METHODS)}")
    wanted = {known[name.lower()] for name in names}
    return tuple(entry for entry in entries if not wanted or entry.method in wanted)
