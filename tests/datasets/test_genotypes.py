from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io

from bmcg.datasets import DatasetFormatError, genotypes, load_chr22


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of 60 × 20 in SparRec's layout: six kinds of rows, a few bits flipped."""
    rng = np.random.default_rng(0)
    kinds = rng.random((6, 20)) < 0.4
    flipped = kinds[np.arange(60) % 6] ^ (rng.random((60, 20)) < 0.02)
    monkeypatch.setattr(genotypes, "SHAPE", (60, 20))
    (tmp_path / "sparrec").mkdir()
    scipy.io.savemat(tmp_path / "sparrec" / "chr22.mat", {"M": flipped.astype(np.uint8)})
    return tmp_path


@pytest.mark.parametrize("observed", [0.1, 0.5])
def test_observed_and_held_out_entries_make_up_the_matrix(folder: Path, observed: float) -> None:
    data = load_chr22(observed, seed=3, data_dir=folder)
    assert len(data.observations) == round(observed * 1200)
    whole = data.observations.to_csr().toarray()
    whole[data.test_rows, data.test_cols] = data.test_values
    np.testing.assert_array_equal(whole, data.truth)
    assert len(data.observations) + len(data.test_values) == 1200


def test_the_seed_alone_decides_what_is_observed(folder: Path) -> None:
    a, b, c = (load_chr22(seed=s, data_dir=folder).test_rows for s in (0, 0, 1))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_observed_graph_does_not_depend_on_held_out_entries(folder: Path) -> None:
    before = load_chr22(0.3, graph="observed", data_dir=folder)
    other = before.truth.astype(np.uint8)
    other[before.test_rows, before.test_cols] ^= 1
    scipy.io.savemat(folder / "sparrec" / "chr22.mat", {"M": other})
    after = load_chr22(0.3, graph="observed", data_dir=folder)
    assert np.array_equal(before.test_values, 1 - after.test_values)
    assert (before.row_graph != after.row_graph).nnz == 0
    complete = load_chr22(0.3, graph="complete", data_dir=folder)
    assert (complete.row_graph != after.row_graph).nnz > 0


def test_observed_graph_mostly_joins_rows_of_one_kind(folder: Path) -> None:
    graph = load_chr22(0.5, graph="observed", data_dir=folder).row_graph.tocoo()
    # Nine of the ten neighbours can be of the same kind; by chance it would be one in six.
    assert np.mean(graph.row % 6 == graph.col % 6) > 0.5


def test_truncated_or_wrong_files_are_refused(folder: Path) -> None:
    path = folder / "sparrec" / "chr22.mat"
    whole = path.read_bytes()
    for content in (whole[:200], whole[:-50], b""):
        path.write_bytes(content)
        with pytest.raises(DatasetFormatError, match=r"chr22\.mat is not a complete MATLAB 5"):
            load_chr22(data_dir=folder)
    for arrays, message in (
        ({"X": np.zeros((60, 20))}, "no M in this file, found X"),
        ({"M": np.zeros((20, 60))}, "has shape"),
        ({"M": np.full((60, 20), 2.0)}, "zeros and ones"),
    ):
        scipy.io.savemat(path, arrays)
        with pytest.raises(DatasetFormatError, match=message):
            load_chr22(data_dir=folder)


@pytest.mark.parametrize("observed", [0.0, 1.0, 20])
def test_a_share_outside_the_unit_interval_is_refused(observed) -> None:
    with pytest.raises(ValueError, match="observed="):
        load_chr22(observed)


def test_real_chr22_has_its_published_size(real_data: Path) -> None:
    data = load_chr22(0.2)
    assert data.truth.shape == (790, 112)
    assert len(data.observations) == round(0.2 * 790 * 112)
    assert set(np.unique(data.truth)) == {0.0, 1.0}
    assert data.col_graph is None


def disagreement(data) -> float:
    graph = data.row_graph.tocoo()
    return float(np.abs(data.truth[graph.row] - data.truth[graph.col]).mean())


def test_real_observed_graph_is_better_than_chance_and_worse_than_the_answer(
    real_data: Path,
) -> None:
    honest, told = (load_chr22(0.2, graph=g) for g in ("observed", "complete"))
    chance = 2 * np.mean(honest.truth.mean(0) * (1 - honest.truth.mean(0)))
    assert disagreement(told) < disagreement(honest) < 0.5 * chance
