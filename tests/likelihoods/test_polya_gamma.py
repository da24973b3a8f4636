"""Draws behind likelihoods have the distributions they are named after."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest, truncnorm

from bmcg.likelihoods import polya_gamma
from bmcg.likelihoods.log_rates import best, draw_rates
from bmcg.likelihoods.ordinal import truncated
from bmcg.likelihoods.thresholds import slopes, value

N = 60_000


@pytest.mark.parametrize("b", [0.3, 1.0, 4.7, 60.0])
@pytest.mark.parametrize("c", [0.0, 0.05, 1.5, 12.0])
def test_polya_gamma_draws_have_the_laplace_transform(b, c):
    rng = np.random.default_rng(0)
    omega = polya_gamma.draw(np.full(N, b), np.full(N, c), rng)
    assert omega.mean() == pytest.approx(float(polya_gamma.mean(b, np.array(c))), rel=0.02)
    assert omega.var() == pytest.approx(float(polya_gamma.variance(b, np.array(c))), rel=0.06)
    for t in (0.5, 2.0, 8.0):
        half = np.sqrt(0.5 * (0.5 * c * c + t))
        exact = np.exp(b * (np.log(np.cosh(0.5 * c)) - np.log(np.cosh(half))))
        found = np.exp(-t * omega)
        assert found.mean() == pytest.approx(exact, abs=5 * found.std() / np.sqrt(N) + 1e-6)


@pytest.mark.parametrize("c", [1e-3, 0.00999, 0.01001, 0.0999, 0.1001, 3.0])
def test_series_meet_the_closed_forms(c):
    there = np.array([c, c * 1.0001])
    for function in (polya_gamma.mean, polya_gamma.variance):
        one, other = function(1.0, there)
        assert one == pytest.approx(other, rel=3e-4)


@pytest.mark.parametrize(("x", "y", "tau"), [(0.0, 0.5, 1.0), (3.0, -1.0, 4.0), (400.0, 2.0, 0.5)])
def test_log_rates_are_drawn_from_their_density(x, y, tau):
    c, rng = 0.3, np.random.default_rng(1)

    def log_density(z):
        return x * (c + z) - np.exp(c + z) - 0.5 * tau * (z - y) ** 2

    drawn = draw_rates(np.full(N, x), np.full(N, y), c, tau, rng)
    centre, width = drawn.mean(), drawn.std()
    peak = log_density(centre)
    ends = centre - 12 * width, centre + 12 * width
    total = quad(lambda z: np.exp(log_density(z) - peak), *ends, points=[centre])[0]
    mean = quad(lambda z: z * np.exp(log_density(z) - peak), *ends, points=[centre])[0] / total
    square = quad(
        lambda z: (z - mean) ** 2 * np.exp(log_density(z) - peak), *ends, points=[centre]
    )[0]
    assert centre == pytest.approx(mean, abs=5 * width / np.sqrt(N))
    assert width**2 == pytest.approx(square / total, rel=0.04)
    # The Gaussian of the highest bound is near.
    mu, variance, rate = best(np.array([x]), np.array([y]), c, tau)
    assert mu[0] == pytest.approx(mean, abs=0.15 * width)
    assert rate[0] == pytest.approx(np.exp(c + mu[0] + 0.5 * variance[0]), rel=1e-8)
    assert variance[0] == pytest.approx(1.0 / (tau + rate[0]), rel=1e-8)


@pytest.mark.parametrize(("low", "high"), [(-np.inf, 0.3), (0.1, 0.4), (5.0, 5.5), (7.0, np.inf)])
def test_truncated_gaussians_are_drawn_far_out_too(low, high):
    rng, n = np.random.default_rng(2), 5000
    drawn = truncated(np.zeros(n), np.full(n, low), np.full(n, high), rng)
    assert drawn.min() >= low
    assert drawn.max() <= high
    assert kstest(drawn, truncnorm(low, high).cdf).pvalue > 1e-3


def test_slopes_of_thresholds_are_those_of_their_density():
    rng = np.random.default_rng(3)
    mean, theta = rng.normal(size=60), np.array([-1.2, 0.1, 0.9])
    codes = np.searchsorted(theta, mean + rng.normal(size=60))
    gradient, curvature = slopes(theta, codes, mean)
    for k in range(3):
        step = 1e-5 * np.eye(3)[k]
        up, down = value(theta + step, codes, mean), value(theta - step, codes, mean)
        assert gradient[k] == pytest.approx((up - down) / 2e-5, rel=1e-5)
        turn = slopes(theta + step, codes, mean)[0] - slopes(theta - step, codes, mean)[0]
        np.testing.assert_allclose(curvature[k], turn / 2e-5, rtol=1e-4, atol=1e-6)
