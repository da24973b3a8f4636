from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from bmcg.baselines import MCOnGraphs, admm
from bmcg.baselines.admm import Problem, Weights, shrink, solve
from bmcg.graphs.precision import graph_precision

from .planted import as_nan, laplacian, observe, random_graph, smooth_matrix


def small_problem(seed=0, m=6, n=5):
    rng = np.random.default_rng(seed)
    observations = observe(rng, 2 * rng.standard_normal((m, 2)) @ rng.standard_normal((2, n)))
    A, B = random_graph(rng, m), random_graph(rng, n)
    laplacians = (graph_precision(G, 0.0).to_csr() for G in (A, B))
    data = (observations.row_indices, observations.col_indices, observations.values)
    return observations, Problem((m, n), *data, *laplacians), A, B


def test_the_optimum_is_the_one_a_general_optimiser_finds():
    """‖X‖_* is the least ½(‖U‖² + ‖V‖²) over X = UVᵀ: a smooth problem with full factors."""
    observations, problem, A, B = small_problem()
    weights = Weights(0.8, 0.1, 0.2)
    found = solve(problem, weights, None, None, max_iter=5000, tol=1e-10, cg_tol=1e-12)
    L_r, L_c = laplacian(A), laplacian(B)
    M, mask = np.nan_to_num(as_nan(observations)), ~np.isnan(as_nan(observations))

    def value_and_gradient(w):
        U, V = np.split(w.reshape(11, 5), [6])
        X = U @ V.T
        E = mask * (X - M)
        value = 0.5 * np.sum(w**2) + 0.8 * np.sum(E**2)
        value += 0.1 * np.trace(X.T @ L_r @ X) + 0.2 * np.trace(X @ L_c @ X.T)
        G = 1.6 * E + 0.2 * L_r @ X + 0.4 * X @ L_c
        return value, np.vstack((U + G @ V, V + G.T @ U)).ravel()

    rng = np.random.default_rng(0)
    options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10}
    best = min(
        minimize(
            value_and_gradient, rng.random(55), jac=True, method="L-BFGS-B", options=options
        ).fun
        for _ in range(3)
    )
    assert found.converged
    assert found.objective[-1] == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_residuals_never_rise(seed):
    _, problem, _, _ = small_problem(seed, 20, 15)
    found = solve(problem, Weights(1.0, 0.05, 0.1), None, None, max_iter=80, tol=0.0, cg_tol=1e-13)
    residual = np.asarray(found.residual)
    assert (np.diff(residual) <= 1e-9 * residual[0]).all()
    assert residual[-1] < 1e-3 * residual[0]


def test_a_linear_system_that_runs_out_of_steps_is_told():
    _, problem, _, _ = small_problem(0, 20, 15)
    with pytest.warns(RuntimeWarning, match="the last linear system of ADMM ran out of"):
        solve(problem, Weights(1.0, 0.05, 0.1), None, None, max_iter=3, tol=0.0, cg_tol=0.0)


def test_the_penalty_changes_the_path_but_not_the_solution():
    _, problem, _, _ = small_problem(1, 12, 10)
    weights = Weights(1.0, 0.05, 0.1)
    ends = [
        solve(problem, weights, rho, None, max_iter=5000, tol=1e-9, cg_tol=1e-12).objective[-1]
        for rho in (0.2, 1.0, 3.0)
    ]
    np.testing.assert_allclose(ends, ends[0], rtol=1e-6)


def test_the_zero_weight_is_where_the_solution_leaves_zero():
    _, problem, _, _ = small_problem(2, 12, 10)
    tau = problem.zero_weight
    for factor, rank in ((0.99, 0), (1.2, 1)):
        weights = Weights(factor * tau, 0.0, 0.0)
        found = solve(problem, weights, None, None, max_iter=2000, tol=1e-12)
        assert len(found.values) == rank


def test_thresholding_is_the_proximal_map_of_the_nuclear_norm():
    rng = np.random.default_rng(3)
    Y = rng.standard_normal((8, 6))
    P, s, Q = shrink(Y, 1.0)
    X = (P * s) @ Q.T
    # Optimality: (Y − X) / threshold is a subgradient, P Qᵀ plus a part of norm at most one
    # orthogonal to P and Q.
    rest = Y - X - P @ Q.T
    assert np.linalg.norm(rest, 2) <= 1.0 + 1e-12
    np.testing.assert_allclose(P.T @ rest, 0.0, atol=1e-12)
    np.testing.assert_allclose(rest @ Q, 0.0, atol=1e-12)


def test_power_steps_from_a_nearby_basis_equal_the_full_decomposition(monkeypatch):
    rng = np.random.default_rng(4)
    low = rng.standard_normal((90, 4)) @ rng.standard_normal((4, 80))
    Y = low + 0.05 * rng.standard_normal((90, 80))
    P, s, Q = shrink(Y, 3.0)
    monkeypatch.setattr(admm, "FULL_SVD", 10)
    nearby = np.linalg.qr(Q + 0.1 * rng.standard_normal(Q.shape))[0]
    p, t, q = shrink(Y, 3.0, nearby)
    np.testing.assert_allclose((p * t) @ q.T, (P * s) @ Q.T, atol=1e-6)


def test_weights_not_given_are_chosen_and_stated():
    rng = np.random.default_rng(5)
    M, A, B = smooth_matrix(rng)
    model = MCOnGraphs(random_state=0).fit(observe(rng, M, 0.4), A, B)
    tried = dict(model.validation_)
    assert tried[model.weights_] == min(tried.values())
    assert model.weights_.row > 0
    assert len(tried) >= 4
    fit, row, col = model.weights_
    fixed = MCOnGraphs(fit_weight=fit, row_weight=row, col_weight=col)
    fixed.fit(observe(np.random.default_rng(5), M, 0.4), A, B)
    assert fixed.validation_ == []


def test_graphs_help_where_the_truth_is_smooth():
    rng = np.random.default_rng(6)
    M, A, B = smooth_matrix(rng)
    observations = observe(rng, M, 0.2, noise=0.02)
    error = [
        np.sqrt(np.mean((MCOnGraphs(random_state=0).fit(observations, *g).complete() - M) ** 2))
        for g in ((A, B), (None, None))
    ]
    assert error[0] < 0.8 * error[1]


def test_a_matrix_that_does_not_fit_is_refused_before_any_work():
    rng = np.random.default_rng(7)
    observations = observe(rng, rng.standard_normal((50, 40)))
    with pytest.raises(MemoryError, match="memory_limit"):
        MCOnGraphs(memory_limit=100_000).fit(observations)


def test_the_memory_is_said_before_the_fit(capsys):
    rng = np.random.default_rng(8)
    MCOnGraphs(fit_weight=1.0, verbose=True).fit(observe(rng, rng.standard_normal((50, 40))))
    assert "MiB" in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize(
    "bad", [{"fit_weight": 0.0}, {"row_weight": -1.0}, {"validation_share": 1.0}, {"tol": -1.0}]
)
def test_bad_parameters_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        MCOnGraphs(**bad).fit(np.eye(4))
