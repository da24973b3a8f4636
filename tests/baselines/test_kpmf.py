from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import check_grad, minimize

from bmcg.backends import NumbaBackend
from bmcg.baselines import GRALS, KPMF
from bmcg.baselines.alternating import MatrixFree, sides
from bmcg.baselines.kpmf import KERNELS, HeatKernel, kernel_penalty, mean_filled_factors

from .planted import as_nan, laplacian, observe, random_graph
from .test_grals import dense_objective, negative_gradient, small_case


def dense_kernel(A, kernel, weight):
    L = laplacian(A)
    if kernel == "diffusion":
        return expm(-weight * L)
    if kernel == "commute_time":
        return np.linalg.pinv(L)
    return np.linalg.inv(np.eye(len(L)) + weight * L)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_penalty_is_that_of_the_dense_kernel(kernel):
    rng = np.random.default_rng(0)
    A, Y = random_graph(rng, 9), rng.standard_normal((9, 2))
    penalty = kernel_penalty(9, A, kernel, 0.7, 0.3)
    U = penalty.lift(Y)
    inverse = np.linalg.pinv(dense_kernel(A, kernel, 0.7))
    assert penalty.value(Y) == pytest.approx(0.5 * 0.3 * np.trace(U.T @ inverse @ U), rel=1e-6)


@pytest.mark.parametrize("t", [0.01, 0.5, 5.0, 50.0])
def test_the_heat_kernel_is_the_matrix_exponential(t):
    rng = np.random.default_rng(1)
    A = random_graph(rng, 12)
    np.testing.assert_allclose(
        HeatKernel(A, t)(np.eye(12)), expm(-t * laplacian(A)), rtol=1e-9, atol=1e-13
    )


def test_regularised_laplacian_equals_grals_at_the_same_objective():
    _, observations, A, B = small_case(0)
    kernel = KPMF(2, kernel_weight=1.5, noise_variance=0.4, cg_steps=4, tol=0.0, random_state=0)
    kernel.fit(observations, A, B)

    class SameStart(GRALS):
        def _start(self, shape):
            return kernel._spectral_start(observations)

    graph = SameStart(2, graph_weight=0.6, ridge=0.4, cg_steps=4, tol=0.0)
    graph.fit(observations, A, B)
    np.testing.assert_allclose(kernel.objective_trace_, graph.objective_trace_, rtol=1e-9)
    np.testing.assert_allclose(kernel.complete(), graph.complete(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_gradient_agrees_with_finite_differences(kernel):
    """In the coordinates Y of U = S Y that the solver moves in."""
    rng, observations, A, _ = small_case(6)
    penalty, V = kernel_penalty(7, A, kernel, 0.7, 0.3), rng.standard_normal((6, 2))
    by_row, _ = sides(observations, 1.0, NumbaBackend(1))

    def value(y):
        Y = y.reshape(7, 2)
        fit = dense_objective(observations, np.zeros((7, 7)), np.zeros((6, 6)), penalty.lift(Y), V)
        return fit + penalty.value(Y)

    def gradient(y):
        return -negative_gradient(MatrixFree(by_row, V), penalty, y.reshape(7, 2)).ravel()

    assert check_grad(value, gradient, rng.standard_normal(14)) < 1e-5


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_objective_never_rises(kernel):
    _, observations, A, B = small_case(2, 15, 12)
    model = KPMF(3, kernel=kernel, tol=0.0, random_state=0).fit(observations, A, B)
    trace = np.asarray(model.objective_trace_)
    assert (np.diff(trace) <= 1e-12 * trace[0]).all()


@pytest.mark.parametrize("kernel", ["regularized_laplacian", "diffusion"])
def test_the_fit_is_the_posterior_maximum_a_general_optimiser_finds(kernel):
    rng, observations, A, B = small_case(3)
    model = KPMF(
        2, kernel=kernel, kernel_weight=0.5, scale=1.0, cg_steps=20, max_iter=3000, tol=1e-14
    )
    model.set_params(random_state=0, noise_variance=0.5).fit(observations, A, B)
    prior_A = 0.5 * np.linalg.inv(dense_kernel(A, kernel, 0.5))
    prior_B = 0.5 * np.linalg.inv(dense_kernel(B, kernel, 0.5))

    def value(w):
        return dense_objective(observations, prior_A, prior_B, *np.split(w.reshape(13, 2), [7]))

    best = min(minimize(value, rng.random(26)).fun for _ in range(4))
    assert model.objective_trace_[-1] == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("shape", [(8, 6), (70, 60)])
def test_the_start_is_the_best_low_rank_fit_of_the_mean_filled_matrix(shape):
    rng = np.random.default_rng(4)
    observations = observe(rng, 3 + rng.standard_normal(shape))
    filled = as_nan(observations)
    filled[np.isnan(filled)] = observations.values.mean()
    U, V = mean_filled_factors(observations, 3, rng)
    P, s, Qt = np.linalg.svd(filled)
    np.testing.assert_allclose(U @ V.T, (P[:, :3] * s[:3]) @ Qt[:3], atol=1e-8)


def test_a_rank_above_the_smaller_side_still_fits():
    _, observations, A, B = small_case(5)
    assert np.isfinite(KPMF(9, random_state=0).fit(observations, A, B).complete()).all()


def test_an_unknown_kernel_is_refused_with_the_choices():
    _, observations, _, _ = small_case(0)
    with pytest.raises(ValueError, match="diffusion"):
        KPMF(kernel="rbf").fit(observations)
