"""A chain ends when more draws would change its mean by less than noise hides."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import BMCG
from bmcg.inference.enough import ASK_EVERY, LEAST_DRAWS, has_told
from bmcg.likelihoods import Drawn


def draws(count, spread, tau=1.0, trend=0.0):
    rng = np.random.default_rng(0)
    U, V = rng.normal(size=(50, 3)), rng.normal(size=(40, 3))
    kept = []
    for step in range(count):
        near = U + spread * rng.normal(size=U.shape) + trend * step
        kept.append((near.astype(np.float32), V.astype(np.float32), Drawn(tau, {})))
    return kept


def test_the_mean_of_what_hardly_moves_is_known_soon():
    assert has_told(draws(LEAST_DRAWS, 0.01), 1)
    assert not has_told(draws(LEAST_DRAWS - ASK_EVERY, 0.01), 1)


def test_what_noise_hides_depends_on_the_noise_and_on_the_other_chains():
    wide = draws(LEAST_DRAWS, 0.3)
    assert not has_told(wide, 1)
    assert has_told(wide, 100)
    assert not has_told(draws(LEAST_DRAWS, 0.01, tau=1e8), 1)


def test_a_chain_that_travels_goes_on():
    assert not has_told(draws(LEAST_DRAWS, 0.01, trend=0.05), 1)


@pytest.mark.parametrize("noise", [1.0, 1e-3])
def test_a_fit_ends_when_its_predictions_stand(noise, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2)) @ rng.normal(size=(2, 120)) + noise * rng.normal(size=(150, 120))
    X[rng.random(X.shape) < 0.1] = np.nan
    options = {"rank": 2, "selection": False, "max_sweeps": 400, "n_draws": 400}

    def fit():
        return BMCG(posterior="sampled", random_state=0, n_jobs=1, **options).fit(X)

    short = fit()
    monkeypatch.setattr("bmcg.inference.chain.has_told", lambda kept, n_chains: False)
    long = fit()
    assert short.n_sweeps_ < 0.6 * long.n_sweeps_
    gap = np.sqrt(np.mean((short.complete() - long.complete()) ** 2))
    assert gap < 0.05 * noise
