"""Whether gaps ask for a local term: by a sure gain, of enough of them, the best of several."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from bmcg.inference import local_question
from bmcg.inference.fit import Settings
from bmcg.inference.folds import LEAST_ENTRIES
from bmcg.inference.local_question import ask_local
from bmcg.inference.questions import Standing

LEAST = LEAST_ENTRIES // 2


def asked(monkeypatch, gains, n=LEAST, spread=0.1):
    """The answer where each way predicts n gaps better by so much on average."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((1 + len(gains), n))
    noise -= noise.mean(axis=1, keepdims=True)
    noise *= spread / noise.std(axis=1, ddof=1, keepdims=True)
    means = {"none": 2.0} | {f"way {k}": 2.0 - gain for k, gain in enumerate(gains)}

    def score(form, settings, name):
        way = "none" if settings.local is None else settings.local.along
        losses = means[way] + noise[list(means).index(way)]
        return SimpleNamespace(losses=losses, measure="left-out error", error=means[way])

    judge = SimpleNamespace(score=score, sweeps=3, folds=None)
    trials = SimpleNamespace(judge=lambda standing: judge, sweeps=0, observations=None)
    fold = SimpleNamespace(values=np.zeros(n))
    monkeypatch.setattr(local_question, "gaps_like_those", lambda *given: fold)
    ways = tuple(SimpleNamespace(along=name) for name in means if name != "none")
    standing, (verdict,) = ask_local(trials, Standing((), Settings(local_open=ways)))
    return standing.settings.local, verdict


@pytest.mark.parametrize(("n", "enough"), [(LEAST, True), (LEAST - 1, False)])
def test_few_gaps_say_nothing(monkeypatch, n, enough):
    local, verdict = asked(monkeypatch, [1.0], n=n)
    assert (local is not None) is verdict.taken is enough


def test_a_gain_of_less_than_two_standard_errors_is_none(monkeypatch):
    # Errors of both vary by one: their difference by about the root of two.
    error = np.sqrt(2.0) / np.sqrt(400)
    for gain, taken in ((1.6 * error, False), (2.4 * error, True), (-1.0, False)):
        local, verdict = asked(monkeypatch, [gain], n=400, spread=1.0)
        assert (local is not None) is verdict.taken is taken


def test_the_best_of_several_ways_is_taken(monkeypatch):
    local, verdict = asked(monkeypatch, [0.5, 1.0, 0.7])
    assert local.along == "way 1"
    assert verdict.trial == 1.0
    assert verdict.standing == 2.0
