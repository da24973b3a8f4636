"""The local term along both graphs: the dense posterior over all cells is the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg import BMCG, Observations
from bmcg.backends import NumbaBackend
from bmcg.graphs import chain_graph
from bmcg.graphs.precision import stack_graphs
from bmcg.inference.fit import Settings, SideInput
from bmcg.inference.grid import grid_of
from bmcg.inference.local import first_local, learn_scales, update_and_learn, update_local
from bmcg.inference.local_question import _hide_runs, gap_lengths, gaps_like_those
from bmcg.inference.start import make_side
from bmcg.linalg.engines import Analyses
from bmcg.linalg.monte_carlo import MonteCarloEngine

BACKEND = NumbaBackend(1)


def star(n):
    A = np.zeros((n, n))
    A[0, 1:] = A[1:, 0] = np.arange(1, n) / n
    return sp.csr_array(A)


def stacks(m, n):
    """A star and a chain as the rows' graphs, a chain of other weights as the columns'."""
    rows = stack_graphs([star(m), chain_graph(m)], m, ["star", "chain"])
    return rows, stack_graphs([2.0 * chain_graph(n)], n, ["chain"])


def dense(m, n, scales):
    """K of `stacks` by Kronecker products, and the three parts whose scales it has."""
    rows, cols = stacks(m, n)
    L_rows, L_cols = rows.precision([1.0, 1.0], 0.0).toarray(), cols.precision([1.0], 0.0).toarray()
    parts = [np.eye(m * n), np.kron(np.eye(m), L_cols), np.kron(L_rows, np.eye(n))]
    return sum(s * part for s, part in zip(scales, parts, strict=True)), parts


def problem(m=7, n=9, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)).cumsum(axis=1).cumsum(axis=0)
    X[rng.random(X.shape) < 0.4] = np.nan
    data = Observations.from_any(X)
    given = SideInput(stack_graphs([], m), 1.0)
    side = make_side(data, 0, given, Settings(), BACKEND, Analyses())
    precisions = rng.gamma(2.0, size=len(data))
    D, H = np.zeros((m, n)), np.zeros((m, n))
    D[data.row_indices, data.col_indices] = precisions
    H[data.row_indices, data.col_indices] = precisions * data.values
    grid = grid_of(*stacks(m, n), (m, n))
    return grid, (side.entries, precisions, data.values, BACKEND), D.ravel(), H.ravel()


def test_eigenvalues_of_two_graphs_give_the_prior():
    scales = np.array([0.3, 1.2, 0.4])
    grid, *_ = problem()
    K, parts = dense(7, 9, scales)
    log_det, slopes = grid.prior(scales)
    assert log_det == pytest.approx(np.linalg.slogdet(K)[1])
    np.testing.assert_allclose(slopes, [np.trace(np.linalg.solve(K, part)) for part in parts])
    np.testing.assert_allclose(grid.precision(scales).toarray(), K, atol=1e-12)


def test_the_update_is_the_dense_posterior_over_all_cells():
    grid, given, D, H = problem()
    scales = np.array([0.3, 1.2, 0.4])
    local = replace(first_local(grid, 0.7), scales=scales, prior_log_det=grid.prior(scales)[0])
    found = update_local(local, *given)
    K, parts = dense(7, 9, scales)
    Q = K + np.diag(D)
    mean, inverse = np.linalg.solve(Q, H), np.linalg.inv(Q)
    np.testing.assert_allclose(found.mean.ravel(), mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.variance.ravel(), np.diag(inverse), rtol=1e-8)
    assert found.log_det == pytest.approx(np.linalg.slogdet(Q)[1])
    second = np.outer(mean, mean) + inverse
    np.testing.assert_allclose(
        found.energies, [np.trace(part @ second) for part in parts], rtol=1e-6
    )
    assert found.evidence == pytest.approx(
        0.5 * (np.linalg.slogdet(K)[1] - np.linalg.slogdet(Q)[1] + H @ mean)
    )
    assert not found.is_estimated


def test_draws_agree_with_the_dense_posterior_within_their_error():
    grid, given, *_ = problem()
    scales = np.array([0.3, 1.2, 0.4])
    local = replace(first_local(grid, 0.7), scales=scales, prior_log_det=grid.prior(scales)[0])
    exact = update_local(local, *given)
    grid._kept.update(backend=BACKEND, engine=MonteCarloEngine(BACKEND, 0, 400, 1e-8))
    drawn = update_local(local, *given)
    assert drawn.is_estimated
    np.testing.assert_allclose(drawn.mean, exact.mean, atol=1e-6)
    np.testing.assert_allclose(drawn.variance, exact.variance, rtol=0.2)
    assert drawn.variance.mean() == pytest.approx(exact.variance.mean(), rel=0.02)
    assert drawn.log_det == pytest.approx(exact.log_det, rel=0.02)
    np.testing.assert_allclose(drawn.energies, exact.energies, rtol=0.05)


def test_evidence_rises_with_every_step_of_the_scales():
    grid, given, *_ = problem()
    local = update_local(first_local(grid, 0.7), *given)
    found = [local.evidence]
    for _ in range(8):
        assert learn_scales(local).bound >= local.bound
        local = update_and_learn(local, *given)
        found.append(local.evidence)
    assert (np.diff(found) > -1e-8).all()
    assert found[-1] > found[0] + 1.0


def surface(m, n, size=1.0, seed=0):
    """Rank one, a smooth surface and noise: entries seen, and the truth."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:m, :n]
    waves = [np.sin(0.25 * (x * np.cos(a) + y * np.sin(a)) + a) for a in rng.uniform(0, 6, 5)]
    truth = np.outer(rng.normal(size=m), rng.normal(size=n)) + size * np.sum(waves, axis=0)
    X = truth + 0.3 * rng.normal(size=(m, n))
    X[rng.random((m, n)) < 0.5] = np.nan
    return X, truth


OPTIONS = {"rank": 2, "bias": False, "max_sweeps": 60, "random_state": 0}


def filled(X, local):
    graphs = {"row_graph": chain_graph(len(X)), "col_graph": chain_graph(X.shape[1])}
    options = OPTIONS | {"posterior": "column", "selection": False}
    return BMCG(local=local, **options).fit(X, **graphs)


def test_a_surface_is_found_and_better_than_along_one_side():
    X, truth = surface(12, 24)
    out = np.isnan(X)
    errors = {
        local: np.sqrt(np.mean((filled(X, local).complete() - truth)[out] ** 2))
        for local in ("both", "cols")
    }
    assert errors["both"] < 0.9 * errors["cols"]


def test_where_nothing_is_smooth_the_term_dies():
    X, truth = surface(12, 24, size=0.0)
    with_s, without = filled(X, "both"), filled(X, None)
    assert np.abs(with_s.local_term_).max() < 0.3
    errors = [np.sqrt(np.mean((model.complete() - truth) ** 2)) for model in (with_s, without)]
    assert errors[0] < 1.02 * errors[1]


def test_gaps_choose_both_directions_where_both_are_smooth():
    X, _ = surface(20, 26, size=2.0)
    graphs = {"row_graph": chain_graph(20), "col_graph": chain_graph(26)}
    options = OPTIONS | {"max_sweeps": 25}
    model = BMCG(local="auto", selection=["local"], **options).fit(X, **graphs)
    assert model.local_term_ is not None
    np.testing.assert_allclose(
        model.complete(), model.row_factors_ @ model.col_factors_.T + model.local_term_, atol=1e-10
    )


def test_gaps_run_along_both_sides():
    X = np.random.default_rng(1).normal(size=(60, 60))
    X[5:20, 7] = X[11, 30:45] = np.nan
    chain = stack_graphs([chain_graph(60)], 60)
    fold = gaps_like_those(Observations.from_any(X), [grid_of(chain, chain, X.shape)], 0)
    down = np.zeros(X.shape, dtype=bool)
    down[fold.rows, fold.cols] = True
    runs = [(part[1:] & part[:-1]).sum() / down.sum() for part in (down, down.T)]
    assert min(runs) > 0.25


def test_what_a_grid_cannot_hold_is_refused():
    chain = stack_graphs([chain_graph(2000)], 2000)
    with pytest.raises(ValueError, match="local=None"):
        grid_of(chain, chain, (2000, 2000))
    with pytest.raises(ValueError, match="pass row_graph as well"):
        grid_of(stack_graphs([], 5), chain, (5, 2000))
    full = stack_graphs([sp.csr_array(np.ones((600, 600)) - np.eye(600))], 600)
    with pytest.raises(ValueError, match="nearest neighbours"):
        grid_of(full, full, (600, 600))
    wide = stack_graphs([star(5000)], 5000)
    with pytest.raises(ValueError, match="eigenvalues of the row graph"):
        grid_of(wide, stack_graphs([chain_graph(4)], 4), (5000, 4))


@pytest.mark.parametrize("seed", range(4))
def test_gaps_are_as_long_as_counting_says(seed):
    seen = np.random.default_rng(seed).random((6, 9)) < 0.3
    want = []
    for line in seen[seen.any(axis=1)]:
        text = "".join("x" if known else "." for known in line)
        want += [len(gap) for gap in text.split("x") if gap]
    line, place = np.nonzero(seen)
    assert sorted(gap_lengths(line, place, 9)) == sorted(want)
    assert gap_lengths(np.zeros(4, int), np.arange(4), 4) == [1]


def test_runs_that_are_hidden_stay_on_their_line_and_reach_their_share():
    rng = np.random.default_rng(0)
    seen = rng.random((20, 30)) < 0.7
    seen[:, 10:14] = False
    rows, cols = np.nonzero(seen)
    order, hidden = rng.permutation(30), np.zeros(len(rows), dtype=bool)
    _hide_runs(hidden, rows, cols, order, 0.1, np.random.default_rng(1))
    assert 0.1 <= hidden.mean() < 0.1 + 30 / len(rows)
    place = np.empty(30, dtype=int)
    place[order] = np.arange(30)
    runs = 0
    for i in range(20):
        mine = hidden[rows == i][np.argsort(place[cols[rows == i]])]
        runs += int(mine[0]) + int((np.diff(mine.astype(int)) == 1).sum())
    # Longer than single entries: fewer runs than entries.
    assert 0 < runs < 0.8 * hidden.sum()
