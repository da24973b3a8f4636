"""BPMF: its conditionals in closed form, its stationary moments on a tiny problem."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from bmcg import Observations
from bmcg.backends import NumbaBackend
from bmcg.backends.packed import pack
from bmcg.baselines import BPMF
from bmcg.baselines.alternating import sides
from bmcg.baselines.bpmf import (
    Hyperprior,
    draw_hyperparameters,
    draw_noise_precision,
    draw_side,
    draw_wishart,
)

from .planted import as_nan, observe


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("n", [1, 8, 21])
def test_a_draw_has_the_mean_and_the_root_of_the_covariance(k, n):
    rng = np.random.default_rng(k * n)
    A = rng.standard_normal((n, k, k + 2))
    P, h, z = A @ A.transpose(0, 2, 1), rng.standard_normal((n, k)), rng.standard_normal((n, k))
    found = NumbaBackend(2).draw_rows(pack(P), h, z)
    for i in range(n):
        root = np.linalg.cholesky(P[i])
        expected = np.linalg.solve(P[i], h[i]) + scipy.linalg.solve_triangular(
            root, z[i], lower=True, trans="T"
        )
        np.testing.assert_allclose(found[i], expected, rtol=1e-9, atol=1e-12)


def test_a_precision_that_is_not_positive_definite_is_seen():
    assert np.isnan(
        NumbaBackend(1).draw_rows(-np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)))
    ).all()


def test_the_conditional_of_a_row_is_the_closed_form():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((6, 5))
    M[:, 2] = np.nan
    observations = observe(rng, np.nan_to_num(M), 0.6)
    X, F, alpha = as_nan(observations), rng.standard_normal((5, 3)), 1.7
    mu, root = rng.standard_normal(3), rng.standard_normal((3, 5))
    Lam = root @ root.T
    side = sides(observations, 1.0, NumbaBackend(1))[0]
    means = draw_side(side, F, (mu, Lam), alpha, None)
    draws = np.stack([draw_side(side, F, (mu, Lam), alpha, rng) for _ in range(4000)])
    for i in range(6):
        seen = ~np.isnan(X[i])
        P = Lam + alpha * F[seen].T @ F[seen]
        np.testing.assert_allclose(
            means[i], np.linalg.solve(P, Lam @ mu + alpha * F[seen].T @ X[i, seen])
        )
        np.testing.assert_allclose(np.cov(draws[:, i].T), np.linalg.inv(P), atol=0.08)
        np.testing.assert_allclose(draws[:, i].mean(axis=0), means[i], atol=0.06)


def test_wishart_draws_have_the_moments_of_the_distribution():
    rng = np.random.default_rng(1)
    root = rng.standard_normal((3, 4))
    W, nu = root @ root.T / 4, 7.0
    draws = np.stack([draw_wishart(np.linalg.inv(W), nu, rng) for _ in range(5000)])
    np.testing.assert_allclose(draws.mean(axis=0), nu * W, rtol=0.06, atol=0.06)
    variance = nu * (W**2 + np.outer(np.diag(W), np.diag(W)))
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=0.15, atol=0.1)


def test_hyperparameters_follow_the_gaussian_wishart_posterior():
    rng = np.random.default_rng(2)
    F, prior = rng.normal([1.0, -2.0], 1.0, (8, 2)), Hyperprior(2.0, 3.0)
    draws = [draw_hyperparameters(F, prior, rng) for _ in range(4000)]
    mu, Lam = (np.stack(part) for part in zip(*draws, strict=True))
    centre, n = F.mean(axis=0), 8
    W = np.linalg.inv(
        np.eye(2) + (F - centre).T @ (F - centre) + 2.0 * n / (2.0 + n) * np.outer(centre, centre)
    )
    np.testing.assert_allclose(Lam.mean(axis=0), (3 + n) * W, rtol=0.06, atol=0.03)
    np.testing.assert_allclose(mu.mean(axis=0), n * centre / (n + 2), atol=0.03)
    # μ is a multivariate t: its covariance is E[(β*Λ)⁻¹] = W⁻¹ / (β* (ν* − k − 1)).
    expected = np.linalg.inv(W) / ((n + 2) * (3 + n - 3))
    np.testing.assert_allclose(np.cov(mu.T), expected, rtol=0.15, atol=0.015)


def test_a_learned_noise_precision_follows_its_gamma_posterior():
    rng = np.random.default_rng(3)
    draws = [draw_noise_precision(30.0, 40, rng) for _ in range(20000)]
    np.testing.assert_allclose(np.mean(draws), 40 / 30, rtol=0.01)
    np.testing.assert_allclose(np.var(draws), (40 / 2) / (30 / 2) ** 2, rtol=0.05)


def test_stationary_moments_are_those_of_the_posterior():
    """k = 1 on a 2×2 matrix, against importance sampling from the prior."""
    X = np.array([[1.5, np.nan], [-0.5, 1.0]])
    alpha, prior = 1.0, Hyperprior(2.0, 2.0)
    rng = np.random.default_rng(4)
    size = 400_000
    sampled = []
    for _ in range(2):
        Lam = rng.chisquare(prior.nu, size)
        mu = rng.standard_normal(size) / np.sqrt(prior.beta * Lam)
        sampled.append(mu + rng.standard_normal((2, size)) / np.sqrt(Lam))
    products = sampled[0][:, None] * sampled[1][None, :]
    seen = ~np.isnan(X)
    log_weights = -0.5 * alpha * ((products - np.nan_to_num(X)[..., None]) ** 2)[seen].sum(axis=0)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    assert 1 / np.sum(weights**2) > 5000

    views = sides(Observations.from_any(X), 1.0, NumbaBackend(1))
    U, V = rng.standard_normal((2, 1)), rng.standard_normal((2, 1))
    draws = []
    for _ in range(4000):
        U = draw_side(views[0], V, draw_hyperparameters(U, prior, rng), alpha, rng)
        V = draw_side(views[1], U, draw_hyperparameters(V, prior, rng), alpha, rng)
        draws.append(U @ V.T)
    found = np.asarray(draws[200:])
    # Bounded functions: the products have heavy tails.
    for function in (np.tanh, lambda x: np.abs(np.tanh(x)), lambda x: np.tanh(x / 3) ** 2):
        expected = np.einsum("ijs,s->ij", function(products), weights)
        np.testing.assert_allclose(function(found).mean(axis=0), expected, atol=0.06)


def planted(noise=0.5):
    rng = np.random.default_rng(5)
    M = 2.0 + rng.standard_normal((60, 2)) @ rng.standard_normal((2, 50))
    return M, observe(rng, M, 0.6, noise)


def test_predictions_and_spread_are_averages_over_the_kept_draws():
    _, observations = planted()
    model = BPMF(3, max_iter=12, max_draws=5, burn_in=2, random_state=0).fit(observations)
    kept = model.fitted_
    assert kept.row_draws.shape == (4, 60, 3)
    assert kept.row_draws.dtype == np.float32
    each = kept.offset + np.einsum("smk,snk->smn", kept.row_draws, kept.col_draws)
    i, j = np.array([0, 5, 59]), np.array([1, 49, 7])
    mean, std = model.predict(i, j, return_std=True)
    np.testing.assert_allclose(mean, each.mean(axis=0)[i, j], rtol=1e-5)
    expected = np.sqrt(each.var(axis=0, ddof=1)[i, j] + 1 / 2.0)
    np.testing.assert_allclose(std, expected, rtol=1e-5)
    assert len(model.noise_precision_trace_) == len(model.error_trace_) == 14


def test_a_learned_noise_level_is_the_planted_one_and_intervals_cover():
    M, observations = planted(noise=0.5)
    model = BPMF(4, noise_precision="learn", random_state=1, max_iter=200).fit(observations)
    assert 0.45 < model.noise_std_ < 0.55
    hidden = np.isnan(as_nan(observations))
    i, j = np.nonzero(hidden)
    mean, std = model.predict(i, j, return_std=True)
    new = M[hidden] + 0.5 * np.random.default_rng(6).standard_normal(len(i))
    assert 0.86 < np.mean(np.abs(new - mean) < 1.645 * std) < 0.94


def test_the_same_draws_with_any_number_of_threads():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((3000, 4)) @ rng.standard_normal((4, 200))
    observations = observe(rng, M, 0.1, 0.1)
    one, two = (
        BPMF(8, max_iter=3, burn_in=0, random_state=3, n_jobs=jobs).fit(observations).fitted_
        for jobs in (1, 3)
    )
    np.testing.assert_array_equal(one.row_draws, two.row_draws)
    np.testing.assert_array_equal(one.col_draws, two.col_draws)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("noise_precision", "guess"), ("noise_precision", 0.0), ("degrees_of_freedom", 3)],
)
def test_bad_parameters_are_named(parameter, value):
    with pytest.raises(ValueError, match=parameter):
        BPMF(10, **{parameter: value}).fit(planted()[1])
