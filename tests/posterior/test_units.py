"""Columns with units of their own: x becomes a + b·x in all that a posterior says of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bmcg import load_model
from bmcg.backends import open_backend
from bmcg.cli.summary import describe
from bmcg.imputing.matrix import learn
from bmcg.inference.draws import Draws
from bmcg.observations import Observations
from bmcg.posterior import Units, simulated
from bmcg.report.findings import Entries, find
from bmcg.serving.anyone import Anyone

from .tiny import Case, M, N, fit

B = 10.0 ** np.random.default_rng(9).uniform(-3, 3, N)
# Not so large beside B that rounding would take what is compared.
A = 30.0 * np.random.default_rng(8).normal(size=N) * B
ROWS, COLS = (part.ravel() for part in np.indices((M, N)))
FREE = (-np.inf, np.inf)


def posterior(kind, limits=FREE):
    """A tiny one: of a family, of kept draws, or of values that were all equal."""
    found = fit(Case("joint" if kind == "joint" else "row", "none+bias")).fitted_
    if kind == "sampled":
        rng, k = np.random.default_rng(2), found.rows.factors.mean.shape[1]
        rows, cols = (rng.normal(size=(6, n, k)).astype(np.float32) for n in (M, N))
        found = replace(found, draws=Draws(rows, cols, rng.uniform(1, 2, 6)))
    if kind == "equal":
        found = found.unsure(0.7)
    return replace(found, limits=limits)


def model_in_units(**options):
    """A model with units, and the same without."""
    plain = fit(Case("row", "none+bias"), **options)
    model = fit(Case("row", "none+bias"), **options)
    model.fitted_ = replace(model.fitted_, units=Units(A, B))
    return model, plain


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("limits", [FREE, (-1.0, 1.0), (0.0, np.inf)], ids=str)
@pytest.mark.parametrize("kind", ["row", "joint", "sampled", "equal"])
def test_all_that_is_predicted_is_in_the_units_of_the_columns(kind, limits):
    plain = posterior(kind, limits)
    own = replace(plain, units=Units(A, B))
    a, b, every = A[COLS], B[COLS], (np.arange(M), np.arange(N))
    for noise in (True, False):
        close(own.mean(ROWS, COLS, noise), a + b * plain.mean(ROWS, COLS, noise))
        close(own.variance(ROWS, COLS, noise), b**2 * plain.variance(ROWS, COLS, noise))
        ends = zip(
            own.interval(ROWS, COLS, 0.9, noise),
            plain.interval(ROWS, COLS, 0.9, noise),
            strict=True,
        )
        for end, expected in ends:
            close(end, a + b * expected)
        draws = [simulated(one, ROWS, COLS, 3, 0, noise) for one in (own, plain)]
        close(draws[0], a + b * draws[1])
        close(own.variance_block(*every, noise), B**2 * plain.variance_block(*every, noise))
    close(own.mean_block(*every), A + B * plain.mean_block(*every))
    close(own.matrix(), A + B * plain.matrix())
    assert own.noise_variance == plain.noise_variance


def test_a_density_is_one_of_the_units():
    own, plain = model_in_units(value_range=(-3.0, 5.0))
    x = np.random.default_rng(0).uniform(-0.9, 0.9, len(ROWS))
    found = own.predictive(ROWS, COLS)
    expected = plain.predictive(ROWS, COLS)
    close(found.log_density(A[COLS] + B[COLS] * x), expected.log_density(x) - np.log(B[COLS]))
    close(found.pit(A[COLS] + B[COLS] * x), expected.pit(x))


def test_new_rows_are_read_and_answered_in_the_units_of_the_columns():
    own, plain = model_in_units()
    X = np.random.default_rng(3).normal(size=(4, N))
    X[np.random.default_rng(4).random(X.shape) < 0.4] = np.nan
    X[2] = np.nan
    X[2, 5] = 1.0
    new = own.fold_in(A + B * X)
    close(new.complete(), A + B * plain.fold_in(X).complete())
    with open_backend(1) as backend:
        evidence = [
            one.fitted_.evidence(Observations.from_any(x).by_row, backend)
            for one, x in ((own, A + B * X), (plain, X))
        ]
    close(evidence[0], evidence[1] - (~np.isnan(X)) @ np.log(B))


def test_unknown_rows_have_units_and_unknown_columns_none():
    own, plain = model_in_units(value_range=(-3.0, 5.0))
    rows, cols = np.array([0, M + 5]), np.array([1, 7])
    close(Anyone(own).predict(rows, cols), A[cols] + B[cols] * Anyone(plain).predict(rows, cols))
    found, expected = (Anyone(one).predictive(rows, cols) for one in (own, plain))
    close(found.mean, A[cols] + B[cols] * expected.mean)
    with pytest.raises(ValueError, match="new columns have no unit"):
        Anyone(own).predict([0], [N + 5])


def test_columns_without_a_unit_and_updates_are_refused():
    own, _ = model_in_units()
    with pytest.raises(ValueError, match=r"new columns have no unit.*fit the whole table again"):
        own.fold_in(np.ones((M, 2)), side="cols")
    with pytest.raises(ValueError, match="update does not know the units"):
        own.update(np.ones((M, N)))
    with pytest.raises(ValueError, match="no unit"):
        own.fitted_.transposed()


def test_a_file_keeps_the_units_and_none_where_there_are_none(tmp_path):
    for name, model in zip(("own", "plain"), model_in_units(), strict=True):
        model.save(tmp_path / name)
        found = load_model(tmp_path / name)
        assert np.array_equal(found.complete(), model.complete())
        for one, other in zip(
            found.predict_interval(ROWS, COLS), model.predict_interval(ROWS, COLS), strict=True
        ):
            assert np.array_equal(one, other)
        assert (found.fitted_.units is None) == (name == "plain")


def test_what_is_not_in_the_units_of_the_columns_is_said(tmp_path):
    own, plain = model_in_units(value_range=(-3.0, 5.0))
    assert own.noise_std_ == plain.noise_std_
    assert "of scaled columns" in describe(own, tmp_path)
    assert "of scaled columns" not in describe(plain, tmp_path)
    test = Entries(np.array([4, 4]), np.array([3, 5]), (A + 6 * B)[[3, 5]])
    said = find(own, test).warnings
    assert any("units of their own" in words for words in said)
    assert any("2 held-out entries lie outside the range" in words for words in said)
    inside = find(own, test._replace(values=(A + B)[[3, 5]])).warnings
    assert not any("outside the range" in words for words in inside)
    with pytest.warns(UserWarning, match="units of their own"):
        own.recommend(n=2)


def test_a_rescaled_and_shifted_table_is_the_same_table():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 2)) @ rng.normal(size=(2, N)) + 0.1 * rng.normal(size=(30, N))
    X[rng.random(X.shape) < 0.2] = np.nan
    shift = 3.0 * rng.normal(size=N)
    models = [
        learn(values, scale=True, rank=4, random_state=0, n_jobs=1) for values in (X, shift + B * X)
    ]
    np.testing.assert_allclose(
        models[1].complete(), shift + B * models[0].complete(), rtol=1e-5, atol=1e-5 * B.min()
    )
    i, j = np.nonzero(np.isnan(X))
    widths = [high - low for low, high in (one.predict_interval(i, j) for one in models)]
    np.testing.assert_allclose(widths[1], B[j] * widths[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("shift", "scale"),
    [(np.zeros(2), np.ones(3)), (np.zeros(2), np.array([1.0, 0.0])), (np.full(2, np.nan), B[:2])],
)
def test_units_that_make_no_sense_are_refused(shift, scale):
    with pytest.raises(ValueError, match="units: "):
        Units(shift, scale)
