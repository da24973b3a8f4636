"""VBMC against dense formulas, against BMCG's updates without graphs, and by its bound."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg.backends import NumbaBackend
from bmcg.backends.packed import pack, unpack
from bmcg.baselines import VBMC
from bmcg.baselines.alternating import sides
from bmcg.baselines.vbmc import contributions, keep_columns, lower_bound, update
from bmcg.graphs.precision import identity_precision
from bmcg.inference.covariance import Blocks
from bmcg.inference.elbo import elbo
from bmcg.inference.side import Prior, Side
from bmcg.inference.state import Factors, State
from bmcg.inference.updates import sweep
from bmcg.linalg.engines import DiagonalEngine

from .planted import as_nan, observe


def problem(seed=0, m=10, n=8, rank=2, noise=0.2, share=0.7):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n))
    return M, observe(rng, M, share, noise)


def started(observations, rank=4):
    views = sides(observations, 1.0, NumbaBackend(1))
    return views, VBMC(rank)._start(observations, 1.0)


def dense_update(X, state, hyperprior):
    """One iteration with explicit inverses, row by row."""
    seen, tau, lam = ~np.isnan(X), float(state.tau.mean), state.lam.mean
    x = np.nan_to_num(X)

    def half(x, seen, mean, cov):
        C = [
            np.linalg.inv(
                tau * sum(np.outer(mean[j], mean[j]) + cov[j] for j in np.flatnonzero(row))
                + np.diag(lam)
            )
            for row in seen
        ]
        means = [tau * C[i] @ (mean[row].T @ x[i, row]) for i, row in enumerate(seen)]
        return np.asarray(means), np.asarray(C)

    U, C = half(x, seen, state.cols.mean, unpack(state.cols.cov))
    V, D = half(x.T, seen.T, U, C)
    energy = (U**2).sum(0) + (V**2).sum(0)
    energy += np.einsum("irr->r", C) + np.einsum("irr->r", D)
    rate = hyperprior + energy / 2
    error = 0.0
    for i, j in zip(*np.nonzero(seen), strict=True):
        uu, vv = np.outer(U[i], U[i]) + C[i], np.outer(V[j], V[j]) + D[j]
        error += X[i, j] ** 2 - 2 * X[i, j] * U[i] @ V[j] + np.trace(uu @ vv)
    return U, C, V, D, (hyperprior + sum(X.shape) / 2) / rate, error


def test_an_iteration_is_the_dense_formula():
    _, observations = problem()
    views, state = started(observations)
    X = as_nan(observations)
    for _ in range(3):
        U, C, V, D, lam, error = dense_update(X, state, 1e-6)
        state = update(views, state, 1e-6)
        np.testing.assert_allclose(state.rows.mean, U, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(state.cols.mean, V, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(state.rows.cov, pack(C), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(state.cols.cov, pack(D), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(state.lam.mean, lam, rtol=1e-8)
        np.testing.assert_allclose(state.squared_error, error, rtol=1e-8)
        np.testing.assert_allclose(state.tau.mean, len(observations) / error, rtol=1e-5)


def test_bmcg_without_graphs_takes_the_same_steps_to_the_same_bound():
    _, observations = problem(1)
    views, state = started(observations)
    state = update(views, state, 1e-6)
    halves = []
    for side in views:
        engine = DiagonalEngine(NumbaBackend(1))
        halves.append(Side(side, engine.prepare(identity_precision(side.n)), engine))

    def factors(side):
        covariance = unpack(side.cov).sum(axis=0)
        return Factors(
            side.mean, Blocks(side.cov), side.log_det, side.mean.T @ side.mean + covariance
        )

    other = State(
        factors(state.rows), factors(state.cols), state.lam, state.tau, state.squared_error
    )
    for _ in range(3):
        ours = lower_bound(state, len(observations), 1e-6)
        np.testing.assert_allclose(ours, elbo(other, *halves, Prior()), rtol=1e-9)
        state = update(views, state, 1e-6)
        other = sweep("row", *halves, Prior(), other)[0]
        np.testing.assert_allclose(state.rows.mean, other.rows.mean, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(state.cols.cov, other.cols.cov, rtol=1e-7, atol=1e-11)
        np.testing.assert_allclose(state.lam.mean, other.lam.mean, rtol=1e-7)
        np.testing.assert_allclose(state.tau.mean, other.tau.mean, rtol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_never_falls_while_no_column_is_dropped(seed):
    _, observations = problem(seed, 30, 20)
    model = VBMC(5, prune_ratio=1e30, tol=0.0, max_iter=80).fit(observations)
    assert np.all(np.diff(model.elbo_trace_) >= -1e-8 * np.abs(model.elbo_trace_[-1]))
    assert model.elbo_trace_[-1] > model.elbo_trace_[0]


def test_the_predictive_variance_is_that_of_draws_from_the_posterior():
    _, observations = problem(2, noise=0.5)
    model = VBMC(3, max_iter=30, prune_ratio=1e30, tol=0.0).fit(observations)
    kept, rng = model.fitted_, np.random.default_rng(0)
    i, j = 3, 5
    u = rng.multivariate_normal(kept.row_means[i], unpack(kept.row_covariances)[i], 200_000)
    v = rng.multivariate_normal(kept.col_means[j], unpack(kept.col_covariances)[j], 200_000)
    entry = np.einsum("sk,sk->s", u, v)
    mean, std = model.predict([i], [j], return_std=True, include_noise=False)
    np.testing.assert_allclose(entry.mean(), mean[0], atol=0.01)
    np.testing.assert_allclose(entry.std(), std[0], rtol=0.02)
    noisy = model.predict([i], [j], return_std=True)[1]
    np.testing.assert_allclose(noisy[0] ** 2 - std[0] ** 2, model.noise_std_**2)


def test_the_planted_noise_is_found_and_intervals_cover():
    M, observations = problem(3, 80, 70, 3, 0.3, 0.6)
    model = VBMC(12, max_iter=200).fit(observations)
    assert 0.27 < model.noise_std_ < 0.33
    hidden = np.isnan(as_nan(observations))
    mean, std = model.predict(*np.nonzero(hidden), return_std=True)
    new = M[hidden] + 0.3 * np.random.default_rng(0).standard_normal(hidden.sum())
    assert 0.86 < np.mean(np.abs(new - mean) < 1.645 * std) < 0.94


@pytest.mark.parametrize("unit", [1e-3, 255.0])
def test_the_unit_of_measurement_changes_nothing_but_the_unit(unit):
    """Started in the units of the data, grey levels up to 255 were shrunk to nothing."""
    _, observations = problem(5, 30, 25)
    plain = VBMC(6, random_state=0).fit(observations)
    other = VBMC(6, random_state=0).fit(observations.with_values(unit * observations.values))
    assert other.rank_ == plain.rank_ > 0
    np.testing.assert_allclose(other.complete(), unit * plain.complete(), rtol=1e-6, atol=1e-9)
    assert other.noise_std_ == pytest.approx(unit * plain.noise_std_, rel=1e-6)
    spread = [model.predict([2], [3], return_std=True)[1][0] for model in (plain, other)]
    assert spread[1] == pytest.approx(unit * spread[0], rel=1e-6)


def test_dropping_columns_keeps_the_others():
    _, observations = problem(4)
    views, state = started(observations)
    state = update(views, state, 1e-6)
    keep = np.array([True, False, True, False])
    less = keep_columns(state, keep)
    np.testing.assert_array_equal(less.rows.mean, state.rows.mean[:, keep])
    full = unpack(state.cols.cov)[:, keep][:, :, keep]
    np.testing.assert_array_equal(unpack(less.cols.cov), full)
    assert len(keep_columns(state, np.zeros(4, bool)).lam.shape) == 1
    product = state.rows.mean[:, :1] @ state.cols.mean[:, :1].T
    np.testing.assert_allclose(contributions(state)[0], np.mean(product**2))
