"""Columns that are alike, lists that are varied, and what popularity is worth in them."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import BMCG, Observations, load_model


@pytest.fixture(scope="module")
def kinds():
    """Items of three kinds, each with its own taste among users; stars around a level."""
    rng = np.random.default_rng(0)
    kind = np.arange(24) % 3
    taste = rng.standard_normal((60, 3))
    X = 3.0 + taste[:, kind] * rng.uniform(0.7, 1.3, 24) + 0.2 * rng.standard_normal((60, 24))
    rows, cols = np.nonzero(rng.random(X.shape) < np.linspace(0.2, 0.9, 24))
    seen = Observations.from_triples(
        rows, cols, X[rows, cols], X.shape, col_labels=[f"i{j}" for j in range(24)]
    )
    model = BMCG(posterior="row", rank=6, random_state=0, n_jobs=1, max_sweeps=60).fit(seen)
    return model, kind


def number(names):
    return np.array([int(name[1:]) for name in names])


def test_columns_of_a_kind_are_alike(kinds):
    model, kind = kinds
    found = model.similar([f"i{j}" for j in range(24)], n=5)
    assert (kind[number(found.cols)] == kind[number(found.others)]).mean() > 0.95
    assert (number(found.cols) != number(found.others)).all()
    assert (np.diff(found.similarity[:5]) <= 0).all()


def test_similarity_is_the_correlation_of_predictions(kinds):
    model, _ = kinds
    found = model.similar("i4", n=23)
    predicted = model.row_factors_ @ model.col_factors_.T
    wanted = np.corrcoef(predicted, rowvar=False)[4]
    np.testing.assert_allclose(found.similarity, wanted[number(found.others)], atol=1e-9)


def test_candidates_and_files_keep_what_is_alike(kinds, tmp_path):
    model, _ = kinds
    some = ["i1", "i7", "i9"]
    found = model.similar("i4", candidates=some)
    assert set(found.others) == set(some)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m").similar("i4", candidates=some)
    assert again.others.tolist() == found.others.tolist()


def test_a_varied_list_holds_more_kinds(kinds):
    model, kind = kinds
    plain, mixed = (model.recommend(n=4, diversity=d) for d in (0.0, 0.7))

    def kinds_of(found):
        return np.mean([len(set(kind[number(found.cols[found.rows == i])])) for i in range(60)])

    assert kinds_of(mixed) > kinds_of(plain) + 0.3
    # The best stays first.
    assert (plain.cols[plain.rank == 1] == mixed.cols[mixed.rank == 1]).all()
    none = model.recommend(n=4, diversity=1e-12)
    assert none.cols.tolist() == plain.cols.tolist()


def test_popularity_moves_lists_towards_what_many_have_and_away_from_it(kinds):
    model, _ = kinds
    counts = np.bincount(model.seen_.indices, minlength=24)
    means = [
        counts[number(model.recommend(n=4, popularity=p).cols)].mean() for p in (-2.0, 0.0, 2.0)
    ]
    assert means[0] < means[1] < means[2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"diversity": 1.0}, "diversity=1.0"),
        ({"diversity": -0.1}, "diversity=-0.1"),
        ({"popularity": float("nan")}, "popularity=nan"),
    ],
)
def test_what_makes_no_list_is_named(kinds, options, words):
    with pytest.raises(ValueError, match=words):
        kinds[0].recommend(**options)


def test_a_model_without_components_knows_none_alike():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 1)) + rng.standard_normal(10)
    X[rng.random(X.shape) < 0.3] = np.nan
    model = BMCG(posterior="row", bias=True, random_state=0, n_jobs=1).fit(X)
    if model.rank_ == 0:
        with pytest.raises(ValueError, match="no columns are alike"):
            model.similar([0])
