"""BMC-GP-GAMP against exact posteriors and dense variational Bayes."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg.backends import SparseRows, open_backend
from bmcg.baselines import BMCGPGAMP
from bmcg.baselines.message_passing import (
    Entries,
    entry_variances,
    gamp_step,
    start_messages,
    update_precision,
)

from .planted import as_nan, observe, smooth_matrix


def problem(seed=0, m=15, n=25, rank=2, noise=0.2, share=0.6):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n))
    X = as_nan(observe(rng, M, share, noise))
    return M, np.nan_to_num(X), (~np.isnan(X)).astype(float)


@pytest.fixture
def pool():
    with open_backend(1) as pool:
        yield pool


def entries_of(pool, Y, seen, sparse=True):
    cols, rows = np.nonzero(seen.T)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(cols, minlength=Y.shape[1]))))
    side = SparseRows(indptr, rows.astype(np.int32), Y.T[cols, rows], pool)
    return Entries(side, len(Y), sparse)


def step(messages, entries, gamma):
    return gamp_step(messages, messages.Q**2, entries, gamma, 0.5)


def dense_vb(Y, seen, prior, nu, iterations):
    """Variational Bayes with an explicit inverse for every column."""
    m, n = Y.shape
    gamma, scatter = 1 / Y[seen > 0].var(), prior + Y @ Y.T + n * np.eye(m)
    X, variances = np.zeros((m, n)), np.zeros((m, n))
    for _ in range(iterations):
        Sigma = (nu + n) * np.linalg.inv(scatter)
        scatter = prior.copy()
        for j in range(n):
            Q = np.linalg.inv(gamma * np.diag(seen[:, j]) + Sigma)
            X[:, j] = gamma * Q @ Y[:, j]
            variances[:, j] = np.diag(Q)
            scatter += np.outer(X[:, j], X[:, j]) + Q
        gamma = seen.sum() / np.sum(seen * ((Y - X) ** 2 + variances))
    return X, variances, gamma


@pytest.mark.parametrize("sparse", [True, False])
def test_products_at_the_observed_entries_are_those_of_dense_matrices(pool, sparse):
    rng = np.random.default_rng(3)
    _, Y, seen = problem(3)
    entries = entries_of(pool, Y, seen, sparse)
    Q, Z = rng.standard_normal((15, 15)), rng.standard_normal((25, 15))
    cols, rows = entries.places
    np.testing.assert_array_equal(Y[rows, cols], entries.side.values)
    np.testing.assert_allclose(entries.at(Q, Z), (Q @ Z.T)[rows, cols], atol=1e-12)
    w = rng.standard_normal(len(rows))
    W = np.zeros(Y.shape)
    W[rows, cols] = w
    np.testing.assert_allclose(entries.sums(Q, w), W.T @ Q, atol=1e-12)


def test_the_quicker_way_is_taken_by_the_share_of_observed_entries(pool):
    _, Y, seen = problem()
    side = entries_of(pool, Y, seen).side
    assert not Entries.of(side, 15).sparse
    assert Entries.of(side, 15 * 10).sparse


@pytest.mark.parametrize("sparse", [True, False])
def test_the_fixed_point_of_message_passing_has_the_exact_posterior_means(pool, sparse):
    _, Y, seen = problem()
    gamma, weight = 3.0, 26.0
    entries = entries_of(pool, Y, seen, sparse)
    messages = start_messages(entries, np.eye(15), weight, 0.5)
    for _ in range(3000):
        messages = step(messages, entries, gamma)
    Sigma = (messages.Q * messages.s) @ messages.Q.T
    found = messages.Q @ messages.Z.T
    spread = entry_variances(messages, entries, gamma)
    exact = np.empty_like(spread)
    for j in range(Y.shape[1]):
        Q = np.linalg.inv(gamma * np.diag(seen[:, j]) + Sigma)
        np.testing.assert_allclose(found[:, j], gamma * Q @ Y[:, j], atol=1e-8)
        exact[:, j] = np.diag(Q)
    # The variances are an approximation.
    assert np.median(np.abs(spread / exact - 1)) < 0.25


def test_the_precision_is_the_wishart_posterior_mean(pool):
    _, Y, seen = problem(1)
    prior, weight = 0.3 * np.eye(15), 26.0
    entries = entries_of(pool, Y, seen)
    messages = start_messages(entries, prior, weight, 0.5)
    for _ in range(5):
        messages = step(messages, entries, 2.0)
    X = messages.Q @ messages.Z.T
    covariance = (messages.Q * messages.var.sum(axis=0)) @ messages.Q.T
    new = update_precision(messages, prior, weight)
    Sigma = (new.Q * new.s) @ new.Q.T
    np.testing.assert_allclose(
        Sigma, weight * np.linalg.inv(prior + X @ X.T + covariance), rtol=1e-6, atol=1e-8
    )
    np.testing.assert_allclose(new.Q @ new.Z.T, X, atol=1e-10)
    turn = (new.Q.T @ messages.Q) ** 2
    np.testing.assert_allclose(new.var, messages.var @ turn.T, rtol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_a_fit_follows_dense_variational_bayes(seed):
    M, Y, seen = problem(seed, 20, 40)
    scale = np.sqrt(np.mean(Y[seen > 0] ** 2))
    X, variances, _ = dense_vb(Y / scale, seen, 1e-10 * np.eye(20), 1.0, 15)
    model = BMCGPGAMP(max_iter=15, gamp_steps=30, tol=0.0)
    found = model.fit(np.where(seen > 0, Y, np.nan)).complete()
    hidden = seen == 0
    exact_error = np.sqrt(np.mean((scale * X - M)[hidden] ** 2))
    assert np.sqrt(np.mean((found - scale * X)[hidden] ** 2)) < 0.5 * exact_error
    assert np.sqrt(np.mean((found - M)[hidden] ** 2)) < 1.25 * exact_error
    ratio = model.fitted_.variances[hidden] / (scale**2 * variances[hidden])
    assert 0.5 < np.median(ratio) < 2.0


def test_a_row_graph_helps_where_columns_are_smooth():
    rng = np.random.default_rng(0)
    M, A, _ = smooth_matrix(rng, 60, 30)
    observations = observe(rng, M, 0.2, 0.05)
    hidden = np.isnan(as_nan(observations))
    model = BMCGPGAMP(graph_weight=1.0)
    with_graph, without = (
        np.sqrt(np.mean((model.fit(observations, graph).complete() - M)[hidden] ** 2))
        for graph in (A, None)
    )
    assert with_graph < 0.9 * without


def test_a_matrix_that_does_not_fit_is_refused_before_it_is_formed():
    _, Y, seen = problem()
    X = np.where(seen > 0, Y, np.nan)
    model = BMCGPGAMP(memory_limit=1000)
    with pytest.raises(MemoryError, match="memory_limit"):
        model.fit(X)
    assert model.memory_ > 1000


def test_the_scale_of_the_data_does_not_matter():
    _, Y, seen = problem(2)
    X = np.where(seen > 0, Y, np.nan)
    small, large = BMCGPGAMP(max_iter=10).fit(X), BMCGPGAMP(max_iter=10).fit(64 * X)
    np.testing.assert_allclose(large.complete(), 64 * small.complete(), rtol=1e-6)
    np.testing.assert_allclose(large.noise_std_, 64 * small.noise_std_, rtol=1e-6)
