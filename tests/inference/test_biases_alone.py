"""A fit that kept few columns answers to one that has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bmcg import Observations
from bmcg.graphs.precision import stack_graphs
from bmcg.inference import run as running
from bmcg.inference.fit import Settings, SideInput
from bmcg.kernels.threads import Workers

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


def test_the_fit_is_never_below_that_of_biases_alone():
    for seed in range(4):
        data = ratings(seed)
        fit = running.run(data, *sides(data), SETTINGS, pool=POOL)
        alone = running.run(data, *sides(data), replace(SETTINGS, rank=0), pool=POOL)
        assert fit.converged
        assert alone.state.rank == 0
        assert fit.trace[-1] >= alone.trace[-1] - 1e-5 * abs(alone.trace[-1])


@pytest.mark.parametrize(("bound", "rank"), [(-np.inf, 2), (np.inf, 0)])
def test_the_higher_bound_wins(bound, rank, monkeypatch):
    """Whatever the two fits reach, and only after a fit that kept few columns."""
    data, asked = ratings(0, rank=2), []
    life = running._Loop.run

    def pretend(loop, start=None):
        fit = life(loop, start)
        asked.append(loop.settings.rank)
        return replace(fit, trace=(*fit.trace, bound)) if loop.settings.rank == 0 else fit

    monkeypatch.setattr(running._Loop, "run", pretend)
    fit = running.run(data, *sides(data), SETTINGS, pool=POOL)
    assert asked == [100, 0]
    assert fit.state.rank == rank
    asked.clear()
    stopped = running.run(data, *sides(data), replace(SETTINGS, max_sweeps=2), pool=POOL)
    assert asked == [100]
    assert not stopped.converged
