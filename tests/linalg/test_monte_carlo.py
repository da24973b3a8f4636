"""Monte Carlo variances and log-determinants stay within the error they state."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg.backends import NumbaBackend
from bmcg.backends.packed import pack, unpack
from bmcg.graphs import knn_graph
from bmcg.graphs.precision import graph_precision
from bmcg.linalg.monte_carlo import MonteCarloEngine, Recalled
from bmcg.linalg.prior import graph_prior
from bmcg.linalg.system import mean_system

N, K = 80, 3


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    L = graph_precision(knn_graph(rng.normal(size=(N, 3)), n_neighbors=5), ridge=1e-2)
    pool = NumbaBackend(1)
    prior = graph_prior(L, 0.0, pool)
    D = rng.gamma(1.0, size=(N, K))
    lam = np.array([0.5, 2.0, 10.0])
    A = rng.normal(size=(N, K, K + 1))
    B = pack(A @ A.transpose(0, 2, 1))
    B[7] = 0.0
    return L, prior, pool, D, lam, B


def engine(problem, n_samples=400, seed=0):
    return MonteCarloEngine(problem[2], seed, n_samples, tol=1e-9)


def dense_blocks(problem):
    L, _, _, _, lam, B = problem
    Q = np.kron(L.toarray(), np.diag(lam))
    for i, block in enumerate(unpack(B)):
        Q[i * K : (i + 1) * K, i * K : (i + 1) * K] += block
    inverse = np.linalg.inv(Q)
    blocks = [inverse[i * K : (i + 1) * K, i * K : (i + 1) * K] for i in range(N)]
    return pack(np.asarray(blocks)), np.linalg.slogdet(Q)[1]


def relative_errors(estimate, truth):
    """Of estimates with several seeds, as a share of how far apart they are."""
    found = np.array([estimate(seed) for seed in range(12)])
    return (found.mean(axis=0) - truth) / (found.std(axis=0, ddof=1) / np.sqrt(12)), found


def test_column_variances_are_right_on_average(problem):
    L, prior, _, D, lam, _ = problem
    truth = np.column_stack(
        [np.diag(np.linalg.inv(np.diag(D[:, r]) + lam[r] * L.toarray())) for r in range(K)]
    )
    score, found = relative_errors(
        lambda seed: engine(problem, 100, seed).estimate_columns(prior, D, lam), truth
    )
    assert np.abs(score.mean()) < 1.0  # errors of neighbours go together
    assert score.std() < 1.6
    np.testing.assert_allclose(found.mean(axis=0), truth, rtol=0.2)


def test_column_log_determinants_agree_within_their_stated_error(problem):
    L, prior, _, D, lam, _ = problem
    found = engine(problem).log_det_columns(prior, D, lam)
    truth = [np.linalg.slogdet(np.diag(D[:, r]) + lam[r] * L.toarray())[1] for r in range(K)]
    assert (np.abs(found.value - truth) < 4 * found.error).all()
    assert (found.error < 0.02 * np.abs(truth)).all()


def test_joint_blocks_are_right_on_average(problem):
    _, prior, _, _, lam, B = problem
    system = mean_system(B, 1.0, lam, prior)
    truth, log_det = dense_blocks(problem)
    score, _ = relative_errors(
        lambda seed: engine(problem, 100, seed).estimate_blocks(system), truth
    )
    assert np.abs(score.mean()) < 1.0  # errors of neighbours go together
    assert score.std() < 1.6
    rest = engine(problem).log_det_blocks(system)
    assert abs(system.log_det + rest.value - log_det) < 4 * rest.error


def test_draws_have_the_covariance_they_claim(problem):
    L, prior, _, D, lam, _ = problem
    z = engine(problem).draw_columns(prior, D, lam, n_samples=6000)
    for r in range(K):
        truth = np.linalg.inv(np.diag(D[:, r]) + lam[r] * L.toarray())
        scale = np.sqrt(np.outer(np.diag(truth), np.diag(truth)))
        assert np.abs(np.cov(z[:, r]) - truth).max() < 0.09 * scale.max()


def test_the_same_seed_gives_the_same_estimate_and_another_does_not(problem):
    _, prior, _, D, lam, _ = problem
    first = engine(problem, 10, seed=1).columns(prior, D, lam)
    np.testing.assert_array_equal(first[0], engine(problem, 10, seed=1).columns(prior, D, lam)[0])
    assert (first[0] != engine(problem, 10, seed=2).columns(prior, D, lam)[0]).any()


def test_the_prior_s_log_determinant_agrees_within_its_stated_error(problem):
    L, *_ = problem
    found = engine(problem).prepare(L)
    truth = np.linalg.slogdet(L.toarray())[1]
    assert abs(found.log_det - truth) < 4 * found.log_det_error
    assert found.log_det_error < 1.0


@pytest.mark.parametrize("most", [0, 100, 10_000])
def test_noise_that_is_kept_is_the_noise_that_would_be_made_anew(most):
    """From every beginning, for any share of it that there is room for."""
    shapes = [(5, 3), (40, 2), (7,)]
    truth = np.random.default_rng(4)
    wanted = [truth.standard_normal(shape) for shape in shapes]
    noise = Recalled(lambda: np.random.default_rng(4), most)
    for count in (3, 3, 1, 3):
        noise.again()
        for shape, want in zip(shapes[:count], wanted, strict=False):
            np.testing.assert_array_equal(noise.standard_normal(shape), want)


def test_draws_are_the_same_after_those_of_another_shape(problem):
    _, prior, _, _, lam, B = problem
    made = engine(problem, 6)
    fewer = mean_system(B[:, :1], 1.0, lam[:1], prior)
    first = made.draw_blocks(mean_system(B, 1.0, lam, prior))
    made.draw_blocks(fewer)
    np.testing.assert_array_equal(made.draw_blocks(mean_system(B, 1.0, lam, prior)), first)
