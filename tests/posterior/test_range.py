"""With a range of values there is one distribution: clipped, with mass at its ends."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.integrate import quad

from bmcg import BMCG
from bmcg.metrics import coverage
from bmcg.posterior import Predictive
from bmcg.report.findings import Entries, find

HIGH = 70.0


def saturated(m=60, n=25, noise=3.0, seed=0):
    """A matrix of rank two, read by an instrument that ends at 0 and 70; a third is seen."""
    rng = np.random.default_rng(seed)
    truth = 50 + 12 * rng.normal(size=(m, 2)) @ rng.normal(size=(2, n))
    X = np.clip(truth + noise * rng.normal(size=truth.shape), 0.0, HIGH)
    return X, rng.random(X.shape) < 0.4


def fitted(**options):
    X, seen = saturated()
    options = {
        "posterior": "variational",
        "value_range": (0, HIGH),
        "random_state": 0,
        "n_jobs": 1,
        **options,
    }
    model = BMCG(**options).fit(np.where(seen, X, np.nan))
    i, j = np.nonzero(~seen)
    return model, i, j, X[~seen]


@pytest.mark.parametrize("include_noise", [True, False])
def test_mean_deviation_interval_and_draws_are_of_one_distribution(include_noise):
    model, i, j, _ = fitted()
    mean, std = model.predict(i, j, return_std=True, include_noise=include_noise)
    draws = model.sample(i, j, 3000, random_state=0, include_noise=include_noise)
    assert draws.min() >= 0
    assert draws.max() <= HIGH
    # Draws of an entry, a product of two Gaussians, are not quite Gaussian.
    slack = 0.02 * std
    np.testing.assert_array_less(np.abs(draws.mean(axis=0) - mean), 5 * std / 3000**0.5 + slack)
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.12)
    low, high = model.predict_interval(i, j, 0.8, include_noise=include_noise)
    assert ((low <= draws) & (draws <= high)).mean() > 0.78


def test_an_interval_holds_what_it_promises_and_is_never_one_point():
    model, i, j, y = fitted()
    free = model.fitted_.predictive(i, j).location
    assert (free > HIGH + 2 * model.noise_std_).sum() > 5
    low, high = model.predict_interval(i, j, 0.9)
    assert (high - low > model.noise_std_).all()
    assert coverage(y, low, high) > 0.85


def test_a_prediction_far_outside_the_range_is_still_a_distribution_on_it():
    far = Predictive(np.array([90.0, -400.0, 35.0]), np.array([2.0, 3.0, 4.0]), (0.0, HIGH))
    low, high = far.interval(0.9)
    # An end has two thirds of the probability at most: the centre is 0.4307 deviations beyond it.
    inner = 1.6449 - 0.4307
    np.testing.assert_allclose(low, [HIGH - inner * 2, 0.0, 35 - 1.6449 * 4], atol=1e-3)
    np.testing.assert_allclose(high, [HIGH, inner * 3, 35 + 1.6449 * 4], atol=1e-3)
    assert np.isfinite(far.log_density([59.0, 59.0, 59.0])).all()
    assert far.log_density([59.0] * 3)[0] > -30


def test_what_is_expected_is_what_was_learned_wherever_an_end_leaves_room():
    """The mean is the location held to the range, unless one end would have all the probability."""
    rng = np.random.default_rng(0)
    for limits in ((0.0, 10.0), (-np.inf, 10.0), (0.0, np.inf)):
        one = Predictive(rng.uniform(-2, 12, 5000), rng.uniform(0.0, 4.0, 5000), limits)
        wanted = np.clip(one.location, *limits)
        most = [np.exp(one.log_density(np.full(5000, end))) for end in np.clip(limits, -99, 99)]
        room = np.maximum(*most) < 2 / 3 - 1e-6
        assert 0.3 < room.mean() < 0.95
        np.testing.assert_allclose(one.mean[room], wanted[room], atol=1e-9)
        # Elsewhere it is as near as it goes.
        assert (np.abs(one.mean - wanted) <= 0.2201 * one.spread + 1e-9).all()


def test_values_without_doubt_are_held_to_the_range():
    sure = Predictive(np.array([12.0, 4.0, -1.0]), np.zeros(3), (0.0, 10.0))
    np.testing.assert_allclose(sure.mean, [10.0, 4.0, 0.0], atol=1e-300)
    np.testing.assert_allclose(sure.std, 0.0, atol=1e-300)


@pytest.mark.parametrize("limits", [(0.0, 10.0), (-np.inf, 10.0), (-np.inf, np.inf)])
@pytest.mark.parametrize("location", [-3.0, 1.0, 6.0, 25.0])
def test_moments_and_scores_are_those_of_the_density(location, limits):
    """The density inside and the mass at the ends sum to one and have the moments told."""
    one = Predictive(np.array([location]), np.array([2.0]), limits)

    def density(x):
        return float(np.exp(one.log_density([x])[0]))

    inner = max(limits[0], -60.0) + 1e-9, min(limits[1], 60.0) - 1e-9
    mass = [
        quad(lambda x, p=p: x**p * density(x), *inner, points=[0.0], limit=200)[0] for p in range(3)
    ]
    for end in np.array(limits)[np.isfinite(limits)]:
        mass = [part + end**p * density(end) for p, part in enumerate(mass)]
    assert mass[0] == pytest.approx(1.0, abs=1e-5)
    assert one.mean[0] == pytest.approx(mass[1], abs=1e-4)
    assert one.variance[0] == pytest.approx(mass[2] - mass[1] ** 2, abs=1e-3)


def test_outcomes_fall_evenly_into_their_distributions():
    rng = np.random.default_rng(0)
    one = Predictive(rng.uniform(-1, 11, 20_000), np.full(20_000, 2.0), (0.0, 10.0))
    draws = one.place((one.location + 2.0 * rng.normal(size=20_000))[None])[0]
    counts = np.histogram(one.pit(draws, seed=1), bins=10, range=(0, 1))[0]
    np.testing.assert_allclose(counts, 2000, atol=250)


def test_the_report_scores_the_distribution_that_was_predicted():
    model, i, j, y = fitted()
    notes = " ".join(number.note for number in find(model, Entries(i, j, y)).numbers)
    gain = float(re.search(r"\(([+-][\d.,]+) nats an entry\)", notes).group(1).replace(",", ""))
    assert abs(gain) < 1.0


def test_the_report_names_held_out_values_outside_the_range():
    model, i, j, y = fitted()
    y = np.where(np.arange(len(y)) < 3, 99.0, y)
    assert any(
        "3 held-out entries lie outside" in w for w in find(model, Entries(i, j, y)).warnings
    )


@pytest.mark.parametrize("family", ["column", "joint"])
def test_the_completed_matrix_holds_the_predictions(family):
    model, i, j, _ = fitted(posterior=family, max_sweeps=20)
    np.testing.assert_allclose(model.complete()[i, j], model.predict(i, j), rtol=1e-9)


@pytest.mark.parametrize(("factor", "shift"), [(0.01, 0.0), (8.0, 0.0), (1.8, 32.0)])
@pytest.mark.parametrize("ranged", [True, False])
def test_values_in_another_unit_are_predicted_in_that_unit(factor, shift, ranged):
    X, seen = saturated()
    X = np.where(seen, X, np.nan)
    i, j = np.nonzero(~seen)
    parts = []
    for a, b in ((1.0, 0.0), (factor, shift)):
        limits = (b, a * HIGH + b) if ranged else None
        model = BMCG(
            posterior="variational",
            bias=True,
            value_range=limits,
            max_sweeps=8,
            tol=0,
            random_state=0,
            n_jobs=1,
        )
        with pytest.warns(match="max_sweeps"):
            model.fit(a * X + b)
        mean, std = model.predict(i, j, return_std=True)
        low, high = model.predict_interval(i, j)
        parts.append([(mean - b) / a, std / a, (low - b) / a, (high - b) / a])
    np.testing.assert_allclose(parts[1], parts[0], rtol=1e-4, atol=1e-4)
