"""A saved model comes back exactly, and nothing else is taken for one."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from bmcg import BMCG, Observations, load_model
from bmcg.baselines import METHODS
from bmcg.files.storage import MODEL, ModelFileError, write_atomically
from bmcg.graphs import chain_graph

# What is tested is how files are read and written, and what is said; not what is learned.
pytestmark = pytest.mark.usefixtures("short_fits")

M, N = 12, 9
I, J = (a.ravel() for a in np.indices((M, N)))


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((M, 2)) @ rng.standard_normal((2, N))
    X[rng.random((M, N)) < 0.3] = np.nan
    return X


def quick(method=BMCG, **parameters):
    names = method._get_param_names()
    sweeps = {name: 5 for name in ("max_sweeps", "max_iter", "n_sweeps") if name in names}
    return method(**{"random_state": 0, "n_jobs": 1, **sweeps, **parameters})


def fitted(model, X=None, **graphs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data() if X is None else X, **graphs)


@pytest.fixture(scope="module")
def model():
    return fitted(quick())


@pytest.mark.parametrize("graphs", [(), ("row",), ("col",), ("row", "col")])
@pytest.mark.parametrize("posterior", ["column", "row", "joint"])
def test_a_model_comes_back_exactly(tmp_path, posterior, graphs):
    chains = {f"{side}_graph": chain_graph(M if side == "row" else N) for side in graphs}
    model = fitted(quick(posterior=posterior), **chains)
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    for ask in (
        lambda m: m.predict(I, J, return_std=True),
        lambda m: m.predict_interval(I, J, 0.8),
        lambda m: m.sample(I, J, 2, random_state=3, include_noise=True),
        lambda m: m.complete(),
    ):
        np.testing.assert_array_equal(ask(again), ask(model))
    for name in (
        "rank_", "noise_std_", "component_precisions_", "row_factors_", "col_factors_",
        "elbo_trace_", "rank_trace_", "n_sweeps_", "converged_", "stop_reason_", "engines_",
        "shape_",
    ):  # fmt: skip
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name), err_msg=name)
    assert again.get_params() == model.get_params()
    assert type(again.engines_) is tuple


@pytest.mark.parametrize("name", METHODS)
def test_every_method_comes_back_exactly(tmp_path, name):
    model = fitted(quick(METHODS[name]), row_graph=chain_graph(M), col_graph=chain_graph(N))
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert type(again) is METHODS[name]
    np.testing.assert_array_equal(again.predict(I, J), model.predict(I, J))
    np.testing.assert_array_equal(again.complete(), model.complete())


def frame(kind):
    if kind == "polars":
        return pl.DataFrame(data(), schema=[f"c{j}" for j in range(N)])
    index = pd.date_range("2020-01-01", periods=M, name="day")
    columns = pd.MultiIndex.from_product([["a", "b", "c"], [1, 2, 3]])
    return pd.DataFrame(data(), index=index, columns=columns)


@pytest.mark.parametrize("kind", ["polars", "pandas"])
def test_labels_come_back_with_the_model(tmp_path, kind):
    model = fitted(quick(), frame(kind))
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m").complete()
    assert again.equals(model.complete())
    assert list(again.columns) == list(frame(kind).columns)
    if kind == "pandas":
        pd.testing.assert_index_equal(again.index, frame(kind).index, check_names=True, exact=False)


def test_labels_of_long_data_come_back(tmp_path):
    long = pd.DataFrame({"u": ["a", "a", "b"], "i": [3, 4, 3], "x": [1.0, 2.0, 3.0]})
    model = fitted(quick(), Observations.from_frame(long, "u", "i", "x"))
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(["b"], [4]), model.predict(["b"], [4]))


def test_a_generator_is_not_part_of_the_model(tmp_path):
    fitted(quick(random_state=np.random.RandomState(3))).save(tmp_path / "m")
    assert load_model(tmp_path / "m").random_state is None


def test_a_file_cut_anywhere_is_refused(tmp_path, model):
    model.save(tmp_path / "m")
    whole = (tmp_path / "m").read_bytes()
    for length in (0, 4, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match="cut is not a complete model file"):
            load_model(tmp_path / "cut")


@pytest.mark.parametrize("content", [b"user,item\n1,2\n", b"\x00" * 64, os.urandom(4096)])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(ModelFileError, match="other is not a complete model file"):
        load_model(tmp_path / "other")


def rewritten(model, path, change):
    """The model's file with its metadata and arrays changed."""
    model.save(path)
    with safe_open(path, framework="numpy") as file:
        metadata = dict(file.metadata())
        del metadata["sum"]
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    header = json.loads(metadata["header"])
    change(metadata, header, arrays)
    metadata.setdefault("header", json.dumps(header))
    save_file(arrays, path, metadata=metadata)
    return path


def test_tensors_of_another_kind_are_refused(tmp_path):
    save_file({"x": np.ones(3)}, tmp_path / "plain")
    with pytest.raises(ModelFileError, match="not a bmcg model"):
        load_model(tmp_path / "plain")


@pytest.mark.parametrize("version", [str(MODEL.version + 1), "0", "", "one"])
def test_another_version_is_refused_with_the_way_out(tmp_path, model, version):
    path = rewritten(model, tmp_path / "m", lambda meta, head, arr: meta.update(version=version))
    with pytest.raises(
        ModelFileError, match=f"model format '{version}'.*reads {MODEL.version}.*fit again"
    ):
        load_model(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda meta, head, arr: meta.update(header="{"), "not a complete model file"),
        (lambda meta, head, arr: (meta.pop("header"), head.update(method="X")), "method 'X'"),
        (lambda meta, head, arr: (meta.pop("header"), head.pop("shape")), "complete BMCG model"),
        (lambda meta, head, arr: (meta.pop("header"), head["parameters"].update(no=1)), "BMCG"),
        (lambda meta, head, arr: arr.pop("row_mean"), "not a complete BMCG model: 'row_mean'"),
        (lambda meta, head, arr: arr.update(tau=np.ones(5)), "not a complete BMCG model"),
    ],
)
def test_damaged_headers_and_arrays_are_refused(tmp_path, model, change, message):
    with pytest.raises(ModelFileError, match=message):
        load_model(rewritten(model, tmp_path / "m", change))


def test_a_file_says_what_it_is(tmp_path, model):
    model.save(tmp_path / "m")
    with safe_open(tmp_path / "m", framework="numpy") as file:
        assert file.metadata()["format"] == MODEL.format
        assert file.metadata()["version"] == str(MODEL.version)


def test_missing_files_and_folders_are_refused(tmp_path, model):
    with pytest.raises(FileNotFoundError, match=r"no model file at .*absent"):
        load_model(tmp_path / "absent")
    with pytest.raises(ModelFileError, match="is a folder"):
        load_model(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"cannot write .*the folder .*nowhere does not"):
        model.save(tmp_path / "nowhere" / "m")
    with pytest.raises(IsADirectoryError, match="it is a folder, pass the name of a file"):
        model.save(tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_without_permission_is_refused(tmp_path, model):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match=r"cannot write .*no permission in the folder"):
        model.save(tmp_path / "m")
    tmp_path.chmod(0o700)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")

    def fail(temporary):
        with open(temporary, "w") as file:
            file.write("half")
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path, model):
    model.save(tmp_path / "m")
    (tmp_path / "plain").touch()
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize(
    ("family", "bound", "means", "deviations"),
    [
        ("column", -152.90752787905708, 8.438292445670161, 13.502250384360082),
        ("row", -124.91839718224065, 8.01415224120309, 12.553758561680601),
        ("joint", -151.98688545073335, 8.363609758433874, 13.211288276604748),
    ],
)
def test_models_of_an_earlier_version_load_and_predict_the_same(family, bound, means, deviations):
    """Files that commit ab55c8f wrote, with what it predicted."""
    model = load_model(Path(__file__).parent / "data" / f"ab55c8f-{family}.safetensors")
    at = np.indices(model.shape_).reshape(2, -1)
    mean, std = model.predict(*at, return_std=True)
    assert model.elbo_trace_[-1] == bound
    assert mean.sum() == pytest.approx(means, rel=1e-12)
    assert std.sum() == pytest.approx(deviations, rel=1e-12)
    assert model.selection_.holds == "not recorded"
    assert model.sample(*at, random_state=0).shape == (1, mean.size)


@pytest.mark.parametrize(
    ("kind", "means", "deviations"),
    [
        ("sampled", -6.510364912589363, 0.023139196548705353),
        ("bernoulli", 33.93300684176118, 25.65201993129858),
    ],
)
def test_models_with_a_sum_load_and_predict_the_same(kind, means, deviations):
    """Files that commit 02c1e69 wrote: a chain with labels, and another likelihood."""
    model = load_model(Path(__file__).parent / "data" / f"02c1e69-{kind}.safetensors")
    i, j = np.indices(model.shape_).reshape(2, -1)
    rows = i if model.row_labels_ is None else model.row_labels_.values[i]
    mean, std = model.predict(rows, j, return_std=True)
    assert mean.sum() == pytest.approx(means, rel=1e-10)
    assert std.sum() == pytest.approx(deviations, rel=1e-10)
