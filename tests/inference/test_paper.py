"""Solving all means together changes the path, not where it can end."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.paper import algorithm_one, expected_error
from scipy.optimize import root

from bmcg.inference.covariance import Diagonal
from bmcg.inference.side import Prior
from bmcg.inference.state import Factors, Gamma, State
from bmcg.inference.updates import sweep
from bmcg.likelihoods import Gaussian
from tests.inference.small import as_literal, make_problem, start

K = 2
SEEDS = range(3)
# With vague hyperpriors an unused column takes thousands of sweeps to die; these hold it.
PRIOR = Prior(1.0, 1.0, Gaussian(1.0, 1.0))


def joint_sweep(problem, state):
    return sweep("column", problem.rows, problem.cols, PRIOR, state, gain_tol=0.0)[0]


def paper_sweep(problem, state):
    return algorithm_one(state, problem.M, problem.mask, problem.L_r, problem.L_c, PRIOR)


def from_literal(problem, state):
    """The fast state of a literal one."""
    sides = [
        Factors(F, Diagonal(np.stack([np.diag(C) for C in S], axis=1)), np.nan, np.eye(K))
        for F, S in ((state.U, state.S_u), (state.V, state.S_v))
    ]
    lam, tau = Gamma(state.lam_shape, state.lam_rate), (state.tau_shape, state.tau_rate)
    error = expected_error(state, problem.M, problem.mask)
    return State(sides[0], sides[1], lam, Gamma(*map(np.asarray, tau)), error)


def vector(state):
    """All that a sweep of either kind reads, on scales without bounds."""
    parts = (
        state.rows.mean,
        state.cols.mean,
        np.log(state.cols.cov),
        np.log(state.lam.rate),
        np.log(state.tau.rate),
    )
    return np.concatenate([np.ravel(part) for part in parts])


def with_vector(state, x):
    """The state at such a vector."""
    m, n = state.rows.mean.size, state.cols.mean.size
    U, V, log_var, log_rates = np.split(x, np.cumsum((m, n, n)))
    rows = Factors(U.reshape(-1, K), state.rows.covariance, np.nan, np.eye(K))
    cols = Factors(V.reshape(-1, K), Diagonal(np.exp(log_var).reshape(-1, K)), np.nan, np.eye(K))
    lam, tau = Gamma(state.lam.shape, np.exp(log_rates[:-1])), np.exp(log_rates[-1])
    return State(rows, cols, lam, Gamma(state.tau.shape, tau), state.squared_error)


def fixed_point(step, state):
    """Where a sweep changes nothing, by a Newton method on what it changes.

    Sweeps alone creep: columns of nearly equal strength turn into each other's basis slowly.
    """
    for _ in range(40):
        state = step(state)
    found = root(lambda x: vector(step(with_vector(state, x))) - x, vector(state), tol=1e-12)
    state = step(with_vector(state, found.x))
    assert np.abs(vector(step(state)) - vector(state)).max() < 1e-8, "not a fixed point"
    return state


@pytest.mark.parametrize("seed", SEEDS)
def test_a_fixed_point_of_the_joint_solve_is_one_of_the_paper_s_sweeps(seed):
    problem = make_problem(seed=seed)
    begin = start(problem, "column", k=K, seed=seed)
    state = fixed_point(lambda s: joint_sweep(problem, s), begin)
    after = from_literal(problem, paper_sweep(problem, as_literal(state)))
    np.testing.assert_allclose(vector(after), vector(state), atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_fixed_point_of_the_paper_s_sweeps_is_one_of_the_joint_solve(seed):
    problem = make_problem(seed=seed)

    def step(state):
        return from_literal(problem, paper_sweep(problem, as_literal(state)))

    state = fixed_point(step, start(problem, "column", k=K, seed=seed))
    after = joint_sweep(problem, state)
    np.testing.assert_allclose(vector(after), vector(state), atol=1e-6)


def test_away_from_a_fixed_point_the_two_schedules_take_different_steps():
    problem = make_problem()
    state = start(problem, "column", k=K)
    fast, literal = joint_sweep(problem, state), paper_sweep(problem, as_literal(state))
    assert np.abs(fast.rows.mean - literal.U).max() > 1e-3 * np.abs(literal.U).max()
