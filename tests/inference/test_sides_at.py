"""A side at other strengths, from what is known of it at any, is the one made anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from bmcg import Observations
from bmcg.backends import NumbaBackend
from bmcg.graphs import chain_graph, knn_graph
from bmcg.graphs.precision import stack_graphs
from bmcg.inference.fit import Settings, SideInput
from bmcg.inference.side import Strengths
from bmcg.inference.start import make_side
from bmcg.linalg.engines import Analyses


def test_what_features_are_to_the_graphs_serves_at_other_strengths():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(30, 4))
    graphs = [chain_graph(30), knn_graph(F, 4)]
    given = SideInput(stack_graphs(graphs, 30, ["chain", "near"]), 0.1, sp.csr_array(F))
    data = Observations.from_any(rng.normal(size=(30, 20)))
    settings = Settings(family="joint", rank=3, learn=True)
    side = make_side(data, 0, given, settings, NumbaBackend(1), Analyses())
    assert side.explained is not None
    strengths = Strengths(np.array([0.3, 7.0]), 2.5, 0.4)
    found, anew = side.at(strengths), replace(side, explained=None).at(strengths)
    np.testing.assert_allclose(found.prior.node_diagonal, anew.prior.node_diagonal, rtol=1e-10)
    X = rng.normal(size=(34, 2))
    np.testing.assert_allclose(found.prior.product(X), anew.prior.product(X), rtol=1e-10)
