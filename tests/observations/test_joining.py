"""What is said of rows and columns reaches them by name, in whatever order it is said."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from bmcg import BMCG, Observations, load_model
from bmcg.graphs.adjacency import as_adjacency
from bmcg.observations.joining import join_table
from bmcg.observations.labels import Labels, as_label_array

RNG = np.random.default_rng(0)
M, N = 24, 12
# Sorted as strings these stand as m0, m1, m10, m11, m2, ...: not as the item table has them.
ITEMS = [f"m{j}" for j in range(N)]
GROUP = np.arange(N) % 3
TABLE = pd.DataFrame({"movie": ITEMS, "year": 1990.0 + GROUP, "kind": np.array(list("abc"))[GROUP]})
TRUTH = RNG.standard_normal((M, 2)) @ (np.eye(3)[GROUP] @ RNG.standard_normal((3, 2))).T


def long_frame(rename=lambda name: name):
    i, j = np.nonzero(np.random.default_rng(1).random(TRUTH.shape) < 0.6)
    return pd.DataFrame(
        {"user": i, "movie": [rename(ITEMS[at]) for at in j], "value": TRUTH[i, j] + 0.01 * (i - j)}
    )


def fitted(features=None, graph=None, rename=lambda name: name, **known):
    data = Observations.from_frame(long_frame(rename), "user", "movie", "value", **known)
    model = BMCG(posterior="variational", max_sweeps=4, tol=0, bias=False, random_state=0, n_jobs=1)
    with pytest.warns(match="max_sweeps"):
        model.fit(data, col_features=features, col_graph=graph)
    return model


def predicted(model, rename=lambda name: name):
    return np.array([model.predict(np.arange(M), [rename(name)] * M) for name in ITEMS]).T


SHUFFLED = TABLE.sample(frac=1, random_state=3)
FORMS = {
    "key column": TABLE,
    "key column, shuffled": SHUFFLED,
    "shuffled, counted anew": SHUFFLED.reset_index(drop=True),
    "index": TABLE.set_index("movie"),
    "index, shuffled": SHUFFLED.set_index("movie"),
    "index without a title": SHUFFLED.set_index("movie").rename_axis(None),
    "a key by name": (SHUFFLED.rename(columns={"movie": "film"}), "film"),
    "polars": pl.from_pandas(SHUFFLED),
    "polars, a key by name": (pl.from_pandas(SHUFFLED.rename(columns={"movie": "id"})), "id"),
    "arrow": pa.Table.from_pandas(SHUFFLED, preserve_index=False),
}


@pytest.fixture(scope="module")
def reference():
    return predicted(fitted(TABLE.set_index("movie")))


@pytest.mark.parametrize("form", FORMS)
def test_features_are_joined_by_label(form, reference):
    np.testing.assert_allclose(predicted(fitted(FORMS[form])), reference, rtol=1e-8, atol=1e-10)


def test_features_in_order_of_the_labels_are_what_an_array_gives(reference):
    order = sorted(range(N), key=lambda j: ITEMS[j])
    numbers = np.column_stack([GROUP, GROUP == 0, GROUP == 1, GROUP == 2]).astype(float)
    table = pd.DataFrame(numbers, index=ITEMS)
    by_name, by_place = fitted(table.iloc[::-1]), fitted(numbers[order])
    np.testing.assert_allclose(predicted(by_name), predicted(by_place), rtol=1e-8, atol=1e-10)
    assert by_name.joined_ == {"col_features": "12 lines joined by the index"}
    assert by_place.joined_ == {"col_features": "12 lines by position"}


def test_new_names_change_nothing(reference):
    def rename(name):
        return f"z{99 - int(name[1:])}"

    table = SHUFFLED.assign(movie=SHUFFLED["movie"].map(rename))
    model = fitted(table, rename=rename, col_labels=[rename(name) for name in sorted(ITEMS)])
    np.testing.assert_allclose(predicted(model, rename), reference, rtol=1e-8, atol=1e-10)


def test_lines_of_others_are_left_out_and_counted(reference, tmp_path):
    strangers = pd.DataFrame({"movie": ["x1", "x2"], "year": [1e6, -1e6], "kind": ["q", "r"]})
    model = fitted(pd.concat([strangers, SHUFFLED]))
    np.testing.assert_allclose(predicted(model), reference, rtol=1e-8, atol=1e-10)
    assert model.joined_ == {"col_features": "12 lines joined by column 'movie', 2 left out"}
    model.save(tmp_path / "model.safetensors")
    assert load_model(tmp_path / "model.safetensors").joined_ == model.joined_


def test_graphs_built_from_features_join_them_too():
    straight, shuffled = (fitted(t.set_index("movie"), "auto") for t in (TABLE, SHUFFLED))
    np.testing.assert_allclose(predicted(shuffled), predicted(straight), rtol=1e-6, atol=1e-8)


NUMBERED = TABLE.assign(movie=range(1, N + 1))
LABELS = Labels(as_label_array(sorted(ITEMS)), "column", "movie")
UNTITLED = Labels(as_label_array(sorted(ITEMS)), "column")
COUNTED = Labels(np.arange(1, N), "column")


@pytest.mark.parametrize(
    ("table", "key", "labels", "message"),
    [
        (TABLE[2:], None, LABELS, "F, column 'movie': 2 of 12 column labels missing: 'm0', 'm1'"),
        (NUMBERED, None, LABELS, "12 of 12 .* 'm11', 'm2' and 7 more; labels there look like 1"),
        (pd.concat([TABLE, TABLE[3:5]]), None, LABELS, "distinct, but 'm3', 'm4' came repeatedly"),
        (TABLE.replace("m3", None), None, LABELS, "column 'movie': line 3 has no label"),
        (TABLE, "film", LABELS, "key column 'film' is not in the table; .*'movie', 'year'"),
        (TABLE, None, UNTITLED, r"not clear where .* pass \(table, 'movie'\)"),
        (pl.from_pandas(TABLE), None, UNTITLED, r"not clear where .* pass \(table, 'movie'\)"),
        (TABLE[["year"]], None, LABELS, r"not clear where .* pass \(table, key\)"),
        # The count of lines holds every label too, and would be off by one.
        (NUMBERED, None, COUNTED, r"not clear where .* pass \(table, 'movie'\)"),
        (NUMBERED.iloc[::-1], None, COUNTED, r"not clear where .* pass \(table, 'movie'\)"),
        (TABLE, "movie", None, "key column 'movie', but the data has no labels"),
        (TABLE[1:], None, None, "F has 11 lines, but the data has 12 nodes"),
    ],
)
def test_what_cannot_be_joined_is_named(table, key, labels, message):
    with pytest.raises(ValueError, match=message):
        join_table(table, labels, N, "F", key)


def test_tables_that_were_never_labelled_go_by_position():
    plain = Labels(np.arange(N), "row")
    for labels in (plain, None):
        joined = join_table(TABLE, labels, N, "row_features").table
        assert list(joined["movie"]) == ITEMS
    assert list(join_table(TABLE.iloc[::-1], plain, N, "row_features").table["movie"]) == ITEMS


@pytest.mark.parametrize("unit", ["D", "h", "ns"])
def test_moments_are_found_in_any_unit(unit):
    days = pd.date_range("2024-01-30", periods=5)
    table = pd.DataFrame({"x": range(5)}, index=days).iloc[::-1]
    labels = Labels(days.to_numpy().astype(f"datetime64[{unit}]"), "row")
    assert list(join_table(table, labels, 5, "F").table["x"]) == list(range(5))


def test_an_hour_is_not_the_day_it_lies_in():
    labels = Labels(np.array(["2024-01-30", "2024-01-31"], dtype="datetime64[D]"), "row")
    assert list(labels.find(pd.to_datetime(["2024-01-31T00:00", "2024-01-31T05:00"]))) == [1, -1]
    with pytest.raises(KeyError, match="2024-01-31T05:00"):
        labels.positions(pd.to_datetime(["2024-01-31T05:00"]), "rows")


@pytest.mark.parametrize("features", [np.ones((N - 1, 2)), sp.csr_array((N + 1, 2)), np.ones(N)])
def test_arrays_must_have_a_line_for_each_node(features):
    with pytest.raises(ValueError, match=r"col_features has (11 lines|13 lines|shape \(12,\))"):
        BMCG(posterior="variational").fit(np.ones((3, N)), col_features=features)


# A path m0 - m1 - ... with weights that tell its edges apart.
EDGES = [(ITEMS[j], ITEMS[j + 1], 1.0 + j) for j in range(N - 1)]
ORDER = sorted(ITEMS)
WIDE = pd.DataFrame(0.0, index=ITEMS, columns=ITEMS)
for _a, _b, _w in EDGES:
    WIDE.loc[_a, _b] = WIDE.loc[_b, _a] = _w
EXPECTED = WIDE.loc[ORDER, ORDER].to_numpy()
EDGE_TABLE = pd.DataFrame(EDGES, columns=["a", "b", "w"])
PERMUTED = WIDE.sample(frac=1, random_state=1).sample(frac=1, axis=1, random_state=2)
GRAPH = nx.Graph()
GRAPH.add_weighted_edges_from(EDGES[::-1])
GRAPH_FORMS = {
    "edges": EDGE_TABLE,
    "edges, shuffled": EDGE_TABLE.sample(frac=1, random_state=0),
    "edges, columns without titles": pd.DataFrame(EDGES),
    "edges, turned": EDGE_TABLE[["b", "a", "w"]],
    "edges, polars": pl.from_pandas(EDGE_TABLE.iloc[::-1]),
    "wide": WIDE,
    "wide, permuted": PERMUTED,
    "wide, without an index": PERMUTED.loc[PERMUTED.columns].reset_index(drop=True),
    "wide, named by a column": PERMUTED.rename_axis("node").reset_index(),
    "wide, polars, named by a column": pl.from_pandas(PERMUTED.rename_axis("node").reset_index()),
    "networkx": GRAPH,
}


@pytest.mark.parametrize("form", GRAPH_FORMS)
def test_graphs_are_joined_by_label(form):
    found = as_adjacency(GRAPH_FORMS[form], N, LABELS, "col_graph")
    np.testing.assert_array_equal(found.toarray(), EXPECTED)


def test_a_wide_graph_of_numbered_nodes_is_joined_by_number():
    numbered = pd.DataFrame(WIDE.to_numpy())
    labels = Labels(np.arange(N), "column")
    for table in (numbered, numbered.iloc[::-1], numbered[numbered.columns[::-1]]):
        for known in (labels, None):
            found = as_adjacency(table, N, known, "col_graph")
            np.testing.assert_array_equal(found.toarray(), WIDE.to_numpy())


def test_rows_and_columns_of_a_wide_graph_agree_even_where_the_data_has_no_labels():
    found = as_adjacency(WIDE.iloc[::-1], N, None, "col_graph")
    np.testing.assert_array_equal(found.toarray(), WIDE.to_numpy())


def test_nodes_of_a_wide_graph_that_the_data_lacks_are_counted():
    fewer = Labels(as_label_array(ORDER[:-2]), "column")
    with pytest.warns(UserWarning, match="col_graph: 2 of its 12 nodes are not in the data"):
        found = as_adjacency(PERMUTED, N - 2, fewer, "col_graph")
    np.testing.assert_array_equal(found.toarray(), EXPECTED[:-2, :-2])


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (WIDE.drop(columns="m3"), "col_graph, columns: 1 of 12 column labels missing: 'm3'"),
        (WIDE.drop(index="m3"), "col_graph, index: 1 of 12 column labels missing: 'm3'"),
        (pd.DataFrame(WIDE.to_numpy()), "col_graph, columns: 12 of 12 .*look like 0"),
        (pd.concat([WIDE, WIDE[:1]]), "col_graph, index: labels must be distinct, but 'm0'"),
        (EDGE_TABLE.replace("m4", "n4"), "col_graph: .*unknown node labels 'n4'"),
    ],
)
def test_graphs_that_do_not_match_are_named(graph, message):
    with pytest.raises((ValueError, KeyError), match=message):
        as_adjacency(graph, N, LABELS, "col_graph")


def test_a_count_of_lines_is_no_label_even_where_it_holds_them_all():
    # Labels 1, 2, ... are in the index 0, 1, 2, ..., each one line too late.
    with pytest.raises(ValueError, match=r"not clear where .* pass \(table, key\)"):
        join_table(TABLE[["year"]], COUNTED, N, "F", None)
