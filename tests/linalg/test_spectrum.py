"""What the eigenvalues of a graph tell of its precision is what factors tell."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg.backends import NumbaBackend
from bmcg.graphs import chain_graph, knn_graph
from bmcg.graphs.precision import stack_graphs
from bmcg.linalg import spectrum
from bmcg.linalg.engines import Analyses, SparseEngine, choose_engine
from bmcg.linalg.spectrum import spectrum_of

POOL, N = NumbaBackend(1), 70


def graph(seed=0):
    """Three parts, one of them a lone node."""
    points = np.random.default_rng(seed).normal(size=(N - 30, 2))
    return sp.csr_array(sp.block_diag((knn_graph(points, 4), chain_graph(29), [[0]])))


def engines(stack):
    """Of the first strengths, as in a fit: with the spectrum and without."""
    first = stack.precision(np.ones(len(stack.weights)), 0.1)
    symbolic = Analyses().of(first)
    return SparseEngine(symbolic, POOL, spectrum_of(first)), SparseEngine(symbolic, POOL)


@pytest.mark.parametrize(("strength", "ridge"), [(1.0, 0.1), (7.0, 1e-6), (1e-5, 2.0), (0.0, 1.0)])
def test_it_tells_what_a_factor_tells(strength, ridge):
    stack = stack_graphs([graph()], N)
    L = stack.precision([strength], ridge)
    fast, plain = (engine.prepare(L) for engine in engines(stack))
    assert fast.log_det == pytest.approx(np.linalg.slogdet(L.toarray())[1], rel=1e-9)
    assert fast.log_det == pytest.approx(plain.log_det, rel=1e-9)
    found, want = (engine.prior_traces(fast, stack.weights) for engine in engines(stack))
    inverse = np.linalg.inv(L.toarray())
    assert found[1] == pytest.approx(np.trace(inverse), rel=1e-8)
    np.testing.assert_allclose(found[0], want[0], rtol=1e-7)
    assert found[1] == pytest.approx(want[1], rel=1e-8)
    assert (found[0] * strength).sum() + found[1] * ridge == pytest.approx(N)


def test_two_graphs_of_other_strengths_have_factors(monkeypatch):
    stack = stack_graphs([graph(0), graph(1)], N)
    L = stack.precision([0.3, 2.0], 0.5)
    fast, plain = engines(stack)
    assert fast.spectrum.of(L) is None
    assert fast.prepare(L).log_det == plain.prepare(L).log_det
    found, want = (e.prior_traces(plain.prepare(L), stack.weights) for e in (fast, plain))
    np.testing.assert_array_equal(found[0], want[0])
    assert found[1] == want[1]


def test_a_fit_that_learns_makes_one_for_all_its_trials(monkeypatch):
    monkeypatch.setattr(spectrum, "FACTORS", 1e9)
    tied = knn_graph(np.random.default_rng(3).normal(size=(300, 6)), 8)
    stack, analyses = stack_graphs([tied], 300), Analyses()

    def chosen(learn, seed):
        L = stack.precision([1.0], 0.1)
        given = {"features": 9, "learn": learn, "analyses": analyses}
        return choose_engine("auto", L, "joint", 4, POOL, seed, **given).exact.spectrum

    assert chosen(True, 1) is chosen(True, 2) is not None
    assert chosen(False, 3) is None
