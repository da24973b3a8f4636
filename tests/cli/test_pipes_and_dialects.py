"""Tables come from pipes and go into them, and are separated by whatever they are."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest

from bmcg import load_model

from .conftest import FIT, call, refused

# What is tested is how files are read and written, and what is said; not what is learned.
pytestmark = pytest.mark.usefixtures("short_fits")


def factors(path):
    return load_model(path).row_factors_


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet"])
def test_a_table_from_standard_input_gives_the_same_model(ratings, fitted, tmp_path, form):
    frame, pipe = pl.read_csv(ratings), io.BytesIO()
    if form == "parquet":
        frame.write_parquet(pipe)
    else:
        frame.write_csv(pipe, separator="\t" if form == "tsv" else ",")
    command = ("fit", "-", *FIT, "--format", form, "-o", tmp_path / "m")
    assert call(*command, stdin=pipe.getvalue()).code == 0
    np.testing.assert_allclose(factors(tmp_path / "m"), factors(fitted), rtol=1e-12)


def test_predictions_go_to_standard_output_and_nothing_else_does(fitted, pairs, tmp_path):
    call("predict", fitted, pairs, "-o", tmp_path / "out.csv")
    ended = call("predict", fitted, "-", "-o", "-", stdin=pairs.read_bytes())
    assert ended.code == 0
    assert ended.out == (tmp_path / "out.csv").read_text()
    assert ended.err == "standard output: 2 predictions\n"


def test_complete_and_recommend_write_to_standard_output(fitted, tmp_path):
    for command in (("complete", fitted), ("recommend", fitted, "--all", "-n", 2)):
        call(*command, "-o", tmp_path / "out.csv", "--force")
        assert call(*command, "-o", "-").out == (tmp_path / "out.csv").read_text()


def test_another_delimiter_is_read_and_written(ratings, fitted, pairs, tmp_path):
    data, graph = tmp_path / "d.csv", tmp_path / "g.csv"
    data.write_text(ratings.read_text().replace(",", ";"))
    graph.write_text("a;b\n1;2\n2;3\n")
    semicolon = ("--delimiter", ";")
    fit = ("fit", data, *FIT, *semicolon, "--engine", "dense")
    assert call(*fit, "-o", tmp_path / "m").code == 0
    np.testing.assert_allclose(factors(tmp_path / "m"), factors(fitted), rtol=1e-9)
    assert call(*fit, "--row-graph", graph, "-o", tmp_path / "g").code == 0
    asked = tmp_path / "p.csv"
    asked.write_text(pairs.read_text().replace(",", ";"))
    ended = call("predict", fitted, asked, *semicolon, "-o", "-")
    assert ended.out.splitlines()[0] == "item;user;note;mean"


def test_a_wrong_delimiter_is_suspected_by_name(ratings, tmp_path):
    data = tmp_path / "d.csv"
    data.write_text(ratings.read_text().replace(",", ";"))
    assert "pass --delimiter ';'" in refused("fit", data, *FIT, "-o", tmp_path / "m")
    message = refused("fit", data, *FIT, "--delimiter", "; ", "-o", tmp_path / "m")
    assert "one character" in message


def test_standard_input_is_one_table_and_models_are_files(fitted, pairs, tmp_path):
    two = ("fit", "-", *FIT, "--row-graph", "-", "-o", tmp_path / "m")
    assert "one table" in refused(*two, stdin=b"")
    assert "name a file" in refused("fit", "-", *FIT, "-o", "-", stdin=b"")
    assert "name a file" in refused("predict", "-", pairs, "-o", "-", stdin=b"")


def test_impute_fills_from_pipe_to_pipe(tmp_path):
    rng = np.random.default_rng(0)
    X = np.add.outer(np.arange(12.0), rng.standard_normal(4))
    lines = [",".join(f"{x:.2f}" for x in row) for row in X]
    lines[3] = "," + lines[3].split(",", 1)[1]
    data = ("\n".join(["a,b,c,d", *lines]) + "\n").encode()
    (tmp_path / "d.csv").write_bytes(data)
    assert call("impute", tmp_path / "d.csv", "-o", tmp_path / "out.csv").code == 0
    ended = call("impute", "-", "-o", "-", stdin=data)
    assert ended.code == 0, ended.err
    assert ended.out == (tmp_path / "out.csv").read_text()
    assert "standard output: 1 of 48 values filled" in ended.err
