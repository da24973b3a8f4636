"""Graphs from points in time: near in time, and at the same hour of other days and weeks."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .build import check_count, symmetric_graph
from .table import as_numbers

Array = NDArray[np.float64]
Length = float | np.timedelta64 | datetime.timedelta
Period = Literal["day", "week"] | Length

DAY = 86_400.0
NAMED = {"day": DAY, "week": 7 * DAY}


def time_graph(
    times: Any,
    scale: Length | None = None,
    n_neighbors: int = 10,
    *,
    period: Period | Sequence[Period] | None = None,
) -> sp.csr_array:
    """Graph of irregular points in time: neighbours in order, weights that decay in time.

    Each point is joined with the ⌈n_neighbors/2⌉ before it and as many after it, with weight
    exp(−(t_i − t_j)²/scale²). Regular times and the default scale give `chain_graph` with the
    scale of the paper, cut at that many steps. A gap much longer than `scale` separates what
    lies on its two sides.

    With a period, two points are also joined where each is the one nearest to a period from the
    other: at the same time of the neighbouring days ("day"), at the same time and weekday of
    the neighbouring weeks ("week"). The weight of points that miss a period by d, at most
    `scale`, is exp(−d²/scale²).

    Parameters
    ----------
    times : array_like or series of numbers, dates or durations, shape (n,)
        In any order; the graph keeps theirs. Dates with a time zone are near by the time that
        passes between them; their days and weeks are those of the clock on the wall.
    scale : float or timedelta, optional
        Length over which weights decay, in the unit of `times` (of seconds, if a plain number
        is given for dates); by default √3 times the median gap between successive points.
    n_neighbors : int
    period : "day", "week", a length like `scale`, or several of them; optional
        None joins neighbours in time alone.

    Returns
    -------
    csr_array of shape (n, n)
        Weights in (0, 1].
    """
    check_count("n_neighbors", n_neighbors)
    t = _read(times)
    reach = _default_scale(t.passed) if scale is None else _length(scale, "scale", t.is_date)
    order = np.argsort(t.passed, kind="stable")
    n, steps = len(order), np.arange(1, min(len(order) - 1, (n_neighbors + 1) // 2) + 1)
    first = np.concatenate([np.arange(n - d) for d in steps] or [np.empty(0, dtype=np.int64)])
    i, j = order[first], order[first + np.repeat(steps, n - steps)]
    # What is too far apart for a number has no weight.
    with np.errstate(over="ignore"):
        apart = t.passed[j] - t.passed[i]
    for name in _several(period):
        links = _one_period_apart(t.clock, _period(name, t.is_date), reach)
        if len(links[0]) == 0:
            raise ValueError(
                f"period={name!r}: no two times lie that far apart, to within scale={reach:g}; "
                "leave it out, or pass a longer scale"
            )
        i, j, apart = (np.concatenate(parts) for parts in zip((i, j, apart), links, strict=True))
    with np.errstate(over="ignore"):
        weights = np.exp(-np.square(apart / reach))
    return symmetric_graph(n, i, j, weights)


class _Times(NamedTuple):
    """Times as numbers, dates and durations in seconds.

    `passed` counts what has passed, `clock` what the clock on the wall shows; they differ where
    dates have a time zone.
    """

    passed: Array
    clock: Array
    is_date: bool


def _one_period_apart(
    clock: Array, period: float, reach: float
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Pairs of which each is the point nearest to a period from the other, and how far off."""
    order = np.argsort(clock, kind="stable")
    t = clock[order]
    later, earlier = _nearest(t, t + period), _nearest(t, t - period)
    i = np.arange(len(t))
    off = np.abs(t[later] - t - period)
    # Only mutual pairs: the last points would all choose the end, where nothing follows.
    kept = (off <= min(reach, period / 2)) & (later > i) & (t[earlier[later]] == t)
    return order[i[kept]], order[later[kept]], off[kept]


def _nearest(t: Array, aims: Array) -> NDArray[np.intp]:
    """Which of the ascending t is nearest to each aim, the earlier of two as near."""
    after = np.clip(np.searchsorted(t, aims), 0, len(t) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(np.abs(t[before] - aims) <= np.abs(t[after] - aims), before, after)


def _default_scale(t: Array) -> float:
    with np.errstate(over="ignore"):
        gaps = np.diff(np.sort(t))
    gaps = gaps[(gaps > 0) & np.isfinite(gaps)]
    # Halves: the mean of two gaps may be a number where their sum is none.
    middle = float(np.median(0.5 * gaps)) if len(gaps) else 0.0
    return min(math.sqrt(3.0) * 2.0 * middle, float(np.finfo(np.float64).max)) or 1.0


def _several(period: Any) -> list[Any]:
    if period is None:
        return []
    return list(period) if isinstance(period, (list, tuple)) else [period]


def _period(period: Any, is_date: bool) -> float:
    if not isinstance(period, str):
        return _length(period, "period", is_date)
    if period not in NAMED:
        raise ValueError(f'period={period!r}: pass "day", "week" or a length')
    if not is_date:
        raise ValueError(f"period={period!r}, but times holds plain numbers: pass a number")
    return NAMED[period]


def _length(length: Any, argument: str, is_date: bool) -> float:
    """A length in the unit of the times."""
    if isinstance(length, (np.timedelta64, datetime.timedelta)):
        if not is_date:
            raise ValueError(f"{argument}={length!r}, but times holds plain numbers: pass a number")
        length = float(np.timedelta64(length) / np.timedelta64(1, "s"))
    try:
        number = float(length)
    except (TypeError, ValueError):
        number = math.nan
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"{argument}={length!r}: pass a positive length, or None for the default")
    return number


def _read(times: Any) -> _Times:
    passed, clock = (_plain(part) for part in _zoned(times))
    t = as_numbers(passed, "times") if passed.ndim == 1 else None
    wall = as_numbers(clock, "times") if passed.ndim == 1 else None
    if t is None or wall is None or len(t) == 0:
        raise ValueError(
            f"times has shape {passed.shape} and type {passed.dtype}: pass a list of numbers, "
            "dates or durations, one for each node"
        )
    if np.isnan(t).any():
        raise ValueError(
            f"times: entry {int(np.flatnonzero(np.isnan(t))[0])} is missing "
            f"({int(np.isnan(t).sum())} in all); every node needs a time"
        )
    return _Times(t, wall, passed.dtype.kind in "mM")


def _plain(times: Any) -> NDArray[Any]:
    """Times as an array of numbers, dates or durations, where they can be."""
    values = np.asarray(times)
    for unit in ("datetime64[us]", "timedelta64[us]"):
        if values.dtype == object:
            with suppress(TypeError, ValueError):
                values = values.astype(unit)
    return values


def _zoned(times: Any) -> tuple[Any, Any]:
    """Times without their zone, as the moments of one clock and as the hands of each show them."""
    if getattr(times, "tz", None) is not None:  # an index of pandas
        return times.tz_convert(None).to_numpy(), times.tz_localize(None).to_numpy()
    series = nw.from_native(times, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and getattr(series.dtype, "time_zone", None) is not None:
        moments = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return moments.to_numpy(), series.dt.replace_time_zone(None).to_numpy()
    values = np.asarray(times.to_numpy() if hasattr(times, "to_numpy") else times)
    items = values.tolist() if values.dtype == object and values.ndim == 1 else []
    if not any(getattr(item, "tzinfo", None) is not None for item in items):
        return values, values
    naive = [item for item in items if getattr(item, "tzinfo", None) is None]
    if naive:
        raise ValueError(
            f"times: some have a time zone, but {naive[0]!r} has none; give all of them one"
        )
    utc = [item.astimezone(datetime.UTC).replace(tzinfo=None) for item in items]
    return utc, [item.replace(tzinfo=None) for item in items]
