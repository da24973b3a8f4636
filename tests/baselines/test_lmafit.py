"""LMaFit against dense algebra and a general-purpose optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from bmcg.backends import NumbaBackend
from bmcg.baselines import LMaFit
from bmcg.baselines.alternating import sides
from bmcg.baselines.lmafit import _start, _step

from .planted import as_nan, observe


def problem(seed=0, m=12, n=9, rank=2, noise=0.3, share=0.7):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n))
    return M, observe(rng, M, share, noise)


@pytest.mark.parametrize("omega", [1.0, 1.7])
def test_a_step_is_least_squares_against_the_filled_matrix(omega):
    _, observations = problem()
    views = sides(observations, 1.0, NumbaBackend(1))
    order = np.argsort(views[0].indices, kind="stable")
    X = as_nan(observations)
    state = _start(views, 3)
    for _ in range(3):
        filled = state.X @ state.Y.T
        Z = filled + omega * np.where(np.isnan(X), 0.0, X - filled)
        # Least squares for the left factor, then for the right one.
        left = Z @ state.Y @ np.linalg.pinv(state.Y.T @ state.Y)
        expected = left @ np.linalg.lstsq(left, Z, rcond=None)[0]
        state = _step(views, order, state, omega)
        np.testing.assert_allclose(state.X @ state.Y.T, expected, atol=1e-10)
        residual = (X - state.X @ state.Y.T)[~np.isnan(X)]
        np.testing.assert_allclose(state.E, residual, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_objective_never_rises_at_a_fixed_rank(seed):
    _, observations = problem(seed)
    model = LMaFit(4, estimate_rank=False, tol=0.0, max_iter=200).fit(observations)
    trace = np.asarray(model.objective_trace_)
    assert np.all(np.diff(trace) <= 0)
    assert trace[-1] < 0.5 * trace[0]


def test_the_objective_rises_at_most_where_the_rank_falls():
    rng = np.random.default_rng(3)
    M = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
    model = LMaFit(10, max_iter=300).fit(observe(rng, M, 0.8, 1e-3))
    assert model.rank_ == 2
    assert np.sum(np.diff(model.objective_trace_) > 0) <= 1


@pytest.mark.parametrize(("rank", "seed"), [(1, 0), (1, 1), (2, 2)])
def test_the_minimum_is_that_of_a_general_purpose_optimiser(rank, seed):
    _, observations = problem(seed, 8, 6, 2, 0.5, 0.8)
    X = as_nan(observations)
    seen = ~np.isnan(X)

    def objective(x):
        U, V = x[: 8 * rank].reshape(8, rank), x[8 * rank :].reshape(6, rank)
        E = np.where(seen, U @ V.T - np.nan_to_num(X), 0.0)
        return 0.5 * np.sum(E**2), np.concatenate(((E @ V).ravel(), (E.T @ U).ravel()))

    rng = np.random.default_rng(0)
    best = min(
        minimize(objective, rng.standard_normal(14 * rank), jac=True, options={"gtol": 1e-9}).fun
        for _ in range(10)
    )
    model = LMaFit(rank, estimate_rank=False, tol=0.0, max_iter=3000).fit(observations)
    np.testing.assert_allclose(model.objective_trace_[-1], best, rtol=1e-5)


def test_a_matrix_without_noise_is_recovered():
    rng = np.random.default_rng(5)
    M = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 70))
    model = LMaFit(3, tol=1e-10, max_iter=500).fit(observe(rng, M, 0.6))
    np.testing.assert_allclose(model.complete(), M, atol=1e-6)


def test_the_rank_goes_down_to_the_largest_drop():
    model = LMaFit()
    pivots = np.array([9.0, 8.0, 7.0, 1e-3, 9e-4, 8e-4, 7e-4, 6e-4])
    assert model._lower_rank(pivots, since=6) == 3
    assert model._lower_rank(pivots, since=5) == 0
    assert LMaFit(rank_jump=1e9)._lower_rank(pivots, since=6) == 0
    assert model._lower_rank(np.arange(9.0, 1.0, -1.0), since=6) == 0


def test_a_tall_matrix_gives_the_fit_of_its_transpose():
    _, observations = problem(1, 20, 7)
    X = as_nan(observations)
    a, b = LMaFit(2).fit(X).complete(), LMaFit(2).fit(X.T.copy()).complete()
    np.testing.assert_allclose(a, b.T, atol=1e-10)
