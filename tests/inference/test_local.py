"""The local term: dense algebra is the truth of every line, and the bound never falls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime, minimize

from bmcg import Observations
from bmcg.backends import NumbaBackend
from bmcg.graphs import chain_graph
from bmcg.graphs.precision import stack_graphs
from bmcg.inference import design
from bmcg.inference import local as local_module
from bmcg.inference.elbo import elbo
from bmcg.inference.fit import Settings, SideInput
from bmcg.inference.lines import lines_of
from bmcg.inference.local import ROUGHEST, first_local, learn_scales, update_local
from bmcg.inference.side import Prior
from bmcg.inference.start import initial_state, make_side, with_local, with_noise
from bmcg.inference.updates import sweep, update_lambda, update_noise, update_s
from bmcg.inference.variational import run
from bmcg.likelihoods import Gaussian, Student, Uneven
from bmcg.linalg.engines import Analyses

BACKEND = NumbaBackend(1)


def path(n):
    return sp.csr_array(sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1], shape=(n, n)))


def walk(m, n, seed=0, size=1.0, noise=0.2, keep=0.6):
    """Rank one, a stationary walk within each row, and noise; entries seen, and all of them."""
    rng = np.random.default_rng(seed)
    S = np.zeros((m, n))
    S[:, 0] = rng.normal(size=m)
    for j in range(1, n):
        S[:, j] = 0.95 * S[:, j - 1] + np.sqrt(1 - 0.95**2) * rng.normal(size=m)
    truth = np.outer(rng.normal(size=m), rng.normal(size=n)) + size * S
    X = truth + noise * rng.normal(size=(m, n))
    X[rng.random((m, n)) > keep] = np.nan
    return X, truth


def both_graphs(n):
    return stack_graphs([path(n), chain_graph(n)], n, ["path", "chain"])


def side_inputs(m, n):
    none = stack_graphs([], m)
    return SideInput(none, 1.0), SideInput(stack_graphs([path(n)], n, ["path"]), 0.1)


def fitted(X, along="cols", local=True, **settings):
    """A fit with a path along one side, and the mean of every entry."""
    data = Observations.from_any(X)
    m, n = data.shape
    rows, cols = side_inputs(m, n)
    if along == "rows":
        cols, rows = side_inputs(n, m)
    lines = lines_of(along, (rows, cols)[along == "cols"].stack, (m, n)) if local else None
    given = Settings(family="column", rank=3, bias=False, learn=True, local=lines, **settings)
    fit = run(data, rows, cols, given, backend=BACKEND)
    i, j = (part.ravel() for part in np.indices((m, n)))
    mean, variance = design.entry_moments(fit.state, i, j)
    return fit, (fit.offset + fit.scale * mean).reshape(m, n), variance.reshape(m, n)


def problem(likelihood):
    X, _ = walk(8, 12)
    data = Observations.from_any(X)
    settings = Settings(family="row", rank=2, prior=Prior(likelihood=likelihood))
    sides = [
        make_side(data, which, given, settings, BACKEND, Analyses())
        for which, given in enumerate(side_inputs(8, 12))
    ]
    state = with_noise(initial_state(*sides, "row", 2, 0), likelihood, *sides)
    for _ in range(3):
        state, _, _ = sweep("row", *sides, settings.prior, state)
    lines = lines_of("cols", both_graphs(12), (8, 12))
    return sides, settings.prior, with_local(state, lines, len(data))


@pytest.mark.parametrize("along", ["cols", "rows"])
def test_every_line_is_the_dense_posterior(along):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(9, 13))
    X[rng.random(X.shape) < 0.4] = np.nan
    data = Observations.from_any(X)
    n = X.shape[along == "cols"]
    lines = lines_of(along, both_graphs(n), X.shape)
    local = replace(first_local(lines, 0.7), scales=np.array([0.3, 1.2, 0.4]))
    side = make_side(data, 0, side_inputs(9, 13)[0], Settings(), BACKEND, Analyses())
    precisions = rng.gamma(2.0, size=len(data))
    found = update_local(local, side.entries, precisions, data.values, BACKEND)
    D = np.zeros(X.shape)
    D[data.row_indices, data.col_indices] = precisions
    mean, variance, D, X = (
        part if along == "cols" else part.T for part in (found.mean, found.variance, D, X)
    )
    K = lines.stack.precision([1.2, 0.4], 0.3).toarray()
    parts = [lines.stack.precision(np.eye(2)[g], 0.0).toarray() for g in (0, 1)]
    energies, log_det = np.zeros(3), 0.0
    for own, spread, d, x in zip(mean, variance, D, X, strict=True):
        Q = K + np.diag(d)
        np.testing.assert_allclose(own, np.linalg.solve(Q, d * np.nan_to_num(x)), rtol=1e-9)
        np.testing.assert_allclose(spread, np.diag(np.linalg.inv(Q)), rtol=1e-9)
        second = np.outer(own, own) + np.linalg.inv(Q)
        energies += [np.trace(second), *(np.trace(L @ second) for L in parts)]
        log_det += np.linalg.slogdet(Q)[1]
    np.testing.assert_allclose(found.energies, energies, rtol=1e-9)
    assert found.log_det == pytest.approx(log_det)
    # What S was updated with is Gaussian with covariance K⁻¹ + D⁻¹ where it was seen.
    evidence, seen = 0.0, D > 0
    for d, x, at in zip(D, X, seen, strict=True):
        C = (np.linalg.inv(K) + np.diag(1.0 / np.where(at, d, 1.0)))[np.ix_(at, at)]
        evidence -= 0.5 * (np.linalg.slogdet(C)[1] + x[at] @ np.linalg.solve(C, x[at]))
        evidence += 0.5 * (d[at] @ x[at] ** 2 - np.log(d[at]).sum())
    prior = lines.count * np.linalg.slogdet(K)[1]
    assert found.evidence - 0.5 * lines.count * local.prior_log_det == pytest.approx(
        evidence - 0.5 * prior
    )


@pytest.mark.parametrize("likelihood", [Gaussian(), Uneven(side="rows"), Student()])
def test_no_single_update_lowers_the_bound(likelihood):
    (rows, cols), prior, state = problem(likelihood)
    state = update_s(likelihood, state, rows)
    bounds = [elbo(state, rows, cols, prior)]
    for _ in range(4):
        state = replace(state, local=learn_scales(state.local))
        bounds.append(elbo(state, rows, cols, prior))
        state = update_noise(likelihood, state, rows)
        bounds.append(elbo(state, rows, cols, prior))
        state, _, _ = sweep("row", rows, cols, prior, state, hold=True, gain_tol=0.0)
        bounds.append(elbo(state, rows, cols, prior))
        state = update_s(likelihood, state, rows)
        bounds.append(elbo(state, rows, cols, prior))
        state = update_lambda(prior, state)
        bounds.append(elbo(state, rows, cols, prior))
    assert (np.diff(bounds) > -1e-8 * np.abs(bounds[0])).all()
    assert bounds[-1] > bounds[0] + 1.0


def test_scales_that_are_learned_are_where_the_bound_is_highest():
    (rows, _), prior, state = problem(Gaussian())
    local = update_s(prior.likelihood, state, rows).local
    for _ in range(6):
        local = learn_scales(local)

    def bound(logs):
        K = local.lines.stack.precision(np.exp(logs[1:]), np.exp(logs[0])).toarray()
        fit = local.lines.count * np.linalg.slogdet(K)[1] - np.exp(logs) @ local.energies
        return 0.5 * (fit + local.lines.count * local.lines.stack.n - local.log_det)

    logs = np.log(local.scales)
    assert local.bound == pytest.approx(bound(logs))
    slope = approx_fprime(logs, bound, 1e-6)
    ridge = local.scales[0] / (ROUGHEST * local.lines.diagonals @ local.scales[1:])
    if ridge < 0.999:
        assert abs(slope[0]) < 0.05
    # A graph that the other makes superfluous falls without end: its slope is all it can lose.
    assert (np.abs(slope[1:]) < 0.05 * local.lines.count).all()


def test_the_slope_that_scales_follow_is_that_of_the_bound(monkeypatch):
    (rows, _), prior, state = problem(Gaussian())
    seen = {}

    def look(loss, start, **options):
        seen.update(loss=loss, start=start)
        return minimize(loss, start, **options)

    monkeypatch.setattr(local_module, "minimize", look)
    learn_scales(update_s(prior.likelihood, state, rows).local)
    for at in (seen["start"], seen["start"] - [0.5, 0.3, -0.7]):
        slope = approx_fprime(at, lambda logs: seen["loss"](logs)[0], 1e-6)
        np.testing.assert_allclose(seen["loss"](at)[1], slope, rtol=1e-3, atol=1e-3)


def test_a_walk_within_each_row_is_found_and_predicted():
    X, truth = walk(12, 150)
    with_s, mean, _ = fitted(X)
    _, without, _ = fitted(X, local=False)
    out = np.isnan(X)
    errors = [np.sqrt(np.mean((part - truth)[out] ** 2)) for part in (mean, without)]
    assert errors[0] < 0.8 * errors[1]
    assert with_s.state.local.deviation * with_s.scale == pytest.approx(1.0, rel=0.4)
    begins = 4
    gains = np.diff(with_s.trace[begins:])
    same = np.diff(with_s.ranks[begins:]) == 0
    assert (gains[same] > -1e-9 * abs(with_s.trace[-1])).all()


def test_variance_grows_with_the_distance_from_what_was_seen():
    X, _ = walk(10, 120, keep=0.9)
    X[4, 40:70] = np.nan
    _, _, variance = fitted(X)
    assert variance[4, 55] > variance[4, 42] > variance[4, 20]


def test_where_nothing_is_smooth_it_dies_and_costs_nothing():
    rng = np.random.default_rng(5)
    truth = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 60))
    X = truth + 0.5 * rng.normal(size=truth.shape)
    X[rng.random(X.shape) < 0.3] = np.nan
    fit, mean, _ = fitted(X)
    _, without, _ = fitted(X, local=False)
    assert fit.state.local.deviation * fit.scale < 0.15
    errors = [np.sqrt(np.mean((part - truth) ** 2)) for part in (mean, without)]
    assert errors[0] < 1.01 * errors[1]


def test_graphs_that_are_no_lines_are_refused():
    star = np.zeros((80, 80))
    star[0, 1:] = star[1:, 0] = 1.0
    with pytest.raises(ValueError, match="along a line"):
        lines_of("cols", stack_graphs([sp.csr_array(star)], 80), (5, 80))
    with pytest.raises(ValueError, match="pass row_graph"):
        lines_of("rows", stack_graphs([], 5), (5, 80))
    with pytest.raises(ValueError, match="pass local=None"):
        lines_of("cols", stack_graphs([path(8)], 8), (1 << 23, 8))
