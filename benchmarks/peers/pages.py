"""The page of results, from the cells that were kept."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from benchmarks.reporting import table

from .outcomes import Cell, Outcome
from .splits import BEFORE, PEERS, RACE_SHARE, RACE_TARGET, SPLITS

# A method has reached its error when it first comes this close to what it ends with.
CLOSE = 1e-3
MISSING = "not measured yet"


def cell_line(cell: Cell) -> list[str]:
    """RMSE, seconds to it, seconds in all, load."""
    if cell.outcome is None:
        return [cell.failure, "", "", ""]
    last = cell.outcome.errors[-1]
    reached = cell.outcome.seconds_to(last * (1 + CLOSE))
    return [f"{last:.4f}", f"{reached:.1f}", f"{cell.outcome.total:.1f}", _load(cell)]


def _load(cell: Cell) -> str:
    lowered = f", nice {cell.niceness}" if cell.niceness else ""
    return f"{cell.load:.1f}{lowered}"


def _seconds(value: float) -> str:
    return f"{value:.1f}" if np.isfinite(value) else "not reached"


def _rows(cells: Mapping[str, Cell]) -> list[list[str]]:
    rows = []
    for name, split in SPLITS.items():
        for method in (*PEERS, *(f"bmcg-{family}" for family in split.families)):
            cell = cells.get(f"{name}/{method}")
            found = [MISSING, "", "", ""] if cell is None else cell_line(cell)
            title = method if cell is None or cell.outcome is None else cell.outcome.method
            before = BEFORE.get(method, {}).get(name, "–")
            rows.append([split.title, title, found[0], before, *found[1:]])
    return rows


def _rounds(cells: Mapping[str, Cell]) -> list[tuple[Cell, Cell]]:
    """smurff's cell and ours of each round that has both."""
    found, turn = [], 0
    while f"race/{turn}/smurff" in cells or f"race/{turn}/bmcg" in cells:
        pair = cells.get(f"race/{turn}/smurff"), cells.get(f"race/{turn}/bmcg")
        if pair[0] is not None and pair[1] is not None:
            found.append((pair[0], pair[1]))
        turn += 1
    return found


def _shares(theirs: Outcome, ours: Outcome) -> tuple[float, float]:
    """Our time to the target in smurff's time to it, and in smurff's whole run."""
    mine = ours.seconds_to(RACE_TARGET)
    # Where smurff does not get there its whole run counts, to its favour.
    there = min(theirs.seconds_to(RACE_TARGET), theirs.total)
    return mine / there, mine / theirs.total


def race(cells: Mapping[str, Cell]) -> str:
    """Each round of the race, and the verdict on their medians."""
    rows, shares = [], []
    for turn, (theirs, ours) in enumerate(_rounds(cells)):
        if theirs.outcome is None or ours.outcome is None:
            return f"No race: {theirs.failure or ours.failure}."
        shares.append(_shares(theirs.outcome, ours.outcome))
        rows.append(
            [
                str(turn + 1),
                _seconds(theirs.outcome.seconds_to(RACE_TARGET)),
                f"{theirs.outcome.total:.1f}",
                f"{theirs.outcome.errors[-1]:.4f}",
                _seconds(ours.outcome.seconds_to(RACE_TARGET)),
                f"{ours.outcome.total:.1f}",
                f"{ours.outcome.errors[-1]:.4f}",
                *(f"{share:.2f}" for share in shares[-1]),
                f"{_load(theirs)} / {_load(ours)}",
            ]
        )
    if not rows:
        return "Not run yet."
    header = (
        "round",
        "smurff, s to it",
        "s in all",
        "RMSE",
        "bmcg, s to it",
        "s in all",
        "RMSE",
        "share of smurff's s to it",
        "of its s in all",
        "load",
    )
    to_target, in_all = np.median(np.asarray(shares), axis=0)
    return f"""{table(header, rows)}

Median over the rounds: bmcg needs **{to_target:.2f}** of smurff's time to the same error (at most
{RACE_SHARE} asked: {_met(to_target)}), and {in_all:.2f} of the time of its 160 draws
({_met(in_all)})."""


def _met(share: float) -> str:
    return "met" if share <= RACE_SHARE else "missed"


def page(cells: Mapping[str, Cell]) -> str:
    """The table and the race, with what is needed to repeat them."""
    header = ("data", "method", "RMSE", "before", "s to the RMSE", "s in all", "load")
    described = sorted({f"{cell.machine}, {cell.threads} threads" for cell in cells.values()})
    return f"""# Beside other packages

`BMCG_DATA=... python -m benchmarks.peers` and `... python -m benchmarks.peers race` from the root
of the repository. Errors and seconds of every step are in `peers.json` beside this page.

Same splits for all, predictions not clipped. "s to the RMSE" is the time until a method first came
within 0.1 % of the error it ends with, where it can be asked on the way, else its whole time.
Reading data and compiling are left out, and so is computing the error, except where a package does
that itself in every step (smurff). "Before" is what the same version reached on the same split in
an earlier, separate measurement. "Load" is the machine's load average when a cell began: other work
was running wherever it exceeds the number of threads; "nice" marks cells that ran at a lowered
priority, whose seconds say little.

Peers: smurff 1.1 BPMF (16 factors, 40 + 120 draws, adaptive noise); myFM 0.4.0 (rank 10, 200 draws
of which 180 are averaged, one-hot users and items), and with relation blocks that add to each user
and item its row of the graph and of the observation pattern, over the root of their counts; cmfrec
3.5.1 (rank 20, the best of penalties 5, 10 and 20 on the *test* entries; all three count in "s in
all"; compiled without link-time optimisation);
implicit 0.7.2 ALS (rank 20; a ranking method that takes ratings as weights: its scores are
regressed on the ratings, so its error only says that this is another task); Surprise 1.1.5 with its
defaults. bmcg: graphs as published (MovieLens 1M: 10-NN feature graphs), at most 20 columns and 40
sweeps. Only myFM's second variant sees the graphs as well.

{table(header, _rows(cells))}

## MovieLens 1M to RMSE {RACE_TARGET:.4f}

smurff's BPMF (16 factors, 40 + 120 draws) and bmcg (`row`, at most 20 columns, biases, 10-NN
feature graphs) in turn on the same machine, each first in every other round. smurff's error is that
of the average over the draws kept so far.

{race(cells)}

{chr(10).join(f"- {one}" for one in described)}
"""
