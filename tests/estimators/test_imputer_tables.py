"""BMCGImputer on tables: columns in their own units, indicators, deviations, several draws."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer

from bmcg import BMCGImputer
from bmcg.estimators.scaling import column_scale, standard_scale


def imputer(**parameters):
    return BMCGImputer(**{"posterior": "variational", "n_jobs": 1, "random_state": 0, **parameters})


def people(m=120, seed=0):
    """Height, weight, age and income, which go together, with holes; and the whole table."""
    rng = np.random.default_rng(seed)
    size, old = rng.standard_normal((2, m))
    whole = pd.DataFrame(
        {
            "height": 1.72 + 0.09 * size + 0.02 * rng.standard_normal(m),
            "weight": 80 + 10 * size + 3 * old + 3 * rng.standard_normal(m),
            "age": 45 + 14 * old + 3 * rng.standard_normal(m),
            "income": 40000 + 9000 * old + 3000 * rng.standard_normal(m),
        }
    )
    return whole.mask(rng.random(whole.shape) < 0.2), whole


def sensors(m=150, n=12, seed=0):
    """One unit and one noise level; some sensors are lively and some are quiet."""
    rng = np.random.default_rng(seed)
    level = np.cumsum(rng.standard_normal((m, 2)), axis=0) / 5
    X = level @ (rng.standard_normal((2, n)) * np.geomspace(0.1, 3, n))
    X += 0.2 * rng.standard_normal(X.shape)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


def relative_errors(filled, table, whole):
    """Root mean square error of each column over its deviation."""
    miss = table.isna().to_numpy()
    squares = np.where(miss, ((filled - whole) / whole.std()) ** 2, np.nan)
    return np.sqrt(np.nanmean(squares, axis=0))


def test_columns_in_different_units_are_filled_in_their_own():
    table, whole = people()
    filled = imputer().fit_transform(table)
    assert (relative_errors(filled, table, whole) < 0.8).all()
    # As they are, the largest column is all that the fit sees.
    plain = imputer(scale=False).fit_transform(table)
    assert relative_errors(plain, table, whole)[0] > 2


@pytest.mark.parametrize(("factor", "shift"), [(1000.0, 0.0), (0.01, 0.0), (2.2, 273.0)])
def test_the_unit_of_a_column_is_the_unit_of_its_fills(factor, shift):
    table, _ = people()
    other = table.assign(weight=factor * table["weight"] + shift)
    first, std = imputer().fit_transform(table, return_std=True)
    second, other_std = imputer().fit_transform(other, return_std=True)
    second[:, 1] = (second[:, 1] - shift) / factor
    other_std[:, 1] /= factor
    np.testing.assert_allclose(second, first, rtol=1e-6)
    np.testing.assert_allclose(other_std, std, rtol=1e-5)


def test_columns_in_one_unit_are_left_as_they_are():
    X = sensors()
    sizes = np.nanstd(X, axis=0)
    assert sizes.max() > 5 * sizes.min()
    assert column_scale(X, n_jobs=1).is_identity
    np.testing.assert_array_equal(imputer().fit_transform(X), imputer(scale=False).fit_transform(X))


def test_scales_of_constant_rare_and_empty_columns_are_those_of_the_others():
    X = np.full((6, 5), np.nan)
    X[:, 0] = [1, 2, 3, 4, 5, 6]
    X[:, 1] = 0.1
    X[0, 2] = 9.0
    X[:, 3] = [1e200, 2e200, 3e200, 1e200, 2e200, 3e200]
    scale = standard_scale(X)
    assert np.isfinite(scale.centre).all()
    assert np.isfinite(scale.size).all()
    assert (scale.size > 0).all()
    assert scale.centre[1] == pytest.approx(0.1)
    assert scale.centre[2] == 9.0


def test_a_range_for_all_columns_says_that_they_share_a_unit():
    table, _ = people()
    model = imputer(value_range=(-10, 1e6)).fit(table)
    assert model.scale_.is_identity
    with pytest.raises(ValueError, match="value_range"):
        imputer(value_range=(-10, 1e6), scale=True).fit(table)
    with pytest.raises(ValueError, match="scale='yes'"):
        imputer(scale="yes").fit(table)


def test_indicators_are_those_of_scikit_learn():
    table, _ = people()
    table["age"] = table["age"].fillna(40.0)
    ours, theirs = imputer(add_indicator=True), SimpleImputer(add_indicator=True)
    filled, simple = ours.fit_transform(table), theirs.fit_transform(table)
    assert filled.shape == simple.shape
    np.testing.assert_array_equal(filled[:, 4:], simple[:, 4:])
    np.testing.assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
    few = table[:7]
    np.testing.assert_array_equal(ours.transform(few)[:, 4:], theirs.transform(few)[:, 4:])
    assert list(imputer().fit(table).get_feature_names_out()) == list(table.columns)


def test_deviations_hold_what_they_say_and_draws_have_them():
    table, whole = people(m=300)
    model = imputer().fit(table)
    filled, std = model.transform(table, return_std=True)
    miss = table.isna().to_numpy()
    assert (std[~miss] == 0).all()
    inside = np.abs(filled - whole.to_numpy())[miss] <= 1.645 * std[miss]
    assert 0.84 < inside.mean() < 0.96
    few = table[:12]
    draws = model.sample(few, 2000, random_state=0)
    assert draws.shape == (2000, *few.shape)
    holes = miss[:12]
    np.testing.assert_array_equal(draws[0][~holes], few.to_numpy()[~holes])
    np.testing.assert_allclose(draws.std(axis=0)[holes], std[:12][holes], rtol=0.1)
    error = 5 * std[:12][holes] / np.sqrt(2000)
    assert (np.abs(draws.mean(axis=0) - filled[:12])[holes] < error).all()


def test_frames_come_back_beside_their_deviations():
    table, _ = people()
    model = imputer().set_output(transform="pandas")
    filled, std = model.fit_transform(table, return_std=True)
    assert list(filled.columns) == list(table.columns)
    assert std.shape == table.shape
    assert isinstance(model.transform(table), pd.DataFrame)


def test_text_is_refused_by_name_with_a_way_out():
    table, _ = people()
    table["colour"] = "red"
    with pytest.raises(ValueError, match=r"column 'colour' holds 'red'.*OneHotEncoder"):
        imputer().fit(table)
