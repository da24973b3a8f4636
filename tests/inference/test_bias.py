"""Biases are components that meet a constant: held to dense algebra."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bmcg.inference import design
from bmcg.inference.families import FAMILIES
from bmcg.inference.rotation import rotate
from bmcg.inference.start import initial_state
from bmcg.inference.state import side_lam
from bmcg.inference.updates import (
    expected_squared_error,
    sweep,
    update_factors,
    update_lambda,
)
from bmcg.likelihoods import Weighting
from tests.inference.small import PRIOR, blocks, bound, make_problem

K = 2
EXACT = {"biased": True, "gain_tol": 0.0, "max_steps": 500}


def biased_state(problem, family, seed=0, sweeps=2):
    state = initial_state(problem.rows, problem.cols, family, K, seed, biased=True)
    for _ in range(sweeps):
        state, _, _ = sweep(family, problem.rows, problem.cols, PRIOR, state, gain_tol=0.0)
    return state


def seen_by_rows(factors):
    """⟨y yᵀ⟩ and ⟨c y⟩ of each column j, y = (v_j, 1) what meets (u_i, b_i), c its bias."""
    V, C, n = factors.mean, blocks(factors), len(factors.mean)
    second, cross = np.zeros((n, K + 1, K + 1)), np.zeros((n, K + 1))
    for j in range(n):
        y, c = np.append(V[j, :K], 1.0), V[j, K]
        second[j] = np.outer(y, y)
        second[j, :K, :K] += C[j, :K, :K]
        cross[j] = c * y
        cross[j, :K] += C[j, :K, K]
    return second, cross


def brute_biased_error(problem, rows, cols):
    """⟨Σ (x − u·v − b − c)²⟩ from first principles, by moments of independent pairs."""
    second, cross = seen_by_rows(cols)
    C_u, C_v, total = blocks(rows), blocks(cols), 0.0
    for i, j in zip(*np.nonzero(problem.mask), strict=True):
        x, u, c = problem.M[i, j], rows.mean[i], cols.mean[j, K]
        uu = np.outer(u, u) + C_u[i]
        total += x**2 - 2 * x * c + c**2 + C_v[j, K, K]
        total += np.trace(uu @ second[j]) - 2 * u @ (x * np.append(cols.mean[j, :K], 1.0))
        total += 2 * u @ cross[j]
    return total


@pytest.mark.parametrize("family", FAMILIES)
def test_the_sums_with_biases_are_their_definitions(family):
    problem = make_problem()
    state = biased_state(problem, family)
    found = design.sums(problem.rows.entries, state.cols, True)
    second, cross = seen_by_rows(state.cols)
    y = np.hstack((state.cols.mean[:, :K], np.ones((7, 1))))
    r, s = np.tril_indices(K + 1)
    grams = np.einsum("ij,jrs->irs", problem.mask, second)[:, r, s]
    targets = (problem.mask * problem.M) @ y - problem.mask @ cross
    np.testing.assert_allclose(found.grams, grams, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.targets, targets, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_update_with_biases_is_the_dense_solution(family):
    problem = make_problem()
    state = biased_state(problem, family)
    tau, lam = 1.3, np.array([0.5, 2.0, 0.7])
    found = update_factors(
        family, problem.rows, state.cols, None, Weighting(tau), lam, **EXACT
    ).factors
    second, cross = seen_by_rows(state.cols)
    y = np.hstack((state.cols.mean[:, :K], np.ones((7, 1))))
    Q = np.kron(problem.L_r, np.diag(lam))
    for i in range(9):
        at = slice(i * (K + 1), (i + 1) * (K + 1))
        Q[at, at] += tau * np.einsum("j,jrs->rs", problem.mask[i], second)
    rhs = tau * ((problem.mask * problem.M) @ y - problem.mask @ cross)
    mean = np.linalg.solve(Q, rhs.ravel()).reshape(9, K + 1)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_expected_error_with_biases_is_its_definition_from_either_side(family):
    problem = make_problem()
    state = biased_state(problem, family)
    tau = float(state.tau.mean)
    brute = brute_biased_error(problem, state.rows, state.cols)
    assert state.squared_error == pytest.approx(brute, rel=1e-9)
    U = update_factors(
        family,
        problem.rows,
        state.cols,
        None,
        Weighting(tau),
        side_lam(state, "rows").mean,
        **EXACT,
    )
    error = expected_squared_error(problem.rows, U, state.cols, True)
    brute = brute_biased_error(problem, U.factors, state.cols)
    assert error == pytest.approx(brute, rel=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_bound_never_falls_with_biases(family):
    problem = make_problem(seed=1)
    state = biased_state(problem, family)
    last = bound(problem, state)
    for _ in range(8):
        for new in biased_updates(problem, family, state):
            now = bound(problem, new)
            assert now >= last - 1e-9 * abs(last)
            last, state = now, new


def biased_updates(problem, family, state):
    """q(U), q(V), q(λ), q(τ) one at a time, then the best basis."""
    tau = float(state.tau.mean)
    U = update_factors(
        family,
        problem.rows,
        state.cols,
        None,
        Weighting(tau),
        side_lam(state, "rows").mean,
        **EXACT,
    )
    error = expected_squared_error(problem.rows, U, state.cols, True)
    state = replace(state, rows=U.factors, squared_error=error)
    yield state
    V = update_factors(
        family,
        problem.cols,
        state.rows,
        None,
        Weighting(tau),
        side_lam(state, "cols").mean,
        **EXACT,
    )
    error = expected_squared_error(problem.cols, V, state.rows, True)
    state = replace(state, cols=V.factors, squared_error=error)
    yield state
    state = update_lambda(PRIOR, state)
    yield state
    state = replace(state, tau=PRIOR.likelihood.update_tau(len(problem.rows.entries.values), error))
    yield state
    yield rotate(state, PRIOR)
