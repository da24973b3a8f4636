"""Values that are all equal, as clicks are: nothing is learned, and it is said."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bmcg import BMCG, Observations, load_model
from bmcg.cli.summary import describe
from bmcg.report.findings import find


def clicks(value=1.0, m=40, n=25, seed=0):
    """Where two kinds of users click on two kinds of items."""
    rng = np.random.default_rng(seed)
    likes = (np.arange(m)[:, None] % 2) == (np.arange(n) % 2)
    rows, cols = np.nonzero(rng.random((m, n)) < np.where(likes, 0.3, 0.03))
    return Observations.from_triples(rows, cols, np.full(len(rows), value), (m, n)), likes


def fitted(value=1.0, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BMCG(**{"posterior": "variational", "random_state": 0, "n_jobs": 1, **options}).fit(
            clicks(value)[0]
        )


def test_fit_says_that_there_is_nothing_to_tell_entries_apart_by():
    with pytest.warns(UserWarning, match=r"all \d+ observed values are 1: .*--implicit"):
        BMCG(posterior="variational", random_state=0, n_jobs=1).fit(clicks()[0])


@pytest.mark.parametrize("value", [1.0, -40.0, 0.0, 1e-9])
@pytest.mark.parametrize("options", [{}, {"value_range": "observed"}])
def test_predictions_are_that_value_and_not_sure_of_it(value, options):
    model, size = fitted(value, **options), abs(value) or 1.0
    mean, std = model.predict([0, 3], [1, 5], return_std=True)
    np.testing.assert_allclose(mean, value, atol=0.02 * size)
    assert (std >= size).all()
    assert model.noise_std_ >= size / 2
    _, own = model.predict([0, 3], [1, 5], return_std=True, include_noise=False)
    assert (own >= size).all()
    draws = model.sample([0, 3], [1, 5], 3000, random_state=0)
    np.testing.assert_allclose(draws.std(axis=0), own, rtol=0.1)


def test_recommend_info_and_the_report_say_so_too(tmp_path):
    fitted().save(tmp_path / "model")
    model = load_model(tmp_path / "model")
    with pytest.warns(UserWarning, match="all equal"):
        model.recommend([0], n=3)
    assert "all equal" in describe(model, Path("model"))
    assert any("All values are equal" in words for words in find(model).warnings)


def test_values_that_differ_are_left_alone():
    X = np.random.default_rng(0).normal(size=(20, 10))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model = BMCG(posterior="variational", bias=True, random_state=0, n_jobs=1).fit(X)
        model.recommend([0], n=3, exclude_observed=False)
    assert "all equal" not in describe(model, Path("model"))


def test_the_advice_works_weak_zeros_make_an_order():
    """Users get items of their kind, and nobody is warned."""
    seen, likes = clicks(m=80, n=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = (
            BMCG(4, missing="weak-zero", max_sweeps=20, random_state=0, n_jobs=1)
            .fit(seen)
            .recommend(n=3)
        )
    assert likes[found.rows, found.cols].mean() > 0.9
