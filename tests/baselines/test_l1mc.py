"""L1MC against its optimality conditions, soft-thresholding and a convex solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from bmcg.baselines import L1MC
from bmcg.baselines.rank_one import Components, minimiser, orthogonalise

from .planted import as_nan, observe


def problem(seed=0, m=14, n=11, rank=3, noise=0.3, share=0.7):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n))
    return M, observe(rng, M, share, noise)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.floats(1e-3, 20.0))
def test_the_minimiser_satisfies_its_optimality_condition(seed, n, penalty):
    rng = np.random.default_rng(seed)
    d = rng.uniform(0, 3, n) * (rng.random(n) < 0.8)
    c = np.where(d > 0, 5 * rng.standard_normal(n), 0.0)
    a = minimiser(c, d, penalty)
    if np.linalg.norm(c) <= penalty:
        assert not a.any()
    else:
        gradient = d * a - c + penalty * a / np.linalg.norm(a)
        np.testing.assert_allclose(gradient, 0.0, atol=1e-8 * np.linalg.norm(c))


def test_a_complete_matrix_is_soft_thresholded():
    rng = np.random.default_rng(1)
    M = rng.standard_normal((9, 7))
    U, s, Vt = np.linalg.svd(M, full_matrices=False)
    expected = (U * np.maximum(s - 1.5, 0)) @ Vt
    model = L1MC(7, penalty=1.5, refine=False, tol=1e-12, max_iter=2000).fit(M)
    np.testing.assert_allclose(model.complete(), expected, atol=1e-6)
    assert model.rank_ == np.sum(s > 1.5)


@pytest.mark.parametrize("seed", range(3))
def test_the_minimum_is_that_of_a_general_purpose_optimiser(seed):
    """With full rank the problem is convex: ‖X‖_* = min ½(‖U‖² + ‖V‖²) over X = UVᵀ."""
    _, observations = problem(seed, 7, 6, 2)
    X, penalty = as_nan(observations), 0.8
    seen = ~np.isnan(X)

    def objective(x):
        U, V = x[:42].reshape(7, 6), x[42:].reshape(6, 6)
        E = np.where(seen, U @ V.T - np.nan_to_num(X), 0.0)
        value = 0.5 * np.sum(E**2) + 0.5 * penalty * np.sum(x**2)
        return value, np.concatenate(((E @ V).ravel(), (E.T @ U).ravel())) + penalty * x

    start = np.random.default_rng(0).standard_normal(78)
    best = minimize(objective, start, jac=True, options={"gtol": 1e-10, "maxiter": 5000})
    model = L1MC(6, penalty=penalty, refine=False, tol=1e-12, max_iter=5000).fit(observations)
    np.testing.assert_allclose(model.objective_trace_[-1], best.fun, rtol=1e-6)


def test_no_component_outside_the_fit_would_lower_the_objective():
    _, observations = problem(4)
    model = L1MC(11, penalty=1.2, refine=False, tol=1e-12, max_iter=3000).fit(observations)
    X = as_nan(observations)
    E = np.where(np.isnan(X), 0.0, X - model.complete())
    assert np.linalg.norm(E, 2) <= 1.2 * (1 + 1e-5)
    U, V = model.fitted_.row_factors, model.fitted_.col_factors
    U, V = U / np.linalg.norm(U, axis=0), V / np.linalg.norm(V, axis=0)
    np.testing.assert_allclose(E @ V, 1.2 * U, atol=1e-4)


@pytest.mark.parametrize("penalty", [None, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_neither_objective_ever_rises(penalty, seed):
    _, observations = problem(seed)
    model = L1MC(8, penalty=penalty, refine=True, tol=0.0, max_iter=60).fit(observations)
    for trace in (model.objective_trace_, model.refinement_trace_):
        steps = np.diff(trace)
        assert np.all(steps <= 1e-12 * trace[0])
        assert np.any(steps < 0)


def test_refinement_recovers_a_matrix_without_noise():
    rng = np.random.default_rng(2)
    M = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 40))
    observations = observe(rng, M, 0.6)
    biased = L1MC(20, penalty=3.0, refine=False).fit(observations)
    refined = L1MC(20, penalty=3.0, tol=1e-12, max_iter=1000).fit(observations)
    assert refined.rank_ == 3
    np.testing.assert_allclose(refined.complete(), M, atol=1e-3)
    assert np.abs(biased.complete() - M).max() > 0.01


def test_refinement_is_left_out_where_it_could_fit_anything():
    _, observations = problem(0, share=0.3)
    assert not L1MC(10, penalty=1e-2).fit(observations).refinement_trace_
    assert L1MC(10, penalty=1e-2, refine=True).fit(observations).refinement_trace_


def test_pure_noise_has_rank_zero():
    rng = np.random.default_rng(7)
    model = L1MC(20).fit(observe(rng, np.zeros((60, 50)), 0.5, noise=1.0))
    assert model.rank_ <= 1
    assert model.complete().std() < 0.2


def test_orthogonal_components_are_the_same_matrix_with_no_larger_weights():
    rng = np.random.default_rng(3)
    U, V = rng.standard_normal((4, 9)), rng.standard_normal((4, 8))
    U /= np.linalg.norm(U, axis=1)[:, None]
    V /= np.linalg.norm(V, axis=1)[:, None]
    before = Components(rng.uniform(1, 2, 4), U, V, np.zeros(1))
    after = orthogonalise(before)
    np.testing.assert_allclose(
        (after.U.T * after.weights) @ after.V, (U.T * before.weights) @ V, atol=1e-12
    )
    np.testing.assert_allclose(after.U @ after.U.T, np.eye(4), atol=1e-12)
    assert after.weights.sum() <= before.weights.sum()
