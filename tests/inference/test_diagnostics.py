"""What a chain says of itself is true of chains whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg.inference.diagnostics import (
    R_HAT,
    Diagnostics,
    effective_size,
    has_settled,
    own_r_hat,
    split_r_hat,
)


def autoregressive(rng, rho, shape):
    x = rng.standard_normal(shape)
    for t in range(1, shape[-1]):
        x[..., t] = rho * x[..., t - 1] + np.sqrt(1 - rho**2) * x[..., t]
    return x


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_the_effective_size_of_an_autoregression_is_known(rho):
    chains = autoregressive(np.random.default_rng(0), rho, (4, 4000))
    assert np.isclose(effective_size(chains), 16000 * (1 - rho) / (1 + rho), rtol=0.25)


def test_r_hat_is_one_where_chains_agree_and_larger_where_they_do_not():
    chains = np.random.default_rng(1).standard_normal((3, 500))
    assert abs(split_r_hat(chains) - 1) < 0.02
    assert split_r_hat(chains + np.arange(3)[:, None]) > 1.2
    assert split_r_hat(chains[:1] + np.linspace(0, 4, 500)) > 1.2


def test_a_trend_has_not_settled_and_a_level_has():
    rng = np.random.default_rng(2)
    level = rng.standard_normal(200)
    assert has_settled(level)
    assert not has_settled(level + 0.05 * np.arange(200))
    assert has_settled(np.concatenate((np.linspace(9, 0, 60), rng.standard_normal(140))))


def test_chains_of_different_levels_do_not_travel_and_a_trend_does():
    chains = np.random.default_rng(3).standard_normal((3, 500))
    assert abs(own_r_hat(chains + 5 * np.arange(3)[:, None]) - 1) < 0.02
    assert own_r_hat(chains + np.linspace(0, 4, 500)) > 1.2


def test_a_few_correlated_draws_do_not_travel_because_their_halves_differ():
    rng = np.random.default_rng(4)
    still = autoregressive(rng, 0.5, (200, 4, 25))
    assert np.mean([own_r_hat(chains) > R_HAT for chains in still]) < 0.05
    trend = still + np.linspace(0, 3, 25)
    assert np.mean([own_r_hat(chains) > R_HAT for chains in trend]) > 0.85


@pytest.mark.parametrize(
    ("between", "drift", "agree", "words"),
    [
        (1.0, 1.0, True, "(1.000)"),
        (3.0, 1.0, True, "their average"),
        (3.0, 1.5, False, "more sweeps"),
        (3.0, np.nan, False, "more sweeps"),  # of a model file from before
    ],
)
def test_what_chains_differ_by_is_told_and_only_travelling_asks_for_more(
    between, drift, agree, words
):
    found = Diagnostics((24, 24), True, 50.0, 40.0, between, between, True, drift)
    assert found.agree == agree
    assert found.sentence.endswith(words) or words in found.sentence.rpartition(":")[2]
