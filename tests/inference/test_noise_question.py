"""Noise as large as left-out errors tell: asked where a model is surer than they allow."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import BMCG
from bmcg.inference.score import DEAR, MORE, Confidence, Score
from bmcg.likelihoods import Gaussian
from bmcg.likelihoods.base import Drawn
from bmcg.likelihoods.predictive import Predictive


def blocks(seed=0, m=100, n=70):
    """Few ones among zeros, by kinds of rows and columns, a third of them gone; most is seen."""
    rng = np.random.default_rng(seed)
    kinds = rng.random((12, 10)) < 0.08
    X = kinds[rng.integers(12, size=m)][:, rng.integers(10, size=n)] & (rng.random((m, n)) < 0.65)
    X = X | (rng.random((m, n)) < 0.01)
    return X.astype(float), rng.random((m, n)) < 0.8


def fitted(X, seen, **options):
    options = {"posterior": "sampled", "max_sweeps": 60, "random_state": 0, "n_jobs": 1, **options}
    return BMCG(**options).fit(np.where(seen, X, np.nan))


def taken(model):
    return [v for v in model.selection_.verdicts if v.question == "noise" and v.taken]


def error(model, X, seen):
    i, j = np.nonzero(~seen)
    return np.sqrt(np.mean((model.predict(i, j) - X[~seen]) ** 2))


def test_a_model_that_is_surer_than_left_out_entries_allow_gets_their_noise():
    # Without the question of components sixteen explain nearly all of what was seen.
    X, seen = blocks()
    asked = fitted(X, seen, rank=16, selection=["noise"])
    without = fitted(X, seen, rank=16, selection=["graphs"])
    assert taken(asked)
    assert not taken(without)
    assert asked.noise_std_ > 1.1 * without.noise_std_
    assert error(asked, X, seen) < 0.98 * error(without, X, seen)


def test_of_data_that_is_what_the_model_takes_it_for_nothing_is_held():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 50))
    X = truth + 0.5 * rng.normal(size=truth.shape)
    model = fitted(X, rng.random(X.shape) < 0.6, selection=["noise", "components"])
    assert not taken(model)
    assert model.noise_std_ == pytest.approx(0.5, rel=0.1)


def test_noise_that_is_held_follows_the_unit_of_the_values():
    X, seen = blocks()
    one, ten = (fitted(f * X, seen, rank=16, selection=["noise"]) for f in (1.0, 10.0))
    assert taken(one)
    assert ten.noise_std_ == pytest.approx(10 * one.noise_std_, rel=1e-3)


def test_an_update_keeps_the_noise_and_the_range_of_the_model():
    X, seen = blocks()
    model = fitted(X, seen, rank=16, selection=["noise"])
    held, limits = model.noise_std_, model.fitted_.limits
    assert taken(model)
    rows, cols = (at[:40] for at in np.nonzero(~seen))
    more = np.full(X.shape, np.nan)
    more[rows, cols] = X[rows, cols]
    model.update(more)
    assert model.noise_std_ == pytest.approx(held, rel=1e-3)
    assert model.fitted_.limits == limits


def test_draws_of_the_precision_end_where_they_may():
    match = type("Match", (), {"values": np.zeros(50), "squared_error": 5.0})()
    rng = np.random.default_rng(0)
    free = [Gaussian().draw(Drawn(1.0, {}), match, None, rng).tau for _ in range(200)]
    held = [Gaussian(most=9.0).draw(Drawn(1.0, {}), match, None, rng).tau for _ in range(200)]
    assert max(free) > 9.0
    assert max(held) == 9.0
    assert min(held) < 9.0


def test_what_a_model_does_not_tell_of_its_errors():
    rng = np.random.default_rng(0)
    values = rng.normal(size=4000)
    for spread, beyond in ((1.0, 0.0), (0.5, 0.75), (2.0, -3.0)):
        found = Predictive(np.zeros(4000), np.full(4000, spread))
        told = Confidence().of(found, values, 0.04).of(found, -values, 0.06)
        assert told.own == pytest.approx(0.05)
        assert told.untold == pytest.approx(beyond, abs=0.1)
        assert (told.untold == 0) == (beyond == 0)
    assert Confidence().untold == 0


def test_what_takes_several_times_as_long_has_to_be_worth_it():
    noise = 0.01 * np.random.default_rng(0).normal(size=1000)
    standing = Score(1.0 + noise, False)
    little, much = (Score(part + noise, False) for part in (0.995, 0.98))
    assert little.replaces(standing, MORE)
    assert not little.replaces(standing, DEAR)
    assert much.replaces(standing, DEAR)
