"""The search for weights of zeros and ones finds what was planted, by the steps it promises."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from bmcg import Observations
from bmcg.inference import weak_zeros
from bmcg.inference.fit import Settings
from bmcg.inference.weak_zeros import CHAINS, MARGINAL, START, TRIAL_RANK, learn_weights


@dataclass
class Planted:
    """Trials that rank best near given weights; fits are what was asked for."""

    lists: object
    settings: Settings
    backend: object
    show: object
    kind: str

    def fit(self, likelihood, rank, name, best, known):
        return SimpleNamespace(likelihood=likelihood, rank=rank, trace=[0.0], lists=self.lists)

    def start_of(self, best, n_rows):
        best.n_rows = n_rows
        return best


def counts(m=120, n=60, most=4):
    rng = np.random.default_rng(0)
    seen = np.nonzero(rng.random((m, n)) < 0.2)
    return Observations.from_triples(*seen, rng.integers(1, most, len(seen[0])), shape=(m, n))


def learned(
    monkeypatch, kind, zero, one, power=0.0, rank=TRIAL_RANK, data=None, size=1.0, even=0.0
):
    """What is found where weights, power and components have one best value each."""
    rng = np.random.default_rng(0)

    def gains(fit, lists):
        found = fit.likelihood
        miss = abs(np.log2(found.zero / zero)) + abs(found.power - power)
        miss += abs(np.log2(found.one / one)) + abs(np.log2(fit.rank / rank))
        miss += abs(found.even - even)
        # The standard error of a difference is about 0.014.
        noise = 0.1 * rng.standard_normal(100)
        return noise - noise.mean() - size * miss

    monkeypatch.setattr(weak_zeros, "Trials", Planted)
    monkeypatch.setattr(weak_zeros, "gains", gains)
    most = Settings(family="row", rank=8 * TRIAL_RANK)
    return learn_weights(counts() if data is None else data, most, None, None, kind)


@pytest.mark.parametrize("factor", [0.25, 1.0, 8.0])
def test_zeros_are_weighed_by_factors_of_two(monkeypatch, factor):
    start = START[MARGINAL]
    found = learned(monkeypatch, MARGINAL, factor * start.zero, start.one).likelihood
    assert found.zero == pytest.approx(factor * start.zero, rel=1e-12)
    assert found.one == pytest.approx(start.one, rel=1e-12)


def test_ones_counts_and_halves_of_steps_are_found(monkeypatch):
    start, root = START[MARGINAL], np.sqrt(2.0)
    found = learned(monkeypatch, MARGINAL, 2 * start.zero, start.one / (4 * root), power=1.0)
    assert found.likelihood.zero == pytest.approx(2 * start.zero, rel=1e-12)
    assert found.likelihood.one == pytest.approx(start.one / (4 * root), rel=1e-12)
    assert found.likelihood.power == 1.0


def part_of_the_rows(observations, seed, number=0, most=None):
    """Lists of fewer rows than there are, unless more are asked for."""
    return SimpleNamespace(rows=np.arange(100 if most is None else 120))


@pytest.mark.parametrize("part", [False, True])
def test_zeros_take_half_a_step_where_a_part_of_the_rows_was_asked(monkeypatch, part):
    start, root = START[MARGINAL], np.sqrt(2.0)
    if part:
        monkeypatch.setattr(weak_zeros, "leave_out", part_of_the_rows)
    found = learned(monkeypatch, MARGINAL, root * start.zero, start.one, size=0.02).likelihood
    assert found.zero == pytest.approx((root if part else 1.0) * start.zero, rel=1e-12)


@pytest.mark.parametrize("even", [0.0, 0.25])
@pytest.mark.parametrize("kind", [CHAINS, MARGINAL])
def test_rows_that_have_seen_much_are_evened_where_lists_gain(monkeypatch, kind, even):
    start = START[kind]
    found = learned(monkeypatch, kind, start.zero, start.one, even=even).likelihood
    assert found.even == (even if kind == MARGINAL else 0.0)


def test_a_chain_moves_zeros_alone_and_both_together(monkeypatch):
    start, root = START[CHAINS], np.sqrt(2.0)
    found = learned(monkeypatch, CHAINS, 4 * root * start.zero, root * start.one).likelihood
    assert found.zero == pytest.approx(4 * root * start.zero, rel=1e-12)
    assert found.one == pytest.approx(root * start.one, rel=1e-12)


def test_counts_that_are_all_one_have_no_power_to_be_found(monkeypatch):
    start = START[MARGINAL]
    found = learned(monkeypatch, MARGINAL, start.zero, start.one, power=1.0, data=counts(most=2))
    assert found.likelihood.power == start.power


@pytest.mark.parametrize("times", [1, 2, 4])
def test_components_are_doubled_while_that_pays(monkeypatch, times):
    start = START[CHAINS]
    found = learned(monkeypatch, CHAINS, start.zero, start.one, rank=times * TRIAL_RANK)
    assert found.rank == times * TRIAL_RANK
    assert found.start.rank == found.rank
    names = [verdict.tried for verdict in found.verdicts]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("size", "doubled"), [(0.02, True), (0.01, False)])
def test_a_step_of_two_has_to_be_sure_and_half_a_step_of_ones_has_not(monkeypatch, size, doubled):
    start, root = START[MARGINAL], np.sqrt(2.0)
    half = learned(monkeypatch, MARGINAL, start.zero, root * start.one, size=size).likelihood
    assert half.one == pytest.approx(root * start.one, rel=1e-12)
    steps = learned(monkeypatch, CHAINS, 2 * START[CHAINS].zero, START[CHAINS].one, size=size)
    assert (steps.likelihood.zero > START[CHAINS].zero) is doubled


def test_components_are_asked_of_lists_of_more_rows_where_there_are_more(monkeypatch):
    monkeypatch.setattr(weak_zeros, "leave_out", part_of_the_rows)
    start = START[MARGINAL]
    found = learned(monkeypatch, MARGINAL, start.zero, start.one)
    assert [len(trials.lists.rows) for trials in found.search.trials] == [120]
    chain = learned(monkeypatch, CHAINS, START[CHAINS].zero, START[CHAINS].one)
    assert [len(trials.lists.rows) for trials in chain.search.trials] == [100]


@pytest.mark.parametrize("kind", [CHAINS, MARGINAL])
def test_the_fit_starts_with_all_rows_of_the_data(monkeypatch, kind):
    start = START[kind]
    found = learned(monkeypatch, kind, start.zero, start.one, data=counts(m=90, n=70))
    assert found.start.n_rows == 90
