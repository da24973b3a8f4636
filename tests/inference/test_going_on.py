"""Chains of likelihoods with a link go on from the one before, where that still travelled."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import Observations
from bmcg.backends import NumbaBackend
from bmcg.estimators.sides import side_spec
from bmcg.graphs import chain_graph
from bmcg.inference import chain
from bmcg.inference.fit import Settings
from bmcg.inference.sampled import run_sampled
from bmcg.inference.side import Prior
from bmcg.likelihoods import Gaussian
from bmcg.likelihoods.bernoulli import Bernoulli

BURN_IN, SWEEPS, CHAINS = 25, 12, 3


def fit(likelihood, **more):
    rng = np.random.default_rng(0)
    truth = 3.0 * rng.normal(size=(20, 2)) @ rng.normal(size=(2, 15)) - 1.0
    X = (rng.random(truth.shape) < 1.0 / (1.0 + np.exp(-truth))).astype(float)
    data = Observations.from_any(np.where(rng.random(X.shape) < 0.8, X, np.nan))
    rows, cols = (
        side_spec(chain_graph(n), None, data, which).to_input(n, None)
        for which, n in zip(("rows", "cols"), data.shape, strict=True)
    )
    settings = Settings(
        rank=3,
        draws=CHAINS * SWEEPS,
        max_sweeps=CHAINS * SWEEPS,
        chains=CHAINS,
        burn_in=BURN_IN,
        bias=True,
        learn=True,
        prior=Prior(likelihood=likelihood),
    )
    return run_sampled(data, rows, cols, settings, backend=NumbaBackend(1), **more)


@pytest.mark.parametrize(
    ("likelihood", "settles", "burn_ins"),
    [
        (Bernoulli(), False, (BURN_IN, 0, 0)),
        (Bernoulli(), True, (24, 24, 24)),
        (Gaussian(), False, (BURN_IN,) * 3),
    ],
)
def test_only_a_chain_that_travels_behind_a_link_is_gone_on_with(
    likelihood, settles, burn_ins, monkeypatch
):
    monkeypatch.setattr(chain, "has_settled", lambda told: settles)
    monkeypatch.setattr(chain, "has_told", lambda *told, **more: False)
    found = fit(likelihood)
    assert found.diagnostics.burn_in == burn_ins
    assert len(found.trace) == sum(burn_ins) + CHAINS * SWEEPS
    assert len(found.draws) == CHAINS * SWEEPS
    assert found.diagnostics.settled == settles


def test_what_goes_on_starts_where_the_last_sweep_ended_and_is_taken_up_exactly(monkeypatch):
    monkeypatch.setattr(chain, "has_settled", lambda told: False)
    places = []
    whole = fit(Bernoulli(), keep=places.append)
    # The first draw of the second chain is a sweep from the last one of the first.
    near, far = whole.draws.rows[SWEEPS] - whole.draws.rows[SWEEPS - 1], whole.draws.rows[0]
    assert np.linalg.norm(near) < np.linalg.norm(whole.draws.rows[SWEEPS] - far)
    middle = next(p for p in places if len(p.records) == 2 and p.records[1].number == 5)
    again = fit(Bernoulli(), resume=middle)
    np.testing.assert_array_equal(again.draws.rows, whole.draws.rows)
    np.testing.assert_array_equal(again.draws.cols, whole.draws.cols)
    assert again.trace == whole.trace
