"""Gaps of a table of series: how deep a cell lies in one, and the same gaps elsewhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]

# Share of the known cells that is left out.
SHARE = 0.1
# What is added to the kind of a cell in a gap of all sensors.
ALL_OUT = 64
# At a time at which more than this share of the sensors is missing, all of them were out.
TOGETHER = 0.9
# Draws of a gap at most for each one that is wanted; many fall on what is missing already.
TRIES = 20


def runs(missing: Bool) -> tuple[Index, Index, Index]:
    """Column, first and one after the last row of every run of True down a column, (n_runs,)."""
    edge = np.zeros((1, missing.shape[1]), dtype=np.int8)
    steps = np.diff(np.concatenate((edge, missing.astype(np.int8), edge)), axis=0).T
    col, first = np.nonzero(steps == 1)
    _, stop = np.nonzero(steps == -1)
    return col, first, stop


def all_out(missing: Bool) -> Bool:
    """At which times all sensors were out, shape (n_times,); sensors never seen do not count."""
    alive = ~missing.all(axis=0)
    if alive.sum() < 2:
        return np.zeros(len(missing), dtype=bool)
    return np.asarray(missing[:, alive].mean(axis=1) > TOGETHER)


def kinds(missing: Bool) -> Index:
    """What kind of gap each cell lies in, shape (n_times, n_sensors).

    The whole part of log₂ of the distance to the nearest known cell of its sensor, and `ALL_OUT`
    more where all sensors were out. Cells that are known count as a distance of one.
    """
    depth = np.ones(missing.shape)
    for j in np.flatnonzero(missing.any(axis=0)):
        column = missing[:, j]
        far = len(column) if column.all() else distance_transform_edt(column)
        depth[:, j] = np.maximum(far, 1.0)
    found = np.log2(depth).astype(np.intp)
    found[all_out(missing)] += ALL_OUT
    return found


def independence(kind: Index, n_sensors: int) -> Array:
    """How much a cell of a kind tells by itself, shape (n_cells,).

    At a distance d from what is known, cells go together over about 2d; in a gap of all, those
    of all sensors.
    """
    cells = 2.0 ** (kind % ALL_OUT + 1) * np.where(kind >= ALL_OUT, n_sensors, 1)
    return np.asarray(1.0 / cells, dtype=np.float64)


def gaps_elsewhere(
    missing: Bool, day: Index, of_day: Index, rng: np.random.Generator, share: float = SHARE
) -> Bool:
    """Known cells that lie in gaps like the real ones, put elsewhere, shape (n_times, n_sensors).

    A gap of one sensor moves to another and to another day, at the same time of the day: what
    was out for a whole day leaves a whole day out. A gap of all sensors moves with all of them.

    Parameters
    ----------
    missing : ndarray of bool, shape (n_times, n_sensors)
    day, of_day : ndarray of shape (n_times,)
        Ascending number of the day of each row, and its step within the day; one day for all
        where there are none, and gaps then move to any row.
    rng : Generator
    share : float
        Of the known cells.
    """
    known, out = ~missing, all_out(missing)
    if not missing.any():
        return known & (rng.random(known.shape) < share)
    own = missing & ~out[:, None] & ~missing.all(axis=0)
    _, first, stop = runs(own)
    _, whole_first, whole_stop = runs(out[:, None])
    # Each of both is left out as often as it is missing, but often enough to tell.
    part = np.clip(own.sum() / max(own.sum() + out.sum() * missing.shape[1], 1), 0.5, 0.75)
    shares = share * np.array([part, 1.0 - part])
    if not len(first) or not len(whole_first):
        shares[:] = share
    hidden = np.zeros_like(missing)
    move = _Moves(day, of_day, rng)
    for gaps, wanted in (((first, stop), shares[0]), ((whole_first, whole_stop), shares[1])):
        count, together = 0.0, gaps[0] is whole_first
        for _ in range(TRIES * (int(wanted * known.sum()) + 1) if len(gaps[0]) else 0):
            if count >= wanted * known.sum():
                break
            rows = move(*gaps)
            j = int(rng.integers(known.shape[1]))
            cols = slice(None) if together else slice(j, j + 1)
            new = known[rows, cols] & ~hidden[rows, cols]
            hidden[rows, cols] |= new
            count += int(new.sum())
    return hidden


class _Moves:
    """Draws a gap and puts it on another day, at the same time of the day."""

    def __init__(self, day: Index, of_day: Index, rng: np.random.Generator) -> None:
        self.of_day, self.rng, self.n = of_day, rng, len(day)
        self.starts = np.append(np.flatnonzero(np.append(True, np.diff(day) > 0)), len(day))

    def __call__(self, first: Index, stop: Index) -> slice:
        """Rows of a gap, of those that begin and end there."""
        g = int(self.rng.integers(len(first)))
        begin = int(self.rng.integers(self.n))
        if len(self.starts) > 2:
            d = int(self.rng.integers(len(self.starts) - 1))
            here = self.of_day[self.starts[d] : self.starts[d + 1]]
            begin = int(self.starts[d] + np.searchsorted(here, self.of_day[first[g]]))
        return slice(begin, begin + int(stop[g] - first[g]))
