"""scikit-learn's model selection on frames of triples, and `score`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from bmcg import BMCG, Observations
from bmcg.baselines import VBMC, LMaFit
from bmcg.datasets import random_low_rank
from bmcg.evaluation import OnTriples


@pytest.fixture(scope="module")
def frame():
    seen = random_low_rank(2, 0.8, 20.0, shape=(30, 20)).observations
    return pd.DataFrame(
        {
            "item": [f"i{j}" for j in seen.col_indices],
            "user": [f"u{i}" for i in seen.row_indices],
            "stars": seen.values,
        }
    ).sample(frac=1.0, random_state=0, ignore_index=True)


def test_cross_val_score_works_on_a_frame_of_triples(frame):
    model = OnTriples(BMCG(posterior="variational", random_state=0), row="user", col="item")
    scores = cross_val_score(model, frame, frame.stars, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.5
    errors = cross_val_score(model, frame, frame.stars, cv=3, scoring="neg_root_mean_squared_error")
    assert (errors < 0).all()


def test_a_grid_search_finds_the_rank_of_a_method_that_is_told_one(frame):
    grid = {"model__rank": [1, 2, 15], "model__estimate_rank": [False]}
    search = GridSearchCV(OnTriples(LMaFit()), grid, cv=3)
    search.fit(frame[["user", "item"]], frame.stars)
    assert search.best_params_["model__rank"] == 2
    assert len(search.predict(frame.head(4))) == 4


def test_lines_in_another_order_change_nothing_but_the_order(frame):
    mixed = frame.iloc[::-1]
    one, two = (
        OnTriples(BMCG(posterior="variational", random_state=0), "user", "item")
        .fit(f, f.stars)
        .predict(frame)
        for f in (frame, mixed)
    )
    assert np.allclose(one, two)


@pytest.mark.parametrize("model", [BMCG(posterior="variational", random_state=0), VBMC()])
def test_labels_that_a_fold_has_not_seen_are_predicted_all_the_same(frame, model):
    by_user = frame.user.str.slice(1).astype(int) % 3
    folds = [(np.flatnonzero(by_user != f), np.flatnonzero(by_user == f)) for f in range(3)]
    found = cross_val_predict(
        OnTriples(model, "user", "item"), frame[["user", "item"]], frame.stars, cv=folds
    )
    assert np.isfinite(found).all()


def test_a_column_that_is_not_there_is_named(frame):
    with pytest.raises(ValueError, match="row='person' is no column of X, which has item, user"):
        OnTriples(BMCG(posterior="variational"), row="person").fit(frame, frame.stars)


def test_score_is_the_share_of_variance_of_held_out_entries(frame):
    train = Observations.from_frame(frame.iloc[::2], "user", "item", "stars")
    test = Observations.from_frame(
        frame.iloc[1::2], "user", "item", "stars",
        row_labels=train.row_labels.values, col_labels=train.col_labels.values,
    )  # fmt: skip
    model = BMCG(posterior="variational", random_state=0).fit(train)
    held = frame.iloc[1::2]
    wanted = r2_score(held.stars, model.predict(held.user, held.item))
    assert np.isclose(model.score(test), wanted)
    # Labels join, wherever they stand.
    turned = Observations.from_frame(
        held, "user", "item", "stars", col_labels=train.col_labels.values[::-1]
    )
    assert np.isclose(model.score(turned), wanted)
