"""Recommending, folding in and updating do what a refit or brute force would."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from bmcg import BMCG, Observations, load_model
from bmcg.graphs import chain_graph
from bmcg.serving.top import keep_best

FAMILIES = ["column", "row", "joint"]


def planted(m=60, n=30, seed=0, missing=0.4):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((m, 2)) @ rng.standard_normal((2, n))
    X = truth + 0.05 * rng.standard_normal((m, n))
    X[rng.random((m, n)) < missing] = np.nan
    return X, truth


def fitted(X, family="row", learn_graphs="auto", **graphs):
    model = BMCG(posterior=family, learn_graphs=learn_graphs, random_state=0, n_jobs=1)
    return model.fit(X, **graphs)


@pytest.fixture(scope="module")
def model():
    return fitted(planted()[0])


@pytest.mark.parametrize("pieces", [1, 3, 40])
def test_the_best_entries_do_not_depend_on_the_pieces_and_ties_go_left(pieces):
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 6, (7, 40)).astype(float)
    scores[2, 5] = np.nan
    skipped = [sorted(rng.choice(40, 8, replace=False)) for _ in range(7)]
    indptr = np.arange(0, 57, 8)
    indices = np.concatenate(skipped).astype(np.int32)
    best, where = np.full((7, 5), -np.inf), np.full((7, 5), -1)
    for part in np.array_split(np.arange(40), pieces):
        keep_best(scores[:, part], part[0], indptr, indices, best, where)
    for i in range(7):
        allowed = [j for j in range(40) if j not in skipped[i] and np.isfinite(scores[i, j])]
        expected = sorted(allowed, key=lambda j: (-scores[i, j], j))[:5]
        np.testing.assert_array_equal(where[i], expected)
        np.testing.assert_array_equal(best[i], scores[i, expected])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("score", ["mean", "lower", "ucb"])
def test_recommendations_are_the_best_unobserved_entries(family, score, monkeypatch):
    monkeypatch.setattr("bmcg.serving.ranking.BLOCK_COLS", 7)
    monkeypatch.setattr("bmcg.serving.ranking.BLOCK_ROWS", 3)
    X, _ = planted()
    model = fitted(X, family)
    i, j = (a.ravel() for a in np.indices(X.shape))
    mean, std = (
        a.reshape(X.shape) for a in model.predict(i, j, return_std=True, include_noise=False)
    )
    target = mean + {"mean": 0.0, "lower": -2.0, "ucb": 2.0}[score] * std
    found = model.recommend([5, 0, 17, 40], 4, score=score, width=2.0)
    for row in (5, 0, 17, 40):
        open_cols = np.flatnonzero(np.isnan(X[row]))
        expected = open_cols[np.argsort(-target[row, open_cols], kind="stable")][:4]
        lines = found.rows == row
        np.testing.assert_array_equal(found.cols[lines], expected)
        np.testing.assert_allclose(found.score[lines], target[row, expected], rtol=1e-9)
        np.testing.assert_allclose(found.mean[lines], mean[row, expected])
        np.testing.assert_allclose(found.std[lines], std[row, expected])
        np.testing.assert_array_equal(found.rank[lines], [1, 2, 3, 4])


def test_a_value_range_does_not_make_ties_of_the_best():
    X, _ = planted()
    # Ratings that pile up at a limit, so that the best of many rows lie beyond it.
    X = np.clip(X, -0.5, 0.5)
    limited = BMCG(posterior="row", value_range="observed", random_state=0, n_jobs=1).fit(X)
    free, found = fitted(X).recommend(n=3), limited.recommend(n=3)
    # Unclipped, the best of these rows are told apart beyond the limit, and so they are ranked.
    assert (free.mean.reshape(-1, 3).min(axis=1) > 0.5).sum() > 10
    np.testing.assert_array_equal(found.cols, free.cols)
    assert (np.diff(found.score.reshape(-1, 3), axis=1) < 0).all()
    assert found.mean.max() <= 0.5


def test_rows_with_few_unobserved_columns_get_few_lines(model):
    X, _ = planted()
    found = model.recommend(n=1000)
    counts = np.bincount(found.rows, minlength=len(X))
    np.testing.assert_array_equal(counts, np.isnan(X).sum(axis=1))
    assert len(model.recommend(0, n=1000, exclude_observed=False)) == X.shape[1]


def test_labels_come_back_and_a_saved_model_still_knows_what_was_observed(tmp_path):
    X, _ = planted(20, 10)
    frame = pd.DataFrame(X, index=[f"u{i}" for i in range(20)], columns=list("abcdefghij"))
    model = fitted(frame)
    model.save(tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    for one in (model, loaded):
        table = one.recommend(["u3", "u7"], n=3).to_frame("pandas")
        assert list(table["row"].unique()) == ["u3", "u7"]
        for row, col in zip(table["row"], table["column"], strict=True):
            assert np.isnan(frame.loc[row, col])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rows": ["nobody"]}, "whole numbers"),
        ({"rows": [999]}, "outside the matrix"),
        ({"n": 0}, "n=0"),
        ({"score": "best"}, "score='best'"),
        ({"width": -1.0}, "width=-1.0"),
    ],
)
def test_bad_requests_name_the_argument(model, arguments, words):
    with pytest.raises((ValueError, KeyError), match=words):
        model.recommend(**arguments)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("side", ["rows", "cols"])
def test_newcomers_are_predicted_as_a_refit_would(family, side):
    X, _ = planted(90, 80)
    kept, new = (X[:80], X[80:]) if side == "rows" else (X[:, :70], X[:, 70:])
    folded = fitted(kept, family).fold_in(new, side=side)
    refit = fitted(X, family)
    assert folded.shape_ == new.shape
    i, j = (a.ravel() for a in np.indices(new.shape))
    shift = (80, 0) if side == "rows" else (0, 70)
    mean, std = refit.predict(i + shift[0], j + shift[1], return_std=True)
    got, got_std = folded.predict(i, j, return_std=True)
    np.testing.assert_allclose(got, mean, atol=0.03 * np.nanstd(X))
    np.testing.assert_allclose(got_std, std, rtol=0.15)
    assert np.isfinite(folded.sample(i[:5], j[:5], 3, random_state=0)).all()
    found = folded.recommend(0, n=3)
    assert all(np.isnan(new[0, col]) for col in found.cols)


def test_newcomers_are_matched_by_label_in_any_order():
    X, _ = planted(40, 12)
    frame = pd.DataFrame(X, index=[f"u{i}" for i in range(40)], columns=list("abcdefghijkl"))
    model = fitted(frame.iloc[:36])
    new = frame.iloc[36:]
    straight = model.fold_in(new)
    shuffled = model.fold_in(new[list("lkjihgfedcba")])
    np.testing.assert_allclose(straight.complete(), shuffled.complete(), rtol=1e-12)
    assert straight.row_labels_.values.tolist() == ["u36", "u37", "u38", "u39"]
    with pytest.raises(KeyError, match="'zz'"):
        model.fold_in(new.rename(columns={"a": "zz"}))
    with pytest.raises(ValueError, match="has 5 columns, the model has 12"):
        model.fold_in(np.ones((2, 5)))


def test_links_alone_place_a_newcomer_between_its_neighbours():
    X, _ = planted(40, 20)
    model = fitted(X, row_graph=chain_graph(40), col_graph=chain_graph(20), learn_graphs=False)
    by_list = model.fold_in(row_edges=[("x", 3, 1.0), ("x", 4, 3.0)])
    weights = np.zeros((1, 40))
    weights[0, [3, 4]] = 1.0, 3.0
    by_matrix = model.fold_in(row_edges=sp.csr_array(weights))
    mean = model.complete()
    assert by_list.row_labels_.values.tolist() == ["x"]
    for folded in (by_list, by_matrix):
        np.testing.assert_allclose(folded.complete()[0], (mean[3] + 3 * mean[4]) / 4, rtol=1e-4)
    column = model.fold_in(col_edges=[("y", 7)], side="cols")
    np.testing.assert_allclose(column.complete()[:, 0], mean[:, 7], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "both None"),
        ({"row_edges": [("x", 99)]}, "99 unknown"),
        ({"row_edges": sp.csr_array((2, 7))}, "shape"),
        ({"row_edges": [("x", 1)], "side": "cols"}, "col_edges only"),
        ({"observations": np.ones((1, 30)), "side": "both"}, "side='both'"),
    ],
)
def test_bad_newcomers_name_the_argument(model, arguments, words):
    with pytest.raises((ValueError, KeyError), match=words):
        model.fold_in(**arguments)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_update_ends_where_a_fit_on_everything_ends(family):
    X, truth = planted(60, 40, missing=0.2)
    first = X.copy()
    first[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    more = np.where(np.isnan(first), X, np.nan)
    model = fitted(first, family)
    before = model.n_sweeps_
    model.update(more)
    refit = fitted(X, family)
    np.testing.assert_allclose(model.complete(), refit.complete(), atol=0.01 * truth.std())
    assert model.noise_std_ == pytest.approx(refit.noise_std_, rel=0.02)
    assert model.n_sweeps_ < before
    assert len(model.observations_) == np.isfinite(X).sum()


def test_an_update_replaces_values_given_again():
    X, _ = planted()
    model = fitted(X)
    i, j = np.argwhere(np.isfinite(X))[0]
    model.update(Observations.from_triples([i], [j], [7.5], shape=X.shape))
    assert model.observations_.to_csr()[i, j] == 7.5


def test_a_loaded_model_asks_for_its_observations(tmp_path):
    X, _ = planted()
    first, more = X.copy(), np.full(X.shape, np.nan)
    more[:, 0], first[:, 0] = X[:, 0], np.nan
    model = fitted(first)
    model.save(tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="observations="):
        loaded.update(more)
    loaded.update(more, observations=first)
    np.testing.assert_allclose(loaded.complete(), model.update(more).complete(), rtol=1e-10)


@pytest.mark.parametrize("posterior", ["column", "row"])
def test_spreads_of_a_block_are_those_of_its_pairs(posterior):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((20, 3)) @ rng.standard_normal((3, 15))
    X[rng.random(X.shape) < 0.4] = np.nan
    fitted = BMCG(posterior=posterior, bias=True, random_state=0, max_sweeps=20).fit(X).fitted_
    rows, cols = np.array([3, 0, 19]), np.arange(2, 9)
    block = fitted.variance_block(rows, cols)
    i, j = (part.ravel() for part in np.meshgrid(rows, cols, indexing="ij"))
    np.testing.assert_allclose(block.ravel(), fitted.variance(i, j, False), rtol=1e-7)
