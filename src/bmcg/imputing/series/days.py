"""Times of a table as days and steps of the day, where they repeat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...graphs.build import symmetric_graph
from ...graphs.times import DAY

Index = NDArray[np.intp]

# Days, and steps of each, from which it can be asked whether days repeat.
LEAST_DAYS, LEAST_STEPS = 4, 4
# Share of the folded rows and columns that the table has to have.
FULLEST = 0.5


@dataclass(frozen=True, eq=False)
class Days:
    """Where each row of a table lies in its days.

    Attributes
    ----------
    day, step : ndarray of intp, shape (n_times,)
        Number of the day, without gaps, and of the time of the day among those that occur.
    n_days, n_steps : int
    dates : ndarray of int64, shape (n_days,)
        Which day of the calendar each is.
    """

    day: Index
    step: Index
    n_days: int
    n_steps: int
    dates: NDArray[np.int64]

    def graphs(self) -> dict[str, sp.csr_array]:
        """Days joined with the day before and with the same weekday before, where they are."""
        found = {}
        for name, lag in (("the day before", 1), ("the week before", 7)):
            after = np.searchsorted(self.dates, self.dates + lag)
            there = after < self.n_days
            there[there] = self.dates[after[there]] == self.dates[there] + lag
            ends = np.flatnonzero(there), after[there]
            if len(ends[0]):
                found[name] = symmetric_graph(self.n_days, *ends, np.ones(len(ends[0])))
        return found


def find_days(times: NDArray[Any]) -> Days | None:
    """Days of dates in ascending order; None where times are no dates, or do not repeat.

    Times of the day are told apart by half the median gap between rows. They repeat where days
    and times of the day, crossed, are mostly there, each pair once.
    """
    if times.dtype.kind != "M" or len(times) < LEAST_DAYS * LEAST_STEPS:
        return None
    seconds = times.astype("datetime64[us]").astype(np.int64) / 1e6
    gaps = np.diff(seconds)
    if (gaps <= 0).any():
        return None
    width = float(np.median(gaps))
    per_day = round(DAY / width) if width else 0
    if per_day < LEAST_STEPS:
        return None
    slot = np.rint(seconds / (DAY / per_day)).astype(np.int64)
    day, step = (np.unique(part, return_inverse=True) for part in (slot // per_day, slot % per_day))
    n_days, n_steps = len(day[0]), len(step[0])
    if len(np.unique(slot)) < len(slot) or n_days < LEAST_DAYS or n_steps < LEAST_STEPS:
        return None
    if len(slot) < FULLEST * n_days * n_steps:
        return None
    places = day[1].astype(np.intp), step[1].astype(np.intp)
    return Days(*places, n_days, n_steps, day[0])
