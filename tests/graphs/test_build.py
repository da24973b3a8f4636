"""Graphs from points and shapes against their definitions on small dense cases."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from bmcg.graphs import chain_graph, grid_graph, knn_graph


def assert_is_graph(graph, n):
    assert isinstance(graph, sp.csr_array)
    assert graph.shape == (n, n)
    assert graph.dtype == np.float64
    assert graph.has_sorted_indices
    assert (graph.data > 0).all()
    assert np.isfinite(graph.data).all()
    assert (graph.diagonal() == 0).all()
    assert (graph != graph.T).nnz == 0


def brute_knn(points, k, metric="euclidean"):
    """The definition, for points without ties: dense distances, sorted."""
    d = cdist(points, points, metric)
    near = np.argsort(d + np.diag(np.full(len(d), np.inf)), axis=1)[:, :k]
    found = np.take_along_axis(d, near, axis=1)
    scale = np.mean(np.column_stack([np.zeros(len(d)), found])) ** 2
    A = np.zeros_like(d)
    np.put_along_axis(A, near, np.exp(-(found**2) / scale), axis=1)
    return (A + A.T) / 2


@pytest.mark.parametrize("n_features", [2, 40])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_knn_graph_is_the_dense_definition(n_features, metric):
    points = np.random.default_rng(1).normal(size=(60, n_features))
    graph = knn_graph(points, 7, metric=metric)
    assert_is_graph(graph, 60)
    np.testing.assert_allclose(graph.toarray(), brute_knn(points, 7, metric), atol=1e-12)


def test_knn_graph_does_not_depend_on_the_unit_of_features():
    points = np.random.default_rng(2).normal(size=(50, 3))
    np.testing.assert_allclose(
        knn_graph(points).toarray(), knn_graph(1e6 * points).toarray(), rtol=1e-9
    )


def test_knn_graph_is_the_same_for_arrays_and_frames():
    points = np.random.default_rng(3).poisson(0.5, size=(80, 6)).astype(float)
    expected = knn_graph(points, 5)
    for features in (pd.DataFrame(points), pl.DataFrame(points)):
        assert (knn_graph(features, 5) != expected).nnz == 0


def test_sparse_points_give_the_graph_of_the_same_dense_points():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(80, 30)) * (rng.random((80, 30)) < 0.3)
    np.testing.assert_allclose(
        knn_graph(sp.coo_array(points), 5).toarray(), knn_graph(points, 5).toarray(), rtol=1e-6
    )


def test_binary_weights_are_one_on_mutual_and_half_on_one_sided_edges_of_the_gaussian_graph():
    points = np.random.default_rng(4).normal(size=(40, 2))
    binary, gaussian = knn_graph(points, 4, weights="binary"), knn_graph(points, 4)
    assert set(binary.data) == {0.5, 1.0}
    assert (binary.indices == gaussian.indices).all()


def test_given_scale_is_used():
    graph = knn_graph([[0.0], [2.0]], scale=8.0)
    assert graph[0, 1] == pytest.approx(math.exp(-0.5))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=40),
    st.integers(1, 6),
    st.booleans(),
)
def test_every_point_gets_its_number_of_nearest_neighbours_whatever_the_ties(values, k, sparse):
    points = np.asarray(values, dtype=float)[:, None]
    d = np.abs(points - points.T)
    n = len(points)
    k = min(k, n - 1)
    features = sp.csr_array(points) if sparse else points
    graph = knn_graph(features, k, weights="binary")
    assert_is_graph(graph, n)
    np.fill_diagonal(d, np.inf)
    A = graph.toarray() > 0
    for i in range(n):
        kth = np.sort(d[i])[k - 1]
        assert A[i].sum() >= k
        assert A[i][d[i] < kth].all()


@pytest.mark.parametrize("k", [1, 2, 5, 10])
@pytest.mark.parametrize("n", [12, 13, 200])
def test_identical_points_form_a_connected_graph_without_hubs(n, k):
    graph = knn_graph(np.ones((n, 2)), k)
    assert_is_graph(graph, n)
    degrees = np.diff(graph.indptr)
    assert degrees.min() >= k
    assert degrees.max() <= k + 1
    if k > 1:
        assert sp.csgraph.connected_components(graph)[0] == 1
    # A choice that is not mutual has half the weight of one that is.
    assert set(graph.data) <= {0.5, 1.0}


def test_duplicates_are_joined_before_others():
    points = np.repeat(np.arange(3.0), 4)[:, None]
    expected = np.kron(np.eye(3), np.ones((4, 4)) - np.eye(4))
    np.testing.assert_array_equal(knn_graph(points, 3).toarray(), expected)


def test_neighbours_are_capped_at_what_there_is():
    assert knn_graph(np.arange(3.0)[:, None], 10, weights="binary").nnz == 6
    assert knn_graph([[1.0, 2.0]]).shape == (1, 1)
    assert knn_graph([[1.0, 2.0]]).nnz == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": [[np.nan], [1.0]]}, "features holds 1 NaN"),
        ({"features": sp.csr_array([[np.inf], [1.0]])}, "features holds 1 NaN or infinite"),
        ({"features": [1.0, 2.0]}, r"features has shape \(2,\)"),
        ({"features": np.empty((0, 2))}, "features has shape"),
        ({"features": [["a"], ["b"]]}, "features must hold numbers"),
        ({"features": [[1.0]], "n_neighbors": 0}, "n_neighbors=0"),
        ({"features": [[1.0]], "n_neighbors": 2.5}, "n_neighbors=2.5"),
        ({"features": [[1.0]], "weights": "cosine"}, "weights='cosine'"),
        ({"features": [[1.0]], "scale": -1.0}, "scale=-1.0"),
    ],
)
def test_knn_graph_refuses_bad_input_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        knn_graph(**arguments)


@pytest.mark.parametrize("n", [1, 2, 5, 40])
@pytest.mark.parametrize("scale", [math.sqrt(3), 0.1, 20.0])
def test_chain_graph_is_its_formula_down_to_the_cutoff(n, scale):
    gap = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    expected = np.exp(-(gap**2) / scale**2)
    np.fill_diagonal(expected, 0.0)
    graph = chain_graph(n, scale)
    assert_is_graph(graph, n)
    np.testing.assert_allclose(
        graph.toarray(), np.where(expected >= 1e-8, expected, 0.0), rtol=1e-14
    )


def test_chain_graph_is_banded():
    coo = chain_graph(500).tocoo()
    assert np.abs(coo.row - coo.col).max() == 7


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 4), (1, 5), (2, 3, 4), (2, 2, 2, 2)])
@pytest.mark.parametrize("diagonals", [False, True])
def test_grid_graph_joins_exactly_the_nodes_one_step_apart(shape, diagonals):
    at = np.stack(np.unravel_index(np.arange(math.prod(shape)), shape), axis=1)
    steps = cdist(at, at, "chebyshev" if diagonals else "cityblock")
    graph = grid_graph(shape, diagonals=diagonals)
    assert_is_graph(graph, len(at))
    np.testing.assert_array_equal(graph.toarray(), steps == 1)


def test_grid_graph_of_a_number_is_a_line():
    assert (grid_graph(6) != grid_graph((6,))).nnz == 0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: chain_graph(0), "n=0"),
        (lambda: chain_graph(3, 0.0), "scale=0.0"),
        (lambda: chain_graph(3, cutoff=2.0), "cutoff=2.0"),
        (lambda: grid_graph((3, 0)), "shape="),
        (lambda: grid_graph((3, 1.5)), "shape="),
        (lambda: grid_graph(()), "shape="),
    ],
)
def test_shapes_that_are_none_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()
