"""Every mistake ends with exit code 1 and one line that says what to do, before any work."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from safetensors import SafetensorError
from safetensors.numpy import save_file

import bmcg.cli.summary
from bmcg import BMCG
from bmcg.files.storage import write_atomically
from bmcg.graphs.adjacency import as_adjacency
from bmcg.observations.labels import Labels

from .conftest import DENSE, FIT, call, refused


@pytest.fixture
def no_fit(monkeypatch):
    """Any fit is a failure: the mistake must be found before."""

    def fail(self, *arguments, **options):
        raise AssertionError("work was done before the input was checked")

    monkeypatch.setattr(BMCG, "_fit", fail)


@pytest.mark.parametrize(
    ("option", "value"), [("--row", "usr"), ("--col", "movie"), ("--value", "stars")]
)
def test_missing_column_is_named_with_those_there_are(ratings, tmp_path, option, value):
    options = dict(zip(FIT[::2], FIT[1::2], strict=True)) | {option: value}
    message = refused("fit", ratings, *sum(options.items(), ()), "-o", tmp_path / "m")
    assert f"{value!r} ({option})" in message
    assert "user, item, rating" in message


def test_long_data_needs_all_three_names(ratings, tmp_path):
    message = refused("fit", ratings, "--row", "user", "-o", tmp_path / "m")
    assert "--col" in message
    assert "user, item, rating" in message


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("1,i00,many", "many"),
        ("1,i00,inf", "finite"),
        ("1,i00,", "finite"),
        (",i00,3", "empty"),
        ("1,i03,3\n1,i03,4", "more than once"),
    ],
)
def test_bad_lines_are_refused(tmp_path, no_fit, line, word):
    data = tmp_path / "d.csv"
    data.write_text(f"user,item,rating\n2,i07,1.5\n{line}\n")
    message = refused("fit", data, *FIT, "-o", tmp_path / "m")
    assert word in message
    assert str(data) in message


def test_first_duplicate_is_named_and_the_option_too(tmp_path, no_fit):
    data = tmp_path / "d.csv"
    data.write_text("user,item,rating\n2,i07,1.5\n1,i03,3\n1,i03,4\n")
    message = refused("fit", data, *FIT, "-o", tmp_path / "m")
    assert "--duplicates" in message
    assert "1" in message
    assert "i03" in message


@pytest.mark.parametrize("text", ["", "user,item,rating\n"])
def test_empty_table_is_refused(tmp_path, no_fit, text):
    (tmp_path / "d.csv").write_text(text)
    refused("fit", tmp_path / "d.csv", *FIT, "-o", tmp_path / "m")


def test_file_that_is_no_table_is_refused(tmp_path, no_fit):
    (tmp_path / "d.parquet").write_bytes(b"PAR1 and then nothing")
    assert "parquet" in refused("fit", tmp_path / "d.parquet", *FIT, "-o", tmp_path / "m")
    (tmp_path / "d.xlsx").write_bytes(b"x")
    assert ".csv" in refused("fit", tmp_path / "d.xlsx", *FIT, "-o", tmp_path / "m")


@pytest.mark.parametrize("command", ["fit", "predict", "complete", "info"])
def test_missing_input_is_named(command, tmp_path, pairs):
    nowhere = tmp_path / "nowhere.csv"
    arguments = {
        "fit": (*FIT, "-o", tmp_path / "m"),
        "predict": (pairs, "-o", tmp_path / "o.csv"),
        "complete": ("-o", tmp_path / "o.csv"),
        "info": (),
    }[command]
    assert str(nowhere) in refused(command, nowhere, *arguments)


def test_existing_output_is_kept_without_force(ratings, fitted, pairs, tmp_path, no_fit):
    out = tmp_path / "out.csv"
    out.write_text("precious")
    for command in (
        ("fit", ratings, *FIT),
        ("predict", fitted, pairs),
        ("complete", fitted),
    ):
        assert "--force" in refused(*command, "-o", out)
    assert out.read_text() == "precious"
    assert call("complete", fitted, "-o", out, "--force").code == 0
    assert out.read_text() != "precious"


def test_inputs_are_never_replaced(ratings, fitted, pairs, no_fit):
    assert "input" in refused("fit", ratings, *FIT, "-o", ratings, "--force")
    assert "input" in refused("predict", fitted, pairs, "-o", pairs, "--force")
    assert pairs.read_text().startswith("item,user")


def test_output_in_no_folder_or_a_folder_itself_is_refused(ratings, tmp_path, no_fit):
    message = refused("fit", ratings, *FIT, "-o", tmp_path / "no" / "m")
    assert "no folder" in message
    assert "is a folder" in refused("fit", ratings, *FIT, "-o", tmp_path)


def test_folder_without_permission_is_refused(ratings, tmp_path, no_fit, monkeypatch):
    def deny(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", deny)
    message = refused("fit", ratings, *FIT, "-o", tmp_path / "m")
    assert "Permission denied" in message


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder_is_refused(ratings, tmp_path, no_fit):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    assert "cannot write" in refused("fit", ratings, *FIT, "-o", closed / "m")


def test_output_of_unknown_format_is_refused(fitted, pairs, tmp_path):
    assert ".parquet" in refused("predict", fitted, pairs, "-o", tmp_path / "out.xls")


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        SafetensorError("I/O error: No space left on device (os error 28)"),
    ],
)
def test_a_full_disk_leaves_the_old_file_and_no_other(ratings, tmp_path, monkeypatch, error):
    def full(arrays, path, metadata):
        Path(path).write_text("half of a mod")
        raise error

    monkeypatch.setattr("bmcg.files.storage.save_file", full)
    (tmp_path / "m").write_text("precious")
    code, _, err = call("fit", ratings, *FIT, "-o", tmp_path / "m", "--force")
    assert code == 1
    assert f"cannot write {tmp_path / 'm'}: " in err
    assert "No space left" in err
    assert "free some space" in err
    assert "untouched" in err
    assert (tmp_path / "m").read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m", "ratings.csv"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_write_that_the_system_refuses_names_the_file(tmp_path):
    def write(temporary):
        with open("/dev/full", "wb") as file:
            file.write(b"x" * 10_000)

    with pytest.raises(OSError, match=f"cannot write {tmp_path / 'out.csv'}.*free some space"):
        write_atomically(tmp_path / "out.csv", write)
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_no_models_are_told_apart(fitted, ratings, tmp_path):
    whole = fitted.read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    assert "not a complete model" in refused("info", tmp_path / "cut")
    assert "not a complete model" in refused("info", ratings)
    save_file({"x": np.zeros(3)}, tmp_path / "other")
    assert "not a bmcg model" in refused("info", tmp_path / "other")
    save_file(
        {"x": np.zeros(3)},
        tmp_path / "newer",
        metadata={"format": "bmcg-model", "version": "999", "header": "{}"},
    )
    assert "999" in refused("info", tmp_path / "newer")


def test_unknown_labels_are_listed(fitted, tmp_path):
    (tmp_path / "p.csv").write_text("user,item\n1,i00\n77,i00\n78,i00\n")
    message = refused("predict", fitted, tmp_path / "p.csv", "-o", tmp_path / "o.csv")
    assert "77, 78" in message
    assert not (tmp_path / "o.csv").exists()


def test_pairs_without_the_columns_are_refused(fitted, tmp_path):
    (tmp_path / "p.csv").write_text("u,item\n1,i00\n")
    arguments = ("predict", fitted, tmp_path / "p.csv", "-o", tmp_path / "o.csv")
    assert "'user' (--row)" in refused(*arguments)
    assert call(*arguments, "--row", "u").code == 0


def test_pairs_with_a_column_of_the_same_name_are_refused(fitted, tmp_path):
    (tmp_path / "p.csv").write_text("user,item,mean\n1,i00,3\n")
    message = refused("predict", fitted, tmp_path / "p.csv", "-o", tmp_path / "o.csv")
    assert "'mean'" in message


def test_matrix_over_the_memory_limit_is_refused(fitted, tmp_path):
    arguments = ("complete", fitted, "-o", tmp_path / "o.csv", "--memory-limit", "1e-9")
    assert "--memory-limit" in refused(*arguments)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a,b\n1,99\n", "99"),
        ("a,b,w\n1,2,-1\n", "negative"),
        ("a,b,w\n1,2,nan\n", "finite"),
        ("a,b,w\n1,2,heavy\n", "heavy"),
        ("a,b,c,d\n1,2,3,4\n", "4 columns"),
        ("a\n1\n", "1 columns"),
    ],
)
def test_wrong_edge_lists_are_refused(ratings, tmp_path, no_fit, text, word):
    graph = tmp_path / "g.csv"
    graph.write_text(text)
    message = refused("fit", ratings, *FIT, "--row-graph", graph, "-o", tmp_path / "m")
    assert word in message
    assert "--row-graph" in message


def test_graph_of_the_wrong_size_is_refused(ratings, tmp_path, no_fit):
    sp.save_npz(tmp_path / "g.npz", sp.csr_array((5, 5)))
    graph = ("--col-graph", tmp_path / "g.npz")
    message = refused("fit", ratings, *FIT, *graph, "-o", tmp_path / "m")
    assert "(5, 5)" in message
    assert "8 nodes" in message


@pytest.mark.parametrize("name", ["g.npz", "g.mtx"])
def test_graph_file_that_is_broken_is_refused(ratings, tmp_path, no_fit, name):
    (tmp_path / name).write_bytes(b"nothing of the kind")
    graph = ("--row-graph", tmp_path / name)
    assert name in refused("fit", ratings, *FIT, *graph, "-o", tmp_path / "m")


def test_asymmetric_graph_is_used_with_a_warning(ratings, tmp_path):
    sp.save_npz(tmp_path / "g.npz", sp.csr_array(np.triu(np.ones((12, 12)), 1)))
    graph = ("--row-graph", tmp_path / "g.npz")
    code, _, err = call("fit", ratings, *FIT, *DENSE, *graph, "-o", tmp_path / "m")
    assert code == 0
    assert "warning: row_graph is not symmetric" in err


@pytest.mark.parametrize(
    "options",
    [("--rank", 0), ("--max-sweeps", 0), ("--tol", -1), ("--posterior", "both"), ("--nonsense",)],
)
def test_wrong_usage_ends_with_two(ratings, tmp_path, options):
    assert call("fit", ratings, *FIT, *options, "-o", tmp_path / "m").code == 2


@pytest.mark.parametrize(
    ("options", "word"), [(("--ridge", 0), "ridge"), (("--jobs", 0), "n_jobs")]
)
def test_parameters_out_of_range_are_refused(ratings, tmp_path, no_fit, options, word):
    assert word in refused("fit", ratings, *FIT, *options, "-o", tmp_path / "m")


@pytest.mark.parametrize("level", [0, 1])
def test_interval_needs_a_probability(fitted, pairs, tmp_path, level):
    arguments = ("predict", fitted, pairs, "--interval", level, "-o", tmp_path / "o.csv")
    assert "0.9" in refused(*arguments)


DEFECTS = {
    "StopIteration": lambda: next(iter([])),
    "KeyError": lambda: {}["rank"],
    "TypeError": lambda: None + 1,
    "ValueError": lambda: np.zeros(2) + np.zeros(3),
    "of another package": lambda: json.loads("{"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_keep_their_traceback(fitted, monkeypatch, defect):
    """Of whatever class: what an operation runs into is no advice to the user."""
    monkeypatch.setattr(bmcg.cli.summary, "describe", lambda *_: DEFECTS[defect]())
    code, _, err = call("info", fitted)
    assert code == 1
    assert not err.startswith("error: ")


@pytest.mark.parametrize(
    "advise",
    [
        lambda: Labels(np.array(["a", "b"], dtype=object), "row").positions(["c"], "rows"),
        lambda: as_adjacency(3, 2, None, "row_graph"),
        lambda: BMCG(posterior="variational", rank=0).fit(np.eye(3)),
    ],
    ids=["KeyError", "TypeError", "ValueError"],
)
def test_advice_of_the_library_is_one_line(fitted, monkeypatch, advise):
    monkeypatch.setattr(bmcg.cli.summary, "describe", lambda *_: advise())
    refused("info", fitted)


def test_options_of_a_checkpoint_that_make_no_sense_are_refused(ratings, tmp_path):
    command = ("fit", ratings, *FIT, "-o", tmp_path / "m")
    assert "--resume needs" in refused(*command, "--resume")
    assert "is the output" in refused(*command, "--checkpoint", tmp_path / "m")
    (tmp_path / "c").write_text("mine")
    assert "pass --resume" in refused(*command, "--checkpoint", tmp_path / "c")
    assert "not a complete checkpoint" in refused(
        *command, "--checkpoint", tmp_path / "c", "--resume"
    )
    assert (tmp_path / "c").read_text() == "mine"
