from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bmcg import metrics


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_rmse_and_mae_by_hand() -> None:
    assert metrics.rmse([1.0, 2.0, 3.0], [1.0, 4.0, 1.0]) == pytest.approx(math.sqrt(8 / 3))
    assert metrics.mae([1.0, 2.0, 3.0], [1.0, 4.0, 1.0]) == pytest.approx(4 / 3)


def test_error_rate_rounds_to_the_nearest_level_and_clips() -> None:
    truth = [0, 1, 1, 0, 1, 0]
    guess = [-3.0, 0.51, 7.0, 0.49, 0.2, 0.5]
    assert metrics.error_rate(truth, guess) == pytest.approx(2 / 6)
    assert metrics.error_rate([1, 3, 5], [2.1, 3.9, 4.1], levels=(1, 3, 5)) == pytest.approx(1 / 3)


def test_error_rate_refuses_truths_that_are_no_level() -> None:
    with pytest.raises(ValueError, match=r"holds 2\.0"):
        metrics.error_rate([0, 2], [0, 1])


def test_psnr_follows_its_definition_and_scale(rng) -> None:
    x, y = rng.random((2, 12, 12))
    expected = 10 * math.log10(1.0 / np.mean((x - y) ** 2))
    assert metrics.psnr(x, y, data_range=1.0) == pytest.approx(expected)
    assert metrics.psnr(255 * x, 255 * y) == pytest.approx(expected)
    assert metrics.psnr(x, x) == math.inf


def slow_ssim(x, y, data_range) -> float:
    g = np.exp(-0.5 * (np.arange(-5, 6) / 1.5) ** 2)
    w = np.outer(g, g) / np.outer(g, g).sum()
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    scores = []
    for i in range(x.shape[0] - 10):
        for j in range(x.shape[1] - 10):
            a, b = x[i : i + 11, j : j + 11], y[i : i + 11, j : j + 11]
            ma, mb = (w * a).sum(), (w * b).sum()
            va, vb = (w * (a - ma) ** 2).sum(), (w * (b - mb) ** 2).sum()
            cov = (w * (a - ma) * (b - mb)).sum()
            scores.append(
                (2 * ma * mb + c1) * (2 * cov + c2) / ((ma**2 + mb**2 + c1) * (va + vb + c2))
            )
    return float(np.mean(scores))


def test_ssim_is_its_windowed_definition(rng) -> None:
    x = rng.random((17, 14)) * 255
    y = x + 40 * rng.standard_normal(x.shape)
    assert metrics.ssim(x, y) == pytest.approx(slow_ssim(x, y, 255.0), rel=1e-10)
    assert metrics.ssim(x, y, data_range=100.0) == pytest.approx(slow_ssim(x, y, 100.0), rel=1e-10)


def test_ssim_is_one_for_equal_images_and_symmetric(rng) -> None:
    x, y = rng.random((2, 15, 15)) * 255
    assert metrics.ssim(x, x) == pytest.approx(1.0)
    assert metrics.ssim(x, y) == pytest.approx(metrics.ssim(y, x))
    assert metrics.ssim(x, y) < 0.5


def test_ssim_needs_room_for_its_window() -> None:
    with pytest.raises(ValueError, match="11 x 11"):
        metrics.ssim(np.zeros((10, 30)), np.zeros((10, 30)))


def test_coverage_counts_closed_intervals() -> None:
    assert metrics.coverage([0, 1, 2, 3], [0, 2, 1, 0], [1, 3, 2, 2]) == 0.5
    with pytest.raises(ValueError, match="low exceeds high at 1"):
        metrics.coverage([0.0], [1.0], [0.0])


def test_right_predictions_are_calibrated(rng) -> None:
    mean, std = rng.standard_normal(40_000), rng.uniform(0.5, 2.0, 40_000)
    y = mean + std * rng.standard_normal(40_000)
    found = metrics.interval_calibration(y, mean, std, levels=(0.5, 0.9, 0.95))
    np.testing.assert_allclose(found.coverage, found.levels, atol=0.01)
    assert found.error == np.abs(found.coverage - found.levels).max()
    assert stats.kstest(metrics.pit(y, mean, std), "uniform").pvalue > 1e-3


def test_overconfident_predictions_are_not_calibrated(rng) -> None:
    y = rng.standard_normal(20_000)
    found = metrics.interval_calibration(y, np.zeros_like(y), 0.5, levels=0.9)
    assert found.coverage[0] == pytest.approx(2 * stats.norm.cdf(0.5 * 1.6448536) - 1, abs=0.01)
    assert stats.kstest(metrics.pit(y, np.zeros_like(y), 0.5), "uniform").pvalue < 1e-6


def test_calibration_agrees_with_coverage_of_the_same_intervals(rng) -> None:
    y, mean = rng.standard_normal((2, 500))
    std = rng.uniform(0.5, 2.0, 500)
    half = stats.norm.ppf(0.9) * std
    expected = metrics.coverage(y, mean - half, mean + half)
    assert metrics.interval_calibration(y, mean, std, levels=[0.8]).coverage[0] == expected


def test_nlpd_is_the_mean_negative_log_density(rng) -> None:
    y, mean = rng.standard_normal((2, 50))
    std = rng.uniform(0.1, 3.0, 50)
    expected = -stats.norm.logpdf(y, mean, std).mean()
    assert metrics.gaussian_nlpd(y, mean, std) == pytest.approx(expected)


def test_homoscedastic_reference_is_the_best_constant(rng) -> None:
    y, mean = rng.standard_normal((2, 200))
    best = metrics.homoscedastic_nlpd(y, mean)
    for std in metrics.rmse(y, mean) * np.array([0.9, 0.99, 1.01, 1.1]):
        assert metrics.homoscedastic_nlpd(y, mean, std) > best
        assert metrics.homoscedastic_nlpd(y, mean, std) == metrics.gaussian_nlpd(y, mean, std)


def test_knowing_the_spread_beats_the_homoscedastic_reference(rng) -> None:
    std = rng.uniform(0.2, 3.0, 5_000)
    y = std * rng.standard_normal(5_000)
    mean = np.zeros_like(y)
    assert metrics.gaussian_nlpd(y, mean, std) < metrics.homoscedastic_nlpd(y, mean) - 0.1


@pytest.mark.parametrize("score", [metrics.rmse, metrics.mae, metrics.error_rate, metrics.psnr])
@pytest.mark.parametrize(
    ("y", "p", "message"),
    [([0.0], [0.0, 1.0], "same shape"), ([], [], "empty"), ([0.0], [np.nan], "finite")],
)
def test_arrays_that_cannot_be_scored_are_refused(score, y, p, message) -> None:
    with pytest.raises(ValueError, match=message):
        score(y, p)


@pytest.mark.parametrize("std", [0.0, -1.0, np.inf, [1.0, 1.0, 1.0]])
def test_impossible_standard_deviations_are_refused(std) -> None:
    with pytest.raises(ValueError, match="std"):
        metrics.gaussian_nlpd([0.0, 1.0], [0.0, 1.0], std)
