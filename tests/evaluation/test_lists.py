"""Measures of lists against their definitions, computed slowly."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bmcg import BMCG, Observations
from bmcg.baselines import METHODS
from bmcg.evaluation import leave_out, list_measures
from bmcg.evaluation.lists import judge_lists, lists_of
from bmcg.serving.ranking import Seen


def slowly(lists, rows, relevant, n_cols):
    """Every measure, one row at a time."""
    sums, shown, used = np.zeros(5), set(), 0
    for line, i in zip(lists, rows, strict=True):
        wanted = relevant[i]
        if not wanted:
            continue
        used += 1
        line = [j for j in line if j >= 0]
        shown |= set(line)
        k, hits = lists.shape[1], [j in wanted for j in line]
        gain = sum(h / math.log2(place + 2) for place, h in enumerate(hits))
        best = sum(1 / math.log2(place + 2) for place in range(min(k, len(wanted))))
        average = sum(sum(hits[: p + 1]) / (p + 1) for p in range(len(line)) if hits[p])
        n = sum(hits)
        terms = n / k, n / len(wanted), gain / best, average / min(k, len(wanted)), n > 0
        sums += terms
    return [*(sums / used), len(shown) / n_cols, used]


def test_measures_are_those_of_their_definitions():
    rng = np.random.default_rng(0)
    m, n, k = 12, 9, 4
    relevant = [set(rng.permutation(n)[: rng.integers(0, 6)].tolist()) for _ in range(m)]
    lists = np.stack([rng.permutation(n)[:k] for _ in range(m)])
    lists[3, 2:] = -1
    at = [(i, j) for i, wanted in enumerate(relevant) for j in wanted]
    held = Seen.of_pairs(*(np.array(part) for part in zip(*at, strict=True)), m)
    rows = np.arange(m)
    assert np.allclose(list_measures(lists, rows, held, n), slowly(lists, rows, relevant, n))
    # The order of the rows is no matter.
    turned = rng.permutation(m)
    again = list_measures(lists[turned], rows[turned], held, n)
    assert np.allclose(again, list_measures(lists, rows, held, n))


def test_a_list_that_cannot_be_better_has_ones():
    held = Seen.of_pairs(np.array([0, 0, 1]), np.array([2, 4, 1]), 2)
    found = list_measures(np.array([[4, 2], [1, 0]]), np.arange(2), held, 5)
    assert (found.recall, found.ndcg, found.map, found.hit_rate) == (1, 1, 1, 1)
    assert found.precision == 0.75


def test_no_relevant_entry_is_an_error():
    held = Seen.of_pairs(np.array([1]), np.array([0]), 2)
    with pytest.raises(ValueError, match="nothing relevant"):
        list_measures(np.array([[0]]), np.array([0]), held, 3)


@pytest.fixture(scope="module")
def seen():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((25, 3)) @ rng.standard_normal((3, 18))
    at = rng.permutation(X.size)[:300]
    return Observations.from_triples(at // 18, at % 18, X.ravel()[at], X.shape)


@pytest.mark.parametrize("name", ["BMCG", "LMaFit", "VBMC"])
def test_lists_are_the_best_unseen_predictions_of_any_method(seen, name):
    model = METHODS[name](**({"random_state": 0} if name == "BMCG" else {})).fit(seen)
    skip = Seen(seen.by_row.indptr, seen.by_row.indices)
    rows = np.array([3, 0, 11])
    full = model.complete()
    full[seen.row_indices, seen.col_indices] = -np.inf
    for line, i in zip(lists_of(model, rows, 4, skip), rows, strict=True):
        there = line[line >= 0]
        assert (there == np.argsort(-full[i], kind="stable")[: len(there)]).all()
        assert len(there) == min(4, np.isfinite(full[i]).sum())


def test_only_values_that_are_large_enough_are_relevant(seen):
    (split,) = leave_out(seen, 3)
    model = BMCG(posterior="variational", random_state=0).fit(split.train)
    good = judge_lists(model, split, 5, float(np.median(split.values)))
    every = judge_lists(model, split, 5)
    assert good.n_rows < every.n_rows
    assert good.recall > every.recall
    with pytest.raises(ValueError, match="no held-out value is as large"):
        judge_lists(model, split, 5, 1e9)
