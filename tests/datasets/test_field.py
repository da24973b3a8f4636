"""Sets of other fields: small archives in the same layout, and the real ones where they are."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import datasets
from bmcg.datasets import DatasetFormatError, DatasetUnavailableError


@pytest.fixture
def put(tmp_path):
    """Writes an archive below ``field/`` of a data folder, which it returns."""

    def write(file, **arrays):
        path = tmp_path / "field" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, **arrays)
        return tmp_path

    return write


def symmetric(n, rng):
    S = rng.random((n, n))
    return ((S + S.T) / 2 + np.eye(n)).astype(np.float32)


def entries(data):
    seen = data.observations
    return {(int(i), int(j)) for i, j in zip(seen.row_indices, seen.col_indices, strict=True)}


def held(data):
    return {(int(i), int(j)) for i, j in zip(data.test_rows, data.test_cols, strict=True)}


def test_davis_holds_out_one_fold_and_observes_all_others(put):
    rng = np.random.default_rng(0)
    fold = np.array([-1, 0, 1, 2, 3, 4] * 2, dtype=np.int8)
    folder = put(
        "davis/davis.npz",
        pKd=rng.random((3, 4)).astype(np.float32),
        drug_sim=symmetric(3, rng),
        target_sim_norm=symmetric(4, rng),
        fold=fold,
    )
    data = datasets.load_davis(0, data_dir=folder)
    assert held(data) == {(0, 1), (1, 3)}
    assert entries(data) == {(i, j) for i in range(3) for j in range(4)} - held(data)
    assert data.row_graph.diagonal().sum() == 0
    np.testing.assert_array_equal(data.col_graph.toarray(), data.col_graph.toarray().T)
    with pytest.raises(ValueError, match="fold=7"):
        datasets.load_davis(7, data_dir=folder)


@pytest.mark.parametrize("which", ["fdataset", "dti_enzyme"])
def test_zeros_and_ones_hide_a_share_that_depends_on_the_seed(put, which):
    rng = np.random.default_rng(0)
    X = (rng.random((10, 8)) < 0.2).astype(np.uint8)
    folder = put(
        "fdataset/fdataset.npz", didr=X, disease=symmetric(10, rng), drug=symmetric(8, rng)
    )
    # Not quite symmetric, as published.
    folder = put("dti_enzyme/enzyme.npz", target_by_drug=X, drug_sim=rng.random((8, 8)))
    load = getattr(datasets, f"load_{which}")
    data, other = (load(hidden=0.1, seed=seed, data_dir=folder) for seed in (0, 1))
    assert len(data.test_values) == 8
    assert held(data) != held(other)
    assert not held(data) & entries(data)
    np.testing.assert_array_equal(data.test_values, X[data.test_rows, data.test_cols])
    np.testing.assert_array_equal(data.col_graph.toarray(), data.col_graph.toarray().T)


def ratings(rng):
    at = rng.permutation(5 * 6)[:20]
    test = np.zeros(20, dtype=np.uint8)
    test[:4] = 1
    return {
        "user": (at // 6).astype(np.int32),
        "item": (at % 6).astype(np.int32),
        "rating": rng.integers(1, 6, 20).astype(np.int8),
        "test": test,
    }


def test_social_ratings_come_with_trust_and_genres(put):
    given = ratings(np.random.default_rng(0))
    folder = put(
        "ciaodvd/ciaodvd.npz",
        **given,
        item_genre=np.array([1, 1, 3, 17, 3, 1], dtype=np.int8),
        trust=np.array([[0, 1], [1, 0], [4, 2]], dtype=np.int32),
        user_rawid=np.arange(5),
    )
    data = datasets.load_ciaodvd(data_dir=folder)
    assert data.observations.shape == (5, 6)
    assert data.row_graph.nnz == 4
    assert data.col_features.names == ("genre_1", "genre_3", "genre_17")
    np.testing.assert_array_equal(data.col_features.values.sum(axis=1), 1)
    np.testing.assert_array_equal(data.test_rows, given["user"][:4])
    np.testing.assert_array_equal(data.test_values, given["rating"][:4])


def test_films_are_split_at_random_or_by_time(put):
    given = ratings(np.random.default_rng(0))
    folder = put(
        "movietweetings/mt100k.npz",
        **given,
        test_time=given["test"][::-1].copy(),
        item_genre=np.eye(6, 2, dtype=np.uint8),
        genre_name=np.array(["Action", "Adult"]),
        item_year=np.arange(1990, 1996),
    )
    data = datasets.load_movietweetings(data_dir=folder)
    later = datasets.load_movietweetings("time", data_dir=folder)
    assert data.col_features.names == ("Action", "Adult", "year")
    np.testing.assert_array_equal(later.test_rows, given["user"][-4:])
    assert held(data) != held(later)


def test_books_of_one_author_are_joined(put):
    given = ratings(np.random.default_rng(0))
    folder = put(
        "bookcrossing/bx.npz",
        **given,
        item_author=np.array([0, 1, 0, 2, 0, 1], dtype=np.int32),
        user_age=np.array([20, 204, 31, 1, 50], dtype=np.float32),
    )
    graph = datasets.load_bookcrossing(data_dir=folder).col_graph.toarray()
    expected = np.zeros((6, 6))
    for i, j in ((0, 2), (0, 4), (2, 4), (1, 5)):
        expected[i, j] = expected[j, i] = 1
    np.testing.assert_array_equal(graph, expected)


def test_markers_are_joined_along_a_chromosome(put):
    rng = np.random.default_rng(0)
    hidden = rng.random((3, 5)) < 0.2
    folder = put(
        "mice/mice.npz",
        X=rng.integers(0, 3, (3, 5)).astype(np.int8),
        A=symmetric(3, rng),
        hidden20=np.packbits(hidden.ravel()),
        map_chr=np.array(["1", "1", "2", "2", "2"]),
    )
    data = datasets.load_mice(data_dir=folder)
    assert held(data) == set(zip(*(k.tolist() for k in np.nonzero(hidden)), strict=True))
    joined = np.transpose(np.nonzero(np.triu(data.col_graph.toarray())))
    assert joined.tolist() == [[0, 1], [2, 3], [3, 4]]


def test_tables_are_standardised_by_what_is_observed(put):
    rng = np.random.default_rng(0)
    X = (rng.random((30, 3)) * [1, 100, 1e4] + 50).astype(np.float32)
    hidden = rng.random(X.shape) < 0.2
    put("tabular/tables.npz", yacht=X)
    folder = put("tabular/masks_mcar.npz", yacht_hid20=np.packbits(hidden.ravel()))
    data = datasets.load_table("yacht", 20, data_dir=folder)
    seen = data.observations
    for j in range(3):
        column = seen.values[seen.col_indices == j]
        assert column.mean() == pytest.approx(0, abs=1e-12)
        assert column.std() == pytest.approx(1)
    raw = datasets.load_table("yacht", 20, standardise=False, data_dir=folder)
    np.testing.assert_array_equal(raw.test_values, X[raw.test_rows, raw.test_cols])
    with pytest.raises(ValueError, match="choose 20 or 50"):
        datasets.load_table("yacht", 30, data_dir=folder)


def test_zero_counts_of_cells_are_entries(put):
    counts = np.array([[0, 5, 0, 1], [2, 0, 0, 0]])
    rows, cols = np.nonzero(counts)
    folder = put(
        "sc_mixology/celseq2_5cl.npz",
        data=counts[rows, cols].astype(np.uint16),
        indices=cols.astype(np.int16),
        indptr=np.array([0, 2, 3], dtype=np.int32),
        shape=np.array([2, 4]),
        batch=np.array([0, 2], dtype=np.int8),
        library_size=np.array([6, 2], dtype=np.int32),
    )
    data = datasets.load_sc_mixology(0.25, data_dir=folder)
    assert len(held(data)) == 2
    assert len(held(data) | entries(data)) == 8
    expected = np.log1p(1e4 * counts / np.array([[6], [2]]))
    np.testing.assert_allclose(data.test_values, expected[data.test_rows, data.test_cols])


@pytest.mark.parametrize("mask", ["RM40", "RM30T"])
def test_sensor_masks_hide_what_is_not_zero(put, mask):
    rng = np.random.default_rng(0)
    tensor = rng.integers(0, 4, (2, 3, 4)).astype(np.uint16)
    observed = rng.random((2, 3, 4)) < 0.6
    drawn = observed.transpose(0, 2, 1) if mask.endswith("T") else observed
    folder = put(
        "sensor_hangzhou/hangzhou.npz", tensor=tensor, **{f"obs_{mask}": np.packbits(drawn.ravel())}
    )
    data = datasets.load_hangzhou(mask, data_dir=folder)
    flat, seen = tensor.reshape(2, 12), observed.reshape(2, 12)
    for found, where in ((entries(data), seen), (held(data), ~seen)):
        assert found == set(
            zip(*(k.tolist() for k in np.nonzero((flat != 0) & where)), strict=True)
        )
    assert data.col_graph.shape == (12, 12)
    with pytest.raises(DatasetFormatError, match="lacks the array 'obs_NM40'"):
        datasets.load_hangzhou("NM40", data_dir=folder)


def test_air_is_held_out_by_the_publishers_mask(put):
    rng = np.random.default_rng(0)
    air = rng.random((20, 4)).astype(np.float32)
    air[3, 1] = np.nan
    mask = rng.random((20, 4)) < 0.2
    mask[3, 1] = True
    places = np.column_stack((rng.uniform(39, 41, 4), rng.uniform(115, 117, 4)))
    folder = put("sensor_aqi36/aqi36.npz", pm25=air, eval_mask=mask, latlon=places)
    data = datasets.load_aqi36(data_dir=folder)
    assert data.observations.shape == (4, 20)
    assert len(held(data)) == mask.sum() - 1
    assert np.isfinite(data.test_values).all()
    assert data.row_graph.shape == (4, 4)


def test_missing_and_broken_archives_are_named(tmp_path, put):
    with pytest.raises(DatasetUnavailableError, match=r"fdataset\.npz"):
        datasets.load_fdataset(data_dir=tmp_path)
    folder = put("fdataset/fdataset.npz", didr=np.zeros((3, 3)), disease=np.zeros((2, 2)))
    with pytest.raises(DatasetFormatError, match="disease has shape"):
        datasets.load_fdataset(data_dir=folder)
    (folder / "field/fdataset/fdataset.npz").write_bytes(b"no archive")
    with pytest.raises(DatasetFormatError, match=r"fdataset\.npz"):
        datasets.load_fdataset(data_dir=folder)


def test_objects_are_never_unpickled(put):
    folder = put("fdataset/fdataset.npz", didr=np.array([{}], dtype=object))
    with pytest.raises(DatasetFormatError):
        datasets.load_fdataset(data_dir=folder)


def test_the_real_davis_has_its_published_folds(real_data):
    data = datasets.load_davis(0, data_dir=real_data)
    assert data.observations.shape == (68, 442)
    assert len(data.test_values) == 5010
