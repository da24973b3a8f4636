"""From a file to a model to predictions: labels, values and other cells come back."""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl
import pytest
import scipy.io
import scipy.sparse as sp

from bmcg import BMCG, Observations, load_model
from bmcg.graphs import chain_graph, edge_graph

from .conftest import DENSE, FIT, call, lines_of_ratings

# What is tested is how files are read and written, and what is said; not what is learned.
pytestmark = pytest.mark.usefixtures("short_fits")


@pytest.mark.filterwarnings("ignore:stopped at max_sweeps")
def test_command_and_library_learn_the_same_model(ratings, fitted):
    entries = Observations.from_frame(pl.read_csv(ratings), "user", "item", "rating")
    model, same = (
        load_model(fitted),
        BMCG(posterior="variational", random_state=0, max_sweeps=20).fit(entries),
    )
    assert model.row_labels_.values.tolist() == list(range(1, 13))
    assert model.col_labels_.values.tolist() == [f"i{j:02d}" for j in range(8)]
    np.testing.assert_array_equal(model.row_factors_, same.row_factors_)


@pytest.mark.parametrize("name", ["r.tsv", "r.parquet", "r.csv.gz"])
def test_every_format_gives_the_same_model(ratings, fitted, tmp_path, name):
    frame = pl.read_csv(ratings)
    path = tmp_path / name
    if name.endswith("parquet"):
        frame.write_parquet(path)
    elif name.endswith("tsv"):
        frame.write_csv(path, separator="\t")
    else:
        path.write_bytes(gzip.compress(ratings.read_bytes()))
    assert call("fit", path, *FIT, "-o", tmp_path / "m").code == 0
    np.testing.assert_allclose(
        load_model(tmp_path / "m").row_factors_, load_model(fitted).row_factors_, rtol=1e-12
    )


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_predictions_keep_the_lines_and_add_columns(fitted, pairs, tmp_path, suffix):
    out = tmp_path / f"out.{suffix}"
    ended = call("predict", fitted, pairs, "--std", "--interval", "0.8", "-o", out)
    assert ended.code == 0, ended.err
    if suffix == "parquet":
        found = pl.read_parquet(out)
    else:
        found = pl.read_csv(out, separator="\t" if suffix == "tsv" else ",")
    assert found.columns == ["item", "user", "note", "mean", "std", "low", "high"]
    assert found["item"].to_list() == ["i03", "i00"]
    assert found["user"].to_list() == [7, 1]
    assert found["note"].to_list() == ["007", "x"]
    model = load_model(fitted)
    mean, std = model.predict([7, 1], ["i03", "i00"], return_std=True)
    low, high = model.predict_interval([7, 1], ["i03", "i00"], level=0.8)
    for name, values in (("mean", mean), ("std", std), ("low", low), ("high", high)):
        np.testing.assert_array_equal(found[name].to_numpy(), values)


def test_predictions_are_means_alone_unless_asked_for_more(fitted, pairs, tmp_path):
    call("predict", fitted, pairs, "-o", tmp_path / "out.csv")
    assert pl.read_csv(tmp_path / "out.csv").columns == ["item", "user", "note", "mean"]


def test_cells_with_commas_and_quotes_survive(fitted, tmp_path):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text('user,item,"the, note"\n1,i00,"a ""b"", c"\n')
    assert call("predict", fitted, pairs, "-o", tmp_path / "out.csv").code == 0
    found = pl.read_csv(tmp_path / "out.csv")
    assert found["the, note"].to_list() == ['a "b", c']


def test_completed_matrix_carries_the_labels_and_can_be_fitted_again(fitted, tmp_path):
    out = tmp_path / "matrix.csv"
    assert call("complete", fitted, "-o", out).code == 0
    found = pl.read_csv(out)
    assert found.columns == ["user", *(f"i{j:02d}" for j in range(8))]
    assert found["user"].to_list() == list(range(1, 13))
    model = load_model(fitted)
    expected = model.row_factors_ @ model.col_factors_.T + model.row_bias_[:, None]
    expected += model.col_bias_ + model.offset_
    np.testing.assert_allclose(found.drop("user").to_numpy(), expected, atol=1e-12)
    again = tmp_path / "again.safetensors"
    code = call("fit", out, "--wide", "--row", "user", "--max-sweeps", "5", "-o", again).code
    assert code == 0
    assert load_model(again).row_labels_.values.tolist() == list(range(1, 13))


def test_wide_table_with_empty_cells_equals_its_long_form(fitted, ratings, tmp_path):
    wide = pl.read_csv(ratings).pivot("item", index="user", values="rating").sort("user")
    wide.select("user", *(f"i{j:02d}" for j in range(8))).write_csv(tmp_path / "wide.csv")
    options = ("--wide", "--row", "user", "--max-sweeps", "20", "--posterior", "variational")
    assert call("fit", tmp_path / "wide.csv", *options, "-o", tmp_path / "m").code == 0
    np.testing.assert_allclose(
        load_model(tmp_path / "m").row_factors_, load_model(fitted).row_factors_, rtol=1e-9
    )


def test_labels_with_leading_zeros_stay_text(tmp_path):
    data = tmp_path / "d.csv"
    data.write_text("user,item,rating\n007,1,1.0\n7,2,2.0\n08,1,3.0\n08,2,1.5\n")
    assert call("fit", data, *FIT, "-o", tmp_path / "m").code == 0
    assert load_model(tmp_path / "m").row_labels_.values.tolist() == ["007", "08", "7"]


EDGES = [(user, user + 1) for user in range(1, 12)]


def _graph_file(folder, kind):
    path = folder / f"graph.{kind.split('-')[0]}"
    if kind == "npz":
        sp.save_npz(path, edge_graph(EDGES, labels=np.arange(1, 13)))
    elif kind == "mtx":
        scipy.io.mmwrite(path, edge_graph(EDGES, labels=np.arange(1, 13)))
    elif kind == "parquet":
        frame = pl.DataFrame(EDGES, schema=["a", "b"], orient="row")
        frame.with_columns(weight=1.0).write_parquet(path)
    else:
        header = [] if kind.endswith("bare") else ["from,to"]
        path.write_text("\n".join([*header, *(f"{a},{b}" for a, b in EDGES)]) + "\n")
    return path


@pytest.mark.parametrize("kind", ["csv", "csv-bare", "parquet", "npz", "mtx"])
def test_every_graph_format_is_the_same_graph(ratings, tmp_path, kind):
    graph = _graph_file(tmp_path, kind)
    ended = call("fit", ratings, *FIT, *DENSE, "--row-graph", graph, "-o", tmp_path / "m")
    assert ended.code == 0, ended.err
    L = load_model(tmp_path / "m").fitted_.rows.precision
    assert sorted(zip(L.heads.tolist(), L.tails.tolist(), strict=True)) in (
        [(i, i + 1) for i in range(11)],
        [(i + 1, i) for i in range(11)],
    )


def test_column_graph_reaches_the_columns(ratings, tmp_path):
    sp.save_npz(tmp_path / "g.npz", chain_graph(8))
    call("fit", ratings, *FIT, *DENSE, "--col-graph", tmp_path / "g.npz", "-o", tmp_path / "m")
    fitted = load_model(tmp_path / "m").fitted_
    assert fitted.cols.precision.has_edges
    assert not fitted.rows.precision.has_edges


def test_nodes_only_the_graph_knows_are_added_or_ignored(ratings, tmp_path):
    (tmp_path / "g.csv").write_text("a,b\n1,2\n12,99\n")
    fit = ("fit", ratings, *FIT, *DENSE, "--row-graph", tmp_path / "g.csv", "-o", tmp_path / "m")
    assert call(*fit, "--unknown-nodes", "ignore").code == 0
    assert load_model(tmp_path / "m").shape_ == (12, 8)
    assert call(*fit, "--unknown-nodes", "add", "--force").code == 0
    model = load_model(tmp_path / "m")
    assert model.row_labels_.values.tolist() == [*range(1, 13), 99]
    # A single tie and no data of its own: the graph alone says what user 99 is like.
    items = model.col_labels_.values
    new, known = (model.predict([user] * len(items), items) for user in (99, 12))
    assert np.corrcoef(new, known)[0, 1] > 0.98


def test_duplicates_are_combined_as_asked(tmp_path):
    data = tmp_path / "d.csv"
    data.write_text("\n".join(["user,item,rating", *lines_of_ratings() * 2]) + "\n")
    assert call("fit", data, *FIT, "--duplicates", "mean", "-o", tmp_path / "m").code == 0


def test_info_names_rank_noise_fit_and_graphs(ratings, tmp_path):
    (tmp_path / "g.csv").write_text("a,b\n1,2\n2,3\n")
    graph = ("--row-graph", tmp_path / "g.csv")
    call("fit", ratings, *FIT, *DENSE, *graph, "-o", tmp_path / "m")
    model = load_model(tmp_path / "m")
    lines = dict(line.split(maxsplit=1) for line in call("info", tmp_path / "m").out.splitlines())
    assert lines["matrix"] == "12 x 8"
    assert lines["rank"].startswith(f"{model.rank_} ")
    assert f"{model.noise_std_:.4g}" in lines["noise"]
    assert f"{len(lines_of_ratings())} entries" in lines["observed"]
    assert f"{model.n_sweeps_} sweeps" in lines["fit"]
    weight = model.graph_weights_["rows"]["graph"]
    assert lines["row"] == f"graph 2 edges, 0.333 neighbours a node; {weight.sentence}"
    assert lines["col"] == "graph none"
    assert "max_sweeps=20" in lines["settings"]


def test_info_says_when_the_rank_met_its_cap(ratings, tmp_path):
    call("fit", ratings, *FIT, "--rank", 1, "-o", tmp_path / "m")
    assert (
        "all that were allowed: fit again with a larger --rank" in call("info", tmp_path / "m").out
    )


def test_info_says_how_far_each_graph_was_used(ratings, tmp_path):
    (tmp_path / "g.csv").write_text("a,b\n1,2\n2,3\n")
    graph = ("--row-graph", tmp_path / "g.csv", "--row-chain")
    call("fit", ratings, *FIT, *DENSE, *graph, "-o", tmp_path / "m")
    weights = load_model(tmp_path / "m").graph_weights_["rows"]
    (said,) = [
        line for line in call("info", tmp_path / "m").out.splitlines() if line.startswith("row g")
    ]
    for name in ("graph", "chain"):
        assert weights[name].sentence in said


def test_seed_and_jobs_leave_the_model_alone(ratings, tmp_path):
    for name, jobs in (("a", 1), ("b", 2)):
        call("fit", ratings, *FIT, "--seed", 3, "--jobs", jobs, "-o", tmp_path / name)
    a, b = load_model(tmp_path / "a"), load_model(tmp_path / "b")
    np.testing.assert_array_equal(a.row_factors_, b.row_factors_)


def test_pattern_and_range_reach_the_model(ratings, tmp_path):
    path = tmp_path / "m.safetensors"
    ended = call("fit", ratings, *FIT, "--pattern", "--keep-range", "-o", path)
    assert ended.code == 0, ended.err
    model = load_model(path)
    assert model.posterior_ == "joint"
    assert "features" in model.graph_weights_["rows"]
    values = [float(line.split(",")[2]) for line in ratings.read_text().splitlines()[1:]]
    filled = np.asarray(model.complete(), dtype=float)[:, 1:]
    assert min(values) <= filled.min()
    assert filled.max() <= max(values)
