"""One content in several forms is one answer."""

from __future__ import annotations

import csv
import io
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bmcg import BMCG, Observations
from bmcg.cli.exposure import read_exposure
from bmcg.cli.features import read_features
from bmcg.cli.graphs import read_graph
from bmcg.cli.reading import DataForm, read_observations
from bmcg.cli.tables import PLAIN
from bmcg.graphs.adjacency import as_adjacency
from bmcg.imputing.positions import read_map
from bmcg.imputing.vcf import VcfSource

from ..cli.conftest import call
from .readers import NODES, READERS
from .seeds import VCF, small_models
from .test_readers import quick

words = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=1)
labels = words.map(str.strip).filter(bool)
numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))
tables = st.dictionaries(st.tuples(labels, labels), numbers, min_size=1, max_size=8)


def entries(found):
    """Every entry of observations, by the text of its labels."""
    rows, cols = found.row_labels.values, found.col_labels.values
    places = zip(found.row_indices, found.col_indices, found.values, strict=True)
    return {(str(rows[i]), str(cols[j])): x for i, j, x in places}


def read(path):
    return read_observations(DataForm(path, "user", "item", "rating"))


@settings(quick, max_examples=40)
@given(table=tables, r=st.randoms(use_true_random=False))
def test_a_table_is_what_was_written_in_any_order_and_format(table, r, tmp_path):
    lines = [[*key, value] for key, value in table.items()]
    r.shuffle(lines)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([["user", "item", "rating"], *lines])
    (tmp_path / "t.csv").write_text(text.getvalue(), encoding="utf-8")
    columns = dict(zip(("user", "item", "rating"), zip(*lines, strict=True), strict=True))
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    assert entries(read(tmp_path / "t.csv")) == table
    assert entries(read(tmp_path / "t.parquet")) == table


def completed(X, **parameters):
    quick_fit = {"posterior": "row", "max_sweeps": 6, "random_state": 0, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(BMCG(**{**quick_fit, **parameters}).fit(X).complete())


def data():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((14, 2)) @ rng.standard_normal((2, 10))
    X[rng.random(X.shape) < 0.3] = np.nan
    return X


def test_frame_array_names_and_threads_do_not_change_a_fit():
    X = data()
    truth = completed(X)
    names = [f"n{i:02}" for i in range(14)]
    np.testing.assert_array_equal(completed(pd.DataFrame(X, index=names)), truth)
    np.testing.assert_array_equal(completed(np.asfortranarray(X)), truth)
    np.testing.assert_array_equal(completed(X, n_jobs=2), truth)
    seen = ~np.isnan(X)
    order = np.random.default_rng(0).permutation(seen.sum())
    i, j = (places[order] for places in np.nonzero(seen))
    np.testing.assert_array_equal(
        completed(Observations.from_triples(i, j, X[i, j], X.shape)), truth
    )


def test_a_unit_twice_as_small_gives_values_twice_as_large():
    np.testing.assert_allclose(completed(4 * data()), 4 * completed(data()), rtol=1e-9)


@settings(quick, max_examples=25)
@given(table=tables.filter(lambda t: len(t) > 1), r=st.randoms(use_true_random=False))
def test_a_table_in_two_files_is_one_table(table, r, tmp_path):
    lines = [[*key, value] for key, value in table.items()]
    cut = r.randrange(1, len(lines))
    for name, part in (("one.csv", lines), ("a.csv", lines[:cut]), ("b.csv", lines[cut:])):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([["user", "item", "rating"], *part])
        (tmp_path / name).write_text(text.getvalue(), encoding="utf-8")
    columns = dict(zip(("user", "item", "rating"), zip(*lines[cut:], strict=True), strict=True))
    parquet.write_table(pa.table(columns), tmp_path / "b.parquet")
    whole = read(tmp_path / "one.csv")
    for second in ("b.csv", "b.parquet"):
        form = DataForm(tmp_path / "a.csv", "user", "item", "rating", more=(tmp_path / second,))
        both = read_observations(form)
        assert entries(both) == entries(whole) == table
        np.testing.assert_array_equal(both.values, whole.values)


LINED = ("edges.csv", "exposure.csv", "features.csv", "map", "graph.mtx")


def content(name, path):
    """What a file says, in no order."""
    if name in ("edges.csv", "graph.mtx"):
        return as_adjacency(
            read_graph(path, "--row-graph", NODES).adjacency(NODES, 3, False), 3, NODES, "row_graph"
        ).toarray()
    if name == "exposure.csv":
        return read_exposure(path, "row", NODES, PLAIN)
    if name == "map":
        return {key: np.stack(value).tolist() for key, value in read_map(path).items()}
    table, _ = read_features(path, "--row-features", NODES, PLAIN)
    return sorted(table.to_pylist(), key=str)


@pytest.mark.parametrize("name", LINED)
def test_lines_in_any_order_say_the_same(name, tmp_path):
    reader, rng = READERS[name], np.random.default_rng(0)
    lines = reader.seeds[0].splitlines(keepends=True)
    start = next(i for i in range(len(lines)) if not lines[i].startswith(b"%"))
    start += 0 if name == "map" else 1
    path = tmp_path / f"file{reader.suffix}"
    path.write_bytes(b"".join(lines))
    truth = content(name, path)
    assert len(lines) - start > 1
    for _ in range(3):
        order = rng.permutation(np.arange(start, len(lines)))
        path.write_bytes(b"".join([*lines[:start], *(lines[i] for i in order)]))
        np.testing.assert_equal(content(name, path), truth)


def test_a_graph_is_one_in_every_format(tmp_path):
    A = np.array([[0, 1.0, 0], [1, 0, 0.5], [0, 0.5, 0]])
    table = pa.table({"from": ["a", "b"], "to": ["b", "c"], "w": [1.0, 0.5]})
    sp.save_npz(tmp_path / "g.npz", sp.csr_array(A))
    scipy.io.mmwrite(tmp_path / "g.mtx", sp.coo_array(A))
    parquet.write_table(table, tmp_path / "g.parquet")
    arrow_csv.write_csv(table, tmp_path / "g.csv")
    for suffix in ("npz", "mtx", "parquet", "csv"):
        found = content("edges.csv", tmp_path / f"g.{suffix}")
        np.testing.assert_array_equal(found, A, err_msg=suffix)


def test_features_are_the_same_in_every_format(tmp_path):
    table = pa.table({"item": ["c", "a", "b"], "kind": ["x", None, "y"], "age": [1.0, 2.0, None]})
    parquet.write_table(table, tmp_path / "f.parquet")
    arrow_csv.write_csv(table, tmp_path / "f.csv")
    one, two = (content("features.csv", tmp_path / f"f.{suffix}") for suffix in ("parquet", "csv"))
    empty = [{key: value or None for key, value in line.items()} for line in two]
    assert sorted(one, key=str) == sorted(empty, key=str)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_matrix_as_a_table_is_one_in_any_order(suffix, tmp_path):
    X, rng = data(), np.random.default_rng(1)
    names = [f"r{i}" for i in range(len(X))]
    columns = {"name": pa.array(names)} | {
        f"c{j}": pa.array(X[:, j], mask=np.isnan(X[:, j])) for j in range(X.shape[1])
    }
    write = parquet.write_table if suffix == "parquet" else arrow_csv.write_csv
    found = []
    for turned in (False, True):
        table = pa.table(columns)
        if turned:
            table = table.take(rng.permutation(len(X)))
            table = table.select(rng.permutation(table.column_names).tolist())
        write(table, tmp_path / f"x.{suffix}")
        form = DataForm(tmp_path / f"x.{suffix}", "name", None, None, wide=True)
        found.append(entries(read_observations(form)))
    assert found[0] == found[1]
    assert len(found[0]) == (~np.isnan(X)).sum()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_pairs_in_any_order_get_their_own_predictions(suffix, tmp_path):
    model = small_models()["row"]
    model.save(tmp_path / "m.safetensors")
    rows, cols = model.row_labels_.values, np.arange(model.shape_[1])
    pairs = [(str(row), int(col), n) for n, (row, col) in enumerate(product(rows, cols))]
    write = parquet.write_table if suffix == "parquet" else arrow_csv.write_csv
    found = []
    for lines in (pairs, np.random.default_rng(0).permutation(np.array(pairs, dtype=object))):
        table = dict(zip(("row", "col", "n"), map(list, zip(*lines, strict=True)), strict=True))
        write(pa.table(table), tmp_path / f"p.{suffix}")
        out = tmp_path / f"out.{suffix}"
        given = ("m.safetensors", f"p.{suffix}", "--row", "row", "--col", "col")
        ended = call("predict", *(tmp_path / g if "." in g else g for g in given), "-o", out,
                     "--force")  # fmt: skip
        assert ended.code == 0, ended.err
        read_back = parquet.read_table if suffix == "parquet" else arrow_csv.read_csv
        found.append({line["n"]: line["mean"] for line in read_back(out).to_pylist()})
    assert found[0] == found[1]
    expected = model.predict([p[0] for p in pairs], [p[1] for p in pairs])
    np.testing.assert_allclose([found[0][n] for n in range(len(pairs))], expected, rtol=1e-12)


def test_records_of_genotypes_in_any_order_are_the_same_calls(tmp_path):
    lines = VCF[0].splitlines(keepends=True)
    for name, body in (("a.vcf", lines[-2:]), ("b.vcf", lines[-2:][::-1])):
        (tmp_path / name).write_bytes(b"".join([*lines[:-2], *body]))
    first, second = (VcfSource.open(tmp_path / name) for name in ("a.vcf", "b.vcf"))
    np.testing.assert_array_equal(first.values, second.values[::-1])
    np.testing.assert_array_equal(first.row_names, second.row_names[::-1])
