"""The time left, told from the trend of the gains."""

from __future__ import annotations

import math

import pytest

from bmcg.inference.fit import Progress
from bmcg.progress import TimeLeft, fit_progress, in_words


def sweep(number, gain, rank=4, target=1.0, pace=2.0):
    return Progress(number, -1.0, gain, target, rank, 0.1, pace * number, None)


def test_gains_that_halve_end_when_they_reach_the_target():
    clock = TimeLeft(200)
    left = [clock.after(sweep(i, 2.0 ** (12 - i))) for i in range(1, 9)]
    assert math.isnan(left[0])
    # After sweep 8 the gain is 16: four more sweeps of two seconds reach one.
    assert left[-1] == pytest.approx(8.0)
    assert left[1:] == sorted(left[1:], reverse=True)


def test_no_trend_means_all_sweeps_that_are_allowed():
    clock = TimeLeft(20)
    for i in range(1, 6):
        left = clock.after(sweep(i, 3.0))
    assert left == pytest.approx(15 * 2.0)


def test_new_columns_start_the_trend_anew():
    clock = TimeLeft(50)
    for i in range(1, 5):
        clock.after(sweep(i, 2.0**-i))
    assert math.isnan(clock.after(sweep(5, math.inf, rank=8)))


def test_another_fit_starts_the_trend_anew():
    clock = TimeLeft(50)
    for i in range(1, 5):
        clock.after(sweep(i, 2.0**-i))
    assert math.isnan(clock.after(sweep(1, 1.0)))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(math.nan, ""), (7, "about 7 s left"), (300, "about 5 min left"), (7200, "about 2 h left")],
)
def test_times_are_told_in_a_unit_that_suits_them(seconds, words):
    assert in_words(seconds) == words


def test_nothing_is_shown_in_a_pipe(capsys):
    with fit_progress(10, verbose=False) as show:
        show(sweep(1, 1.0))
    assert capsys.readouterr() == ("", "")
    with fit_progress(10, verbose=True) as show:
        show(sweep(1, 4.0))
        show(sweep(2, 2.0))
    assert capsys.readouterr().err.splitlines()[1].endswith("about 2 s left")
