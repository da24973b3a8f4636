"""The distribution of values among which some are grossly wrong."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import BMCG
from bmcg.likelihoods.outcomes import Heavy

from .cases import low_rank

GROSS = Heavy(np.array([1.0, -2.0]), np.array([0.5, 1.0]), 5.0, 0.08, np.array([6.0, 9.0]))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_intervals_hold_their_level_with_gross_errors(level):
    low, high = GROSS.interval(level)
    np.testing.assert_allclose(GROSS.pit(high) - GROSS.pit(low), level, atol=1e-10)
    np.testing.assert_allclose(low + high, 2.0 * GROSS.location)


def test_density_and_variance_agree_by_numerical_integration():
    x = np.linspace(-400.0, 400.0, 800_001)
    for at in range(2):
        where, size = GROSS.location[at], GROSS.scale[at]
        one = Heavy(where, size, 5.0, 0.08, GROSS.wide[at])
        p = np.exp(one.log_density(x))
        step = x[1] - x[0]
        assert p.sum() * step == pytest.approx(1.0, abs=1e-6)
        assert ((x - one.location) ** 2 * p).sum() * step == pytest.approx(one.variance, rel=1e-4)
        below = p[x <= 3.0].sum() * step
        assert below == pytest.approx(float(one.pit(3.0)), abs=1e-3)


def test_without_gross_errors_it_is_students_t():
    none = Heavy(GROSS.location, GROSS.scale, 5.0)
    few = Heavy(GROSS.location, GROSS.scale, 5.0, 1e-12, GROSS.wide)
    for one, other in (
        (none.interval(0.9), few.interval(0.9)),
        (none.log_density([0.0, 1.0]), few.log_density([0.0, 1.0])),
        (none.std, few.std),
    ):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("posterior", ["row", "sampled"])
def test_gross_errors_are_told_from_noise(posterior):
    rng = np.random.default_rng(0)
    X = low_rank(rng, 60, 50) + 0.3 * rng.normal(size=(60, 50))
    wrong = rng.random(X.shape) < 0.1
    spoilt = np.where(wrong, X + 8.0 * rng.normal(size=X.shape), X)
    out = rng.random(X.shape) < 0.3
    spoilt[out] = np.nan
    more = {"max_sweeps": 40, "n_draws": 40} if posterior == "sampled" else {}
    model = BMCG(
        likelihood="student", posterior=posterior, rank=3, bias=False, selection=False,
        random_state=0, n_jobs=1, **more,
    ).fit(spoilt)  # fmt: skip
    own = model.fitted_.own
    assert float(own["gross"]) == pytest.approx(0.1, rel=0.25)
    i, j = np.nonzero(out)
    error = np.sqrt(np.mean((model.predict(i, j) - X[i, j]) ** 2))
    assert error < 0.36
    assert "gross errors" in model.fitted_.likelihood.words(model.fitted_.noise, 1.0)
