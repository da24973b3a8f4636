"""The time left, told from the trend of the gains."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from bmcg import BMCG
from bmcg.graphs import chain_graph
from bmcg.inference.fit import Progress
from bmcg.progress import TimeLeft, fit_progress, in_words


def sweep(number, gain, rank=4, target=1.0, pace=2.0, most=200):
    return Progress(number, -1.0, gain, target, rank, 0.1, pace * number, None, most)


def test_gains_that_halve_end_when_they_reach_the_target():
    clock = TimeLeft()
    left = [clock.after(sweep(i, 2.0 ** (12 - i))) for i in range(1, 9)]
    assert math.isnan(left[0])
    # After sweep 8 the gain is 16: four more sweeps of two seconds reach one.
    assert left[-1] == pytest.approx(8.0)
    assert left[1:] == sorted(left[1:], reverse=True)


def test_no_trend_means_all_sweeps_that_are_allowed():
    clock = TimeLeft()
    for i in range(1, 6):
        left = clock.after(sweep(i, 3.0, most=20))
    assert left == pytest.approx(15 * 2.0)


def test_new_columns_start_the_trend_anew():
    clock = TimeLeft()
    for i in range(1, 5):
        clock.after(sweep(i, 2.0**-i))
    assert math.isnan(clock.after(sweep(5, math.inf, rank=8)))


def test_another_fit_starts_the_trend_anew():
    clock = TimeLeft()
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
    with fit_progress(verbose=False) as show:
        show(sweep(1, 1.0))
    assert capsys.readouterr() == ("", "")
    with fit_progress(verbose=True) as show:
        show(sweep(1, 4.0))
        show(sweep(2, 2.0))
    assert capsys.readouterr().err.splitlines()[1].endswith("about 2 s left")


def test_lines_tell_which_question_which_sweep_and_what_is_left(capsys):
    """Of every fit and trial: questions are counted, and no sweep is beyond its last."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 30)) + 0.5 * rng.normal(size=(40, 30))
    X[rng.random(X.shape) < 0.5] = np.nan
    model = BMCG(random_state=0, max_sweeps=12, verbose=True, n_draws=10)
    model.fit(X, col_graph=chain_graph(30))
    lines = capsys.readouterr().err.splitlines()
    asked = [re.match(r"question (\d+) of (\d+), (\w+): ", line) for line in lines]
    told = [(int(found[1]), int(found[2]), found[3]) for found in asked if found]
    drawn = {number: name for number, of, name in told if of == 8}
    order = ("noise", "components", "graphs", "components", "biases", "posterior", "components")
    order = (*order, "noise")
    assert all(order[number - 1] == name for number, name in drawn.items())
    assert set(drawn) >= {2, 3, 6}
    assert all(1 <= number <= of for number, of, _ in told)
    for line in lines:
        number, most = map(int, re.search(r"sweep (\d+) of at most (\d+)", line).groups())
        assert number <= most
    assert any(line.startswith("sweep 2 ") for line in lines)
