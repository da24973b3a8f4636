"""Newcomers are what the fit would have made of them, by their entries, links and features."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bmcg import BMCG, load_model

RNG = np.random.default_rng(0)
M, N = 48, 16
KINDS = RNG.integers(0, 4, M)
AGES = RNG.normal(40, 10, M)
# Factors that follow from what is known of a row, and a little of its own.
FACTORS = (
    RNG.standard_normal((4, 2))[KINDS]
    + np.outer((AGES - 40) / 10, [0.7, -0.4])
    + 0.1 * RNG.standard_normal((M, 2))
)
TRUTH = FACTORS @ RNG.standard_normal((2, N))
USERS = [f"u{i}" for i in range(M)]
# The order of sorted labels is not the order they count in.
WIDE = pd.DataFrame(
    np.where(RNG.random((M, N)) < 0.6, TRUTH + 0.1 * RNG.standard_normal((M, N)), np.nan),
    index=pd.Index(USERS, name="user"),
    columns=[f"m{j}" for j in range(N)],
).sort_index()
TABLE = pd.DataFrame({"user": USERS, "kind": np.array(list("abcd"))[KINDS], "age": AGES}).sample(
    frac=1, random_state=0
)
TRUE = pd.DataFrame(TRUTH, index=USERS, columns=WIDE.columns)
NEW = ["u7", "u13", "u41"]
OLD = WIDE.drop(index=NEW)


def alike(i, j):
    return i < j and KINDS[i] == KINDS[j] and abs(AGES[i] - AGES[j]) < 5


LINKS = pd.DataFrame(
    [(USERS[i], USERS[j]) for i in range(M) for j in range(M) if alike(i, j)], columns=["a", "b"]
)


def fitted(data, family="row", bias=False, **given):
    # What is asked here is not what a model is made of.
    options = {"selection": False, "rank": 6, "tol": 1e-3}
    model = BMCG(posterior=family, bias=bias, random_state=0, n_jobs=1, **options)
    return model.fit(data, **given)


def predictions(model, rows, **options):
    i, j = np.meshgrid(rows, WIDE.columns, indexing="ij")
    found = model.predict(i.ravel(), j.ravel(), **options)
    return np.reshape(found, (-1, len(rows), N)).squeeze()


def error(found, rows):
    return np.sqrt(np.mean((found - TRUE.loc[rows].to_numpy()) ** 2))


def own_links(names, others):
    lines = pd.concat([LINKS, LINKS.rename(columns={"a": "b", "b": "a"})])
    return lines[lines["a"].isin(names) & lines["b"].isin(others)][["a", "b"]]


GIVEN = {
    "entries": {},
    "graph": {"row_graph": LINKS},
    "features": {"row_features": TABLE},
    "both": {"row_graph": LINKS, "row_features": TABLE},
    "pattern": {"row_features": "pattern"},
}


@pytest.mark.parametrize(
    ("given", "family", "bias"),
    [
        ("entries", "column", False),
        ("entries", "joint", True),
        ("graph", "column", False),
        ("graph", "joint", False),
        ("features", "row", False),
        ("features", "row", True),
        ("both", "row", False),
        ("pattern", "row", False),
    ],
)
def test_a_known_row_is_folded_in_as_it_was_fitted(given, family, bias):
    model = fitted(WIDE, family, bias, **GIVEN[given])
    extra = {}
    if "row_features" in GIVEN[given] and given != "pattern":
        extra["row_features"] = TABLE
    if "row_graph" in GIVEN[given]:
        extra["row_edges"] = own_links(NEW, USERS)
    again = model.fold_in(WIDE.loc[NEW], **extra)
    expected, std = predictions(model, NEW, return_std=True)
    found, own_std = predictions(again, NEW, return_std=True)
    np.testing.assert_allclose(found, expected, atol=0.05 * TRUTH.std())
    np.testing.assert_allclose(own_std, std, rtol=0.2)


def test_features_alone_place_a_row_that_has_no_entries():
    model = fitted(OLD, row_features=TABLE)
    lines = TABLE.set_index("user").loc[NEW]
    cold = model.fold_in(row_features=lines)
    assert cold.row_labels_.values.tolist() == NEW
    assert error(predictions(cold, NEW), NEW) < 0.4 * TRUTH.std()
    mean, std = predictions(cold, NEW, return_std=True, include_noise=False)
    off = np.abs(mean - TRUE.loc[NEW].to_numpy()) / std
    assert np.mean(off < 2.0) > 0.8
    # A fit that had these rows without entries would have said the same.
    hidden = WIDE.copy()
    hidden.loc[NEW] = np.nan
    refit = fitted(hidden, row_features=TABLE)
    np.testing.assert_allclose(mean, predictions(refit, NEW), atol=0.15 * TRUTH.std())


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        TABLE.iloc[::-1],
        TABLE.set_index("user"),
        pl.from_pandas(TABLE),
        (TABLE.rename(columns={"user": "name"}), "name"),
    ],
)
def test_features_of_newcomers_are_joined_by_label(table, tmp_path):
    model = fitted(OLD, row_features=TABLE)
    expected = predictions(
        model.fold_in(WIDE.loc[NEW], row_features=TABLE[TABLE["user"].isin(NEW)]), NEW
    )
    model.save(tmp_path / "model.safetensors")
    for one in (model, load_model(tmp_path / "model.safetensors")):
        found = one.fold_in(WIDE.loc[NEW], row_features=table)
        np.testing.assert_allclose(predictions(found, NEW), expected, rtol=1e-8)


def test_links_are_joined_by_label_as_lines_or_as_a_frame():
    model = fitted(OLD, "column", row_graph=LINKS[~LINKS.isin(NEW).any(axis=1)])
    lines = own_links(NEW, OLD.index)
    expected = predictions(model.fold_in(WIDE.loc[NEW], row_edges=lines), NEW)
    wide = pd.crosstab(lines["a"], lines["b"]).reindex(index=NEW[::-1], fill_value=0)
    shuffled = lines.sample(frac=1, random_state=1)
    arrow = pa.Table.from_pandas(shuffled, preserve_index=False)
    for links in (shuffled, arrow, pl.from_pandas(shuffled), wide, wide[wide.columns[::-1]]):
        found = model.fold_in(WIDE.loc[NEW], row_edges=links)
        np.testing.assert_allclose(predictions(found, NEW), expected, rtol=1e-10)
    alone = model.fold_in(row_edges=wide)
    assert alone.row_labels_.values.tolist() == NEW[::-1]
    with pytest.raises(KeyError, match="'nobody'"):
        model.fold_in(WIDE.loc[NEW], row_edges=wide.assign(nobody=1.0))
    with pytest.raises(ValueError, match=r"row_edges, the index: 1 of 3 .*'u41'"):
        model.fold_in(WIDE.loc[NEW], row_edges=wide.drop(index="u41"))


@pytest.mark.parametrize(
    ("family", "given"),
    [("row", "features"), ("row", "both"), ("row", "pattern"), ("joint", "features")],
)
def test_an_update_with_features_ends_where_a_fit_on_everything_ends(family, given):
    start = dict(GIVEN[given])
    if "row_graph" in start:
        start["row_graph"] = LINKS[~LINKS.isin(NEW).any(axis=1)]
    more, extra = WIDE.loc[NEW[::-1]], {}
    model = fitted(OLD, family, **start)
    if given != "pattern":
        extra["row_features"] = TABLE
        with pytest.raises(
            ValueError, match=r"model uses features of its rows.*'u41', 'u13', 'u7'"
        ):
            copy.copy(model).update(more)
    if "row_graph" in start:
        extra["row_edges"] = own_links(NEW, OLD.index)
    grown = copy.copy(model).update(more, **extra)
    refit = fitted(WIDE, family, **GIVEN[given])
    np.testing.assert_allclose(
        predictions(grown, USERS), predictions(refit, USERS), atol=0.2 * TRUTH.std()
    )
    assert error(predictions(grown, USERS), USERS) < 1.1 * error(predictions(refit, USERS), USERS)


@pytest.mark.parametrize("features", [TABLE, "pattern"])
def test_a_loaded_model_with_features_is_updated_like_the_one_in_memory(features, tmp_path):
    more = WIDE.loc[NEW[::-1]]
    extra = {} if isinstance(features, str) else {"row_features": features}
    model = fitted(OLD, row_features=features)
    model.save(tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    loaded.update(more, observations=OLD.iloc[::-1], **extra)
    model.update(more, **extra)
    np.testing.assert_allclose(
        predictions(loaded, USERS), predictions(model, USERS), atol=1e-6 * TRUTH.std()
    )


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (TABLE[TABLE["user"] != "u7"], "row_features, column 'user': 1 of 3 row labels .*'u7'"),
        (TABLE.drop(columns="age"), "frame has no column 'age'; it has 'kind'"),
        (TABLE.assign(age="old"), "frame column 'age' held numbers before"),
        (np.ones((3, 2)), "frame has no column 'kind', 'age'"),
    ],
)
def test_features_of_newcomers_that_do_not_fit_are_refused(features, message):
    model = fitted(OLD, row_features=TABLE)
    with pytest.raises(ValueError, match=message):
        model.fold_in(WIDE.loc[NEW], row_features=features)
    with pytest.raises(ValueError, match=message):
        model.update(WIDE.loc[NEW], row_features=features)


def test_features_that_the_fit_did_not_have_are_refused():
    model = fitted(OLD)
    with pytest.raises(ValueError, match="row_features: the features of the fit were none"):
        model.fold_in(WIDE.loc[NEW], row_features=TABLE)
    with pytest.raises(ValueError, match="side='rows' takes row_features only"):
        model.fold_in(WIDE.loc[NEW], col_features=TABLE)
    model = fitted(OLD, row_features=TABLE)
    with pytest.raises(ValueError, match="row_features: more has no new rows to describe"):
        model.update(OLD.iloc[:3] + 1.0, row_features=TABLE)


def test_a_kind_that_the_fit_never_saw_counts_as_missing():
    model = fitted(OLD, row_features=TABLE)
    strange, unknown = (TABLE.assign(kind=kind) for kind in ("zebra", None))
    found, expected = (
        predictions(model.fold_in(WIDE.loc[NEW], row_features=table), NEW)
        for table in (strange, unknown)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-10)
