from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from bmcg.backends import NumbaBackend
from bmcg.baselines import GRALS
from bmcg.baselines.alternating import (
    Grams,
    MatrixFree,
    Penalty,
    alternate,
    correction,
    least_squares,
    precision_penalty,
    sides,
)
from bmcg.baselines.grals import weighted_precision

from .planted import laplacian, observe, random_graph, smooth_matrix


def negative_gradient(fit, penalty, Y):
    """−∂/∂Y of the objective at coordinates Y."""
    return penalty.lift(fit.pull(penalty.lift(Y))[0]) - penalty.apply(Y)


def dense_objective(observations, A, B, U, V):
    """The definition, on dense arrays."""
    fitted = np.einsum("pk,pk->p", U[observations.row_indices], V[observations.col_indices])
    fit = np.sum((observations.values - fitted) ** 2)
    return 0.5 * (fit + np.trace(U.T @ A @ U) + np.trace(V.T @ B @ V))


def small_case(seed, m=7, n=6):
    rng = np.random.default_rng(seed)
    observations = observe(rng, rng.standard_normal((m, 2)) @ rng.standard_normal((2, n)))
    return rng, observations, random_graph(rng, m), random_graph(rng, n)


@pytest.mark.parametrize("seed", range(3))
def test_the_objective_never_rises_and_is_the_one_defined(seed):
    _, observations, A, B = small_case(seed, 15, 12)
    model = GRALS(3, graph_weight=(0.3, 0.7), ridge=0.05, scale=1.0, tol=0.0, random_state=seed)
    model.fit(observations, A, B)
    trace = np.asarray(model.objective_trace_)
    assert (np.diff(trace) <= 1e-12 * trace[0]).all()
    assert trace[-1] < 0.9 * trace[0]
    expected = dense_objective(
        observations,
        0.3 * laplacian(A) + 0.05 * np.eye(15),
        0.7 * laplacian(B) + 0.05 * np.eye(12),
        model.fitted_.row_factors,
        model.fitted_.col_factors,
    )
    assert trace[-1] == pytest.approx(expected, rel=1e-10)


def from_grams(side, F):
    return Grams(side, F, *side.backend.gram_and_sums(side, F), float(np.sum(side.values**2)))


@pytest.mark.parametrize("kind", [MatrixFree, from_grams])
def test_the_gradient_agrees_with_finite_differences(kind):
    rng, observations, A, _ = small_case(0)
    by_row, _ = sides(observations, 1.0, NumbaBackend(1))
    penalty = precision_penalty(weighted_precision(7, A, 0.4, 0.1))
    V = rng.standard_normal((6, 3))
    prior = 0.4 * laplacian(A) + 0.1 * np.eye(7)

    def value(u):
        return dense_objective(observations, prior, np.zeros((6, 6)), u.reshape(7, 3), V)

    def gradient(u):
        U = u.reshape(7, 3)
        return -negative_gradient(kind(by_row, V), penalty, U).ravel()

    assert check_grad(value, gradient, rng.standard_normal(21)) < 1e-5


@pytest.mark.parametrize("noise", [1.0, 1e-7])
def test_the_squared_error_is_exact_even_where_it_cancels(noise):
    rng = np.random.default_rng(8)
    U, V = rng.standard_normal((30, 3)), rng.standard_normal((40, 3))
    observations = observe(rng, U @ V.T, 0.9, noise)
    side = sides(observations, 1.0, NumbaBackend(1))[0]
    fit = least_squares(side, V, 2, float(np.sum(side.values**2)))
    assert isinstance(fit, Grams)
    expected = MatrixFree(side, V).pull(U)
    np.testing.assert_allclose(fit.pull(U)[0], expected[0], atol=1e-10)
    assert fit.pull(U)[1] == pytest.approx(expected[1], rel=1e-9)


@pytest.mark.parametrize("k", [2, 3])
def test_enough_steps_on_one_side_solve_its_dense_system(k):
    rng, observations, A, _ = small_case(1)
    by_row, _ = sides(observations, 1.0, NumbaBackend(1))
    penalty = precision_penalty(weighted_precision(7, A, 0.4, 0.1))
    U, V = rng.standard_normal((7, k)), rng.standard_normal((6, k))
    fit = least_squares(by_row, V, 60, float(np.sum(by_row.values**2)))
    found = U + correction(fit, penalty, negative_gradient(fit, penalty, U), 60)
    mask = observations.to_csr().astype(bool).toarray()
    G = np.zeros((7 * k, 7 * k))
    for i in range(7):
        G[i * k : (i + 1) * k, i * k : (i + 1) * k] = V[mask[i]].T @ V[mask[i]]
    Q = G + np.kron(0.4 * laplacian(A) + 0.1 * np.eye(7), np.eye(k))
    rhs = (observations.to_csr().toarray() @ V).ravel()
    np.testing.assert_allclose(found.ravel(), np.linalg.solve(Q, rhs), rtol=1e-8)


@pytest.mark.parametrize("kind", [MatrixFree, from_grams])
def test_few_steps_are_those_of_textbook_conjugate_gradients(kind):
    rng, observations, A, _ = small_case(2, 12, 9)
    by_row, _ = sides(observations, 1.0, NumbaBackend(1))
    penalty = precision_penalty(weighted_precision(12, A, 0.4, 0.1))
    U, V = rng.standard_normal((12, 8)), rng.standard_normal((9, 8))
    mask = observations.to_csr().astype(bool).toarray()

    def apply(X):
        grams = [V[mask[i]].T @ (V[mask[i]] @ X[i]) for i in range(12)]
        return np.asarray(grams) + penalty.apply(X)

    fit = kind(by_row, V)
    r = descent = negative_gradient(fit, penalty, U)
    x, p = np.zeros_like(r), r
    for _ in range(2):
        alpha = np.sum(r * r) / np.sum(p * apply(p))
        x, fresh = x + alpha * p, r - alpha * apply(p)
        p, r = fresh + np.sum(fresh * fresh) / np.sum(r * r) * p, fresh
    np.testing.assert_allclose(correction(fit, penalty, descent, 2), x, rtol=1e-9, atol=1e-12)


def test_the_fit_is_a_minimum_that_a_general_optimiser_also_finds():
    rng, observations, A, B = small_case(3)
    prior_A = 0.4 * laplacian(A) + 0.3 * np.eye(7)
    prior_B = 0.4 * laplacian(B) + 0.3 * np.eye(6)
    model = GRALS(2, ridge=0.3, scale=1.0, cg_steps=20, max_iter=3000, tol=1e-14, random_state=0)
    model.fit(observations, A, B)

    def value(w):
        return dense_objective(observations, prior_A, prior_B, *np.split(w.reshape(13, 2), [7]))

    best = min(minimize(value, rng.random(26)).fun for _ in range(4))
    assert model.objective_trace_[-1] == pytest.approx(best, rel=1e-5)
    assert model.converged_


def test_a_side_without_a_graph_has_the_identity_for_its_laplacian():
    _, observations, _, _ = small_case(4)
    joined = GRALS(2, graph_weight=0.25, ridge=0.5, random_state=0).fit(observations)
    plain = GRALS(2, graph_weight=0.0, ridge=0.75, random_state=0).fit(observations)
    np.testing.assert_allclose(joined.complete(), plain.complete(), rtol=1e-10)


def test_scaling_the_data_scales_the_prediction_alone():
    _, observations, A, B = small_case(5)
    small = GRALS(2, random_state=0).fit(observations, A, B)
    large = GRALS(2, random_state=0).fit(observations.with_values(100 * observations.values), A, B)
    np.testing.assert_allclose(large.complete(), 100 * small.complete(), rtol=1e-9)
    assert large.scale_ == pytest.approx(100 * np.abs(observations.values).max())


def test_graphs_help_where_the_truth_is_smooth():
    rng = np.random.default_rng(6)
    M, A, B = smooth_matrix(rng)
    observations = observe(rng, M, 0.15, noise=0.02)
    with_graphs = GRALS(3, random_state=0).fit(observations, A, B)
    without = GRALS(3, ridge=0.05, graph_weight=0.0, random_state=0).fit(observations)
    error = [np.sqrt(np.mean((model.complete() - M) ** 2)) for model in (with_graphs, without)]
    assert error[0] < 0.6 * error[1]


def test_lifted_coordinates_reach_the_same_optimum():
    """U = S Y with the penalty ½‖Y‖² is the penalty ½ tr(UᵀS⁻²U)."""
    rng, observations, A, _ = small_case(7)
    S = np.linalg.inv(np.eye(7) + laplacian(A))
    views = sides(observations, 1.0, NumbaBackend(1))
    start = rng.random((7, 2)), rng.random((6, 2))
    ridge = Penalty(lambda Z: Z)
    options = {"max_iter": 500, "cg_steps": 20, "tol": 1e-15}
    lifted = alternate(views, (Penalty(lambda Y: Y, lambda Y: S @ Y), ridge), start, **options)
    inverse = np.linalg.inv(S @ S)
    plain = alternate(
        views,
        (Penalty(lambda Y: inverse @ Y), ridge),
        (S @ start[0], start[1]),
        **options,
    )
    assert lifted.objective[-1] == pytest.approx(plain.objective[-1], rel=1e-6)


@pytest.mark.parametrize(
    "bad",
    [{"graph_weight": -1.0}, {"graph_weight": (1.0, 2.0, 3.0)}, {"ridge": -0.1}, {"cg_steps": 0}],
)
def test_bad_parameters_are_named(bad):
    _, observations, _, _ = small_case(0)
    with pytest.raises(ValueError, match=next(iter(bad))):
        GRALS(**bad).fit(observations)
