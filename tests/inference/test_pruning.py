"""What a column is worth is known before it goes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bmcg.inference.covariance import Blocks, Diagonal
from bmcg.inference.families import FAMILIES
from bmcg.inference.pruning import (
    drop,
    error_increase,
    own_variance,
    removal_gains,
    select,
    surplus,
)
from bmcg.inference.rotation import rotate
from bmcg.inference.start import _widen
from bmcg.inference.state import Factors, Gamma
from bmcg.inference.updates import sweep
from tests.inference.small import PRIOR, blocks, bound, brute_error, make_problem, start


def swept(family, seed=0, **options):
    problem = make_problem(seed=seed, **options)
    state = start(problem, family, seed=seed, sweeps=2)
    state, U, V = sweep(family, problem.rows, problem.cols, PRIOR, state, gain_tol=0.0)
    return problem, state, U, V


def without(problem, family, state, updates, r):
    """The state less column r, τ and λ as they were, all moments recomputed."""
    keep = np.arange(state.rank) != r
    sides = []
    for factors, update in zip((state.rows, state.cols), updates, strict=True):
        left = select(factors, keep)
        if family == "column":
            log_det = update.spread.log_det[keep].sum()
        else:
            log_det = -np.linalg.slogdet(blocks(left))[1].sum()
        sides.append(replace(left, log_det=float(log_det)))
    lam = Gamma(state.lam.shape[keep], state.lam.rate[keep])
    error = brute_error(problem, *sides)
    return replace(state, rows=sides[0], cols=sides[1], lam=lam, squared_error=error)


@pytest.mark.parametrize("graphs", [True, False])
@pytest.mark.parametrize("family", ["column", "row"])
@pytest.mark.parametrize("seed", range(3))
def test_the_predicted_gain_of_a_removal_is_the_change_of_the_bound(family, graphs, seed):
    problem, state, U, V = swept(family, seed, graphs=graphs)
    gains = removal_gains(state, problem.rows, problem.cols, PRIOR, U, V)
    for r in range(state.rank):
        change = bound(problem, without(problem, family, state, (U, V), r)) - bound(problem, state)
        assert gains[r] == pytest.approx(change, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_error_grows_by_what_was_predicted(family):
    problem, state, _, V = swept(family)
    extra = error_increase(state.cols, V)
    for r in range(state.rank):
        keep = np.arange(state.rank) != r
        error = brute_error(problem, select(state.rows, keep), select(state.cols, keep))
        assert extra[r] == pytest.approx(error - state.squared_error, rel=1e-9)
        dropped = drop(state, ~keep, PRIOR, problem.rows, V)
        assert dropped.squared_error >= state.squared_error


@pytest.mark.parametrize("family", FAMILIES)
def test_a_columns_own_variance_is_that_of_its_products(family):
    problem, state, _, V = swept(family)
    found = own_variance(state, problem.cols, V)
    for r in range(state.rank):
        u, v = state.rows.mean[:, r], state.cols.mean[:, r]
        spread = [
            F.cov[:, r] if family == "column" else blocks(F)[:, r, r]
            for F in (state.rows, state.cols)
        ]
        moments = np.outer(u**2 + spread[0], v**2 + spread[1]) - np.outer(u**2, v**2)
        assert found[r] == pytest.approx((problem.mask * moments).sum(), rel=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_columns_of_noise_go_and_planted_ones_stay(family):
    problem = make_problem(m=30, n=25, density=0.8, noise=0.1, graphs=False)
    state = start(problem, family, k=5)
    for _ in range(20):
        state, U, V = sweep(
            family, problem.rows, problem.cols, PRIOR, rotate(state, PRIOR), gain_tol=0.0
        )
    dead = surplus(state, problem.rows, problem.cols, PRIOR, U, V)
    strong = np.argsort(state.lam.mean)[:2]
    assert dead.sum() == 3
    assert not dead[strong].any()


def test_at_least_one_column_stays():
    problem = make_problem(m=12, n=10, graphs=False)
    noise = np.random.default_rng(0).normal(size=problem.mask.shape)
    rows = replace(problem.rows.entries, values=noise[problem.mask > 0])
    cols = replace(problem.cols.entries, values=noise.T[problem.mask.T > 0])
    problem = replace(
        problem,
        rows=replace(problem.rows, entries=rows),
        cols=replace(problem.cols, entries=cols),
    )
    state = start(problem, "row", k=3, sweeps=40)
    state, U, V = sweep("row", problem.rows, problem.cols, PRIOR, state)
    assert surplus(state, problem.rows, problem.cols, PRIOR, U, V).sum() <= 2


def test_a_weak_column_of_use_stays_even_where_the_bound_would_gain():
    problem = make_problem(m=30, n=25, density=0.5, noise=2.0, graphs=False)
    kept = gone = 0
    state = start(problem, "row", k=4)
    for _ in range(30):
        state, U, V = sweep("row", problem.rows, problem.cols, PRIOR, state, gain_tol=0.0)
        gains = removal_gains(state, problem.rows, problem.cols, PRIOR, U, V)
        fit = error_increase(state.cols, V) - own_variance(state, problem.cols, V)
        weak = (gains > 0.0) & (fit > 0.0)
        dead = surplus(state, problem.rows, problem.cols, PRIOR, U, V)
        assert not dead[weak].any()
        kept += int(weak.sum())
        # One that fits, but by less than its own variance, would predict nothing.
        idle = (gains > 0.0) & (fit <= 0.0) & (error_increase(state.cols, V) > 0.0)
        assert dead[idle].all() or dead.sum() == state.rank - 1
        gone += int((dead & idle).sum())
    assert kept > 0
    assert gone > 0


@pytest.mark.parametrize("kind", [Diagonal, Blocks])
def test_new_components_are_put_before_the_bias_and_old_ones_stay(kind):
    rng, n, k, extra = np.random.default_rng(0), 5, 3, 2
    width = k if kind is Diagonal else k * (k + 1) // 2
    old = Factors(rng.standard_normal((n, k)), kind(rng.random((n, width))), 0.0, np.eye(k))
    new = _widen(old, k - 1, extra, 0.1, rng)
    kept = [0, 1, 4]
    np.testing.assert_array_equal(new.mean[:, kept], old.mean)
    np.testing.assert_array_equal(new.covariance.variances[:, kept], old.covariance.variances)
    assert not new.covariance.variances[:, 2:4].any()
    assert 0.0 < np.abs(new.mean[:, 2:4]).max() < 1.0
    assert new.energy.shape == (k + extra, k + extra)
