"""`complete` hands back the kind of frame that was given, its index and its columns."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bmcg import BMCG, Observations, load_model
from bmcg.observations.frames import wide_frame
from bmcg.observations.labels import Labels

M = 6


def fit(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BMCG(posterior="variational", max_sweeps=2, random_state=0, n_jobs=1).fit(X)


def values(n=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(M, 1)) * rng.normal(size=(1, n))
    X[0, 1] = np.nan
    return X


INDICES = {
    "range": pd.RangeIndex(M),
    "small integers": pd.Index(range(M), dtype="int32", name="n"),
    "a name that is a number": pd.Index(range(M), name=7),
    "text": pd.Index(list("uvwxyz"), dtype="string"),
    "hours": pd.date_range("2024-03-31", periods=M, freq="h"),
    "hours in a zone": pd.date_range("2024-03-31", periods=M, freq="h", tz="Europe/Berlin"),
    "months": pd.period_range("2024-01", periods=M, freq="M"),
    "categories": pd.CategoricalIndex(list("bacdfe")),
    "levels": pd.MultiIndex.from_product([["a", "b", "c"], [1, 2]], names=["x", "y"]),
}


@pytest.mark.parametrize("axis", ["index", "columns"])
@pytest.mark.parametrize("kind", INDICES)
def test_a_pandas_frame_comes_back_with_its_own_index(kind, axis):
    X = values() if axis == "index" else values().T
    frame = pd.DataFrame(X, **{axis: INDICES[kind]})
    found = fit(frame).complete()
    pd.testing.assert_index_equal(getattr(found, axis), INDICES[kind], exact=True)


def test_moments_may_name_columns_in_a_model_file(tmp_path):
    frame = pd.DataFrame(values().T, columns=INDICES["hours"])
    fit(frame).save(tmp_path / "model")
    found = load_model(tmp_path / "model").complete()
    assert list(found.columns) == list(frame.columns)


def test_levels_come_back_from_a_model_file(tmp_path):
    fit(pd.DataFrame(values(), index=INDICES["levels"])).save(tmp_path / "model")
    found = load_model(tmp_path / "model").complete()
    assert isinstance(found.index, pd.MultiIndex)
    assert list(found.index) == list(INDICES["levels"])


@pytest.mark.parametrize("library", [pl.DataFrame, pa.table], ids=["polars", "arrow"])
def test_frames_of_other_libraries_come_back_as_they_were(library):
    wide = library(dict(zip("abcd", values().T, strict=True)))
    found = fit(wide).complete()
    assert isinstance(found, type(wide))
    names = found.column_names if isinstance(found, pa.Table) else found.columns
    assert names == list("abcd")


def test_a_long_frame_comes_back_as_a_matrix_of_its_library():
    long = pl.DataFrame({"u": ["b", "a", "b"], "i": ["y", "y", "x"], "r": [1.0, 2.0, 3.0]})
    found = fit(Observations.from_frame(long, "u", "i", "r")).complete()
    assert isinstance(found, pl.DataFrame)
    assert found.columns == ["u", "x", "y"]


def test_newcomers_have_the_index_they_were_given():
    frame = pd.DataFrame(values(), index=INDICES["hours"], columns=list("abcd"))
    later = pd.DataFrame(
        values()[:2], index=INDICES["hours"][:2] + pd.Timedelta("9h"), columns=list("abcd")
    )
    found = fit(frame).fold_in(later).complete()
    pd.testing.assert_index_equal(found.index, later.index)


def test_labels_of_other_data_name_a_frame_and_tuples_make_levels():
    names = Labels(np.array(["a", "b"], dtype=object), "row")
    pairs = np.empty(2, dtype=object)
    pairs[:] = [("x", 1), ("x", 2)]
    frame = wide_frame(np.eye(2), names, Labels(pairs, "column"), "pandas")
    assert frame.index.tolist() == ["a", "b"]
    assert frame.columns.nlevels == 2
    assert frame.columns.tolist() == [("x", 1), ("x", 2)]
