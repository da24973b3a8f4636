"""An update takes what is new, wherever it belongs, and nothing that is not what it says."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from bmcg import BMCG, Observations, load_model
from bmcg.graphs import chain_graph
from bmcg.serving.growing import fingerprint

RNG = np.random.default_rng(0)
M, N = 60, 40
TRUTH = RNG.standard_normal((M, 2)) @ RNG.standard_normal((2, N))
NOISY = TRUTH + 0.05 * RNG.standard_normal(TRUTH.shape)
USERS, ITEMS = [f"u{i}" for i in range(M)], [f"m{j}" for j in range(N)]
I, J = np.nonzero(RNG.random(TRUTH.shape) < 0.7)
# Lines in no order at all, labels that sort otherwise than they count.
LINES = pd.DataFrame(
    {"user": np.array(USERS)[I], "item": np.array(ITEMS)[J], "value": NOISY[I, J]}
).sample(frac=1, random_state=0)
OLD = LINES[LINES["user"].str[1:].astype(int).lt(50) & LINES["item"].str[1:].astype(int).lt(34)]
# What the fit had not: entries of its own rows and columns, new rows, new columns, corners.
FIRST = OLD.sample(frac=0.8, random_state=1)
MORE = LINES.drop(FIRST.index)


def read(lines):
    return Observations.from_frame(lines, "user", "item", "value")


def fitted(data, family="row", **given):
    model = BMCG(posterior=family, bias=False, random_state=0, n_jobs=1)
    return model.fit(data, **given)


def everywhere(model):
    i, j = np.meshgrid(USERS, ITEMS, indexing="ij")
    return model.predict(i.ravel(), j.ravel()).reshape(M, N)


@pytest.fixture(scope="module")
def model():
    return fitted(read(FIRST))


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "model.safetensors")
    return load_model(tmp_path / "model.safetensors")


def updated(model, more, **given):
    return copy.copy(model).update(more, **given)


@pytest.mark.parametrize("family", ["column", "row", "joint"])
def test_new_rows_and_columns_end_where_a_fit_on_everything_ends(family):
    model = fitted(read(FIRST), family)
    assert updated(model, read(MORE)).shape_ == (M, N)
    np.testing.assert_allclose(
        everywhere(updated(model, read(MORE))),
        everywhere(fitted(read(LINES), family)),
        atol=0.02 * TRUTH.std(),
    )


def test_labels_of_newcomers_come_after_those_that_were_fitted(model):
    grown = updated(model, read(MORE))
    m, n = model.shape_
    for labels, old, count in (
        (grown.row_labels_, model.row_labels_, m),
        (grown.col_labels_, model.col_labels_, n),
    ):
        assert labels.values[:count].tolist() == old.values.tolist()
        assert sorted(labels.values[count:]) == sorted(set(labels.values) - set(old.values))
    assert len(grown.observations_) == len(LINES)
    assert len(grown.recommend("u55", n=100)) == N - (LINES["user"] == "u55").sum()


def test_an_update_whose_warning_is_an_error_leaves_one_model():
    X = np.random.default_rng(0).normal(size=(9, 7))
    model = BMCG(posterior="variational", random_state=0, n_jobs=1, rank=2, max_sweeps=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:8])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ConvergenceWarning):
            model.update(np.vstack((np.full((8, 7), np.nan), X[8:])))
    # Traces, shape, observations and factors are those of one fit: here, of the update.
    assert model.selection_.holds == "the update"
    assert model.shape_ == (9, 7) == model.observations_.shape
    assert len(model.fitted_.rows.factors.mean) == 9


def test_an_update_in_two_steps_ends_where_one_step_ends(model):
    half = MORE.sample(frac=0.5, random_state=4)
    two = updated(updated(model, read(half)), read(MORE.drop(half.index)))
    np.testing.assert_allclose(
        everywhere(two), everywhere(updated(model, read(MORE))), atol=0.01 * TRUTH.std()
    )


@pytest.mark.parametrize("piece", [FIRST, FIRST.iloc[:30]])
def test_an_update_with_nothing_new_changes_nothing(model, piece):
    before = model.complete()
    after = updated(model, read(piece))
    np.testing.assert_array_equal(after.complete(), before)


def test_the_order_of_entries_and_labels_does_not_matter(model, saved):
    expected = everywhere(updated(model, read(MORE)))
    shuffled = FIRST.sample(frac=1, random_state=9)
    backwards = Observations.from_frame(
        shuffled,
        "user",
        "item",
        "value",
        row_labels=sorted(set(FIRST["user"]), reverse=True),
        col_labels=sorted(set(FIRST["item"]), reverse=True),
    )
    wide = FIRST.pivot(index="item", columns="user", values="value").T.sample(frac=1)
    for old in (read(shuffled), backwards, wide):
        np.testing.assert_allclose(
            everywhere(updated(saved, read(MORE.sample(frac=1)), observations=old)),
            expected,
            atol=1e-6,
        )


def test_other_observations_than_those_of_the_fit_are_refused(model, saved):
    changed = FIRST.assign(value=FIRST["value"].where(FIRST["user"] != "u3", 0.0))
    moved = pd.concat([FIRST.iloc[1:], OLD.drop(FIRST.index).iloc[:1]])
    count = len(FIRST)
    for known in (model, saved):
        for old, message in (
            (FIRST.iloc[: count // 3], f"has {count // 3} entries, .* fitted on {count}: pass all"),
            (LINES, r"unknown row labels 'u\d+'"),
            (OLD, f"has {len(OLD)} entries, .* fitted on {count}"),
            (moved, "at other places"),
            (changed, "not all have the same values"),
        ):
            with pytest.raises((ValueError, KeyError), match=message):
                updated(known, read(MORE), observations=read(old))
        with pytest.raises(ValueError, match=r"shape \(5, 5\), but the model was fitted on"):
            updated(known, read(MORE), observations=np.ones((5, 5)))


def test_arrays_in_another_order_are_refused(tmp_path):
    X = np.where(RNG.random((20, 12)) < 0.6, NOISY[:20, :12], np.nan)
    fitted(X).save(tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="at other places"):
        loaded.update(X[:, :5], observations=X[::-1])
    loaded.update(np.where(np.isnan(X), 0.5, np.nan), observations=X)


def test_a_file_without_a_fingerprint_says_that_values_are_taken_on_trust(saved):
    saved.fingerprint_ = None
    with pytest.warns(UserWarning, match="earlier version"):
        updated(saved, read(MORE), observations=read(FIRST))
    moved = pd.concat([FIRST.iloc[1:], OLD.drop(FIRST.index).iloc[:1]])
    with pytest.raises(ValueError, match="at other places"):
        updated(saved, read(MORE), observations=read(moved))


def test_unlabelled_rows_and_columns_are_added_by_position():
    X = np.where(RNG.random((M, N)) < 0.7, NOISY, np.nan)
    model = fitted(X[:50, :34]).update(X)
    np.testing.assert_allclose(model.complete(), fitted(X).complete(), atol=0.02 * TRUTH.std())


@pytest.mark.parametrize(
    ("old", "more", "message"),
    [
        (read(FIRST), np.ones((M, N)), "more has 60 rows without labels, the model 50 with labels"),
        (NOISY, pd.DataFrame([[1.0]], index=["u3"]), "labels such as 'u3', the model 60 without"),
    ],
)
def test_newcomers_that_cannot_be_placed_are_refused(old, more, message):
    model = BMCG(posterior="variational", max_sweeps=2, bias=False, random_state=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(old)
    with pytest.raises(ValueError, match=message):
        model.update(more)


def test_new_rows_are_linked_to_fitted_ones():
    t = np.arange(30)
    U = np.column_stack([np.sin(t / 4), np.cos(t / 5), np.sin(t / 7)])
    X = U @ RNG.standard_normal((3, 12)) + 0.02 * RNG.standard_normal((30, 12))
    names = [f"t{i}" for i in t]
    frame = pd.DataFrame(np.where(RNG.random(X.shape) < 0.7, X, np.nan), index=names)
    known, new = frame.drop(index="t15"), frame.loc[["t15"]].copy()
    new.iloc[0, 1:] = np.nan  # one entry says little: the rest comes from the neighbours
    new.iloc[0, 0] = X[15, 0]
    graph = pd.DataFrame(chain_graph(29, 1.0).toarray(), index=known.index, columns=known.index)
    model = BMCG(posterior="column", random_state=0, n_jobs=1, bias=False, tol=1e-3)
    model.fit(known, row_graph=graph)
    free = updated(model, new)
    links = pd.DataFrame({"new": ["t15", "t15"], "old": ["t16", "t14"]})
    tied = updated(model, new, row_edges=links)
    at = [*range(1, 12)]
    errors = [np.abs(one.predict(["t15"] * 11, at) - X[15, 1:]).mean() for one in (free, tied)]
    assert errors[1] < 0.5 * errors[0]
    with pytest.raises(ValueError, match="col_edges: more has no new columns"):
        updated(model, new, col_edges=[("a", 1)])


def test_values_outside_the_range_are_refused_before_any_work(model):
    limited = BMCG(
        posterior="variational", value_range=(-50, 50), bias=False, random_state=0, n_jobs=1
    ).fit(read(FIRST))
    with pytest.raises(ValueError, match="value_range"):
        limited.update(Observations.from_frame(MORE.assign(value=99.0), "user", "item", "value"))
    assert limited.shape_ == model.shape_


def test_a_model_of_newcomers_cannot_be_updated(model, tmp_path):
    folded = model.fold_in(FIRST.pivot(index="user", columns="item", values="value").iloc[:2])
    folded.save(tmp_path / "model.safetensors")
    for one in (folded, load_model(tmp_path / "model.safetensors")):
        with pytest.raises(ValueError, match="came from fold_in"):
            one.update(read(MORE), observations=read(FIRST))


def test_a_fingerprint_tells_entries_apart():
    data = read(FIRST)
    assert fingerprint(data) == fingerprint(read(FIRST.iloc[::-1]))
    other = data.values.copy()
    other[7] = np.nextafter(other[7], 9.0)
    assert fingerprint(data.with_values(other)) != fingerprint(data)
