"""Strengths of graphs, ridge and features: learned from the evidence, never against it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg import Observations
from bmcg.backends import NumbaBackend
from bmcg.graphs import chain_graph, knn_graph
from bmcg.graphs.precision import graph_precision, stack_graphs
from bmcg.inference.families import FAMILIES
from bmcg.inference.fit import Settings, SideInput
from bmcg.inference.side import Strengths
from bmcg.inference.strengths import learn_strengths, part_energies, shares
from bmcg.inference.updates import sweep
from bmcg.inference.variational import run
from tests.inference.small import PRIOR, bound, dense_covariance, dense_system, make_problem, start

POOL = NumbaBackend(1)
GRAPHS = [knn_graph(np.random.default_rng(s).normal(size=(9, 2)), n_neighbors=3) for s in range(2)]


def two_graphs(problem):
    """The problem with two graphs on its rows."""
    rows = replace(problem.rows, stack=stack_graphs(GRAPHS, 9, ["a", "b"]))
    rows = rows.at(Strengths(np.array([1.0, 0.5]), 0.1, 1.0))
    return replace(problem, rows=rows)


def swept(family, seed):
    problem = two_graphs(make_problem(seed=seed))
    before = start(problem, family, seed=seed, sweeps=2)
    state, U, _ = sweep(family, problem.rows, problem.cols, PRIOR, before, gain_tol=0.0)
    Q, _ = dense_system(problem, before, float(before.tau.mean), before.lam.mean)
    m, k = state.rows.mean.shape
    covariance = dense_covariance(family, Q, m, k)[0].reshape(m, k, m, k)
    return problem, state, U, covariance


def with_energy(state, L, covariance):
    """The state with ⟨UᵀLU⟩ recomputed for another L, densely."""
    energy = state.rows.mean.T @ L @ state.rows.mean
    energy = energy + np.einsum("irjs,ij->rs", covariance, L)
    return replace(state, rows=replace(state.rows, energy=energy))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_learning_strengths_never_lowers_the_bound(family, seed):
    problem, state, U, covariance = swept(family, seed)
    last = bound(problem, with_energy(state, problem.L_r, covariance))
    assert last == pytest.approx(bound(problem, state), rel=1e-9)
    for _ in range(4):
        problem = replace(problem, rows=learn_strengths(problem.rows, U, state.lam.mean))
        now = bound(problem, with_energy(state, problem.L_r, covariance))
        assert now >= last - 1e-9 * abs(last)
        last = now


@pytest.mark.parametrize("family", FAMILIES)
def test_the_energies_of_the_parts_are_their_definitions(family):
    problem, state, U, covariance = swept(family, 0)
    lam = state.lam.mean
    energies = part_energies(problem.rows, U, lam)
    for found, L in zip(
        [*energies.graphs, energies.ridge],
        [*(graph_precision(A, 0.0).toarray() for A in GRAPHS), np.eye(9)],
        strict=True,
    ):
        energy = np.diag(with_energy(state, L, covariance).rows.energy)
        assert found == pytest.approx(lam @ energy, rel=1e-8)


def test_shares_sum_to_one():
    graphs, ridge = shares(two_graphs(make_problem()).rows)
    assert graphs.sum() + ridge == pytest.approx(1.0)


def drawn(A, ridge, k=6, n=40, seed=0):
    """A complete matrix whose row factors are drawn from the prior of one graph."""
    rng = np.random.default_rng(seed)
    L = graph_precision(A, ridge).toarray()
    U = np.linalg.solve(np.linalg.cholesky(L).T, rng.normal(size=(len(L), k)))
    X = U @ rng.normal(size=(k, n))
    return X + 0.05 * X.std() * rng.normal(size=X.shape)


def learned(X, graphs, ridge=1.0):
    n_rows, n_cols = X.shape
    rows = SideInput(stack_graphs(graphs, n_rows), ridge)
    cols = SideInput(stack_graphs([], n_cols), 1.0)
    settings = Settings(family="row", rank=8, max_sweeps=60, seed=0, learn=True)
    return run(Observations.from_any(X), rows, cols, settings, backend=POOL).rows


@pytest.mark.parametrize("ridge", [0.02, 1.0])
def test_a_planted_ridge_is_recovered_relative_to_its_graph(ridge):
    A = chain_graph(120, scale=1.0)
    side = learned(drawn(A, ridge), [A], ridge=0.1)
    found = side.strengths.ridge / side.strengths.graphs[0]
    assert np.log(found / ridge) == pytest.approx(0.0, abs=np.log(2.5))


def test_a_useless_graph_is_not_used():
    A = chain_graph(120, scale=1.0)
    other = np.random.default_rng(5).permutation(120)
    useless = sp.csr_array(A.tocsr()[other][:, other])
    side = learned(drawn(A, 0.02), [A, useless])
    assert side.graph_shares[1] < 0.05
    assert side.graph_shares[0] > 0.5


def test_independent_rows_need_no_graph():
    A = chain_graph(120, scale=1.0)
    X = drawn(A, 1.0)[np.random.default_rng(1).permutation(120)]
    assert learned(X, [A]).graph_shares[0] < 0.2


def test_a_stack_without_a_graph_is_the_stack_of_the_others():
    graphs = [chain_graph(6), sp.csr_array(np.eye(6)[::-1]), chain_graph(6) * 2]
    names = ["a", "b", "c"]
    stack = stack_graphs(graphs, 6, names)
    for g in range(3):
        others = [i for i in range(3) if i != g]
        rest = stack_graphs([graphs[i] for i in others], 6, [names[i] for i in others])
        found = stack.without(g)
        assert found.names == rest.names
        for name in ("heads", "tails", "weights"):
            np.testing.assert_array_equal(getattr(found, name), getattr(rest, name))
