"""Splits: every entry is on one side, and rows keep something to learn from."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import Observations
from bmcg.evaluation import k_folds, leave_out, random_split, time_split


@pytest.fixture(scope="module")
def seen():
    rng = np.random.default_rng(0)
    at = rng.permutation(20 * 15)[:120]
    labels = [f"u{i}" for i in range(20)]
    return Observations.from_triples(
        at // 15, at % 15, rng.standard_normal(120), (20, 15), row_labels=labels
    )


def pairs(rows, cols, values):
    return set(zip(np.asarray(rows).tolist(), np.asarray(cols).tolist(), values, strict=True))


def whole(seen):
    return pairs(seen.row_indices, seen.col_indices, seen.values)


def parts(split):
    t = split.train
    kept = pairs(t.row_indices, t.col_indices, t.values)
    return kept, pairs(split.rows, split.cols, split.values)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: random_split(x, 0.25),
        lambda x: leave_out(x, 2),
        lambda x: leave_out(x, 0.3),
        lambda x: k_folds(x, 3),
        lambda x: time_split(x, np.arange(len(x))),
    ],
)
def test_a_split_holds_every_entry_once_in_the_whole_matrix(seen, make):
    for split in make(seen):
        kept, held = parts(split)
        assert kept | held == whole(seen)
        assert not kept & held
        assert split.train.shape == seen.shape
        assert split.train.row_labels is seen.row_labels


def test_folds_hold_every_entry_out_once(seen):
    held = [parts(split)[1] for split in k_folds(seen, 4)]
    assert sum(map(len, held)) == len(seen)
    assert set().union(*held) == whole(seen)


def test_as_many_entries_of_each_row_are_left_out_as_said(seen):
    counts = np.diff(seen.by_row.indptr)
    (split,) = leave_out(seen, 2)
    assert (np.bincount(split.rows, minlength=20) == np.clip(counts - 1, 0, 2)).all()
    (split,) = leave_out(seen, 0.5)
    assert (np.bincount(split.rows, minlength=20) == np.minimum(counts // 2, counts - 1)).all()


def test_the_latest_entries_are_held_out_and_one_moment_stays_together(seen):
    times = np.random.default_rng(1).integers(0, 9, len(seen))
    (split,) = time_split(seen, times, 0.3)
    when = dict(zip(zip(seen.row_indices, seen.col_indices, strict=True), times, strict=True))
    held = [when[key] for key in zip(split.rows, split.cols, strict=True)]
    kept = [when[k] for k in zip(split.train.row_indices, split.train.col_indices, strict=True)]
    assert max(kept) < min(held)
    days = np.datetime64("2020-01-01") + times
    (same,) = time_split(seen, days, 0.3)
    assert (same.values == split.values).all()


def test_a_seed_gives_the_same_split_and_another_seed_another(seen):
    one, two, other = (random_split(seen, random_state=s)[0].values for s in (3, 3, 4))
    assert (one == two).all()
    assert set(one) != set(other)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x: random_split(x, 1.2), "share=1.2"),
        (lambda x: random_split(x, 0.0001), "nothing is held out"),
        (lambda x: k_folds(x, 1), "k=1"),
        (lambda x: leave_out(x, 0), "k=0"),
        (lambda x: time_split(x, [1, 2]), "one for each entry"),
        (lambda x: time_split(x, np.full(len(x), np.nan)), "without gaps"),
        (lambda x: time_split(x, np.ones(len(x))), "nothing is held out"),
    ],
)
def test_what_makes_no_split_is_named(seen, make, words):
    with pytest.raises(ValueError, match=words):
        make(seen)
