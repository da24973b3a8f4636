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

    The whole part of log₂ of the distance to the nearest known cell of its sensor, and 64 more
    where all sensors were out. Cells that are known count as a distance of one.
    """
    depth = np.ones(missing.shape)
    for j in np.flatnonzero(missing.any(axis=0)):
        column = missing[:, j]
        far = len(column) if column.all() else distance_transform_edt(column)
        depth[:, j] = np.maximum(far, 1.0)
    found = np.log2(depth).astype(np.intp)
    found[all_out(missing)] += 64
    return found


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
    own = missing & ~out[:, None] & ~missing.all(axis=0)
    col, first, stop = runs(own)
    _, whole_first, whole_stop = runs(out[:, None])
    lengths = np.concatenate((stop - first, whole_stop - whole_first))
    starts = np.concatenate((first, whole_first))
    hidden, count = np.zeros_like(missing), 0
    wanted = share * known.sum()
    if len(starts) == 0:
        return known & (rng.random(known.shape) < share)
    # Where each day begins: rows of one step of the day are looked up there.
    days = np.unique(day)
    for _ in range(TRIES * (int(wanted) + 1)):
        if count >= wanted:
            break
        g = int(rng.integers(len(starts)))
        if len(days) > 1:
            at = np.searchsorted(day, days[int(rng.integers(len(days)))])
            begin = at + np.searchsorted(
                of_day[at : np.searchsorted(day, day[at], "right")], of_day[starts[g]]
            )
        else:
            begin = int(rng.integers(len(known)))
        rows = slice(int(begin), int(begin) + int(lengths[g]))
        cols = (
            slice(None) if g >= len(col) else slice(j := int(rng.integers(known.shape[1])), j + 1)
        )
        part = known[rows, cols] & ~hidden[rows, cols]
        hidden[rows, cols] |= part
        count += int(part.sum())
    return hidden
