"""What was observed is read the same from every container, and refused when it makes no sense."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bmcg import Observations
from bmcg.observations.entries import group_entries

X = np.array(
    [[1.0, np.nan, 0.0], [np.nan, -2.5, np.nan], [np.nan, np.nan, np.nan], [4.0, 5.0, 6.0]]
)
SEEN = ~np.isnan(X)
ROWS, COLS = np.nonzero(SEEN)


def dense(observations):
    """The matrix with NaN, from each of the two views."""
    by_row, by_col = np.full(observations.shape, np.nan), np.full(observations.shape, np.nan)
    for i in range(observations.shape[0]):
        span = slice(*observations.by_row.indptr[i : i + 2])
        by_row[i, observations.by_row.indices[span]] = observations.by_row.values[span]
    for j in range(observations.shape[1]):
        span = slice(*observations.by_col.indptr[j : j + 2])
        by_col[observations.by_col.indices[span], j] = observations.by_col.values[span]
    np.testing.assert_array_equal(by_row, by_col)
    return by_row


CONTAINERS = {
    "array": X,
    "list": [[None if np.isnan(x) else x for x in row] for row in X.tolist()],
    "objects": np.where(SEEN, X, None),
    "single precision": X.astype(np.float32),
    "column order": np.asfortranarray(X),
    "masked": np.ma.MaskedArray(np.where(SEEN, X, np.inf), ~SEEN),
    "csr": sp.csr_array((X[SEEN], (ROWS, COLS)), shape=X.shape),
    "csc": sp.csc_matrix((X[SEEN], (ROWS, COLS)), shape=X.shape),
    "coo": sp.coo_array((X[SEEN][::-1], (ROWS[::-1], COLS[::-1])), shape=X.shape),
    "pandas": pd.DataFrame(X, columns=["a", "b", "c"]),
    "pandas, numbers for names": pd.DataFrame(X, columns=[2, 1, 0]),
    "pandas, nullable": pd.DataFrame(X, columns=["a", "b", "c"]).convert_dtypes(),
    "polars": pl.DataFrame(np.where(SEEN, X, np.nan), schema=["a", "b", "c"]),
    "polars, nulls": pl.DataFrame(X, schema=["a", "b", "c"]).fill_nan(None),
    "arrow": pa.Table.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"])),
    "observations": Observations.from_triples(ROWS, COLS, X[SEEN], shape=X.shape),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_every_container_gives_the_same_observations(kind):
    found = Observations.from_any(CONTAINERS[kind])
    np.testing.assert_array_equal(dense(found), X)
    assert len(found) == SEEN.sum()
    assert found.by_row.indices.dtype == found.by_col.indices.dtype == np.int32
    assert found.by_row.indptr.dtype == found.by_col.indptr.dtype == np.int64


def test_integers_and_booleans_are_numbers():
    np.testing.assert_array_equal(dense(Observations.from_any([[1, 2], [3, 4]])), [[1, 2], [3, 4]])
    frame = pd.DataFrame({"a": [True, False], "b": [1, 2]})
    np.testing.assert_array_equal(dense(Observations.from_any(frame)), [[1, 1], [0, 2]])


def test_stored_zeros_are_observed():
    stored = sp.csr_array((np.array([0.0, 3.0]), ([0, 1], [1, 0])), shape=(2, 2))
    np.testing.assert_array_equal(
        dense(Observations.from_any(stored)), [[np.nan, 0.0], [3.0, np.nan]]
    )


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1), st.floats(0.1, 1.0))
@settings(max_examples=50, deadline=None)
def test_triples_in_any_order_are_grouped_both_ways(m, n, seed, share):
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((m, n)) < share, rng.standard_normal((m, n)), np.nan)
    matrix[rng.integers(m), rng.integers(n)] = 1.0
    i, j = np.nonzero(~np.isnan(matrix))
    order = rng.permutation(len(i))
    found = Observations.from_triples(i[order], j[order], matrix[i, j][order], shape=matrix.shape)
    np.testing.assert_array_equal(dense(found), matrix)
    for view in (found.by_row, found.by_col):
        for start, stop in zip(view.indptr[:-1], view.indptr[1:], strict=True):
            assert (np.diff(view.indices[start:stop]) > 0).all()


def test_row_order_is_what_values_and_positions_come_in():
    found = Observations.from_any(X)
    np.testing.assert_array_equal(found.row_indices, ROWS)
    np.testing.assert_array_equal(found.col_indices, COLS)
    np.testing.assert_array_equal(found.values, X[SEEN])
    np.testing.assert_array_equal(found.to_csr().toarray(), np.where(SEEN, X, 0.0))


def test_other_values_on_the_same_pattern_reach_both_views():
    found = Observations.from_any(pd.DataFrame(X, columns=["a", "b", "c"]))
    changed = found.with_values(10 * found.values)
    np.testing.assert_array_equal(dense(changed), 10 * X)
    np.testing.assert_array_equal(dense(found), X)
    assert changed.col_labels is found.col_labels


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_observations_do_not_follow_later_changes_of_the_input(order):
    rows, cols = ROWS.astype(np.int32)[order], COLS.astype(np.int32)[order]
    values = X[SEEN][order].copy()
    found = Observations.from_triples(rows, cols, values, shape=X.shape)
    rows[:], cols[:], values[:] = 0, 0, 99.0
    np.testing.assert_array_equal(dense(found), X)


def test_positions_may_be_whole_floats_and_the_shape_is_found():
    found = Observations.from_triples([0.0, 3.0], np.array([1, 0], dtype=np.uint8), [1, 2])
    assert found.shape == (4, 2)
    assert repr(found) == "Observations(4 x 2, 2 observed, 25 %)"


@pytest.mark.parametrize(
    ("how", "expected"), [("mean", 2.0), ("sum", 6.0), ("first", 3.0), ("last", 1.0)]
)
def test_repeated_entries_are_combined_as_asked(how, expected):
    found = Observations.from_triples(
        [1, 0, 1, 1], [1, 0, 1, 1], [3.0, 7.0, 2.0, 1.0], duplicates=how
    )
    np.testing.assert_array_equal(dense(found), [[7.0, np.nan], [np.nan, expected]])


def test_repeated_entries_are_refused_by_name():
    with pytest.raises(ValueError, match=r"row 1, column 2\) is given more than once \(2 rep"):
        Observations.from_triples([3, 1, 1, 1], [0, 2, 2, 2], [1.0] * 4)
    frame = pd.DataFrame({"u": ["b", "a", "a"], "i": [5, 7, 7], "x": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=r"row 'a', column 7\).*duplicates="):
        Observations.from_frame(frame, row="u", col="i", value="x")


@pytest.mark.parametrize("library", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas])
def test_long_frames_of_any_library_keep_their_labels(library):
    frame = pd.DataFrame(
        {"user": ["bo", "al", "bo"], "item": [30, 10, 10], "x": pd.array([1, 2, 3], dtype="Int64")}
    )
    found = Observations.from_frame(library(frame), row="user", col="item", value="x")
    assert found.row_labels.values.tolist() == ["al", "bo"]
    assert found.col_labels.values.tolist() == [10, 30]
    assert (found.row_labels.name, found.col_labels.name) == ("user", "item")
    np.testing.assert_array_equal(dense(found), [[2.0, np.nan], [3.0, 1.0]])


def test_labels_without_observations_may_be_listed():
    frame = pd.DataFrame({"u": ["b"], "i": ["y"], "x": [1.0]})
    found = Observations.from_frame(
        frame, "u", "i", "x", row_labels=["c", "b"], col_labels=["y", "z"]
    )
    np.testing.assert_array_equal(dense(found), [[np.nan, np.nan], [1.0, np.nan]])


def test_labels_of_mixed_types_keep_the_order_they_come_in():
    frame = pd.DataFrame({"u": ["b", 3, "a"], "i": [0, 0, 0], "x": [1.0, 2.0, 3.0]})
    found = Observations.from_frame(frame, "u", "i", "x")
    assert found.row_labels.values.tolist() == ["b", 3, "a"]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([[1.0, np.inf]], r"X must not hold infinity, but entry \(0, 1\) is inf"),
        ([[1.0, "a"]], "X must hold numbers only.*'a'"),
        ([[1.0, 1j]], "Complex data not supported"),
        ([[1.0, 2.0], [3.0]], "X must hold numbers only"),
        ([1.0, 2.0], "Expected 2D array, got 1D"),
        (None, "Expected 2D array, got 0D"),
        (np.empty((0, 3)), r"0 sample"),
        (np.empty((3, 0)), r"0 feature"),
        (np.full((2, 2), np.nan), "no observations"),
        (np.ma.MaskedArray(np.ones((2, 2)), True), "no observations"),
        (np.ma.MaskedArray([[np.nan, 1.0]], [[False, False]]), r"entry \(0, 0\) is nan"),
        (sp.csr_array((3, 3)), "no observations"),
        (sp.csr_array(np.array([[0.0, np.inf]])), r"entry \(0, 1\) is inf"),
        (sp.csr_array(np.array([[0.0, np.nan]])), r"entry \(0, 1\) is nan"),
        (pd.DataFrame({"a": ["x", "y"]}), "column 'a' must hold numbers only"),
        (pd.DataFrame({"a": pd.to_datetime(["2020", "2021"])}), "column 'a' must hold numbers"),
        (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), "distinct names"),
        (pd.DataFrame([[1.0], [2.0]], index=["a", "a"]), "row labels must be distinct.*'a'"),
        (pd.DataFrame([[1.0], [2.0]], index=["a", None]), "row labels must not be missing"),
    ],
)
def test_matrices_that_make_no_sense_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        Observations.from_any(bad)


def test_lazy_frames_are_refused_with_the_way_out():
    with pytest.raises(TypeError, match=r"LazyFrame.*collected"):
        Observations.from_any(pl.LazyFrame({"a": [1.0]}))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0], [0], [np.nan]), "values must be finite, but entry 0 is nan.*leave missing"),
        (([0, 1], [0, 0], [1.0, -np.inf]), "values must be finite, but entry 1 is -inf"),
        (([0], [0], ["a"]), "values must hold numbers only"),
        (([0], [0, 1], [1.0]), "same length, got 1, 2 and 1"),
        (([], [], []), "no observations"),
        (([-1], [0], [1.0]), "rows must not be negative, got -1"),
        (([0], [0.5], [1.0]), "cols must hold whole numbers"),
        ((["a"], [0], [1.0]), "rows must hold whole numbers.*from_frame"),
        (([2**31], [0], [1.0]), "rows holds position 2147483648"),
        (([2], [0], [1.0], (2, 2)), "rows holds position 2, outside"),
        (([0], [0], [1.0], (2,)), "shape=.*two whole numbers"),
        (([0], [0], [1.0], 3), "shape=3: pass two whole numbers"),
        (([0], [0], [1.0], (2, 2.5)), "shape=.*two whole numbers"),
        (([0], [0], [1.0], (2, 2**31)), "shape=.*at most"),
    ],
)
def test_triples_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Observations.from_triples(*arguments)


def test_options_of_triples_are_checked():
    with pytest.raises(ValueError, match="duplicates='median': choose one of 'error', 'mean'"):
        Observations.from_triples([0], [0], [1.0], duplicates="median")
    with pytest.raises(ValueError, match="1 row labels for 2 rows"):
        Observations.from_triples([0], [0], [1.0], shape=(2, 1), row_labels=["a"])
    with pytest.raises(ValueError, match="position 1, outside"):
        Observations.from_triples([1], [0], [1.0], row_labels=["a"])


LONG = pd.DataFrame({"u": ["a", "b"], "i": ["x", "y"], "x": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("frame", "names", "message"),
    [
        (LONG, ("u", "i", "rating"), "value='rating' is not a column of the frame.*u, i, x"),
        (LONG, ("u", None, "x"), "col=None is not a column"),
        (LONG, ("u", "x", "i"), "value: column 'i' must hold numbers only"),
        (LONG.assign(u=["a", None]), ("u", "i", "x"), "row labels must not be missing.*line 1"),
        (LONG.assign(i=[np.nan, 1.0]), ("u", "i", "x"), "column labels must not be missing.*0"),
        (pl.from_pandas(LONG).with_columns(u=pl.lit(None)), ("u", "i", "x"), "must not be missing"),
        (LONG.assign(x=[1.0, None]), ("u", "i", "x"), "values must be finite, but entry 1 is nan"),
    ],
)
def test_long_frames_that_make_no_sense_are_refused(frame, names, message):
    with pytest.raises(ValueError, match=message):
        Observations.from_frame(frame, *names)


def test_what_is_no_frame_and_labels_not_listed_are_refused():
    with pytest.raises(TypeError, match="ndarray as a data frame"):
        Observations.from_frame(np.eye(3), "u", "i", "x")
    with pytest.raises(KeyError, match="unknown row labels 'b'"):
        Observations.from_frame(LONG, "u", "i", "x", row_labels=["a"])


@pytest.mark.parametrize("how", ["mean", "sum", "first", "last"])
def test_entries_grouped_by_rows_are_those_of_the_matrix(how):
    rng = np.random.default_rng(0)
    rows, cols = rng.integers(0, 6, 60), rng.integers(0, 5, 60)
    values = rng.standard_normal(60)
    given = rows.astype(np.int32), cols.astype(np.int32), values
    found = group_entries(*given, (6, 5), how)
    want: dict[tuple[int, int], list[float]] = {}
    for i, j, x in zip(rows.tolist(), cols.tolist(), values.tolist(), strict=True):
        want.setdefault((i, j), []).append(x)
    combine = {"mean": np.mean, "sum": np.sum, "first": lambda x: x[0], "last": lambda x: x[-1]}
    keys = sorted(want)
    assert np.repeat(np.arange(6), np.diff(found.indptr)).tolist() == [i for i, _ in keys]
    assert found.indices.tolist() == [j for _, j in keys]
    np.testing.assert_allclose(found.values, [combine[how](want[key]) for key in keys])
    one = group_entries(*(part[:1] for part in given), (6, 5), how)
    assert (one.indices.tolist(), one.values.tolist()) == ([cols[0]], [values[0]])
    none = group_entries(*(part[:0] for part in given), (6, 5), how)
    assert none.indptr.tolist() == [0] * 7
    assert len(none.values) == 0
