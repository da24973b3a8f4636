"""A side's prior as an operator is the dense matrix it stands for, features included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.inference.small import bound, make_problem, single_updates, start

from bmcg.backends import NumbaBackend
from bmcg.backends.packed import pack, unpack
from bmcg.graphs import knn_graph
from bmcg.graphs.precision import graph_precision, stack_graphs
from bmcg.linalg.engines import DenseEngine
from bmcg.linalg.prior import explained_by, feature_map, with_features
from bmcg.linalg.system import mean_system

POOL = NumbaBackend(1)
N, P, BETA = 9, 4, 0.7
WAYS = ["graph", "integrated", "nodes"]


def features(seed=0):
    rng = np.random.default_rng(seed)
    return sp.csr_array(rng.normal(size=(N, P)) * (rng.random((N, P)) < 0.7))


def prior_of(way, L=None):
    """The graph alone, or with features, their weights integrated out or kept as nodes."""
    if L is None:
        points = np.random.default_rng(1).normal(size=(N, 2))
        L = graph_precision(knn_graph(points, n_neighbors=3), 0.2)
    bare = DenseEngine(POOL).prepare(L)
    if way == "graph":
        return bare
    return with_features(bare, feature_map(features(), POOL), BETA, way == "integrated")


def dense(prior, way):
    """K from its definition."""
    L, F = prior.precision.toarray(), features().toarray()
    A = F.T @ L @ F + BETA * np.eye(P)
    if way == "graph":
        return L
    if way == "integrated":
        return L - L @ F @ np.linalg.solve(A, F.T @ L)
    return np.block([[L, -L @ F], [-F.T @ L, A]])


@pytest.mark.parametrize("way", WAYS)
def test_product_diagonal_and_log_determinant_are_those_of_the_dense_matrix(way):
    prior = prior_of(way)
    K = dense(prior, way)
    assert prior.n_nodes == len(K)
    np.testing.assert_allclose(prior.product(np.eye(len(K))), K, atol=1e-12)
    np.testing.assert_allclose(
        prior.neighbours(np.eye(len(K))), K - np.diag(np.diag(K)), atol=1e-12
    )
    diagonal = np.concatenate((prior.rows_diagonal, prior.node_diagonal))
    np.testing.assert_allclose(diagonal, np.diag(K), rtol=1e-12)
    lam = np.array([0.5, 2.0])
    logs = [np.log(np.diag(K)[N:] * one).sum() for one in lam]
    np.testing.assert_allclose(prior.node_logs(lam), logs, atol=1e-12)
    assert prior.log_det == pytest.approx(np.linalg.slogdet(K)[1], rel=1e-10)


def test_integrated_features_are_the_marginal_of_features_as_nodes():
    """U = F B + P: the covariance of U is F Fᵀ/β + L⁻¹ either way."""
    prior = prior_of("integrated")
    F, L = features().toarray(), prior.precision.toarray()
    covariance = F @ F.T / BETA + np.linalg.inv(L)
    np.testing.assert_allclose(np.linalg.inv(dense(prior, "integrated")), covariance, atol=1e-9)
    np.testing.assert_allclose(np.linalg.inv(dense(prior, "nodes"))[:N, :N], covariance, atol=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_the_noise_has_the_covariance_of_the_precision(way):
    prior = prior_of(way)
    K, count = dense(prior, way), 40_000
    draws = prior.noise(np.random.default_rng(0), count)
    scale = np.sqrt(np.outer(np.diag(K), np.diag(K)))
    error = (draws @ draws.T / count - K) / scale
    assert np.abs(error).max() < 5 * np.sqrt(2 / count)


@pytest.mark.parametrize("way", WAYS)
def test_the_mean_system_is_its_definition(way):
    prior = prior_of(way)
    rng, k, tau = np.random.default_rng(2), 3, 1.4
    lam = np.array([0.3, 1.0, 4.0])
    half = rng.normal(size=(N, k, k))
    G = half @ half.transpose(0, 2, 1)
    system = mean_system(pack(G), tau, lam, prior)
    Q = np.kron(dense(prior, way), np.diag(lam))
    blocks = []
    for i in range(prior.n_nodes):
        at = slice(i * k, (i + 1) * k)
        if i < N:
            Q[at, at] += tau * G[i]
        blocks.append(Q[at, at])
    X = rng.normal(size=(prior.n_nodes, k))
    np.testing.assert_allclose(system.apply(X).ravel(), Q @ X.ravel(), atol=1e-10)
    np.testing.assert_allclose(unpack(system.blocks), blocks[:N], atol=1e-10)
    log_det = sum(np.linalg.slogdet(block)[1] for block in blocks)
    assert system.log_det == pytest.approx(log_det, rel=1e-10)
    solved = system.solve(X, None, 0.0, 500).x
    np.testing.assert_allclose(solved.ravel(), np.linalg.solve(Q, X.ravel()), atol=1e-8)
    # The preconditioner's own determinant and noise: what the log-determinant is estimated from.
    unit = np.eye(Q.shape[0]).reshape(-1, k, Q.shape[0])
    P = np.linalg.inv(system.precondition(unit).reshape(Q.shape))
    assert system.preconditioner_log_det == pytest.approx(np.linalg.slogdet(P)[1], rel=1e-9)
    count = 40_000
    noise = system.preconditioner_noise(rng, count).reshape(-1, count)
    scale = np.sqrt(np.outer(np.diag(P), np.diag(P)))
    assert np.abs((noise @ noise.T / count - P) / scale).max() < 6 * np.sqrt(1 / count)


@pytest.mark.parametrize("way", WAYS)
def test_the_bound_never_falls_with_features_in_the_row_family(way):
    problem = make_problem()
    prior = prior_of(way, problem.rows.prior.precision)
    problem = replace(problem, rows=replace(problem.rows, prior=prior))
    state = start(problem, "row")
    last = bound(problem, state)
    for _ in range(10):
        for name, new in single_updates(problem, "row", state):
            now, state = bound(problem, new), new
            assert now >= last - 1e-9 * abs(last), name
            last = now


@pytest.mark.parametrize("ridge", [0.1, 3.0])
def test_what_features_are_to_each_graph_gives_the_prior_at_any_strengths(ridge):
    """Its diagonal is that of the dense matrix, and its core still a preconditioner of it."""
    rng = np.random.default_rng(2)
    graphs = [knn_graph(rng.normal(size=(N, 2)), n_neighbors=k) for k in (2, 4)]
    stack, F = stack_graphs(graphs, N, "ab"), feature_map(features(), POOL)
    engine = DenseEngine(POOL)
    parts = explained_by(engine.prepare(stack.precision([1.0, 1.0], 0.1)), F, stack)
    strengths = np.array([0.3, 5.0])
    own = np.append(strengths, ridge) @ parts.diagonals
    graph = engine.prepare(stack.precision(strengths, ridge))
    prior = with_features(graph, F, BETA, False, own, parts.basis)
    anew = with_features(graph, F, BETA, False)
    A = dense(prior, "nodes")[N:, N:]
    np.testing.assert_allclose(prior.node_diagonal, np.diag(A), rtol=1e-12)
    np.testing.assert_allclose(prior.node_diagonal, anew.node_diagonal, rtol=1e-12)
    np.testing.assert_allclose(prior.product(np.eye(N + P)), anew.product(np.eye(N + P)))
    assert prior.log_det == anew.log_det
    # One direction is known of four features: the rest is diagonal, and must not be far.
    spread = np.linalg.eigvals(prior.core.solve(A)).real
    assert spread.max() / spread.min() <= np.linalg.cond(A)
