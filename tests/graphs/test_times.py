"""Points in time are joined with what is near, and with the same hour of other days."""

from __future__ import annotations

import datetime as dt
import math
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bmcg.graphs import chain_graph, time_graph

HOURS = np.arange("2024-01-01", "2024-01-22", dtype="datetime64[h]")
AWARE = [dt.datetime(2024, 1, day, tzinfo=ZoneInfo("Europe/Berlin")) for day in (1, 2)]


def test_regular_times_give_the_chain_of_the_paper():
    order = np.random.default_rng(11).permutation(50)
    expected = chain_graph(50)[order][:, order].toarray()
    np.testing.assert_allclose(time_graph(3.0 * order + 7, n_neighbors=14).toarray(), expected)


def test_irregular_times_follow_the_formula():
    t = np.array([0.0, 1.0, 1.5, 9.0])
    A = time_graph(t, scale=2.0, n_neighbors=2).toarray()
    assert A[0, 1] == pytest.approx(math.exp(-0.25))
    assert A[1, 2] == pytest.approx(math.exp(-0.0625))
    assert A[2, 3] == pytest.approx(math.exp(-(3.75**2)))
    assert A[0, 2] == A[0, 3] == 0.0
    assert (A == A.T).all()


@pytest.mark.parametrize(
    "times",
    [
        np.array(["2024-01-01", "2024-01-02", "2024-01-04"], dtype="datetime64[D]"),
        [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 4)],
        [dt.date(2024, 1, 1), dt.date(2024, 1, 2), dt.date(2024, 1, 4)],
        pd.Series(pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-04"])),
        pd.DatetimeIndex(["2024-01-01", "2024-01-02", "2024-01-04"]),
        pd.Series(pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-04"], utc=True)),
        pl.Series([dt.date(2024, 1, 1), dt.date(2024, 1, 2), dt.date(2024, 1, 4)]),
        np.array([0, 1, 3], dtype="timedelta64[D]"),
        [dt.timedelta(0), dt.timedelta(1), dt.timedelta(3)],
    ],
)
def test_dates_of_any_kind_are_times(times):
    graph = time_graph(times, scale=np.timedelta64(2, "D"))
    np.testing.assert_allclose(
        graph.toarray(), time_graph([0.0, 1.0, 3.0], scale=2.0).toarray(), rtol=1e-12
    )
    assert (time_graph(times) != time_graph([0.0, 86400.0, 3 * 86400.0])).nnz == 0


def test_equal_times_have_weight_one():
    assert time_graph([4.0, 4.0, 4.0]).data.tolist() == [1.0] * 6
    assert time_graph([4.0]).shape == (1, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"times": [0.0, np.nan]}, "times: entry 1 is missing"),
        ({"times": [0.0, np.inf]}, "times must be finite"),
        ({"times": ["noon", "night"]}, "times has shape"),
        ({"times": []}, "times has shape"),
        ({"times": [[1.0]]}, "times has shape"),
        ({"times": [0.0, 1.0], "scale": 0.0}, "scale=0.0"),
        ({"times": [0.0, 1.0], "scale": np.timedelta64(1, "s")}, "plain numbers"),
        ({"times": [0.0, 1.0], "n_neighbors": 0}, "n_neighbors=0"),
        ({"times": [0.0, 1.0], "period": "day"}, "period='day', but times holds plain numbers"),
        ({"times": HOURS, "period": "hour"}, 'period=\'hour\': pass "day", "week" or a length'),
        ({"times": HOURS, "period": -1.0}, "period=-1.0"),
        ({"times": HOURS[:12], "period": ("day", "week")}, "period='day': no two times lie that"),
        ({"times": HOURS[:: 24 * 7], "period": "day"}, "period='day': no two times lie that"),
        ({"times": [*AWARE, dt.datetime(2024, 1, 1)]}, "some have a time zone, but datetime"),
    ],
)
def test_time_graph_refuses_bad_input_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        time_graph(**arguments)


def gaps(graph):
    """How far apart the ends of each edge are, in steps, for nodes in order of time."""
    i, j = graph.nonzero()
    return set(np.abs(i - j).tolist())


def test_a_period_joins_the_same_hour_of_neighbouring_days_and_weeks():
    n = len(HOURS)
    plain = time_graph(HOURS)
    assert gaps(plain) == {1, 2, 3, 4, 5}
    assert gaps(time_graph(HOURS, period="day")) == {1, 2, 3, 4, 5, 24}
    assert gaps(time_graph(HOURS, period=("day", "week"))) == {1, 2, 3, 4, 5, 24, 168}
    both = time_graph(HOURS, period=("day", "week")).toarray()
    i = np.arange(n)
    for lag in (24, 168):
        np.testing.assert_array_equal(both[i[:-lag], i[lag:]], 1.0)
    # The rest is as it was.
    extra = both - plain.toarray()
    assert set(np.unique(extra)) == {0.0, 1.0}


def test_the_order_of_times_is_that_of_the_graph():
    order = np.random.default_rng(0).permutation(len(HOURS))
    shuffled = time_graph(HOURS[order], period=("day", "week"))
    expected = time_graph(HOURS, period=("day", "week"))[order][:, order]
    np.testing.assert_allclose(shuffled.toarray(), expected.toarray(), rtol=1e-12)


def test_irregular_times_are_joined_with_the_nearest_to_a_period_away():
    t = np.array([0.0, 1.0, 10.0, 11.4, 30.0])
    A = time_graph(t, scale=2.0, n_neighbors=1, period=10.0).toarray()
    assert A[0, 2] == 1.0
    assert A[1, 3] == pytest.approx(math.exp(-(0.2**2)))
    assert A[2, 4] < 1e-20
    assert A[3, 4] < 1e-20
    assert (A == A.T).all()
    days = time_graph(
        t.astype("timedelta64[D]"), np.timedelta64(2, "D"), 1, period=dt.timedelta(10)
    )
    whole = time_graph(np.floor(t), 2.0, 1, period=10.0)
    np.testing.assert_allclose(days.toarray(), whole.toarray(), rtol=1e-12)


BERLIN = pd.date_range("2024-03-29", "2024-04-02", freq="h", tz="Europe/Berlin")


@pytest.mark.parametrize(
    "times",
    [
        BERLIN,
        pd.Series(BERLIN),
        pl.from_pandas(pd.Series(BERLIN)),
        BERLIN.to_pydatetime().tolist(),
        BERLIN.astype(object),
        list(BERLIN),
    ],
    ids=["index", "series", "polars", "datetimes", "objects", "timestamps"],
)
def test_days_are_those_of_the_clock_when_it_is_moved(times):
    graph = time_graph(times, period="day")
    # On 31 March the clock skips an hour: by the clock, noon is 23 hours after noon.
    at = {(t.day, t.hour): i for i, t in enumerate(BERLIN)}
    assert graph[at[30, 12], at[31, 12]] == 1.0
    assert graph[at[29, 12], at[30, 12]] == 1.0
    assert gaps(graph) == {1, 2, 3, 4, 5, 23, 24}
    # What is near is told by the time that passes.
    np.testing.assert_allclose(
        time_graph(times).toarray(), time_graph(np.arange(len(BERLIN))).toarray(), rtol=1e-9
    )
