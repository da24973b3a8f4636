"""The field: which cells stand, what the regret is, and one set through the harness."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.field import measure as measuring
from benchmarks.field import sets
from benchmarks.field.page import best_other, page, regret
from benchmarks.field.store import SOURCE, Store

from bmcg.datasets import random_low_rank


def cell(name, method, seed, **more):
    about = {"set": name, "method": method, "seed": seed, "commit": "c", "source": SOURCE}
    return {**about, "status": "ok", **more}


def cells(*given):
    return {(one["set"], one["method"], one["seed"]): one for one in given}


def test_regret_is_ours_with_what_is_given_over_the_best_other():
    kept = cells(
        cell("davis", "bmcg", 0, rmse=0.5),
        cell("davis", "bmcg-given", 0, rmse=0.4),
        cell("davis", "bmcg-given", 1, rmse=0.6),
        cell("davis", "bpmf", 0, rmse=0.25),
        cell("davis", "means", 0, rmse=0.7),
        cell("hangzhou-RM40", "bmcg", 0, rmse=30.0),
        cell("hangzhou-RM40", "interpolation", 0, rmse=10.0),
        cell("hangzhou-RM40", "means", 0, rmse=40.0),
    )
    assert best_other(kept, "davis") == ("bpmf", 0.25)
    assert regret(kept, "davis") == pytest.approx(2.0)
    # Interpolation stands aside.
    assert regret(kept, "hangzhou-RM40") == pytest.approx(0.75)
    text = page(kept)
    assert "Regret over 1.02 (pictures aside): davis." in text
    assert "Regret of 1.00 or less: 1 of 2 (" in text


def test_who_sees_the_pattern_is_compared_with_ours_that_does():
    kept = cells(
        cell("douban", "bmcg-given", 0, rmse=0.73),
        cell("douban", "bmcg-pattern", 0, rmse=0.72),
        cell("douban", "myfm", 0, rmse=0.74),
        cell("douban", "myfm-features", 0, rmse=0.70),
    )
    assert best_other(kept, "douban") == ("myfm", 0.74)
    assert best_other(kept, "douban", pattern=True) == ("myfm-features", 0.70)
    assert regret(kept, "douban") < 1 < regret(kept, "douban", pattern=True)
    assert "Regret over 1.02 (pictures aside): douban with the pattern." in page(kept)


def test_cells_are_kept_and_measured_again_when_they_must(tmp_path):
    store = Store(tmp_path / "field.json")
    place, peer = ("davis", "bmcg", 0), ("davis", "bpmf", 0)
    store.add(place, {"status": "ok", "rmse": 0.5, "seconds": 1.0}, 1)
    store.add(peer, {"status": "failed", "reason": "stopped after 10 s", "limit": 10.0}, 1)
    store.add(("davis", "smurff", 0), {"status": "not installed", "reason": "x"}, 1)
    again = Store(tmp_path / "field.json")
    assert again.cells == store.cells
    assert again.stands(place, 10.0)
    assert again.stands(peer, 10.0)
    assert not again.stands(peer, 20.0)
    assert not again.stands(("davis", "smurff", 0), 10.0)
    again.cells[place]["source"] = "another"
    assert not again.stands(place, 10.0)
    again.add(("davis", "bmcg", 1), {"status": "ok", "rmse": 1.0}, 1)
    assert place not in again.cells, "of another package: no mean of both"
    assert peer in again.cells


@pytest.mark.parametrize("method", ["bmcg", "means", "bpmf"])
def test_a_set_goes_through_the_harness(monkeypatch, method):
    data = random_low_rank(shape=(30, 20), rank=2, observed=0.6, seed=0)
    made = sets.FieldSet(sets.AFFINITY, lambda seed: data, "nothing")
    monkeypatch.setitem(sets.SETS, "made", made)
    found = measuring.measure("made", method)
    assert found["status"] == "ok", found
    assert found["rmse"] < 1.5 * np.std(data.test_values)
    assert 0 <= found["inside_50"] <= found["inside_90"] <= found["inside_95"] <= 1


def test_methods_say_why_a_set_is_not_theirs(monkeypatch):
    data = random_low_rank(shape=(30, 20), rank=2, observed=0.6, seed=0)
    data = replace(data, row_graph=None, col_graph=None)
    made = sets.FieldSet(sets.AFFINITY, lambda seed: data, "nothing")
    monkeypatch.setitem(sets.SETS, "made", made)
    for method, words in (("knn", "tables"), ("interpolation", "sensors"), ("grals", "graph")):
        found = measuring.measure("made", method)
        assert found["status"] == "not for this set"
        assert words in found["reason"]
