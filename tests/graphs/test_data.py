"""Graphs from patterns, tables, times and places against brute force."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from bmcg import Observations
from bmcg.graphs import feature_graph, geo_graph, knn_graph, pattern_graph
from bmcg.graphs import pattern as pattern_module
from bmcg.graphs.pattern import nearest_patterns
from bmcg.graphs.table import encode_table


def observed(mask):
    rows, cols = np.nonzero(mask)
    return Observations.from_triples(rows, cols, np.ones(len(rows)), shape=mask.shape)


def cosine(mask):
    """idf-weighted cosine of all pairs of rows, zero on the diagonal."""
    idf = np.log(len(mask) / np.maximum(mask.sum(axis=0), 1))
    X = mask * idf
    norm = np.linalg.norm(X, axis=1)
    S = X @ X.T / np.where(norm > 0, norm, 1.0)[:, None] / np.where(norm > 0, norm, 1.0)
    np.fill_diagonal(S, 0.0)
    return S


def blocks(m, n, rng, clusters=8):
    """A mask in which rows of a cluster share most of their columns."""
    likes = rng.random((clusters, n)) < 0.2
    return rng.random((m, n)) < np.where(likes[rng.integers(clusters, size=m)], 0.6, 0.02)


@pytest.mark.parametrize("side", ["rows", "cols"])
def test_pattern_graph_keeps_the_most_similar_by_the_dense_cosine(side):
    mask = np.random.default_rng(0).random((70, 40)) < 0.3
    graph = pattern_graph(observed(mask), side, 5)
    S = cosine(mask if side == "rows" else mask.T)
    chosen = np.zeros_like(S, dtype=bool)
    np.put_along_axis(chosen, np.argsort(S, axis=1)[:, -5:], True, axis=1)
    expected = np.where(chosen | chosen.T, S, 0.0)
    np.testing.assert_allclose(graph.toarray(), expected, atol=1e-12)


def test_pattern_graph_is_symmetric_with_weights_up_to_one():
    rng = np.random.default_rng(1)
    mask = rng.random((60, 8)) < 0.3  # so few columns that many rows are identical
    graph = pattern_graph(observed(mask))
    assert isinstance(graph, sp.csr_array)
    assert graph.has_sorted_indices
    assert (graph != graph.T).nnz == 0
    assert graph.diagonal().sum() == 0
    assert graph.data.min() > 0
    assert graph.data.max() == 1.0


def test_values_do_not_matter_only_the_pattern():
    mask = np.random.default_rng(2).random((30, 20)) < 0.4
    seen = observed(mask)
    other = seen.with_values(np.random.default_rng(3).normal(size=len(seen)))
    assert (pattern_graph(seen) != pattern_graph(other)).nnz == 0


def test_rows_without_a_telling_column_are_isolated():
    mask = np.zeros((6, 4), dtype=bool)
    mask[:5, 1:] = np.random.default_rng(4).random((5, 3)) < 0.7
    mask[:4, 1] = True
    mask[4] = False
    graph = pattern_graph(observed(mask), n_neighbors=2)
    assert graph[[4, 5]].nnz == 0
    assert pattern_graph(observed(np.ones((4, 3), dtype=bool))).nnz == 0
    assert pattern_graph(observed(np.ones((1, 3), dtype=bool))).shape == (1, 1)


def test_identical_rows_do_not_all_choose_the_same_few():
    mask = np.zeros((300, 2), dtype=bool)
    mask[:200, 0] = True
    mask[200:, 1] = True
    degrees = np.diff(pattern_graph(observed(mask), n_neighbors=5).indptr)
    assert degrees.min() >= 5
    assert degrees.max() < 25


@pytest.mark.parametrize("approximate", [False, True])
def test_threads_do_not_change_the_pattern_graph(approximate):
    seen = observed(blocks(300, 80, np.random.default_rng(5)))
    one = pattern_graph(seen, approximate=approximate, n_jobs=1)
    three = pattern_graph(seen, approximate=approximate, n_jobs=3)
    assert (one != three).nnz == 0


def test_approximate_search_with_a_large_budget_is_exact():
    seen = observed(np.random.default_rng(6).random((200, 60)) < 0.2).by_row
    exact = nearest_patterns(seen.indptr, seen.indices, 60, 4, approximate=False)
    found = nearest_patterns(seen.indptr, seen.indices, 60, 4, approximate=True)
    np.testing.assert_array_equal(exact[0], found[0])
    np.testing.assert_allclose(exact[1], found[1], rtol=1e-12)


def test_approximate_search_finds_most_neighbours_on_a_small_budget(monkeypatch):
    monkeypatch.setattr(pattern_module, "SCAN_BUDGET", 150)  # a row's columns hold about 7,000
    mask = blocks(1500, 200, np.random.default_rng(7))
    seen = observed(mask).by_row
    exact, _ = nearest_patterns(seen.indptr, seen.indices, 200, 10, approximate=False)
    found, similarity = nearest_patterns(seen.indptr, seen.indices, 200, 10, approximate=True)
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(exact, found, strict=True)])
    assert recall > 0.8
    S = cosine(mask)
    np.testing.assert_allclose(similarity, np.take_along_axis(S, found, axis=1), rtol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "message"), [({"side": "users"}, "side='users'"), ({"n_neighbors": 0}, "=0")]
)
def test_pattern_graph_refuses_bad_input_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        pattern_graph(observed(np.eye(3, dtype=bool)), **arguments)


TABLE = {
    "age": [20.0, 30.0, None, 50.0, 60.0, 35.0],
    "job": ["a", "b", "a", None, "b", "c"],
    "member": [True, False, True, True, None, False],
    "since": [dt.datetime(2020, 1, d) for d in (1, 2, 3, 4, 5, 6)],
}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_of_any_library_give_the_same_graph(frame):
    expected = feature_graph(pl.DataFrame(TABLE), 2)
    np.testing.assert_allclose(feature_graph(frame(TABLE), 2).toarray(), expected.toarray())


def test_numbers_are_standardised_robustly_and_categories_lie_at_squared_distance_two():
    x = np.random.default_rng(8).normal(50.0, 7.0, size=2000)
    x[0] = 1e9
    features, known = encode_table(pd.DataFrame({"x": x, "c": np.where(x > 50, "u", "v")}))
    F = features.toarray()
    assert known.all()
    assert F[0, 0] == 5.0
    assert np.std(F[1:, 0]) == pytest.approx(1.0, abs=0.05)
    np.testing.assert_array_equal(F[:, 1:].sum(axis=1), 1.0)
    up, down = np.argmax(x > 50), np.argmax(x <= 50)
    assert np.square(F[up, 1:] - F[down, 1:]).sum() == 2.0


def test_missing_values_lie_half_way():
    F = encode_table(pl.DataFrame({"c": ["u", "v", None], "x": [1.0, 3.0, None]}))[0].toarray()
    assert np.square(F[:2, :2] - F[2, :2]).sum(axis=1).tolist() == [1.0, 1.0]
    assert F[2, 2] == 0.0
    assert F[0, 2] == -F[1, 2]


def test_lines_without_any_value_are_isolated():
    frame = pl.DataFrame({"a": [1.0, None, 2.0, 4.0], "b": ["x", None, "y", None]})
    graph = feature_graph(frame, 2)
    assert graph.shape == (4, 4)
    assert np.diff(graph.indptr).tolist() == [2, 0, 2, 2]
    assert feature_graph(pl.DataFrame({"a": [None, None]}, schema={"a": pl.Float64})).nnz == 0


def test_constant_columns_say_nothing():
    x = np.random.default_rng(9).normal(size=(30, 2))
    with_constant = feature_graph(np.column_stack([x, np.full(30, 3.0)]), 4)
    assert (with_constant != feature_graph(x, 4)).nnz == 0
    assert feature_graph(np.ones((5, 1)), 2).data.tolist() == [1.0] * 10


def test_many_categories_stay_sparse_and_agree_with_dense_points():
    rng = np.random.default_rng(10)
    frame = pd.DataFrame({"c": rng.integers(40, size=120).astype(str), "x": rng.normal(size=120)})
    dense = encode_table(frame)[0].toarray()
    np.testing.assert_allclose(
        feature_graph(frame, 3).toarray(), knn_graph(dense, 3).toarray(), rtol=1e-6
    )


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        (pl.DataFrame({"a": [1.0, np.inf]}), ValueError, "column 'a' must be finite"),
        (pl.DataFrame({"a": [[1], [2]]}), ValueError, "column 'a' holds List"),
        (pl.DataFrame({"a": []}), ValueError, "nothing to build"),
        (np.array([["x"]]), ValueError, "frame is an array"),
        ([1, 2], TypeError, "frame is a list"),
    ],
)
def test_feature_graph_refuses_bad_input_by_name(frame, error, message):
    with pytest.raises(error, match=message):
        feature_graph(frame)


def test_geo_graph_finds_great_circle_neighbours():
    rng = np.random.default_rng(12)
    lat, lon = np.degrees(np.arcsin(rng.uniform(-1, 1, 80))), rng.uniform(-180, 180, 80)
    p, q = np.radians(lat), np.radians(lon)
    xyz = np.column_stack([np.cos(p) * np.cos(q), np.cos(p) * np.sin(q), np.sin(p)])
    d = np.arccos(np.clip(xyz @ xyz.T, -1, 1))
    np.fill_diagonal(d, np.inf)
    near = np.argsort(d, axis=1)[:, :4]
    expected = np.zeros_like(d, dtype=bool)
    np.put_along_axis(expected, near, True, axis=1)
    graph = geo_graph(lat, lon, 4)
    np.testing.assert_array_equal(graph.toarray() > 0, expected | expected.T)
    assert graph.data.max() <= 1.0


def test_geo_graph_crosses_the_date_line():
    lat, lon = [0.0, 0.0, 0.0, 0.0], [179.9, -179.9, 90.0, 180.1]
    graph = geo_graph(lat, lon, 1)
    assert graph[0, 1] > 0 or graph[1, 3] > 0
    assert graph[1, 3] == 1.0  # two spellings of one place


@pytest.mark.parametrize(
    ("lat", "lon", "message"),
    [
        ([91.0], [0.0], r"latitude must lie in \[-90, 90\]"),
        ([0.0], [400.0], "longitude must lie"),
        ([np.nan], [0.0], "latitude must lie .* entry 0 is nan"),
        ([0.0, 1.0], [0.0], "same length, got 2 and 1"),
        (["north"], [0.0], "latitude must hold numbers"),
        (0.0, 0.0, "latitude has shape"),
    ],
)
def test_geo_graph_refuses_bad_input_by_name(lat, lon, message):
    with pytest.raises(ValueError, match=message):
        geo_graph(lat, lon)
