"""A fit that kept few columns answers to one that has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bmcg import BMCG, Observations, doubt
from bmcg.doubt import left_out_error
from bmcg.graphs import chain_graph
from bmcg.graphs.precision import stack_graphs
from bmcg.inference import run as running
from bmcg.inference.families import FAMILIES
from bmcg.inference.fit import Settings, SideInput
from bmcg.kernels.threads import Workers
from bmcg.posterior import Posterior

POOL = Workers(1)


def ratings(seed, rank=0, m=60, n=40):
    """Offsets, noise, and a low-rank part where asked for."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 1)) + rng.normal(size=n) + 0.5 * rng.normal(size=(m, n))
    X += 2 * rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    seen = np.nonzero(rng.random((m, n)) < 0.4)
    return Observations.from_triples(*seen, X[seen], shape=(m, n))


def sides(data):
    return [SideInput(stack_graphs([], n, []), 1.0, None) for n in data.shape]


SETTINGS = Settings(family="row", bias=True, max_sweeps=200)


def fitted(data, settings=SETTINGS):
    return running.run(data, *sides(data), settings, pool=POOL)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_left_out_error_is_near_that_of_entries_really_left_out(family):
    """Of biases alone, refitted without each of some entries."""
    data = ratings(0, m=20, n=15)
    settings = replace(SETTINGS, family=family, rank=0)
    whole, missed = fitted(data, settings), []
    for left in range(0, len(data.values), 4):
        rest = np.arange(len(data.values)) != left
        part = Observations.from_triples(
            data.row_indices[rest], data.col_indices[rest], data.values[rest], shape=data.shape
        )
        posterior = Posterior.from_fit(fitted(part, settings), family)
        at = data.row_indices[[left]], data.col_indices[[left]]
        missed.append(data.values[left] - posterior.mean(*at)[0])
    subset = Observations.from_triples(
        data.row_indices[::4], data.col_indices[::4], data.values[::4], shape=data.shape
    )
    found = left_out_error(subset, whole, family)
    assert found == pytest.approx(np.sqrt(np.mean(np.square(missed))), rel=0.06)


@pytest.mark.parametrize(("error", "rank"), [(0.0, 0), (np.inf, 2)])
def test_what_predicts_better_wins(error, rank, monkeypatch):
    """Whatever the two fits reach, and only after a fit that kept few columns."""
    data = ratings(0, rank=2)
    fit = fitted(data)
    assert (fit.converged, fit.state.rank) == (True, 2)
    monkeypatch.setattr(
        doubt, "left_out_error", lambda data, one, family: 1.0 if one.state.rank else error
    )
    chosen = doubt.settled(data, sides(data), SETTINGS, fit, POOL)
    assert chosen.state.rank == rank
    for other, settings in (
        (replace(fit, converged=False), SETTINGS),
        (fit, replace(SETTINGS, rank=2)),
        (fit, replace(SETTINGS, bias=False)),
    ):
        assert doubt.settled(data, sides(data), settings, other, POOL) is other


def test_planted_columns_are_beyond_doubt():
    data = ratings(1, rank=2)
    fit = fitted(data)
    assert doubt.settled(data, sides(data), SETTINGS, fit, POOL) is fit


def test_an_interrupt_of_the_question_leaves_the_finished_fit(monkeypatch):
    data = ratings(0, rank=2)
    fit = fitted(data)

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(doubt, "run", interrupted)
    assert doubt.settled(data, sides(data), SETTINGS, fit, POOL) is fit


def test_the_estimator_asks(monkeypatch):
    data = ratings(0, rank=2)
    monkeypatch.setattr(
        doubt, "left_out_error", lambda data, one, family: 1.0 if one.state.rank else 0.0
    )
    assert BMCG(bias=True, random_state=0, n_jobs=1).fit(data).rank_ == 0


def test_a_single_graph_is_judged_too_unless_told_otherwise():
    data = ratings(0, rank=2)
    strengths = [
        BMCG(learn_graphs=learn, random_state=0, n_jobs=1, max_sweeps=8)
        .fit(data, row_graph=chain_graph(60))
        .graph_weights_["rows"]["graph"]
        .strength
        for learn in ("auto", True, False)
    ]
    assert strengths[0] == strengths[1]
    assert strengths[2] == 1.0 != strengths[0]
