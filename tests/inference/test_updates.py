"""Each update is brute-force dense algebra, and raises the bound."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.paper import update_u
from scipy.optimize import minimize

from bmcg.inference.families import FAMILIES
from bmcg.inference.updates import update_factors, update_lambda
from bmcg.likelihoods import Weighting
from tests.inference.small import (
    PRIOR,
    as_literal,
    blocks,
    bound,
    brute_error,
    brute_gamma_terms,
    dense_covariance,
    dense_system,
    make_problem,
    single_updates,
    start,
)

EXACT = {"gain_tol": 0.0, "max_steps": 500}


@pytest.mark.parametrize("graphs", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_factor_update_is_the_dense_solution(family, graphs):
    problem = make_problem(graphs=graphs)
    state = start(problem, family)
    tau, lam = 1.7, np.array([0.4, 1.0, 3.0])
    update = update_factors(family, problem.rows, state.cols, None, Weighting(tau), lam, **EXACT)
    m, k = update.factors.mean.shape
    Q, rhs = dense_system(problem, state, tau, lam)
    np.testing.assert_allclose(
        update.factors.mean, np.linalg.solve(Q, rhs).reshape(m, k), rtol=1e-8, atol=1e-10
    )
    covariance, log_det = dense_covariance(family, Q, m, k)
    own = covariance.reshape(m, k, m, k)[np.arange(m), :, np.arange(m), :]
    np.testing.assert_allclose(blocks(update.factors), own, rtol=1e-8, atol=1e-12)
    assert update.factors.log_det == pytest.approx(log_det, rel=1e-10)
    full = covariance + np.outer(update.factors.mean.ravel(), update.factors.mean.ravel())
    energy = np.einsum("irjs,ij->rs", full.reshape(m, k, m, k), problem.L_r)
    np.testing.assert_allclose(update.factors.energy, energy, rtol=1e-8, atol=1e-10)


def test_column_covariances_are_the_paper_s():
    problem = make_problem()
    state = start(problem, "column")
    tau, lam = float(state.tau.mean), state.lam.mean
    literal = as_literal(state)
    fast = update_factors(
        "column", problem.rows, state.cols, None, Weighting(tau), lam, **EXACT
    ).factors
    for r in range(state.rank):
        literal = update_u(literal, problem.M, problem.mask, problem.L_r, r)
        np.testing.assert_allclose(fast.cov[:, r], np.diag(literal.S_u[r]), rtol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_lambda_and_tau_updates_are_their_definitions(family):
    problem = make_problem()
    state = start(problem, family)
    lam = update_lambda(PRIOR, state).lam
    np.testing.assert_allclose(lam.shape, PRIOR.c0 + (9 + 7) / 2)
    expected = PRIOR.d0 + 0.5 * np.diag(state.rows.energy + state.cols.energy)
    np.testing.assert_allclose(lam.rate, expected)
    error = brute_error(problem, state.rows, state.cols)
    assert state.squared_error == pytest.approx(error, rel=1e-10)
    tau = PRIOR.likelihood.update_tau(int(problem.mask.sum()), error)
    assert float(tau.shape) == pytest.approx(PRIOR.likelihood.a0 + problem.mask.sum() / 2)
    assert float(tau.rate) == pytest.approx(PRIOR.likelihood.b0 + error / 2)


@pytest.mark.parametrize("graphs", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_bound_is_its_definition_with_every_constant(family, graphs):
    problem = make_problem(graphs=graphs)
    state = start(problem, family)
    n_observed, tau, lam = problem.mask.sum(), state.tau, state.lam
    from scipy.special import digamma

    log_tau = digamma(tau.shape) - np.log(tau.rate)
    log_lam = digamma(lam.shape) - np.log(lam.rate)
    error = brute_error(problem, state.rows, state.cols)
    total = 0.5 * n_observed * (log_tau - np.log(2 * np.pi)) - 0.5 * tau.mean * error
    for factors, L in ((state.rows, problem.L_r), (state.cols, problem.L_c)):
        n, k = factors.mean.shape
        prior = n * log_lam.sum() + k * np.linalg.slogdet(L)[1] - n * k * np.log(2 * np.pi)
        total += 0.5 * (prior - lam.mean @ np.diag(factors.energy))
        total += 0.5 * (n * k * (1 + np.log(2 * np.pi)) - factors.log_det)
    total += brute_gamma_terms(lam, PRIOR.c0, PRIOR.d0)
    total += brute_gamma_terms(tau, PRIOR.likelihood.a0, PRIOR.likelihood.b0)
    assert bound(problem, state) == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize("graphs", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_never_falls_in_any_single_update(family, graphs, seed):
    problem = make_problem(seed=seed, graphs=graphs)
    state = start(problem, family, seed=seed)
    last = bound(problem, state)
    for _ in range(15):
        for name, new in single_updates(problem, family, state):
            now, state = bound(problem, new), new
            assert now >= last - 1e-9 * abs(last), name
            last = now


@pytest.mark.parametrize("family", FAMILIES)
def test_a_converged_fit_is_where_a_general_optimiser_ends(family):
    """The means at the fixed point also maximise the bound for a quasi-Newton method."""
    problem = make_problem(m=5, n=4, density=0.8)
    state = start(problem, family, k=2, sweeps=400)
    lam, tau = state.lam.mean, float(state.tau.mean)
    C_u, C_v = blocks(state.rows), blocks(state.cols)

    def negative(x):
        U, V = x[:10].reshape(5, 2), x[10:].reshape(4, 2)
        error = (problem.mask * (problem.M - U @ V.T) ** 2).sum()
        for i, j in zip(*np.nonzero(problem.mask), strict=True):
            error += U[i] @ C_v[j] @ U[i] + V[j] @ C_u[i] @ V[j]
        prior = sum(lam @ np.diag(F.T @ L @ F) for F, L in ((U, problem.L_r), (V, problem.L_c)))
        return 0.5 * (tau * error + prior)

    here = np.concatenate((state.rows.mean.ravel(), state.cols.mean.ravel()))
    found = minimize(negative, here, method="BFGS", options={"gtol": 1e-9})
    assert negative(here) - found.fun < 1e-5 * abs(found.fun)


@pytest.mark.parametrize("seed", range(2))
def test_the_joint_family_reaches_the_highest_bound(seed):
    problem = make_problem(seed=seed, m=12, n=10, density=0.7)
    best = {
        family: max(
            bound(problem, start(problem, family, k=2, seed=s, sweeps=120)) for s in range(3)
        )
        for family in FAMILIES
    }
    assert best["joint"] >= best["column"] - 1e-6 * abs(best["column"])
    assert best["joint"] >= best["row"] - 1e-6 * abs(best["row"])
