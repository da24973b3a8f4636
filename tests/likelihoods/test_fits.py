"""Whole fits with every likelihood: planted parameters, calibration, files, newcomers."""

from __future__ import annotations

import numpy as np
import pytest

import bmcg
from bmcg import BMCG

from .cases import low_rank, values_of

POSTERIORS = ("column", "row", "joint", "sampled")
KINDS = {
    "student": {"likelihood": "student"},
    "gaussian rows": {"noise": "rows"},
    "gaussian cols": {"noise": "cols"},
}


def small(posterior="row", **more):
    sampled = {"max_sweeps": 60, "n_draws": 40, "rank": 3} if posterior == "sampled" else {}
    parameters = {"rank": 6, "bias": False, "selection": False, "random_state": 0, "n_jobs": 1}
    return BMCG(posterior=posterior, **{**parameters, **sampled, **more})


def planted(title, m=60, n=50, share=0.7, seed=0, **own):
    """A matrix with holes, and what is in the holes."""
    rng = np.random.default_rng(seed)
    values = values_of(title, low_rank(rng, m, n), rng, **own).astype(float)
    seen = rng.random((m, n)) < share
    X = np.where(seen, values, np.nan)
    i, j = np.nonzero(~seen)
    return X, i, j, values[i, j]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("posterior", POSTERIORS)
def test_student_noise_is_found(posterior):
    X, *_ = planted("student", m=80, n=70, size=0.3, freedom=3.0)
    model = small(posterior, likelihood="student").fit(X)
    assert float(model.fitted_.own["freedom"]) == pytest.approx(3.0, rel=0.25)
    assert model.noise_std_ == pytest.approx(0.3, rel=0.1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("noise", ["rows", "cols"])
@pytest.mark.parametrize("posterior", POSTERIORS)
def test_noise_of_each_row_or_column_is_found(posterior, noise):
    sizes = np.exp(np.random.default_rng(1).normal(-1.0, 0.6, size=60))
    X, i, j, x = planted("gaussian rows", m=60, n=80, sizes=sizes)
    if noise == "cols":
        X, i, j = X.T, j, i
    model = small(posterior, noise=noise).fit(X)
    std = model.predictive(i, j).std
    of = i if noise == "rows" else j
    found = np.array([np.median(std[of == r]) for r in range(60)])
    assert np.corrcoef(np.log(found), np.log(sizes))[0, 1] > 0.9
    plain = small(posterior).fit(X)
    gain = model.predictive(i, j).log_density(x) - plain.predictive(i, j).log_density(x)
    assert gain.mean() > 0.05


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("title", KINDS)
@pytest.mark.parametrize("posterior", POSTERIORS)
def test_intervals_hold_what_they_promise(title, posterior):
    X, i, j, x = planted(title)
    found = small(posterior, **KINDS[title]).fit(X).predictive(i, j)
    low, high = found.interval(0.9)
    assert np.mean((low <= x) & (x <= high)) == pytest.approx(0.9, abs=0.06)
    u = found.pit(x)
    assert np.mean(u < 0.5) == pytest.approx(0.5, abs=0.07)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("title", KINDS)
@pytest.mark.parametrize("posterior", ["row", "sampled"])
def test_a_model_file_keeps_the_likelihood(title, posterior, tmp_path):
    X, i, j, x = planted(title, m=20, n=15)
    model = small(posterior, **KINDS[title]).fit(X)
    model.save(tmp_path / "m.safetensors")
    again = bmcg.load_model(tmp_path / "m.safetensors")
    for one, other in (
        (model.predict(i, j, return_std=True), again.predict(i, j, return_std=True)),
        (model.predict_interval(i, j), again.predict_interval(i, j)),
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(
        model.predictive(i, j).log_density(x), again.predictive(i, j).log_density(x)
    )
    np.testing.assert_array_equal(
        model.sample(i, j, 3, 0, include_noise=True), again.sample(i, j, 3, 0, include_noise=True)
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("title", KINDS)
@pytest.mark.parametrize("posterior", ["column", "row", "sampled"])
def test_draws_have_the_mean_and_spread_of_the_predictions(title, posterior):
    X, i, j, _ = planted(title, m=30, n=25)
    model = small(posterior, **KINDS[title]).fit(X)
    some = slice(0, 40)
    for include_noise in (False, True):
        drawn = model.sample(i[some], j[some], 3000, 0, include_noise=include_noise)
        mean, std = model.predict(i[some], j[some], True, include_noise=include_noise)
        np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.12)
        np.testing.assert_allclose(np.median(drawn.std(axis=0) / std), 1.0, atol=0.1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("title", KINDS)
@pytest.mark.parametrize("posterior", ["column", "row"])
def test_a_row_folded_in_is_predicted_like_one_of_the_fit(title, posterior):
    X, *_ = planted(title, m=80, n=40)
    kind = {**KINDS[title], "max_sweeps": 400, "tol": 1e-9}
    model = small(posterior, **kind).fit(X)
    again = model.fold_in(X[:10])
    rows, cols = (part.ravel() for part in np.indices((10, 40)))
    gap = model.predict(rows, cols) - again.predict(rows, cols)
    assert np.sqrt(np.mean(gap**2)) < 0.1 * np.std(model.predict(rows, cols))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("title", KINDS)
@pytest.mark.parametrize("posterior", ["row", "sampled"])
def test_an_update_takes_in_more_rows_and_columns(title, posterior):
    X, *_ = planted(title, m=30, n=25)
    model = small(posterior, **KINDS[title]).fit(X[:25, :20])
    model.update(X)
    assert model.shape_ == (30, 25)
    assert np.isfinite(model.complete()).all()
    assert np.isfinite(model.recommend([0, 29], n=3).mean).all()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"likelihood": "t"}, "likelihood='t': choose one of"),
        ({"noise": "cells"}, "noise='cells': choose one of"),
        ({"likelihood": "student", "noise": "rows"}, "noise='rows' is for Gaussian noise"),
        ({"likelihood": "student", "value_range": (0, 1)}, "value_range=.* is for Gaussian noise"),
    ],
)
def test_parameters_that_make_no_sense_together_are_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        BMCG(**parameters).fit(np.eye(3))
