"""A value a thousand times larger than the rest is told, and the way out holds."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bmcg import BMCG


def with_slip(seed=0, size=1e4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 30)) + 0.1 * rng.normal(size=(40, 30))
    seen = np.where(rng.random(X.shape) < 0.6, X, np.nan)
    seen[3, 5] = size
    return X, seen


def fit(X, **options):
    return BMCG(posterior="row", random_state=0, n_jobs=1, max_sweeps=60, **options).fit(X)


def test_it_is_named_with_its_place_and_the_way_out():
    _, seen = with_slip()
    with pytest.warns(UserWarning, match=r"10000 at row 3, column 5 .*likelihood=\"student\""):
        fit(seen)


def test_the_way_out_is_one():
    X, seen = with_slip()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, student = fit(seen), fit(seen, likelihood="student")
    hidden = np.isnan(seen)
    errors = [np.sqrt(np.mean((m.complete() - X)[hidden] ** 2)) for m in (plain, student)]
    assert errors[1] < 0.3 < errors[0]


@pytest.mark.parametrize("shape", ["bell", "lognormal", "counts"])
def test_heavy_tails_are_no_slips(shape):
    rng = np.random.default_rng(0)
    X = {
        "bell": rng.normal(size=(30, 20)),
        "lognormal": np.exp(2 * rng.normal(size=(30, 20))),
        "counts": rng.poisson(np.exp(rng.normal(size=(30, 20)))),
    }[shape]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fit(X)
    assert not any("further out" in str(warning.message) for warning in said)


@pytest.mark.parametrize(("shape", "told"), [("bell", False), ("cauchy", True), ("ones", False)])
def test_few_values_that_outweigh_all_others_are_told(shape, told):
    rng = np.random.default_rng(1)
    X = {
        "bell": rng.normal(size=(60, 40)),
        "cauchy": rng.standard_cauchy(size=(60, 40)),
        "ones": (rng.random((60, 40)) < 0.01).astype(float),
    }[shape]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fit(X)
    words = [str(warning.message) for warning in said]
    assert any("least squares" in text and '"student"' in text for text in words) == told
