"""Without graphs the `row` family is classic variational matrix completion."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import BMCG
from bmcg.baselines import VBMC
from bmcg.inference.updates import sweep
from tests.inference.small import PRIOR, blocks, brute_error, make_problem, start


def classic_rows(M, mask, V, C_v, tau, lam):
    """q(u_i) = N(τ C_i Σ_j x_ij v_j, C_i), C_i = (τ Σ_j ⟨v_j v_jᵀ⟩ + Λ)⁻¹, row by row."""
    U, C = np.zeros((len(M), len(lam))), np.zeros((len(M), len(lam), len(lam)))
    for i in range(len(M)):
        at = np.flatnonzero(mask[i])
        C[i] = np.linalg.inv(np.diag(lam) + tau * (V[at].T @ V[at] + C_v[at].sum(axis=0)))
        U[i] = tau * C[i] @ (M[i, at] @ V[at])
    return U, C


@pytest.mark.parametrize("seed", range(3))
def test_a_sweep_of_the_row_family_is_classic_variational_bayes(seed):
    problem = make_problem(seed=seed, graphs=False)
    state = start(problem, "row", seed=seed, sweeps=3)
    new, _, _ = sweep("row", problem.rows, problem.cols, PRIOR, state)
    tau, lam = float(state.tau.mean), state.lam.mean
    V, C_v = state.cols.mean, blocks(state.cols)
    U, C_u = classic_rows(problem.M, problem.mask, V, C_v, tau, lam)
    V, C_v = classic_rows(problem.M.T, problem.mask.T, U, C_u, tau, lam)
    for factors, mean, cov in ((new.rows, U, C_u), (new.cols, V, C_v)):
        np.testing.assert_allclose(factors.mean, mean, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(blocks(factors), cov, rtol=1e-9, atol=1e-12)
    energy = sum(np.einsum("ir,ir->r", F, F) for F in (U, V))
    energy += sum(np.einsum("irr->r", C) for C in (C_u, C_v))
    np.testing.assert_allclose(new.lam.rate, PRIOR.d0 + energy / 2, rtol=1e-10)
    error = brute_error(problem, new.rows, new.cols)
    assert float(new.tau.rate) == pytest.approx(PRIOR.likelihood.b0 + error / 2, rel=1e-10)


def test_both_estimators_end_at_the_same_matrix():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 30))
    X = truth + 0.1 * rng.normal(size=truth.shape)
    X[rng.random(X.shape) < 0.4] = np.nan
    X /= np.sqrt(np.nanmean(X**2))
    ours = BMCG(
        rank=2, posterior="row", bias=False, tol=1e-12, max_sweeps=300, random_state=0, n_jobs=1
    )
    theirs = VBMC(rank=2, tol=1e-16, max_iter=300, random_state=0, n_jobs=1)
    ours.fit(X)
    theirs.fit(X)
    assert ours.rank_ == theirs.rank_ == 2
    assert ours.noise_std_ == pytest.approx(theirs.noise_std_, rel=1e-4)
    # Without our change of basis the other creeps towards the common end.
    np.testing.assert_allclose(ours.complete(), theirs.complete(), atol=5e-3)
    assert theirs.elbo_trace_[100] < theirs.elbo_trace_[-1] <= ours.elbo_trace_[-1]
