"""Edge lists in every form people keep them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bmcg.graphs import edge_graph

PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float)


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 1), (1, 2)],
        np.array([[0, 1], [1, 2]]),
        np.array([[1.0, 0.0], [2.0, 1.0]]),
        pd.DataFrame({"a": [0, 1], "b": [1, 2]}),
        pl.DataFrame({"a": [0, 1], "b": [1, 2]}),
        pa.table({"a": [0, 1], "b": [1, 2]}),
    ],
)
def test_pairs_of_positions_in_any_container(edges):
    np.testing.assert_array_equal(edge_graph(edges).toarray(), PATH)


@pytest.mark.parametrize("labels", [["x", "y", "z"], np.array([30, 10, 20]), pd.Index(list("qrs"))])
def test_labels_are_looked_up_in_their_order(labels):
    a, b, c = list(labels)
    np.testing.assert_array_equal(edge_graph([(a, b), (c, b)], labels=labels).toarray(), PATH)


def test_third_column_and_weights_say_the_same():
    third = edge_graph([("x", "y", 0.5), ("y", "z", 2)], labels=["x", "y", "z"])
    given = edge_graph([("x", "y"), ("y", "z")], labels=["x", "y", "z"], weights=[0.5, 2])
    frame = edge_graph(
        pl.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "w": [0.5, 2.0]}), labels=["x", "y", "z"]
    )
    assert third[0, 1] == 0.5
    assert third[2, 1] == 2.0
    assert (third != given).nnz == 0
    assert (third != frame).nnz == 0


def test_repeated_pairs_count_once_with_their_largest_weight():
    graph = edge_graph([(0, 1, 1.0), (1, 0, 3.0), (0, 1, 2.0)])
    np.testing.assert_array_equal(graph.toarray(), [[0, 3], [3, 0]])


def test_self_loops_and_zero_weights_are_dropped():
    graph = edge_graph([(0, 0, 1.0), (0, 1, 0.0), (1, 2, 1.0)], n_nodes=4)
    assert graph.shape == (4, 4)
    assert graph.nnz == 2


def test_no_edges_leave_isolated_nodes():
    assert edge_graph([], n_nodes=3).shape == (3, 3)
    assert edge_graph(np.empty((0, 2)), labels=["a", "b"]).nnz == 0
    assert edge_graph([(2, 2)]).nnz == 0


def test_unknown_ends_are_left_out_on_request():
    labelled = edge_graph(
        [("x", "y"), ("x", "?"), ("y", "z")], labels=["x", "y", "z"], ignore_unknown=True
    )
    numbered = edge_graph([(0, 1), (1, 2), (1, 9)], n_nodes=3, ignore_unknown=True)
    np.testing.assert_array_equal(labelled.toarray(), PATH)
    np.testing.assert_array_equal(numbered.toarray(), PATH)


def test_unknown_labels_are_listed():
    edges = [("x", f"u{i}") for i in range(9)]
    with pytest.raises(KeyError, match=r"edges: unknown node labels 'u0'.*and 4 more"):
        edge_graph(edges, labels=["x"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"edges": [(0, 5)], "n_nodes": 3}, r"positions \[5\] are outside"),
        ({"edges": [(0, -1)]}, r"positions \[-1\]"),
        ({"edges": [("a", "b")]}, "'a' is not a position.*labels"),
        ({"edges": [(0, 1.5)]}, "1.5 is not a position"),
        ({"edges": [(0, 1), (1,)]}, "different lengths"),
        ({"edges": [(0, 1, 1.0, 2.0)]}, "4 columns"),
        ({"edges": [(0, 1, -1.0)]}, "edge 0 has -1.0"),
        ({"edges": [(0, 1)], "weights": [np.nan]}, "edge 0 has nan"),
        ({"edges": [(0, 1)], "weights": [1.0, 2.0]}, "weights has shape"),
        ({"edges": [(0, 1)], "weights": ["heavy"]}, "weights must hold numbers"),
        ({"edges": [(0, 1, 1.0)], "weights": [1.0]}, "third column"),
        ({"edges": []}, "edges is empty"),
        ({"edges": [(0, 1)], "n_nodes": 0}, "n_nodes=0"),
        ({"edges": [], "labels": ["a", "a"]}, "'a' appears twice"),
        ({"edges": [], "labels": ["a"], "n_nodes": 2}, "n_nodes=2, but there are 1 labels"),
    ],
)
def test_edge_graph_refuses_bad_input_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        edge_graph(**arguments)
