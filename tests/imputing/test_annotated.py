"""AnnData: layers beside what was there, as small as that was, and counts denoised."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg.imputing import denoise
from bmcg.imputing.denoising import Residuals

from ..cli.conftest import call, refused

# What is tested is how files are read and written, and what is said; not what is learned.
pytestmark = pytest.mark.usefixtures("short_fits")

anndata = pytest.importorskip("anndata")

# A fit that is asked nothing, where files are what is tested.
QUICK = ("--posterior", "column", "--scale", "no", "--max-sweeps", "10")


def counted(m=120, n=60, depth=200.0, seed=0):
    """Counts of cells along a path and of three kinds, and the rates behind them."""
    rng = np.random.default_rng(seed)
    path, kind = rng.random(m), rng.integers(0, 3, m)
    programs = np.column_stack([np.sin(np.pi * path), path, *(kind == k for k in range(3))])
    effects = rng.standard_normal((5, n)) * (rng.random((5, n)) < 0.4)
    rates = np.exp(rng.normal(-0.5, 1.2, n) + programs @ effects)
    rates /= rates.sum(axis=1, keepdims=True)
    sizes = depth * np.exp(0.4 * rng.standard_normal(m))
    counts = rng.poisson(rates * sizes[:, None])
    return counts, np.log1p(rates * np.median(counts.sum(axis=1)))


def save(path, X, **parts):
    data = anndata.AnnData(X, **parts)
    data.write_h5ad(path)
    return data


def test_zeros_of_counts_are_not_passed_over_in_silence(tmp_path):
    counts, _ = counted()
    save(tmp_path / "in.h5ad", sp.csr_matrix(counts.astype(np.float32)))
    command = ("impute", tmp_path / "in.h5ad", "-o", tmp_path / "out.h5ad", *QUICK)
    message = refused(*command)
    assert "--zeros-missing" in message
    assert "--denoise" in message
    assert not (tmp_path / "out.h5ad").exists()
    ended = call(*command, "--zeros-missing")
    assert ended.code == 0, ended.err
    out = anndata.read_h5ad(tmp_path / "out.h5ad")
    assert out.layers["bmcg"].dtype == np.float32
    assert sp.issparse(out.X)
    np.testing.assert_array_equal(out.X.toarray(), counts)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix])
def test_sparse_layers_stay_sparse_and_keep_their_type(tmp_path, kind):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, (50, 30)) * np.outer(1 + rng.random(50), 1 + rng.random(30))
    stored = kind(X.astype(np.float32))
    gone = rng.random(stored.nnz) < 0.2
    stored.data[gone] = np.nan
    save(tmp_path / "in.h5ad", stored)
    command = ("impute", tmp_path / "in.h5ad", *QUICK, "-o")
    ended = call(*command, tmp_path / "out.h5ad")
    assert ended.code == 0, ended.err
    out = anndata.read_h5ad(tmp_path / "out.h5ad")
    filled, std = out.layers["bmcg"], out.layers["bmcg_std"]
    assert sp.issparse(filled)
    assert sp.issparse(std)
    assert filled.nnz == stored.nnz
    assert std.nnz == gone.sum()
    assert filled.dtype == std.dtype == np.float32
    dense, was = filled.toarray(), stored.toarray()
    assert not np.isnan(dense).any()
    np.testing.assert_array_equal(dense[~np.isnan(was)], was[~np.isnan(was)])
    ended = call(*command, tmp_path / "o2.h5ad", "--bands", tmp_path / "b.csv")
    lines = [x.split(",") for x in (tmp_path / "b.csv").read_text().splitlines()[1:]]
    for row, col, mean, *_ in lines:
        assert dense[int(row), int(col)] == pytest.approx(float(mean), rel=1e-4)


def test_graphs_of_the_file_are_used_by_their_key(tmp_path):
    X = np.sin(np.arange(40) / 6)[:, None] * np.ones((1, 6)) + 3
    X[10:14] = np.nan
    chain = sp.diags([np.ones(39), np.ones(39)], [-1, 1], format="csr")
    save(tmp_path / "in.h5ad", X, obsp={"near": chain})
    command = ("impute", tmp_path / "in.h5ad", "-o", tmp_path / "out.h5ad")
    message = refused(*command, "--row-graph", "obsp:far")
    assert "near" in message
    assert "no file" in refused(*command, "--col-graph", "obsp:near")
    ended = call(*command, "--row-graph", "obsp:near", "--posterior", "column", "--scale", "no")
    assert ended.code == 0, ended.err
    assert "from their neighbours" in ended.err
    out = anndata.read_h5ad(tmp_path / "out.h5ad")
    truth = np.sin(np.arange(10, 14) / 6)[:, None] + 3
    assert np.abs(out.layers["bmcg"][10:14] - truth).max() < 0.3


def test_a_layer_that_is_there_is_not_replaced(tmp_path):
    X = np.outer(np.arange(1.0, 21.0), np.arange(1.0, 6.0))
    X[3, 2] = np.nan
    save(tmp_path / "in.h5ad", X, layers={"bmcg": X})
    command = ("impute", tmp_path / "in.h5ad", "-o", tmp_path / "out.h5ad")
    assert "--layer-out" in refused(*command)
    assert call(*command, "--layer-out", "filled", *QUICK).code == 0
    out = anndata.read_h5ad(tmp_path / "out.h5ad")
    assert sorted(set(out.layers) - {None}) == ["bmcg", "filled", "filled_std"]


def test_a_broken_file_is_named(tmp_path):
    save(tmp_path / "in.h5ad", np.ones((20, 5)))
    content = (tmp_path / "in.h5ad").read_bytes()
    for name, broken in (("cut", content[: len(content) // 2]), ("text", b"not a file at all")):
        (tmp_path / f"{name}.h5ad").write_bytes(broken)
        message = refused("impute", tmp_path / f"{name}.h5ad", "-o", tmp_path / "out.h5ad")
        assert "no complete AnnData file" in message


def test_layers_that_lie_are_refused_before_compiled_code_follows_them(tmp_path):
    import h5py

    path = tmp_path / "in.h5ad"
    for name, at, value in (("indptr", -1, -(2**31)), ("indices", 0, 2**31 - 1)):
        save(path, sp.csr_matrix(np.eye(3, dtype=np.float32)))
        with h5py.File(path, "r+") as file:
            file["X"][name][at] = value
        message = refused("impute", path, "-o", tmp_path / "out.h5ad", *QUICK)
        assert f"{path}: X is not a whole sparse matrix" in message
    save(path, None, obs={"a": [1, 2]}, var={"b": [3]})
    assert f"{path}: the AnnData object has no X" in refused(
        "impute", path, "-o", tmp_path / "out.h5ad", *QUICK
    )
    save(path, np.eye(2, dtype=complex))
    assert f"{path}: X is no matrix of real numbers" in refused(
        "impute", path, "-o", tmp_path / "out.h5ad", *QUICK
    )


def test_residuals_of_counting_noise_have_one_standard_deviation():
    rng = np.random.default_rng(0)
    sizes, rates = np.exp(0.5 * rng.standard_normal(400)), np.exp(rng.normal(1, 1, 50))
    residuals = Residuals.of(rng.poisson(np.outer(sizes, rates)).astype(float))
    assert residuals.values.std() == pytest.approx(1.0, abs=0.03)
    log_rates = residuals.log_rates(np.zeros((400, 50)))
    assert np.abs(log_rates - log_rates[0]).max() < 1e-12


def test_denoised_counts_are_close_to_the_rates_behind_them():
    counts, truth = counted(300, 150, 400.0)
    sizes = counts.sum(axis=1) / np.median(counts.sum(axis=1))
    raw = np.log1p(counts / sizes[:, None])
    denoised, _ = denoise(counts.astype(float), random_state=0, n_jobs=1, posterior="variational")
    alike = [np.corrcoef(found.ravel(), truth.ravel())[0, 1] for found in (raw, denoised)]
    assert alike[1] > 0.97 > alike[0] + 0.05
    by_gene = [
        np.median([np.corrcoef(a, b)[0, 1] for a, b in zip(found.T, truth.T, strict=True)])
        for found in (raw, denoised)
    ]
    assert by_gene[1] > by_gene[0] + 0.3


def test_a_denoised_layer_stands_beside_the_counts(tmp_path):
    counts, truth = counted()
    save(tmp_path / "in.h5ad", sp.csr_matrix(counts))
    command = ("impute", tmp_path / "in.h5ad", "--denoise", "-o", tmp_path / "out.h5ad")
    assert "--zeros-missing" in refused(*command, "--zeros-missing")
    assert "--save-model" in refused(*command, "--save-model", tmp_path / "m.safetensors")
    assert "--scale" in refused(*command, "--scale", "yes")
    ended = call(*command, "--posterior", "column")
    assert ended.code == 0, ended.err
    assert "log(1 + counts" in ended.out
    out = anndata.read_h5ad(tmp_path / "out.h5ad")
    np.testing.assert_array_equal(out.X.toarray(), counts)
    assert set(out.layers) - {None} == {"bmcg"}
    assert out.layers["bmcg"].dtype == np.float32
    assert np.corrcoef(out.layers["bmcg"].ravel(), truth.ravel())[0, 1] > 0.9
