"""Means and spreads over seeds, one for each place in a table."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .experiments import LOWER_IS_BETTER, Case, Experiment
from .measuring import OK
from .methods import TUNED
from .published import published

Row = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """What is known of one method on one case.

    Attributes
    ----------
    mean, spread : float or None
        Over seeds; the spread is a standard deviation, None with a single seed.
    ssim : float or None
    seconds : float or None
        Mean wall time.
    n : int
        Seeds with a result.
    asked : int
        Seeds that were asked for.
    reason : str
        Why the others have none.
    by_seed : dict of int to float
    """

    mean: float | None
    spread: float | None
    ssim: float | None
    seconds: float | None
    n: int
    asked: int
    reason: str
    by_seed: dict[int, float] = field(default_factory=dict)


class Rival(NamedTuple):
    """Another method beside ours: means over the seeds that both have."""

    label: str
    ours: float
    theirs: float
    n_seeds: int


class Summary:
    """Results of a bench by case and method.

    Parameters
    ----------
    experiment : Experiment
    rows : list of dict
        As read from the bench's Parquet file.
    """

    def __init__(self, experiment: Experiment, rows: list[Row]) -> None:
        self.experiment = experiment
        self.rows = rows
        self.quick = any(row["quick"] for row in rows)
        self._found: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
        for row in rows:
            self._found[row["group"], row["case"], row["label"]].append(row)

    def columns(self, group: str) -> list[Case]:
        """The cases of a table, in order; those with nothing to set are no columns."""
        cases = [case for case in self.experiment.cases if case.group == group]
        curves = any(case.x is not None for case in cases)
        return [case for case in cases if not curves or case.x is not None]

    def labels(self, group: str) -> list[str]:
        """The methods of a table, in order, that have results or reasons."""
        cases = [case for case in self.experiment.cases if case.group == group]
        named = dict.fromkeys(entry.label for case in cases for entry in case.entries)
        return [
            label
            for label in sorted(named, key=lambda label: not label.startswith("BMCG ("))
            if any(self.figure(case, label) is not None for case in cases)
        ]

    def method(self, label: str) -> str:
        """The paper's name of a method."""
        return label.split(" (")[0]

    def figure(self, case: Case, label: str) -> Figure | None:
        """The result of a method on a case, its twin's or its constant one; None without any."""
        groups = [(case.group, case.name), (case.group, "nothing to set")]
        if case.twin is not None:
            groups.append((case.twin, case.name))
        for group, name in groups:
            rows = self._found.get((group, name, label))
            if rows:
                return _figure(rows, case.metric)
        return None

    def published(self, case: Case, label: str) -> float | None:
        """The paper's figure for a method; none for graphs, tuning or data it did not use."""
        if case.twin is not None or label.endswith(TUNED) or self.quick:
            return None
        name = case.published or case.name
        return published(self.experiment.name, self.method(label), name)

    def best(self, case: Case, labels: list[str]) -> float | None:
        """The best of our means on a case."""
        known = [
            figure.mean
            for label in labels
            if (figure := self.figure(case, label)) is not None and figure.mean is not None
        ]
        if not known:
            return None
        return min(known) if LOWER_IS_BETTER[case.metric] else max(known)

    def rival(self, case: Case, label: str, others: list[str]) -> Rival | None:
        """The method that a row fares worst against, each over the seeds that both have."""
        own = self.figure(case, label)
        if own is None:
            return None
        found = []
        for other in others:
            figure = self.figure(case, other)
            seeds = sorted(own.by_seed.keys() & figure.by_seed.keys()) if figure else []
            if figure is not None and seeds:
                means = [float(np.mean([f.by_seed[s] for s in seeds])) for f in (own, figure)]
                found.append(Rival(other, means[0], means[1], len(seeds)))
        if not found:
            return None
        # Errors compare by their ratio, decibels by their difference.
        return max(found, key=lambda r: r.theirs - r.ours if case.metric == "psnr" else
                   r.ours / r.theirs if r.theirs else np.inf)  # fmt: skip


def _figure(rows: list[Row], metric: str) -> Figure:
    done = [row for row in rows if row["status"] == OK]
    values = [row[metric] for row in done]
    reasons = dict.fromkeys(
        row["reason"] if row["status"] == "failed" else f"{row['status']} ({row['reason']})"
        for row in rows
        if row["status"] != OK
    )
    return Figure(
        mean=float(np.mean(values)) if values else None,
        spread=float(np.std(values, ddof=1)) if len(values) > 1 else None,
        ssim=float(np.mean([row["ssim"] for row in done])) if done and metric == "psnr" else None,
        seconds=float(np.mean([row["seconds"] for row in done])) if done else None,
        n=len(done),
        asked=len(rows),
        reason="; ".join(reasons),
        by_seed={row["seed"]: row[metric] for row in done},
    )
