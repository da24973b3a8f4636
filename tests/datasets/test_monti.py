from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg.datasets import (
    DatasetFormatError,
    load_douban,
    load_flixster,
    load_monti_movielens,
    load_movielens_100k,
    load_synthetic_netflix,
    monti,
)

h5py = pytest.importorskip("h5py")
M, N = 8, 6


def write_mat(path: Path, arrays: dict[str, object]) -> None:
    """A MATLAB 7.3 file: dense arrays transposed, sparse ones as data, ir and jc."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in arrays.items():
            if sp.issparse(value):
                csc = sp.csc_array(value)
                group = file.create_group(name)
                group.attrs["MATLAB_sparse"] = np.uint64(csc.shape[0])
                group["data"] = csc.data
                group["ir"] = csc.indices.astype(np.uint64)
                group["jc"] = csc.indptr.astype(np.uint64)
            else:
                file[name] = np.asarray(value, dtype=np.float64).T


@pytest.fixture
def arrays() -> dict[str, object]:
    rng = np.random.default_rng(0)
    part = rng.permutation(np.repeat([0, 1, 2], [20, 10, M * N - 30])).reshape(M, N)
    ratings = rng.integers(1, 6, size=(M, N))
    ring = np.roll(np.eye(M), 1, axis=1)
    return {
        "M": ratings * (part < 2),
        "Otraining": part == 0,
        "Otest": part == 1,
        "W_users": sp.csr_array(ring + ring.T + np.diag([1.0, 0, 0, 1.0, 0, 0, 0, 0])),
        "W_movies": np.ones((N, N)) - np.eye(N),
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrays) -> Path:
    small = {"shape": (M, N), "n_train": 20, "n_test": 10}
    for name in ("FLIXSTER", "DOUBAN"):
        cut = replace(getattr(monti, name), **small)
        monkeypatch.setattr(monti, name, cut)
        write_mat(tmp_path / cut.file, arrays)
    return tmp_path


def rewrite(folder: Path, arrays: dict[str, object], **changes: object) -> Path:
    path = folder / monti.FLIXSTER.file
    path.unlink()
    write_mat(path, {k: v for k, v in {**arrays, **changes}.items() if v is not None})
    return path


def test_entries_are_read_in_matlab_orientation(folder: Path, arrays) -> None:
    data = load_flixster(data_dir=folder)
    seen = np.zeros((M, N))
    seen[data.observations.row_indices, data.observations.col_indices] = data.observations.values
    np.testing.assert_array_equal(seen, arrays["M"] * arrays["Otraining"])
    held = np.zeros((M, N))
    held[data.test_rows, data.test_cols] = data.test_values
    np.testing.assert_array_equal(held, arrays["M"] * arrays["Otest"])


def test_graphs_are_as_published_but_for_self_loops(folder: Path, arrays) -> None:
    data = load_flixster(data_dir=folder)
    expected = arrays["W_users"].toarray()
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_array_equal(data.row_graph.toarray(), expected)
    np.testing.assert_array_equal(data.col_graph.toarray(), arrays["W_movies"])
    assert "2 self-loops dropped" in data.provenance


def test_douban_has_no_column_graph(folder: Path) -> None:
    data = load_douban(data_dir=folder)
    assert data.col_graph is None
    assert data.row_graph.nnz == 2 * M


def test_training_graphs_do_not_depend_on_test_entries(folder: Path, arrays) -> None:
    before = load_flixster("training", data_dir=folder)
    held = np.asarray(arrays["Otest"])
    ratings = np.where(held, 6 - np.asarray(arrays["M"]), arrays["M"])
    unseen = ~(held | np.asarray(arrays["Otraining"]))
    moved = np.zeros((M, N))
    moved[tuple(np.argwhere(unseen)[:10].T)] = 1.0
    rewrite(folder, arrays, M=np.where(moved, 3, ratings), Otest=moved)
    after = load_flixster("training", data_dir=folder)
    assert not np.array_equal(before.test_rows, after.test_rows)
    assert (before.row_graph != after.row_graph).nnz == 0
    assert (before.col_graph != after.col_graph).nnz == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Otest": None}, "no Otest in this file, found M, Otraining"),
        ({"M": np.ones((N, M))}, r"M has shape \(6, 8\), expected \(8, 6\)"),
        ({"Otraining": np.ones((M, N))}, "Otraining marks 48 entries, expected 20"),
        ({"Otraining": np.full((M, N), 0.5)}, "zeros and ones"),
        ({"M": np.zeros((M, N))}, "positive and finite"),
        ({"M": np.full((M, N), np.nan)}, "positive and finite"),
        ({"W_users": np.triu(np.ones((M, M)))}, "W_users is not symmetric"),
        ({"W_users": -np.ones((M, M))}, "finite weights of at least 0"),
        ({"W_movies": sp.eye_array(M)}, "W_movies has shape"),
    ],
)
def test_wrong_files_are_refused_by_name(folder: Path, arrays, changes, message) -> None:
    path = rewrite(folder, arrays, **changes)
    with pytest.raises(DatasetFormatError, match=message) as caught:
        load_flixster(data_dir=folder)
    assert str(path) in str(caught.value)


def test_overlapping_masks_are_refused(folder: Path, arrays) -> None:
    held = np.zeros((M, N))
    held[tuple(np.argwhere(arrays["Otraining"])[:10].T)] = 1.0
    rewrite(folder, arrays, Otest=held)
    with pytest.raises(DatasetFormatError, match="share 10 entries"):
        load_flixster(data_dir=folder)


@pytest.mark.parametrize("keep", [0, 300, 2000])
def test_truncated_files_are_refused(folder: Path, keep: int) -> None:
    path = folder / monti.FLIXSTER.file
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DatasetFormatError, match=r"not a complete MATLAB 7\.3"):
        load_flixster(data_dir=folder)


def test_a_missing_h5py_is_named_with_its_extra(folder: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r"pip install 'bmcg\[data\]'"):
        load_flixster(data_dir=folder)


def test_an_unknown_choice_of_graphs_is_refused() -> None:
    with pytest.raises(ValueError, match="graphs='test': choose one of 'shipped', 'training'"):
        load_flixster("test")


def components(graph) -> int:
    return sp.csgraph.connected_components(graph, directed=False)[0]


def test_real_flixster_has_its_published_size(real_data: Path) -> None:
    data = load_flixster()
    obs = data.observations
    assert obs.shape == (3000, 3000)
    assert (len(obs), len(data.test_values)) == (23_556, 2_617)
    assert components(data.row_graph) == components(data.col_graph) == 1
    rated = np.unique(np.concatenate([obs.row_indices, data.test_rows]))
    assert 3000 - len(rated) == 659


def test_real_flixster_training_graphs_leave_users_without_ratings_alone(real_data: Path) -> None:
    data = load_flixster("training")
    alone = np.diff(data.row_graph.indptr) == 0
    unrated = np.diff(data.observations.by_row.indptr) == 0
    assert unrated.sum() >= 659
    assert alone[unrated].all()


def test_real_douban_has_its_published_size(real_data: Path) -> None:
    data = load_douban()
    assert (len(data.observations), len(data.test_values)) == (123_202, 13_689)
    # 1,831 users have an empty row in the file; one more is joined to nobody but himself.
    assert (np.diff(data.row_graph.indptr) == 0).sum() == 1_831 + 1
    assert "2 self-loops dropped" in data.provenance


def test_real_monti_movielens_is_the_u1_split(real_data: Path) -> None:
    ours, theirs = load_movielens_100k(1), load_monti_movielens()
    assert (ours.observations.to_csr() != theirs.observations.to_csr()).nnz == 0
    assert theirs.row_graph.nnz == 12_594
    assert theirs.col_graph.nnz == 28_928


def test_published_movielens_graphs_join_neighbours_by_our_features(real_data: Path) -> None:
    ours, theirs = load_movielens_100k(1), load_monti_movielens()
    users, movies = ours.row_features.values, ours.col_features.values[:, :-1]
    for features, graph in ((users, theirs.row_graph), (movies, theirs.col_graph)):
        distance = ((features[:, None] - features[None]) ** 2).sum(axis=-1)
        np.fill_diagonal(distance, np.inf)
        reach = np.sort(distance, axis=1)[:, 9]
        i, j = graph.nonzero()
        # Neighbours at equal distance are a free choice, so edges themselves need not agree.
        assert np.mean(distance[i, j] <= np.maximum(reach[i], reach[j])) > 0.98


def test_real_synthetic_netflix_is_complete_and_of_rank_12(real_data: Path) -> None:
    data = load_synthetic_netflix()
    assert data.truth.shape == (150, 200)
    assert (len(data.observations), len(data.test_values)) == (4_500, 4_500)
    assert np.linalg.matrix_rank(data.truth) == 12
    assert data.row_graph.diagonal().sum() == data.col_graph.diagonal().sum() == 0
