"""Names go in and come out unchanged, and unknown ones are named."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bmcg.observations.labels import Labels, as_label_array, factorise

KINDS = {
    "strings": ["b", "a", "c"],
    "numbers": [30, 10, 20],
    "floats": [0.5, 1.25, -3.0],
    "mixed": ["b", 1, 2.5],
    "tuples": [("a", 1), ("a", 2), ("b", 1)],
    "dates": np.array(["2020-01-02", "2019-05-01", "2021-12-31"], dtype="datetime64[D]"),
    "times": pd.date_range("2020-01-02 03:04", periods=3),
}


@pytest.mark.parametrize("kind", KINDS)
def test_positions_are_where_the_names_stand(kind):
    names = KINDS[kind]
    labels = Labels(as_label_array(names), "row")
    asked = [names[2], names[0]]
    np.testing.assert_array_equal(labels.positions(asked, "rows"), [2, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_labels_survive_a_model_file(kind):
    labels = Labels(as_label_array(KINDS[kind]), "column", "title")
    again = Labels.decode(labels.encode(), "column")
    assert again.values.dtype == labels.values.dtype
    assert again.values.tolist() == labels.values.tolist()
    assert again.name == "title"


@pytest.mark.parametrize(
    "names",
    [
        ["b", "c"],
        np.array(["b", "c"]),
        pd.Series(["b", "c"], index=[7, 8]),
        pd.Index(["b", "c"]),
        pd.Series(["b", "c"], dtype="category"),
        pl.Series(["b", "c"]),
        pa.array(["b", "c"]),
        pa.chunked_array([["b"], ["c"]]),
    ],
)
def test_names_may_come_in_any_container(names):
    labels = Labels(as_label_array(["a", "b", "c"]), "row")
    np.testing.assert_array_equal(labels.positions(names, "rows"), [1, 2])


def test_a_number_beside_a_string_stays_a_number():
    assert as_label_array(["a", 1]).tolist() == ["a", 1]


@pytest.mark.parametrize(
    "moment",
    [
        "2020-01-02",
        datetime.date(2020, 1, 2),
        np.datetime64("2020-01-02"),
        pd.Timestamp(2020, 1, 2),
    ],
)
def test_a_day_is_found_however_it_is_written(moment):
    labels = Labels(pd.date_range("2020-01-01", periods=3).to_numpy(), "row")
    np.testing.assert_array_equal(labels.positions([moment], "rows"), [1])


def test_unknown_names_are_listed_once_each():
    labels = Labels(as_label_array(["a", "b"]), "row")
    with pytest.raises(KeyError, match="rows: unknown row labels 'x', 'y'; known labels look"):
        labels.positions(["x", "a", "y", "x"], "rows")
    with pytest.raises(KeyError, match="and 2 more"):
        labels.positions(list("qrstuvw"), "rows")
    days = Labels(np.array(["2020-01-01"], dtype="datetime64[D]"), "row")
    with pytest.raises(KeyError, match="'noon'"):
        days.positions(["noon"], "rows")


@pytest.mark.parametrize(
    "names",
    [
        ["a", None],
        [1.0, np.nan],
        ["a", float("nan")],
        pd.array([1, None], dtype="Int64"),
        pd.to_datetime(["2020", None]),
    ],
)
def test_missing_labels_are_refused(names):
    with pytest.raises(ValueError, match="row labels must not be missing, but label 1 is"):
        Labels(as_label_array(names), "row")
    with pytest.raises(ValueError, match="row labels must not be missing, but that of line 1 is"):
        factorise(names, None, "row")


def test_labels_are_distinct_and_plain():
    with pytest.raises(ValueError, match="column labels must be distinct, but 'b' appears twice"):
        Labels(as_label_array(["a", "b", "c", "b"]), "column")
    unhashable = np.empty(1, dtype=object)
    unhashable[0] = []
    with pytest.raises(TypeError, match="row labels must be plain values"):
        Labels(unhashable, "row")


def test_labels_that_a_file_cannot_hold_are_refused():
    odd = np.empty(1, dtype=object)
    odd[0] = frozenset({1})
    with pytest.raises(TypeError, match="row labels must be numbers, strings or dates"):
        Labels(odd, "row").encode()


def test_factorising_sorts_what_can_be_sorted():
    positions, labels = factorise(["b", "a", "b"], None, "row")
    assert labels.values.tolist() == ["a", "b"]
    np.testing.assert_array_equal(positions, [1, 0, 1])
    positions, labels = factorise(np.array([3, 1, 3]), None, "row")
    assert labels.values.tolist() == [1, 3]
    np.testing.assert_array_equal(positions, [1, 0, 1])
