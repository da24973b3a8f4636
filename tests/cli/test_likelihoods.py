"""Every kind of value through the command: fitted, predicted with its levels, refused by name."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest

from .conftest import call, refused

# What is tested is how files are read and written, and what is said; not what is learned.
pytestmark = pytest.mark.usefixtures("short_fits")

NAMES = ("--row", "user", "--col", "item", "--value", "value")
QUICK = ("--rank", "2", "--no-selection", "--posterior", "row")
HALVES = [0.5 * k for k in range(1, 11)]


@pytest.fixture
def write(tmp_path):
    """Writes values of 12 users and 9 items, some of them changed, and two pairs to predict."""
    (tmp_path / "pairs.csv").write_text("user,item\nu1,i2\nu3,i4\n")

    def made(values, **changed):
        rng = np.random.default_rng(0)
        lines = [str(values[at]) for at in rng.integers(len(values), size=108)]
        lines[17] = str(changed.get("odd", lines[17]))
        text = [f"u{n // 9},i{n % 9},{value}" for n, value in enumerate(lines)]
        (tmp_path / "data.csv").write_text("\n".join(["user,item,value", *text]) + "\n")
        return tmp_path

    return made


@pytest.mark.parametrize(
    ("values", "likelihood", "columns"),
    [
        (HALVES, "ordinal", [f"p_{level:g}" for level in HALVES]),
        ([1, 2, 3, 4, 5], "ordinal", ["p_1", "p_2", "p_3", "p_4", "p_5"]),
        (["yes", "no"], "bernoulli", ["p_0", "p_1"]),
    ],
)
def test_levels_have_probabilities(write, values, likelihood, columns):
    folder = write(values)
    model = folder / "m"
    fit = ("fit", folder / "data.csv", *NAMES, *QUICK, "--likelihood", likelihood, "-o", model)
    assert call(*fit).code == 0
    out = call("predict", model, folder / "pairs.csv", "--proba", "--level", "0.9", "-o", "-").out
    found = pl.read_csv(io.StringIO(out))
    assert found.columns == ["user", "item", "mean", "low", "high", *columns]
    table = found.select(columns).to_numpy()
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-9)
    levels = np.array([float(name[2:]) for name in columns])
    np.testing.assert_allclose(table @ levels, found["mean"].to_numpy(), atol=1e-9)


def test_a_model_without_levels_has_no_probabilities_of_them(write):
    folder = write([0, 1, 2, 7])
    fit = ("fit", folder / "data.csv", *NAMES, *QUICK, "--likelihood", "poisson")
    assert call(*fit, "-o", folder / "m").code == 0
    words = refused("predict", folder / "m", folder / "pairs.csv", "--proba", "-o", "-")
    assert "--likelihood bernoulli or ordinal" in words


@pytest.mark.parametrize(
    ("values", "odd", "likelihood", "words"),
    [
        ([0, 1], 2, "bernoulli", 'use "ordinal" for levels'),
        ([0, 1, 2], -3, "poisson", "whole numbers from zero"),
        ([0, 1, 2], 2.5, "negative_binomial", "whole numbers from zero"),
        ([1, 2, 3, 4, 5], 3.5, "ordinal", "from 1 in steps of 1"),
        (HALVES, 3.25, "ordinal", "from 0.5 in steps of 0.5"),
        ([1, 2, 3], "good", "ordinal", "write ordered levels as numbers"),
    ],
)
def test_the_first_wrong_value_is_named_with_the_way_out(write, values, odd, likelihood, words):
    folder = write(values, odd=odd)
    fit = ("fit", folder / "data.csv", *NAMES, "--likelihood", likelihood, "-o", folder / "m")
    said = refused(*fit)
    assert words in said
    assert str(odd) in said
    if odd != "good":
        assert "row u1, column i8" in said
    assert not (folder / "m").exists()


def test_what_is_proposed_is_said(write):
    folder = write(["yes", "no"])
    fit = ("fit", folder / "data.csv", *NAMES, *QUICK, "--likelihood", "auto", "-o", folder / "m")
    done = call(*fit)
    assert "takes 'bernoulli': all values are 0 or 1" in done.err
