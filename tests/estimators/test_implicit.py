"""Clicks, plays, purchases: what was seen among weak zeros, from `fit` to lists."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from bmcg import BMCG, Observations, load_model
from bmcg.evaluation import evaluate, leave_out, list_measures
from bmcg.evaluation.lists import judge_lists
from bmcg.likelihoods import WeakZero

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
KINDS = 2
M, N = 60, 40


def shop(m=M, n=N, seed=0, counts=False):
    """Users of two kinds, who see items of their own kind and popular ones."""
    rng = np.random.default_rng(seed)
    likes = (np.arange(m)[:, None] % KINDS) == (np.arange(n) % KINDS)
    chance = np.where(likes, 0.3, 0.04) * rng.gamma(2.0, 0.5, size=n)
    rows, cols = np.nonzero(rng.random((m, n)) < chance)
    values = rng.geometric(0.4, len(rows)) if counts else np.ones(len(rows))
    labels = {"row_labels": [f"u{i}" for i in range(m)], "col_labels": [f"i{j}" for j in range(n)]}
    return Observations.from_triples(rows, cols, values, (m, n), **labels), likes


def model(**options):
    return BMCG(**{"missing": "weak-zero", "rank": 4, "random_state": 0, "n_jobs": 1, **options})


def share_of_own_kind(found, likes):
    rows = [int(name[1:]) for name in found.rows]
    cols = [int(name[1:]) for name in found.cols]
    return likes[rows, cols].mean()


@pytest.mark.parametrize("posterior", ["auto", "row", "joint", "variational"])
@pytest.mark.parametrize("counts", [False, True])
def test_lists_hold_what_those_alike_have_seen(posterior, counts):
    seen, likes = shop(counts=counts)
    fitted = model(posterior=posterior, max_sweeps=20).fit(seen)
    found = fitted.recommend(n=5)
    assert share_of_own_kind(found, likes) > 0.85
    assert isinstance(fitted.fitted_.likelihood, WeakZero)
    assert fitted.fitted_.likelihood.pairs == M * N


def test_left_out_lists_are_better_than_popularity():
    (split,) = leave_out(shop()[0], 0.2)
    found = judge_lists(model(max_sweeps=20).fit(split.train), split, 10)
    held = list_measures_of_popular(split)
    assert found.ndcg > 1.2 * held.ndcg


def list_measures_of_popular(split):
    from bmcg.serving.ranking import Seen

    train = split.train
    rows = np.unique(split.rows)
    order = np.argsort(-np.diff(train.by_col.indptr), kind="stable")
    dense = train.to_csr().toarray()
    lists = np.stack([order[dense[i, order] == 0][:10] for i in rows])
    held = Seen.of_pairs(split.rows, split.cols, train.shape[0])
    return list_measures(lists, rows, held, train.shape[1])


def test_weights_are_learned_and_told():
    fitted = model(max_sweeps=20).fit(shop(counts=True)[0])
    asked = [v for v in fitted.selection_.verdicts if v.question == "weights"]
    assert len(asked) > 4
    best = [verdict for verdict in asked if verdict.taken][-1]
    learned = fitted.fitted_.likelihood
    assert f"zeros of weight {learned.zero:.3g}, ones of {learned.one:.3g}" in best.tried
    assert all(verdict.measure == "left-out lists" for verdict in asked)


def test_how_much_a_one_weighs_is_asked_last_of_the_components_that_stay(monkeypatch):
    from bmcg.inference import weak_zeros

    monkeypatch.setattr(weak_zeros, "TRIAL_RANK", 2)
    fitted = model(max_sweeps=20).fit(shop()[0])
    asked = [v.tried for v in fitted.selection_.verdicts if v.question == "weights"]
    assert asked[0].endswith("ones of 8, 2 components")
    doubled = next(at for at, words in enumerate(asked) if words.endswith("4 components"))
    fine = [at for at, words in enumerate(asked) if "ones of 11.3" in words]
    assert fine
    assert all(at > doubled for at in fine)
    assert all(asked[at].endswith(f" {fitted.rank_} components") for at in fine)
    assert len(set(asked)) == len(asked)


def test_a_model_file_keeps_the_lists_and_the_weights(tmp_path):
    fitted = model(max_sweeps=20).fit(shop()[0])
    fitted.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.fitted_.likelihood == fitted.fitted_.likelihood
    one, two = fitted.recommend(n=4), again.recommend(n=4)
    assert one.cols.tolist() == two.cols.tolist()
    np.testing.assert_allclose(one.mean, two.mean)


@pytest.mark.parametrize("posterior", ["auto", "row", "sampled"])
def test_someone_new_gets_the_list_of_one_who_saw_the_same(posterior):
    seen, _ = shop()
    fitted = model(posterior=posterior, max_sweeps=20).fit(seen)
    mine = seen.to_csr()[[5]]
    new = Observations.from_triples(
        np.zeros(mine.nnz), mine.indices, mine.data, (1, N), col_labels=seen.col_labels
    )
    folded = fitted.fold_in(new)
    old, young = fitted.recommend(["u5"], n=6), folded.recommend([0], n=6)
    assert len(set(old.cols) & set(young.cols)) >= 4
    np.testing.assert_allclose(young.mean, old.mean, atol=0.08)


def test_an_evened_model_folds_in_both_sides_and_keeps_its_file(monkeypatch, tmp_path):
    from bmcg.inference import weak_zeros

    start = replace(weak_zeros.START[weak_zeros.MARGINAL], even=0.25)
    monkeypatch.setitem(weak_zeros.START, weak_zeros.MARGINAL, start)
    seen, _ = shop()
    fitted = model(max_sweeps=20).fit(seen)
    assert fitted.fitted_.likelihood.even == 0.25
    assert "columns divided by n" in fitted.fitted_.likelihood.words(fitted.fitted_.noise, 1.0)
    fitted.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    table = seen.to_csr()
    like = table[:, [4]].tocoo()
    new = Observations.from_triples(
        like.row, like.col, like.data, (M, 1), row_labels=seen.row_labels, col_labels=["new"]
    )
    for one in (fitted, again):
        folded = one.fold_in(new, side="cols")
        names = seen.row_labels.values.tolist()
        old = one.predict(names, ["i4"] * M)
        young = folded.predict(names, ["new"] * M)
        assert np.corrcoef(old, young)[0, 1] > 0.9
    more = Observations.from_triples(
        [0, 0], [0, 1], np.ones(2), row_labels=["another"], col_labels=["i0", "i1"]
    )
    assert fitted.update(more).fitted_.own["seen"].shape == (M + 1,)


@pytest.mark.parametrize("posterior", ["auto", "row"])
def test_an_update_takes_what_was_seen_since(posterior):
    seen, likes = shop()
    fitted = model(posterior=posterior, max_sweeps=20).fit(seen)
    liked = [f"i{j}" for j in np.flatnonzero(likes[3])[:6]]
    more = Observations.from_triples(
        np.zeros(6), np.arange(6), np.ones(6), row_labels=["new"], col_labels=liked
    )
    fitted.update(more)
    assert fitted.fitted_.likelihood.pairs == (M + 1) * N
    found = fitted.recommend(["new"], n=5)
    assert likes[3][[int(name[1:]) for name in found.cols]].mean() > 0.7


@pytest.mark.parametrize("posterior", ["auto", "sampled", "joint"])
@pytest.mark.parametrize("known", ["friends", "features"])
def test_friends_and_features_say_what_one_without_clicks_would_like(known, posterior):
    seen, likes = shop()
    quiet = np.arange(M) % 9 == 0
    kept = ~quiet[seen.row_indices]
    few = Observations.from_triples(
        seen.row_indices[kept],
        seen.col_indices[kept],
        seen.values[kept],
        seen.shape,
        row_labels=seen.row_labels,
        col_labels=seen.col_labels,
    )
    kinds = np.arange(M) % KINDS
    friends = sp.csr_array((kinds[:, None] == kinds) & ~np.eye(M, dtype=bool)).astype(float)
    features = np.eye(KINDS)[kinds]
    names = [f"u{i}" for i in np.flatnonzero(quiet)]
    given = {"row_graph": friends} if known == "friends" else {"row_features": features}
    fitted = model(posterior=posterior, max_sweeps=20).fit(few, **given)
    assert share_of_own_kind(fitted.recommend(names, n=4), likes) > 0.8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"missing": "zero"}, "missing='zero'"),
        ({"posterior": "column"}, 'posterior="column" does not go with'),
        ({"likelihood": "student"}, "likelihood='student' does not go with"),
        ({"noise": "rows"}, "noise='rows' does not go with"),
        ({"value_range": (0.0, 1.0)}, "value_range=.* does not go with"),
        ({"posterior": "sampled", "checkpoint": "x"}, "checkpoint='x' does not go with"),
    ],
)
def test_what_does_not_go_with_weak_zeros_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        model(**options).fit(shop()[0])


def test_values_that_are_no_counts_are_named():
    seen, _ = shop()
    values = seen.values.copy()
    values[7] = 0.0
    row, col = seen.row_indices[7], seen.col_indices[7]
    words = f"^0 in row u{row}, column i{col} .1 such values.: .* leave out"
    with pytest.raises(ValueError, match=words):
        model().fit(seen.with_values(values))


def test_few_entries_take_the_usual_weights():
    X = sp.csr_array(np.eye(6))
    fitted = model(max_sweeps=5).fit(X)
    assert "could be left out" in fitted.selection_.verdicts[0].measure


def test_it_stands_beside_other_methods_in_an_evaluation():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        found = evaluate(
            {"weak": model(max_sweeps=20), "values": BMCG(random_state=0, max_sweeps=20)},
            leave_out(shop()[0], 0.2),
        )
    assert found["weak"]["ndcg"] > found["values"]["ndcg"]
    assert np.isnan(found["weak"]["rmse"])


def test_the_fit_goes_on_where_the_trials_have_ended():
    from bmcg.backends import NumbaBackend
    from bmcg.inference.fit import Settings
    from bmcg.inference.weak_zeros import learn_weights

    seen, _ = shop()
    learned = learn_weights(seen, Settings(rank=4, draws=1), NumbaBackend(1), lambda *_: None)
    assert learned.start is not None
    state = learned.start.state
    # λ is in the units of an identity prior: what columns have, they have by it.
    spread = (state.cols.mean**2).mean(axis=0) * state.lam.mean
    assert 0.05 < spread.max() < 20.0
    # Columns of a kind are already alike, without a sweep over all rows.
    C = np.corrcoef(state.cols.mean)
    same = (np.arange(N)[:, None] - np.arange(N)) % KINDS == 0
    assert C[same].mean() > C[~same].mean() + 0.3
