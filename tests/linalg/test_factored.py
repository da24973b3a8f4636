"""Draws by a factor are exact: mean and covariance are those of the dense inverse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg.backends import NumbaBackend
from bmcg.backends.packed import pack
from bmcg.graphs import chain_graph
from bmcg.graphs.precision import graph_precision
from bmcg.linalg.engines import DenseEngine
from bmcg.linalg.factored import SMALL, WIDEST, draw_along, draw_whole, factored_draw, find_strip
from bmcg.linalg.system import mean_system


def shuffled(A, seed=0):
    order = np.random.default_rng(seed).permutation(A.shape[0])
    return sp.csr_array(sp.csr_array(A)[order][:, order])


GRAPHS = {
    "chain": chain_graph(40),
    "in another order": shuffled(chain_graph(40)),
    "with nodes alone": sp.csr_array(sp.block_diag([chain_graph(9), sp.csr_array((2, 2))])),
}


def a_system(graph, k, seed=0):
    rng, backend = np.random.default_rng(seed), NumbaBackend(1)
    prior = DenseEngine(backend).prepare(graph_precision(graph, 0.1))
    n = graph.shape[0]
    F = rng.normal(size=(n, k, 2))
    F[::3] = 0.0  # nodes without entries
    grams, lam = pack(F @ F.transpose(0, 2, 1)), rng.gamma(2.0, size=k)
    return mean_system(grams, 1.7, lam, prior), rng


def along(system, rhs, z):
    return draw_along(find_strip(system.prior, rhs.shape[1]), system.prior, system, rhs, z)


def whole(system, rhs, z):
    return draw_whole(system.prior, system, rhs, z)


@pytest.mark.parametrize("draw", [along, whole])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("name", GRAPHS)
def test_a_draw_has_the_mean_and_the_covariance_of_the_dense_inverse(name, k, draw):
    system, rng = a_system(GRAPHS[name], k)
    n = system.prior.n_nodes
    units = np.eye(n * k).reshape(n * k, n, k)
    Q = np.array([system.apply(e).ravel() for e in units])
    rhs = rng.normal(size=(n, k))
    none = np.zeros((n, k))
    mean = draw(system, rhs, none)
    np.testing.assert_allclose(mean.ravel(), np.linalg.solve(Q, rhs.ravel()), rtol=1e-8)
    root = np.array([draw(system, none, e).ravel() for e in units])
    np.testing.assert_allclose(root.T @ root, np.linalg.inv(Q), atol=1e-9)


def test_what_is_wide_and_large_has_no_factor():
    chain, rng = a_system(chain_graph(30), 3)
    assert find_strip(chain.prior, WIDEST + 1) is None
    for n, small in ((SMALL // 3, True), (SMALL // 3 + 1, False)):
        system, _ = a_system(sp.csr_array(1.0 - np.eye(n)), 3)
        found = factored_draw(system, *rng.normal(size=(2, n, 3)))
        assert (found is not None) == small


@pytest.mark.parametrize("draw", [along, whole])
def test_a_precision_that_is_not_positive_is_told(draw):
    system, _ = a_system(chain_graph(10), 2)
    system.blocks[:] = -1.0
    with pytest.raises(FloatingPointError, match="orders of magnitude"):
        draw(system, np.ones((10, 2)), np.ones((10, 2)))
