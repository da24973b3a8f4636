from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bmcg.datasets import DatasetFormatError, load_movielens_1m, load_movielens_100k


def triples(path: Path, separator: str) -> set[tuple[int, int, int]]:
    lines = path.read_text().splitlines()
    return {tuple(int(x) for x in line.split(separator)[:3]) for line in lines}


def observed_triples(data) -> set[tuple[int, int, int]]:
    obs = data.observations
    users = obs.row_labels.values[obs.row_indices]
    items = obs.col_labels.values[obs.col_indices]
    return set(zip(users.tolist(), items.tolist(), obs.values.astype(int).tolist(), strict=True))


def held_out_triples(data) -> set[tuple[int, int, int]]:
    users = data.observations.row_labels.values[data.test_rows]
    items = data.observations.col_labels.values[data.test_cols]
    values = data.test_values.astype(int)
    return set(zip(users.tolist(), items.tolist(), values.tolist(), strict=True))


def test_100k_holds_exactly_the_lines_of_base_and_test(ml_100k: Path) -> None:
    data = load_movielens_100k(data_dir=ml_100k.parent)
    assert data.observations.shape == (12, 15)
    assert observed_triples(data) == triples(ml_100k / "u1.base", "\t")
    assert held_out_triples(data) == triples(ml_100k / "u1.test", "\t")


def test_100k_features_are_those_of_the_files(ml_100k: Path) -> None:
    data = load_movielens_100k(data_dir=ml_100k.parent)
    users, items = data.row_features, data.col_features
    assert users.names == ("age", "gender=M", "occupation=artist", "occupation=other")
    np.testing.assert_array_equal(users.values[0], [21, 0, 0, 1])
    assert items.names == ("genre=unknown", "genre=Action", "genre=Drama", "year")
    np.testing.assert_array_equal(items.values[0], [0, 1, 1, 1961])
    # The movie without a date gets the median year of the other fourteen, 1961 to 1974.
    np.testing.assert_array_equal(items.values[14], [1, 0, 0, 1967.5])


def test_movie_graph_ignores_release_years(ml_100k: Path) -> None:
    before = load_movielens_100k(data_dir=ml_100k.parent)
    text = (ml_100k / "u.item").read_text("latin-1").replace("19", "18")
    (ml_100k / "u.item").write_text(text, "latin-1")
    after = load_movielens_100k(data_dir=ml_100k.parent)
    assert (before.col_graph != after.col_graph).nnz == 0
    assert not np.array_equal(before.col_features.values, after.col_features.values)


def test_1m_test_entries_are_the_stated_draw_in_file_order(ml_1m: Path) -> None:
    data = load_movielens_1m(test_fraction=0.3, seed=5, data_dir=ml_1m.parent)
    lines = (ml_1m / "ratings.dat").read_text().splitlines()
    chosen = np.random.default_rng(5).random(len(lines)) < 0.3
    expected = [tuple(map(int, lines[i].split("::")[:3])) for i in np.flatnonzero(chosen)]
    ids = data.observations.col_labels.values
    found = zip(data.test_rows + 1, ids[data.test_cols], data.test_values, strict=True)
    assert [tuple(map(int, entry)) for entry in found] == expected
    assert len(data.observations) == 50 - chosen.sum()
    assert "1 fewer than published" in data.provenance


def test_1m_year_is_the_one_in_brackets_not_one_in_the_title(ml_1m: Path) -> None:
    items = load_movielens_1m(data_dir=ml_1m.parent).col_features
    assert items.names == ("genre=Comedy", "genre=Drama", "year")
    np.testing.assert_array_equal(items.values[:, -1], 1960 + np.arange(14))
    np.testing.assert_array_equal(items.values[1], [1, 1, 1961])


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("u1.base", lambda t: "\n".join(t.splitlines()[:-1]), "47 ratings, expected 48"),
        ("u1.base", lambda t: t[: len(t) // 2 - 14], "u1.base"),
        ("u1.base", lambda t: "", "is empty"),
        ("u1.base", lambda t: t.replace("\t", ","), "expected lines of"),
        ("u1.base", lambda t: t.replace("\t874965758", ""), "found 3 fields"),
        ("u1.base", lambda t: t.replace("\t5\t874", "\t7\t874", 1), "rating 7, expected 1 to 5"),
        ("u1.base", lambda t: t + t.splitlines()[0] + "\n", "49 ratings, expected 48"),
        ("u.user", lambda t: t[:-30], "u.user"),
        ("u.user", lambda t: t.replace("|M|", "|X|"), "gender 'X'"),
        ("u.user", lambda t: t.replace("|22|", "|old|"), "expected a whole number, found 'old'"),
        ("u.item", lambda t: t.replace("|1\n", "\n", 1), "expected 8 fields"),
        ("u.item", lambda t: t.replace("|1\n", "|2\n", 1), "flags must be 0 or 1"),
        ("u.item", lambda t: "\n".join(t.splitlines()[::-1]), "must ascend"),
    ],
)
def test_damaged_100k_files_are_refused_by_name(ml_100k: Path, name, damage, message) -> None:
    path = ml_100k / name
    path.write_text(damage(path.read_text("latin-1")), "latin-1")
    with pytest.raises(DatasetFormatError, match=message) as caught:
        load_movielens_100k(data_dir=ml_100k.parent)
    assert str(path) in str(caught.value)


def test_entries_in_both_parts_are_refused(ml_100k: Path) -> None:
    base, test = ml_100k / "u1.base", ml_100k / "u1.test"
    test.write_text("".join(base.read_text().splitlines(keepends=True)[:12]))
    with pytest.raises(DatasetFormatError, match="disjoint"):
        load_movielens_100k(data_dir=ml_100k.parent)


def test_repeated_entries_are_refused(ml_1m: Path) -> None:
    path = ml_1m / "ratings.dat"
    path.write_text(path.read_text() + path.read_text().splitlines(keepends=True)[0])
    with pytest.raises(DatasetFormatError, match="1 entries are given more than once"):
        load_movielens_1m(data_dir=ml_1m.parent)


def test_ratings_of_unknown_movies_are_refused(ml_1m: Path) -> None:
    path = ml_1m / "ratings.dat"
    lines = path.read_text().splitlines(keepends=True)
    lines[3] = "1::2::5::0\n"
    path.write_text("".join(lines))
    with pytest.raises(DatasetFormatError, match="line 4: movie 2 is not in the list"):
        load_movielens_1m(data_dir=ml_1m.parent)


@pytest.mark.parametrize("fold", [0, 6, "1"])
def test_a_fold_that_does_not_exist_is_refused(fold) -> None:
    with pytest.raises(ValueError, match="fold="):
        load_movielens_100k(fold)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, 10])
def test_a_test_fraction_outside_the_unit_interval_is_refused(fraction) -> None:
    with pytest.raises(ValueError, match="test_fraction="):
        load_movielens_1m(fraction)


@pytest.mark.parametrize("fold", [1, 5])
def test_real_100k_has_its_published_size(real_data: Path, fold: int) -> None:
    data = load_movielens_100k(fold)
    assert data.observations.shape == (943, 1682)
    assert (len(data.observations), len(data.test_values)) == (80_000, 20_000)
    assert data.row_features.values.shape == (943, 2 + 21)
    assert data.col_features.values.shape == (1682, 19 + 1)
    assert np.diff(data.row_graph.indptr).min() >= 10
    assert np.diff(data.col_graph.indptr).min() >= 10


def test_real_1m_has_its_published_size(real_data: Path) -> None:
    data = load_movielens_1m()
    assert data.observations.shape == (6040, 3883)
    cols = np.concatenate([data.observations.col_indices, data.test_cols])
    assert len(cols) in (1_000_203, 1_000_209)
    assert len(np.unique(cols)) == 3706
    assert data.observations.col_labels.values.max() == 3952
    assert len(data.test_values) / len(cols) == pytest.approx(0.1, abs=1e-3)
