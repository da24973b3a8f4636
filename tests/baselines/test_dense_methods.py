"""Dense methods say how much memory they need, and need no more."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from bmcg.baselines import BMCGPGAMP, MCOnGraphs
from bmcg.graphs import chain_graph

from .planted import observe


@pytest.mark.parametrize("shape", [(300, 500), (500, 300)])
@pytest.mark.parametrize(
    "model", [MCOnGraphs(max_iter=12), BMCGPGAMP(max_iter=3)], ids=lambda one: type(one).__name__
)
def test_a_fit_takes_no_more_memory_than_it_states(model, shape):
    rng = np.random.default_rng(0)
    M = rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1]))
    graphs = (chain_graph(shape[0]), chain_graph(shape[1]) if model._uses_col_graph else None)
    observations = observe(rng, M, 0.05, 0.1)
    tracemalloc.start()
    model.fit(observations, *graphs)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.5 * model.memory_ < peak < model.memory_
