"""Whole fits with every likelihood: planted parameters, calibration, files, newcomers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import bmcg
from bmcg import BMCG

from .cases import LEVELS, THRESHOLDS, low_rank, values_of

POSTERIORS = ("column", "row", "joint", "sampled")
KINDS = {
    "student": {"likelihood": "student"},
    "gaussian rows": {"noise": "rows"},
    "gaussian cols": {"noise": "cols"},
    "bernoulli": {"likelihood": "bernoulli"},
    LEVELS: {"likelihood": "ordinal"},
    "poisson": {"likelihood": "poisson"},
    "negative_binomial": {"likelihood": "negative_binomial"},
}
DISCRETE = ("bernoulli", LEVELS, "poisson", "negative_binomial")


def small(posterior="row", **more):
    sampled = {"max_sweeps": 40, "n_draws": 40, "rank": 3} if posterior == "sampled" else {}
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


@cache
def fitted(title, posterior, m=60, n=50):
    """A fit of the planted matrix, for all tests that only ask it something."""
    X, *held_out = planted(title, m, n)
    return small(posterior, **KINDS[title]).fit(X), X, *held_out


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
    model, _, i, j, x = fitted(title, posterior)
    found = model.predictive(i, j)
    low, high = found.interval(0.9)
    held = np.mean((low <= x) & (x <= high))
    # Of a few values, or small counts, nine in ten cannot be had exactly.
    assert held > 0.86 if title in DISCRETE else abs(held - 0.9) < 0.06
    u = found.pit(x)
    for share in (0.25, 0.5, 0.75):
        assert np.mean(u < share) == pytest.approx(share, abs=0.07)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("title", KINDS)
@pytest.mark.parametrize("posterior", ["row", "sampled"])
def test_a_model_file_keeps_the_likelihood(title, posterior, tmp_path):
    model, _, i, j, x = fitted(title, posterior)
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
    model, _, i, j, _ = fitted(title, posterior)
    some = slice(0, 40)
    for include_noise in (False, True):
        drawn = model.sample(i[some], j[some], 3000, 0, include_noise=include_noise)
        mean, std = model.predict(i[some], j[some], True, include_noise=include_noise)
        np.testing.assert_allclose(
            np.median(np.abs(drawn.mean(axis=0) - mean) / np.sqrt(std**2 + 0.01)), 0.0, atol=0.1
        )
        # Few kept draws of a rate need not be Gaussian in its logarithm.
        slack = 0.3 if title in DISCRETE and posterior == "sampled" else 0.1
        np.testing.assert_allclose(np.median(drawn.std(axis=0) / std), 1.0, atol=slack)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("title", KINDS)
@pytest.mark.parametrize("posterior", ["column", "row"])
def test_a_row_folded_in_is_predicted_like_one_of_the_fit(title, posterior):
    X, *_ = planted(title, m=80, n=40)
    kind = {**KINDS[title], "max_sweeps": 200, "tol": 1e-7}
    model = small(posterior, **kind).fit(X)
    again = model.fold_in(X[:10])
    rows, cols = (part.ravel() for part in np.indices((10, 40)))
    gap = model.predict(rows, cols) - again.predict(rows, cols)
    assert np.sqrt(np.mean(gap**2)) < 0.1 * np.std(model.predict(rows, cols))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.usefixtures("short_fits")
@pytest.mark.parametrize("title", KINDS)
@pytest.mark.parametrize("posterior", ["row", "sampled"])
def test_an_update_takes_in_more_rows_and_columns(title, posterior):
    X, *_ = planted(title, m=30, n=25)
    model = small(posterior, **KINDS[title]).fit(X[:25, :20])
    model.update(X)
    assert model.shape_ == (30, 25)
    assert np.isfinite(model.complete()).all()
    assert np.isfinite(model.recommend([0, 29], n=3).mean).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("posterior", POSTERIORS)
def test_thresholds_are_found(posterior):
    m, n = (70, 60) if posterior == "sampled" else (100, 80)
    X, *_ = planted(LEVELS, m=m, n=n, share=0.9)
    model = small(posterior, likelihood="ordinal", bias=True).fit(X)
    # Where the level of all entries is, biases and thresholds share.
    found, level = model.fitted_.own["thresholds"], THRESHOLDS.mean()
    found = found - model.row_bias_.mean() - model.col_bias_.mean()
    np.testing.assert_allclose(found, THRESHOLDS - level + found.mean(), atol=0.15)
    assert found.mean() == pytest.approx(level, abs=0.15)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("posterior", POSTERIORS)
def test_the_noise_of_counts_is_found(posterior):
    m, n = (70, 60) if posterior == "sampled" else (110, 90)
    X, *_ = planted("negative_binomial", m=m, n=n, share=0.9, r=2.0)
    model = small(posterior, likelihood="negative_binomial", bias=True).fit(X)
    assert float(model.fitted_.own["size"]) == pytest.approx(2.0, rel=0.25)
    X, *_ = planted("poisson", m=m, n=n, share=0.9, size=0.7)
    model = small(posterior, likelihood="poisson", bias=True).fit(X)
    assert float(model.fitted_.tau.mean) ** -0.5 == pytest.approx(0.7, rel=0.2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("title", ["bernoulli", LEVELS])
@pytest.mark.parametrize("posterior", ["row", "sampled"])
def test_probabilities_are_calibrated(title, posterior):
    model, _, i, j, x = fitted(title, posterior, 70, 60)
    table, levels = model.predict_proba(i, j), model.levels_
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    for p, level in zip(table.T, levels, strict=True):
        for part in np.array_split(np.argsort(p), 4):
            share = np.mean(x[part] == level)
            assert share == pytest.approx(p[part].mean(), abs=0.07)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("title", DISCRETE)
@pytest.mark.parametrize("posterior", ["row"])
def test_left_out_values_are_likelier_than_under_their_margins(title, posterior):
    model, X, i, j, x = fitted(title, posterior, 70, 60)
    found = model.predictive(i, j)
    seen = X[np.isfinite(X)]
    levels, counts = np.unique(seen, return_counts=True)
    known = np.isin(x, levels)
    margin = np.log(counts / counts.sum())[np.searchsorted(levels, x[known])]
    assert found.log_density(x)[known].mean() > margin.mean() + 0.03


def test_sets_hold_every_level_alike():
    X, i, j, x = planted(LEVELS, m=150, n=100, thresholds=np.array([-1.6, -0.3, 1.0]))
    model = small(likelihood="ordinal").fit(X)
    sets = model.predict_set(i, j, 0.9)
    for code, level in enumerate(model.levels_):
        assert sets[x == level, code].mean() == pytest.approx(0.9, abs=0.06)


def test_a_discrete_model_takes_graphs_and_features_and_questions():
    from bmcg.graphs import chain_graph

    rng = np.random.default_rng(0)
    F = rng.normal(size=(40, 2))
    y = np.outer(F[:, 0], np.sin(np.arange(30) / 4))
    X = values_of("bernoulli", 3 * y, rng)
    X[rng.random(X.shape) < 0.4] = np.nan
    for posterior in ("row", "joint"):
        model = small(posterior, likelihood="bernoulli", selection=["features"], max_sweeps=30)
        model.fit(X, col_graph=chain_graph(30), row_features=F)
        p = model.predict(*np.nonzero(np.isnan(X)))
        assert 0.0 <= p.min() < 0.3 < 0.7 < p.max() <= 1.0
        for verdict in model.selection_.verdicts:
            assert verdict.measure == "left-out log loss"


@pytest.mark.parametrize(
    ("likelihood", "value", "words"),
    [
        ("bernoulli", 2.0, 'likelihood="bernoulli" holds zeros and ones'),
        ("poisson", -1.0, 'likelihood="poisson" holds counts'),
        ("negative_binomial", 0.5, 'likelihood="negative_binomial" holds counts'),
        ("bernoulli", 3.5, 'likelihood="bernoulli" holds zeros and ones'),
        ("poisson", 3.5, 'likelihood="poisson" holds counts'),
    ],
)
def test_a_value_that_a_likelihood_cannot_have_is_named(likelihood, value, words):
    X = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    X[1, 2] = value
    with pytest.raises(
        ValueError, match=rf"{value:g} in row 1, column 2 \(1 such values\): {words}"
    ):
        BMCG(likelihood=likelihood).fit(X)


@pytest.mark.parametrize(
    ("X", "likelihood", "words"),
    [
        (np.ones((3, 4)), "bernoulli", "all 12 values are 1; zeros and ones are needed"),
        (np.ones((3, 4)), "ordinal", "all values are 1; two levels at least"),
        (np.zeros((3, 4)), "poisson", "all 12 values are zero"),
        (np.arange(150.0).reshape(10, 15), "ordinal", "150 different values"),
        (np.geomspace(1, 9, 12).reshape(3, 4), "ordinal", r"such values\): .* 1, 2, 3 and so on"),
    ],
)
def test_values_that_say_nothing_to_a_likelihood_are_refused(X, likelihood, words):
    with pytest.raises(ValueError, match=words):
        BMCG(likelihood=likelihood).fit(X)


@pytest.mark.parametrize(("step", "odd"), [(1.0, 3.25), (1.0, 3.5), (0.5, 3.25)])
def test_a_value_between_levels_is_named(step, odd):
    stars = np.tile(np.arange(step, 5.0 + step, step), (4, 1))
    stars[2, 3] = odd
    words = rf"{odd} in row 2, column 3 \(1 such .* from {step:g} in steps of {step:g}: if"
    with pytest.raises(ValueError, match=words):
        BMCG(likelihood="ordinal").fit(stars)


@pytest.mark.parametrize(
    "levels",
    [
        np.arange(0.5, 5.5, 0.5),
        [1.0, 1.5, 2.0, 3.0, 4.0, 4.5, 5.0],
        [1.0, 2.0, 5.0],
        np.arange(11) / 10,
        [-2.0, 0.0, 2.0],
    ],
)
def test_half_stars_tenths_and_levels_that_never_occur_are_levels(levels):
    from bmcg import Observations
    from bmcg.estimators.values import title_of

    observations = Observations.from_any(np.tile(np.asarray(levels), (3, 1)))
    title, _ = title_of("ordinal", "shared", observations)
    assert [float(word) for word in title.split()[1:]] == list(levels)


def test_an_update_with_an_unknown_level_is_refused():
    X, *_ = planted(LEVELS, m=20, n=15)
    model = small(likelihood="ordinal").fit(X)
    with pytest.raises(ValueError, match=r"7 in row 0, column 0 .* was fitted on the levels 1, 2"):
        model.update(np.where(np.arange(15) + np.arange(20)[:, None] == 0, 7.0, X))


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([0, 1, 1, 0], "bernoulli"),
        ([1, 2, 3, 5, 4], "ordinal"),
        ([0.5, 1, 1.5, 2], "ordinal"),
        ([0, 3, 250, 12], "negative_binomial"),
        ([0.1, 2.2, 3.0], "gaussian"),
        ([-4, 100, 3], "gaussian"),
    ],
)
def test_auto_says_what_it_takes(values, name):
    from bmcg.estimators.values import proposed

    assert proposed(np.array(values, dtype=float))[0] == name


@pytest.mark.usefixtures("short_fits")
def test_auto_is_told():
    X = np.random.default_rng(0).integers(0, 2, size=(12, 10)).astype(float)
    with pytest.warns(UserWarning, match="takes 'bernoulli': all values are 0 or 1"):
        model = BMCG(likelihood="auto", max_sweeps=3, random_state=0, n_jobs=1).fit(X)
    assert model.likelihood_ == "bernoulli"
    assert np.isnan(model.noise_std_)


def test_yes_and_no_are_one_and_zero():
    import pandas as pd

    from bmcg import Observations

    frame = pd.DataFrame({"u": [1, 1, 2, 2], "v": [1, 2, 1, 2], "x": ["Yes", "no", "no", "yes"]})
    found = Observations.from_frame(frame, row="u", col="v", value="x")
    assert found.values.tolist() == [1.0, 0.0, 0.0, 1.0]
    for words, first in (
        (["good", "bad", "bad", "good"], "good"),
        (["no", "maybe", "yes", "perhaps"], "maybe"),
        (["4", "5", "3½", "2½"], "3½"),
    ):
        with pytest.raises(ValueError, match=f"numbers only: '{first}' is none.*in their order"):
            Observations.from_frame(frame.assign(x=words), "u", "v", "x")


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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_imputer_fills_levels_as_they_are():
    from bmcg import BMCGImputer

    X, *_ = planted(LEVELS, m=30, n=20)
    imputer = BMCGImputer(
        likelihood="ordinal", posterior="row", rank=3, max_sweeps=20, random_state=0, n_jobs=1
    )
    filled = imputer.fit_transform(X)
    assert 1.0 <= filled.min() < filled.max() <= 4.0
    np.testing.assert_array_equal(filled[np.isfinite(X)], X[np.isfinite(X)])
    assert np.isfinite(imputer.transform(X[:5])).all()
    with pytest.raises(ValueError, match="scale=True and likelihood='ordinal'"):
        BMCGImputer(likelihood="ordinal", scale=True).fit(X)


@pytest.mark.parametrize("title", [LEVELS, "negative_binomial"])
def test_a_report_speaks_of_discrete_values(title, tmp_path):
    from bmcg.report import Entries, find

    model, _, i, j, x = fitted(title, "row")
    found = find(model, Entries(i, j, x))
    text = " ".join(f"{number.name} {number.value} {number.note}" for number in found.numbers)
    assert "log score" in text
    assert model.likelihood_ in text
    assert "nan" not in text
