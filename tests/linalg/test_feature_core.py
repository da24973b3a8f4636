"""The preconditioner of the features' weights is the matrix it stands for."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg.backends import NumbaBackend, open_backend
from bmcg.linalg.cg import conjugate_gradient
from bmcg.linalg.prior.core import feature_core

BETA = 0.8


def stiff(seed=0, p=60):
    """FᵀF with a few directions far above the rest."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(80, p)) + 6 * rng.normal(size=(80, 3)) @ rng.normal(size=(3, p))
    return F.T @ F / 80


def core_of(E, pool=None):
    return feature_core(lambda X: E @ X, np.diag(E) + BETA, BETA, pool or NumbaBackend(1))


def dense(core):
    return np.diag(core.own) + core.basis @ np.diag(core.stiffness) @ core.basis.T


@pytest.mark.parametrize("rank", [0, 1, 3, 60])
def test_solve_and_log_determinant_are_those_of_the_dense_matrix(rank):
    E = stiff() if rank == 60 else np.zeros((60, 60))
    for d in range(rank if rank < 60 else 0):
        E[d, d] = 5.0
    core = core_of(E)
    M = dense(core)
    assert np.linalg.eigvalsh(M)[0] > 0
    np.testing.assert_allclose(core.solve(np.eye(60)), np.linalg.inv(M), atol=1e-10)
    assert core.log_det == pytest.approx(np.linalg.slogdet(M)[1], rel=1e-10)
    single = core.solve(np.eye(60, dtype=np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, np.linalg.inv(M), atol=1e-5)


def test_the_noise_has_the_covariance_of_the_matrix():
    core, count = core_of(stiff(p=12)), 60_000
    draws = core.noise(np.random.default_rng(0), count)
    M = dense(core)
    scale = np.sqrt(np.outer(np.diag(M), np.diag(M)))
    assert np.abs((draws @ draws.T / count - M) / scale).max() < 6 * np.sqrt(1 / count)


def test_a_solve_takes_fewer_steps_than_with_the_diagonal():
    E = stiff()
    A, core = E + BETA * np.eye(60), core_of(E)
    b = np.random.default_rng(1).normal(size=60)
    diagonal = np.diag(A)
    plain = conjugate_gradient(lambda x: A @ x, b, precondition=lambda r: r / diagonal)
    better = conjugate_gradient(
        lambda x: A @ x, b, precondition=lambda r: core.solve(r[:, None])[:, 0]
    )
    np.testing.assert_allclose(better.x, plain.x, rtol=1e-6, atol=1e-9)
    assert better.steps < plain.steps / 1.5


def test_threads_change_nothing():
    E, Y = stiff(), np.random.default_rng(2).normal(size=(60, 300))
    with open_backend(3) as pool:
        np.testing.assert_array_equal(core_of(E, pool).solve(Y), core_of(E).solve(Y))
