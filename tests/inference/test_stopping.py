"""When a fit ends: sweep by sweep where the bound is exact, by means where it is estimated."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from bmcg.inference import variational
from bmcg.inference.fit import Settings
from bmcg.inference.variational import WINDOW, _Loop


def loop(engine, trace, ranks=None, family="joint"):
    """A loop that stands after these sweeps; 1,000 observations make its target 0.01 nats."""
    side = SimpleNamespace(engine=SimpleNamespace(name=engine), n_observed=1000)
    made = _Loop(side, side, Settings(family=family), 0.0, 1.0, None, None)
    made.trace, made.ranks = list(trace), list(ranks or [3] * len(trace))
    return made


def noisy(slope, seed=0):
    rng = np.random.default_rng(seed)
    steps = np.tile([1.0, -1.0], WINDOW) * rng.uniform(0.5, 1.0)
    return -500.0 + slope * np.arange(2 * WINDOW) + steps


@pytest.mark.parametrize(("slope", "over"), [(0.1, False), (0.001, True), (-0.1, True)])
def test_an_estimated_bound_is_judged_by_its_trend(slope, over):
    """Although its last sweep fell by more than any gain."""
    made = loop("monte_carlo", noisy(slope))
    assert made.trace[-1] < made.trace[-2]
    assert made._is_over(made.trace[-1] - made.trace[-2]) is over


def test_a_change_of_rank_begins_a_new_trend():
    ranks = [4] + [3] * (2 * WINDOW - 1)
    assert not loop("monte_carlo", noisy(0.0), ranks)._is_over(-1.0)
    assert not loop("monte_carlo", noisy(0.0)[1:])._is_over(-1.0)


@pytest.mark.parametrize(("engine", "family"), [("dense", "joint"), ("monte_carlo", "row")])
def test_an_exact_bound_is_judged_by_its_last_sweep(engine, family):
    made = loop(engine, noisy(0.1), family=family)
    assert made._is_over(0.001)
    assert not made._is_over(0.1)


@pytest.mark.parametrize(
    ("engine", "over", "rank"),
    [("monte_carlo", False, 3), ("monte_carlo", True, 6), ("dense", False, 6)],
)
def test_an_estimated_bound_has_components_added_last(engine, over, rank, monkeypatch):
    """It looks flat before it is; an exact one does not."""
    monkeypatch.setattr(variational, "surplus", lambda state, *rest: np.zeros(3, dtype=bool))
    monkeypatch.setattr(
        variational, "grow", lambda state, rank, seed, *rest: SimpleNamespace(rank=rank)
    )
    made = loop(engine, noisy(0.0))
    made.may_grow, state = True, SimpleNamespace(rank=3)
    found = made._reshape(state, None, None, 20, over) or state
    assert found.rank == rank


def test_a_fit_does_not_end_before_its_local_term_has_begun():
    made = loop("dense", noisy(0.0))
    made.lines, made.swept = object(), SimpleNamespace(local=None)
    assert not made._is_over(0.001)
    made.swept = SimpleNamespace(local=SimpleNamespace(is_estimated=False))
    assert made._is_over(0.001)
