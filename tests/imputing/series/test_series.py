"""Series are filled by ways that gaps really left out speak for."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg.imputing.series import fill_series
from bmcg.imputing.series.days import LEAST_DAYS, LEAST_STEPS, find_days
from bmcg.imputing.series.outages import (
    ALL_OUT,
    all_out,
    gaps_elsewhere,
    independence,
    kinds,
    runs,
)
from bmcg.imputing.series.units import share_a_unit
from bmcg.imputing.series.ways import WAYS, Cells, Table, folded, has_roots
from bmcg.imputing.series.weights import by_kind, needed, weights_of, widths_of

HOUR = np.timedelta64(1, "h")


@pytest.fixture(autouse=True)
def one_trial(monkeypatch):
    monkeypatch.setattr("bmcg.imputing.series.blend.MOST_TRIALS", 1)


def hours(n, first="2024-03-01"):
    return np.datetime64(first, "s") + np.arange(n) * HOUR


def test_runs_are_those_of_each_column():
    missing = np.array([[1, 0], [1, 1], [0, 1], [1, 0]], dtype=bool)
    found = {tuple(map(int, run)) for run in zip(*runs(missing), strict=True)}
    assert found == {(0, 0, 2), (0, 3, 4), (1, 1, 3)}


def test_kinds_grow_with_the_distance_to_what_is_known():
    missing = np.zeros((40, 3), dtype=bool)
    missing[10:20, 0] = True
    missing[30] = True
    found = kinds(missing)
    assert found[10, 0] == 0
    assert found[14, 0] == 2
    assert (found[30] == 64).all()
    assert all_out(missing).sum() == 1


def test_days_that_a_sensor_lost_leave_whole_days_out():
    missing = np.zeros((240, 8), dtype=bool)
    missing[48:72, 2] = missing[120:144, 5] = True
    day, step = np.arange(240) // 24, np.arange(240) % 24
    hidden = gaps_elsewhere(missing, day, step, np.random.default_rng(0))
    assert not (hidden & missing).any()
    assert hidden.sum() >= 0.1 * (~missing).sum()
    by_day = hidden.reshape(10, 24, 8).sum(axis=1)
    assert set(np.unique(by_day)) == {0, 24}


def test_gaps_of_all_sensors_stay_gaps_of_all():
    missing = np.zeros((240, 8), dtype=bool)
    missing[50:56] = True
    hidden = gaps_elsewhere(
        missing, np.arange(240) // 24, np.arange(240) % 24, np.random.default_rng(1)
    )
    assert hidden.any()
    assert set(np.unique(hidden.sum(axis=1))) <= {0, 8}


def test_days_are_found_where_times_of_the_day_repeat():
    found = find_days(hours(24 * 6))
    assert (found.n_days, found.n_steps) == (6, 24)
    # Half hours of opening times alone, with a day that is not there.
    days = np.datetime64("2024-03-01", "s") + np.array([0, 1, 2, 4, 5]) * 24 * HOUR
    times = (days[:, None] + 8 * HOUR + np.arange(18) * np.timedelta64(30, "m")).ravel()
    found = find_days(times)
    assert (found.n_days, found.n_steps) == (5, 18)
    assert (found.step.reshape(5, 18) == np.arange(18)).all()
    assert find_days(np.arange(240.0)) is None
    assert (
        find_days(np.sort(np.random.default_rng(0).integers(0, 10**7, 300)).astype("M8[s]")) is None
    )


def test_weights_are_those_of_least_error_and_widths_hold_what_they_promise():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4000, 2)) * np.array([1.0, 2.0])
    kind = np.zeros(4000, dtype=np.intp)
    weights, spreads = weights_of(noise, kind, np.ones(4000))
    # Of independent errors: by precision.
    np.testing.assert_allclose(weights[0], [0.8, 0.2], atol=0.02)
    assert spreads[0] == pytest.approx(np.sqrt(0.8), rel=0.03)
    scores = 3.0 * rng.normal(size=4000)
    width = by_kind(widths_of(scores, kind), kind)
    assert np.mean(np.abs(scores) < 1.645 * width) == pytest.approx(0.9, abs=0.01)


def test_a_way_that_adds_nothing_is_left_out():
    rng = np.random.default_rng(1)
    good = rng.normal(size=(2000, 1))
    worse = good + rng.normal(size=(2000, 1))
    kind = np.zeros(2000, dtype=np.intp)
    assert needed(np.hstack((worse, good)), kind, np.ones(2000)) == [1]


def test_a_day_on_which_all_were_out_is_one_gap_and_hears_what_others_say():
    rng = np.random.default_rng(2)
    # Of single gaps the second way is far worse; of the one day of all, a little better by chance.
    kind = np.repeat([3, ALL_OUT + 3], [800, 600]).astype(np.intp)
    errors = rng.normal(size=(1400, 2)) * np.array([1.0, 4.0])
    errors[800:] = rng.normal(size=(600, 2)) + np.array([3.0, 2.9])
    told = independence(kind, 30)
    assert told[800:].sum() == pytest.approx(600 / 16 / 30)
    weights, _ = weights_of(errors, kind, told)
    assert weights[ALL_OUT + 3][0] > 0.8


def test_counts_are_filled_by_their_roots_and_temperatures_are_not():
    rng = np.random.default_rng(3)
    level = np.exp(rng.normal(size=12)) * 40
    day = 1.2 + np.sin(np.arange(480) * 2 * np.pi / 24)
    X = rng.poisson(day[:, None] * level).astype(float)
    values = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    assert has_roots(values)
    assert not has_roots(values + 1000.0)
    assert not has_roots(values - 100.0)
    table = Table(values, hours(480), find_days(hours(480)), None, {"random_state": 0, "n_jobs": 1})
    rows, cols = np.nonzero(np.isnan(values))
    found = WAYS["days, roots"](table, rows, cols)
    truth = (day[:, None] * level)[rows, cols]
    assert (found.mean >= 0).all()
    # Means are those of counts, not of squared mean roots, and so are variances.
    assert found.mean.mean() == pytest.approx(truth.mean(), rel=0.02)
    inside = np.abs(found.mean - X[rows, cols]) < 1.645 * np.sqrt(found.variance)
    assert 0.8 < inside.mean() < 0.97


def test_sensors_of_one_kind_share_a_unit_and_degrees_and_pascals_do_not():
    rng = np.random.default_rng(0)
    degrees = 15 + 5 * rng.normal(size=(200, 6)) + rng.normal(size=6)
    assert share_a_unit(degrees)
    mixed = degrees.copy()
    mixed[:, 3:] = 101_300 + 500 * rng.normal(size=(200, 3))
    assert not share_a_unit(mixed)
    assert share_a_unit(1e6 * degrees) == share_a_unit(degrees)


def drifting(seed=0, n_days=12, n=10):
    """A daily pattern, and a drift of each sensor's own."""
    rng = np.random.default_rng(seed)
    t = np.arange(24 * n_days)
    daily = np.sin(2 * np.pi * t / 24)[:, None] * rng.uniform(1, 2, n)
    X = 20 + 3 * daily + np.cumsum(0.3 * rng.normal(size=(len(t), n)), axis=0)
    lost = rng.random(X.shape) < 0.2
    for j in range(0, n, 2):
        first = int(rng.integers(len(t) - 12))
        lost[first : first + 12, j] = True
    return X, lost


def test_series_are_filled_better_than_along_lines_and_bands_hold():
    X, lost = drifting(seed=2, n_days=10)
    filled, blend = fill_series(
        np.where(lost, np.nan, X), hours(len(X)), random_state=0, n_jobs=1, max_sweeps=15
    )
    truth = X[filled.rows, filled.cols]
    assert len(filled) == lost.sum()
    line = np.stack(
        [
            np.interp(np.arange(len(x)), np.flatnonzero(~g), x[~g])
            for x, g in zip(X.T, lost.T, strict=True)
        ]
    ).T
    error = np.sqrt(np.mean((filled.mean - truth) ** 2))
    assert error < 0.95 * np.sqrt(np.mean((line - X)[lost] ** 2))
    low, high = filled.interval(0.9)
    assert 0.84 < np.mean((low <= truth) & (truth <= high)) < 0.96
    assert sum(blend.weights[-1]) == pytest.approx(1.0)


def test_the_order_of_rows_does_not_matter():
    X, lost = drifting(n_days=5, n=5)
    values, times = np.where(lost, np.nan, X), hours(len(X))
    order = np.random.default_rng(3).permutation(len(X))
    given = {"random_state": 0, "n_jobs": 1, "max_sweeps": 2}
    first, _ = fill_series(values, times, **given)
    second, _ = fill_series(values[order], times[order], **given)
    places = np.full(values.shape, np.nan)
    places[second.rows, second.cols] = second.mean
    back = np.empty_like(places)
    back[order] = places
    np.testing.assert_allclose(back[first.rows, first.cols], first.mean)


def test_too_few_cells_are_not_judged_and_numbers_do_not_fold():
    assert fill_series(np.array([[1.0, np.nan], [2.0, 3.0]]), np.arange(2.0)) is None
    X, lost = drifting(n_days=5, n=5)
    with pytest.raises(ValueError, match="days cannot be folded"):
        fill_series(np.where(lost, np.nan, X), np.arange(len(X)), fold=True)


def test_days_are_joined_with_the_day_and_the_week_before_by_the_calendar():
    days = np.datetime64("2024-03-01", "s") + np.array([0, 1, 2, 4, 7, 8]) * 24 * HOUR
    found = find_days((days[:, None] + np.arange(24) * HOUR).ravel()).graphs()
    pairs = {
        name: set(zip(*map(list, graph.nonzero()), strict=True)) for name, graph in found.items()
    }
    assert pairs["the day before"] >= {(0, 1), (1, 2), (4, 5)}
    assert len(pairs["the day before"]) == 6
    assert pairs["the week before"] == {(0, 4), (4, 0), (1, 5), (5, 1)}


def test_a_day_on_which_all_were_out_is_filled_from_the_days_around_it():
    rng = np.random.default_rng(0)
    level = 10.0 + np.cumsum(rng.normal(size=20))
    daily = 1.0 + np.sin(2 * np.pi * np.arange(24) / 24)
    X = (level[:, None] * daily).reshape(-1, 1) * rng.uniform(1, 2, 6) + 0.1 * rng.normal(
        size=(480, 6)
    )
    values = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    values[24 * 9 : 24 * 10] = np.nan
    table = Table(values, hours(480), find_days(hours(480)), None, {"random_state": 0, "n_jobs": 1})
    rows, cols = np.nonzero(np.isnan(values[:240]) & (np.arange(240) >= 216)[:, None])
    filled = folded(table, rows, cols).mean
    plain = np.abs(np.nanmean(X.reshape(20, 24, 6), axis=0)[rows % 24, cols] - X[rows, cols]).mean()
    assert np.abs(filled - X[rows, cols]).mean() < 0.6 * plain


def test_a_way_whose_fit_breaks_down_is_left_out_and_named(monkeypatch):
    def broken(*given):
        raise FloatingPointError("not positive definite")

    for name in ("low rank", "a local term", "days side by side"):
        monkeypatch.setitem(WAYS, name, broken)
    X, lost = drifting(n_days=5, n=5)
    with pytest.warns(UserWarning, match="a local term is left out"):
        filled, blend = fill_series(np.where(lost, np.nan, X), hours(len(X)), random_state=0)
    assert blend.names == ("lines",)
    assert np.isfinite(filled.mean).all()
    assert (filled.std > 0).all()


@pytest.mark.parametrize(("error", "variants"), [(1.1, 1), (1.8, 0)])
def test_what_is_beaten_is_not_asked_again_nor_in_variants(monkeypatch, error, variants):
    """The squared error of a way may be twice the least one for a variant of it to be tried."""
    rng = np.random.default_rng(0)
    X = np.tile(np.sin(np.arange(240) / 3.0), (6, 1)).T + np.arange(6)
    gone = rng.random(X.shape) < 0.2
    calls = []

    def way(name, size):
        def fill(table, rows, cols):
            calls.append(name)
            noise = size * rng.normal(size=len(rows))
            return Cells(X[rows, cols] + noise, np.full(len(rows), size**2), None)

        return fill

    ways = {"lines": way("lines", 0.1), "low rank": way("low rank", 0.1 * error)}
    ways["a local term"] = way("a local term", 3.0)
    monkeypatch.setattr("bmcg.imputing.series.blend.MOST_TRIALS", 2)
    monkeypatch.setattr("bmcg.imputing.series.blend.WAYS", ways)
    filled, _ = fill_series(np.where(gone, np.nan, X), np.arange(240), scale=False)
    assert np.abs(filled.mean - X[filled.rows, filled.cols]).max() < 1.0
    assert calls.count("a local term") == variants
    assert calls.count("lines") == 3


@pytest.mark.parametrize("factor", [1e-6, 3.0, 1e6])
def test_widths_have_no_unit_but_that_of_the_scores(factor):
    rng = np.random.default_rng(0)
    scores, kind = rng.standard_normal(300), rng.integers(0, 4, 300)
    plain, scaled = widths_of(scores, kind), widths_of(factor * scores, kind)
    assert plain.keys() == scaled.keys()
    for own, width in plain.items():
        assert scaled[own] == pytest.approx(factor * width, rel=1e-9)
    # Bell curves are what bands are made for.
    assert all(0.7 < width < 1.4 for width in plain.values())


def test_as_few_days_and_times_as_allowed_are_days():
    days = np.datetime64("2024-03-01", "s") + np.arange(LEAST_DAYS) * 24 * HOUR
    times = (days[:, None] + np.arange(LEAST_STEPS) * 24 // LEAST_STEPS * HOUR).ravel()
    found = find_days(times)
    assert (found.n_days, found.n_steps) == (LEAST_DAYS, LEAST_STEPS)
    assert find_days(times[:-1]) is None
