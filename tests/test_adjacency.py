"""A graph in any form becomes one checked adjacency matrix."""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from bmcg.graphs.adjacency import as_adjacency
from bmcg.observations.labels import Labels, as_label_array

# A weighted path through four of five nodes: 0 -2- 1 -1- 2 -0.5- 3, and 4 alone.
A = np.zeros((5, 5))
for a, b, w in [(0, 1, 2.0), (1, 2, 1.0), (2, 3, 0.5)]:
    A[a, b] = A[b, a] = w
EDGES = [(0, 1, 2.0), (2, 1, 1.0), (2, 3, 0.5)]
NAMES = ["n0", "n1", "n2", "n3", "n4"]
NAMED = [(f"n{a}", f"n{b}", w) for a, b, w in EDGES]


def read(graph, names=None):
    labels = None if names is None else Labels(as_label_array(names), "row")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return as_adjacency(graph, 5, labels, "row_graph")


def networkx(edges, kind=nx.Graph):
    graph = kind()
    graph.add_weighted_edges_from(edges)
    return graph


FORMS = {
    "dense": A,
    "integers": (A * 2).astype(int),
    "nested list": A.tolist(),
    "csr": sp.csr_array(A),
    "coo matrix": sp.coo_matrix(A),
    "square pandas": pd.DataFrame(A),
    "square polars": pl.DataFrame(A, schema=NAMES),
    "edges": EDGES,
    "edge tuples": tuple(EDGES),
    "edge array": np.array([*EDGES, EDGES[0]]),
    "edge pandas": pd.DataFrame(EDGES, columns=["a", "b", "w"]),
    "edge polars": pl.DataFrame(EDGES, schema=["a", "b", "w"], orient="row"),
    "edge arrow": pa.Table.from_pandas(pd.DataFrame(EDGES, columns=["a", "b", "w"])),
    "networkx": networkx(EDGES),
    "directed both ways": networkx(EDGES + [(b, a, w) for a, b, w in EDGES], nx.DiGraph),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_matrix(form):
    found = read(FORMS[form])
    np.testing.assert_array_equal(found.toarray(), 2 * A if form == "integers" else A)
    assert isinstance(found, sp.csr_array)
    assert found.dtype == np.float64


BACKWARDS = pd.DataFrame(A, index=NAMES, columns=NAMES).iloc[::-1, [2, 0, 1, 4, 3]]
NAMED_FORMS = {
    "edges": NAMED,
    "pandas": pd.DataFrame(NAMED, columns=["a", "b", "w"]),
    "polars": pl.DataFrame(NAMED, schema=["a", "b", "w"], orient="row"),
    "networkx": networkx(NAMED),
    "directed both ways": networkx(NAMED + [(b, a, w) for a, b, w in NAMED], nx.DiGraph),
    "square pandas, rows and columns in other orders": BACKWARDS,
    "square polars": pl.DataFrame(A[::-1, ::-1], schema=NAMES[::-1]),
    "dense, in the order of the labels": A,
    "sparse, in the order of the labels": sp.csr_array(A),
}


@pytest.mark.parametrize("form", NAMED_FORMS)
def test_names_of_nodes_are_looked_up(form):
    np.testing.assert_array_equal(read(NAMED_FORMS[form], NAMES).toarray(), A)


@pytest.mark.parametrize("nothing", [[], nx.Graph(), sp.csr_array((5, 5)), np.zeros((5, 5))])
def test_a_graph_without_edges_is_a_graph(nothing):
    assert read(nothing).nnz == 0


def test_the_input_is_left_as_it_was():
    given = sp.csr_array(A + np.eye(5))
    before = given.copy()
    read(given)
    np.testing.assert_array_equal(given.toarray(), before.toarray())


@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_self_loops_are_dropped(form):
    found = read(form(A + 7 * np.eye(5)))
    np.testing.assert_array_equal(found.toarray(), A)
    assert found.nnz == 6
    np.testing.assert_array_equal(read([*EDGES, (4, 4, 9.0)]).toarray(), A)


@pytest.mark.parametrize(
    "form", [np.triu, lambda M: sp.csr_array(np.triu(M)), lambda M: networkx(EDGES, nx.DiGraph)]
)
def test_asymmetry_is_averaged_with_a_warning_that_says_so(form):
    with pytest.warns(UserWarning, match=r"row_graph is not symmetric.*\(A \+ A\^T\) / 2"):
        found = as_adjacency(form(A), 5, None, "row_graph")
    np.testing.assert_array_equal(found.toarray(), A / 2)


def test_asymmetry_of_rounding_passes_in_silence():
    noisy = A * (1 + 1e-15 * np.random.default_rng(0).standard_normal((5, 5)))
    found = read(noisy).toarray()
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, A)


def with_weight(value):
    bad = A.copy()
    bad[2, 1] = bad[1, 2] = value
    return bad


@pytest.mark.parametrize("form", [np.array, sp.csr_array, pd.DataFrame])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1.0, r"row_graph: weights must not be negative, found -1.0 at \(1, 2\)"),
        (np.nan, r"row_graph: weights must be finite, found nan at \(1, 2\)"),
        (np.inf, r"row_graph: weights must be finite, found inf at \(1, 2\)"),
    ],
)
def test_weights_that_make_no_sense_are_refused(form, value, message):
    with pytest.raises(ValueError, match=message):
        read(form(with_weight(value)))


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_edges_with_weights_that_make_no_sense_are_refused(value):
    message = "row_graph: weights must be finite and not negative, but edge 1"
    with pytest.raises(ValueError, match=message):
        read([(0, 1, 1.0), (1, 2, value)])
    with pytest.raises(ValueError, match=message):
        read(networkx([(0, 1, 1.0), (1, 2, value)]))


@pytest.mark.parametrize("form", [np.array, sp.csr_array, pd.DataFrame, lambda M: M.tolist()])
def test_a_graph_of_another_size_is_refused(form):
    # Three weighted edges as an array would look the same as a matrix of three nodes.
    with pytest.raises(ValueError, match=r"shape \(3, 3\), .* edges through .*edge_graph"):
        read(np.array(EDGES))
    with pytest.raises(ValueError, match=r"row_graph has shape \(4, 4\), but the data has 5 nodes"):
        read(form(A[:4, :4]))
    with pytest.raises(ValueError, match=r"row_graph has shape \(6, 6\)"):
        read(form(np.zeros((6, 6))))


@pytest.mark.parametrize(
    ("graph", "names", "error", "message"),
    [
        ([(0, 5)], None, ValueError, r"row_graph: .*positions \[5\] are outside"),
        ([(0, -1)], None, ValueError, r"row_graph: .*positions \[-1\]"),
        ([("a", "b")], None, ValueError, "row_graph: .*'a' is not a position"),
        ([("n0", "n9")], NAMES, KeyError, "row_graph: .*'n9'"),
        (networkx([("n0", "n9", 1.0)]), NAMES, KeyError, "row_graph: .*'n9'"),
        (networkx([(0, 9, 1.0)], nx.DiGraph), None, KeyError, "row_graph: .*9"),
        (BACKWARDS.rename(columns={"n3": "m3"}), NAMES, ValueError, "row_graph, columns: .*'n3'"),
        ([(0, 1, 1.0, 2.0)], None, TypeError, "row_graph: cannot read a list as a graph"),
        ([(0, 1), (1, 2, 1.0)], None, ValueError, "row_graph: .*different lengths"),
        (np.ones((5, 4)), None, TypeError, "row_graph: cannot read a ndarray as a graph"),
        (np.ones(5), None, TypeError, "row_graph: cannot read a ndarray as a graph"),
        (3, None, TypeError, "row_graph: cannot read a int as a graph"),
        ("graph.csv", None, TypeError, "row_graph: cannot read a str as a graph"),
        (A * 1j, None, ValueError, "row_graph: weights must be real numbers, not complex"),
        (sp.csr_array(A * 1j), None, ValueError, "row_graph: weights must be real numbers"),
        (pd.DataFrame(A).astype(str) + "x", None, ValueError, "row_graph must hold numbers only"),
    ],
)
def test_what_cannot_be_read_is_refused(graph, names, error, message):
    with pytest.raises(error, match=message):
        read(graph, names)
