"""Momentum takes fewer sweeps to the same bound, which never falls, and changes no fixed point."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import BMCG, Observations
from bmcg.backends import NumbaBackend
from bmcg.graphs import chain_graph
from bmcg.graphs.precision import stack_graphs
from bmcg.inference import variational
from bmcg.inference.acceleration import REST, Momentum, onward
from bmcg.inference.families import FAMILIES
from bmcg.inference.fit import Settings, SideInput
from bmcg.inference.rotation import rotate
from bmcg.inference.updates import sweep
from tests.inference.small import PRIOR, bound, make_problem, start


def table(seed=0, m=60, n=40, rank=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n)) + 0.5 * rng.normal(size=(m, n))
    X[rng.random(X.shape) < 0.6] = np.nan
    return X


def fitted(family, monkeypatch=None, graphs=False, **options):
    if monkeypatch is not None:
        monkeypatch.setattr(
            variational, "onward", lambda state, momentum, rows, cols, prior: onward(
                state, REST, rows, cols, prior
            )
        )  # fmt: skip
    stacks = [stack_graphs([chain_graph(n)] if graphs else [], n) for n in (60, 40)]
    settings = Settings(family=family, rank=8, bias=False, learn=graphs, **options)
    sides = [SideInput(stack, 0.1 if graphs else 1.0) for stack in stacks]
    return variational.run(
        Observations.from_any(table()), *sides, settings, backend=NumbaBackend(1)
    )


@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_fewer_sweeps_reach_a_bound_as_high(family, graphs, monkeypatch):
    fast = fitted(family, graphs=graphs, max_sweeps=400)
    slow = fitted(family, monkeypatch, graphs=graphs, max_sweeps=400)
    assert fast.converged
    assert len(fast.trace) <= len(slow.trace)
    assert fast.trace[-1] >= slow.trace[-1] - 2e-3 * abs(slow.trace[-1])


@pytest.mark.parametrize("family", FAMILIES)
def test_the_bound_never_falls_while_the_rank_stays(family):
    fit = fitted(family, tol=1e-9, max_sweeps=150)
    same = np.diff(fit.ranks) == 0
    gains = np.diff(fit.trace)[same]
    assert gains.min() >= -1e-7 * abs(fit.trace[-1])


def test_a_start_that_would_lower_the_bound_is_given_up(monkeypatch):
    """Momentum that overshoots by far costs a sweep, not the fit."""
    calm = fitted("column", max_sweeps=60)
    monkeypatch.setattr(
        Momentum, "share", property(lambda self: 0.0 if self.rows is None else 50.0)
    )
    monkeypatch.setattr(variational._Loop, "_target", lambda self: 1e-4)
    wild = fitted("column", max_sweeps=60)
    same = np.diff(wild.ranks) == 0
    assert np.diff(wild.trace)[same].min() >= -1e-7 * abs(wild.trace[-1])
    assert wild.trace[-1] > calm.trace[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_without_momentum_a_sweep_starts_where_the_last_one_ended(family):
    problem = make_problem()
    state = start(problem, family)
    found, momentum = onward(state, REST, problem.rows, problem.cols, PRIOR)
    want = rotate(state, PRIOR)
    np.testing.assert_array_equal(found.rows.mean, want.rows.mean)
    np.testing.assert_array_equal(found.cols.mean, want.cols.mean)
    assert momentum.steps == 1
    # What it remembers is the end of the last sweep in the basis of the next.
    np.testing.assert_allclose(momentum.rows, want.rows.mean)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_energy_of_moved_means_is_their_own(family):
    problem = make_problem()
    state = start(problem, family)
    before, momentum = onward(state, REST, problem.rows, problem.cols, PRIOR)
    state, _, _ = sweep(family, problem.rows, problem.cols, PRIOR, before)
    ahead, _ = onward(state, momentum, problem.rows, problem.cols, PRIOR)
    assert np.isfinite(bound(problem, ahead))
    for moved, side, plain in (
        (ahead.rows, problem.rows, rotate(state, PRIOR).rows),
        (ahead.cols, problem.cols, rotate(state, PRIOR).cols),
    ):
        assert not np.allclose(moved.mean, plain.mean)
        of_means = moved.mean.T @ side.prior.product(moved.mean)
        rest = moved.energy - of_means
        # What is left is the covariance's part: positive.
        assert np.linalg.eigvalsh((rest + rest.T) / 2).min() > -1e-9


def test_rows_in_another_order_are_fitted_alike():
    X, order = table(), np.random.default_rng(3).permutation(60)
    given = {"posterior": "variational", "bias": False, "max_sweeps": 300, "random_state": 0}
    models = [BMCG(**given).fit(Y) for Y in (X, X[order])]
    a, b = models[0].complete()[order], models[1].complete()
    assert np.sqrt(np.mean((a - b) ** 2)) < 0.05 * np.std(a)
