"""The chain draws from the posterior of the model: against sums over the prior, and by ranks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats

from bmcg.backends import NumbaBackend, SparseRows
from bmcg.backends.packed import unpack
from bmcg.graphs import chain_graph
from bmcg.graphs.precision import stack_graphs
from bmcg.inference import sampling
from bmcg.inference.sampling import (
    Point,
    draw_factors,
    draw_precisions,
    draw_strengths,
    ends,
    energies,
    log_density,
    step_sizes,
    sweep,
)
from bmcg.inference.side import Prior, Side, Strengths
from bmcg.likelihoods import Gaussian, Weighting
from bmcg.linalg.engines import DenseEngine, DiagonalEngine
from bmcg.linalg.prior import feature_map

# Proper, so that the model can be drawn from.
PRIOR = Prior(c0=6.0, d0=6.0, likelihood=Gaussian(a0=6.0, b0=3.0))


def make_sides(M, mask, graph=False, features=False):
    backend, sides = NumbaBackend(1), []
    for values, seen in ((M, mask), (M.T, mask.T)):
        n = len(values)
        at = sp.csr_array(seen.astype(float))
        entries = SparseRows(
            at.indptr.astype(np.int64), at.indices.astype(np.int32), values[seen], backend
        )
        stack = stack_graphs([chain_graph(n)] if graph else [], n, ["chain"] if graph else [])
        engine = DenseEngine(backend) if graph else DiagonalEngine(backend)
        F = np.random.default_rng(n).normal(size=(n, 2))
        side = Side(
            entries,
            None,
            engine,
            stack,
            feature_map(sp.csr_array(F), backend) if features else None,
            integrate=False,
        )
        sides.append(side.at(Strengths(np.full(int(graph), 0.7), 0.5 if graph else 1.0, 1.3)))
    return sides[0], sides[1]


def prior_point(sides, rng, k, biased):
    """All unknowns from the prior."""
    lam = rng.gamma(PRIOR.c0, 1 / PRIOR.d0, k)
    biases = rng.gamma(PRIOR.c0, 1 / PRIOR.d0, 2 * biased)
    tau = rng.gamma(PRIOR.likelihood.a0, 1 / PRIOR.likelihood.b0)
    factors = []
    for which, side in enumerate(sides):
        own = np.append(lam, biases[which : which + 1])
        root = np.linalg.cholesky(side.prior.product(np.eye(side.prior.n_nodes)))
        z = rng.normal(size=(side.prior.n_nodes, len(own)))
        factors.append(np.linalg.solve(root.T, z) / np.sqrt(own))
    return Point(factors[0], factors[1], lam, biases, tau, np.nan)


def with_values(sides, values, mask):
    """The sides with other observed values, (m, n)."""
    return tuple(
        replace(side, entries=replace(side.entries, values=X[seen]))
        for side, X, seen in zip(sides, (values, values.T), (mask, mask.T), strict=True)
    )


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(("graph", "features"), [(False, False), (True, False), (True, True)])
def test_factors_are_drawn_from_their_conditional(graph, features, biased):
    rng = np.random.default_rng(0)
    mask = rng.random((4, 3)) < 0.8
    sides = make_sides(rng.normal(size=(4, 3)), mask, graph, features)
    point = replace(prior_point(sides, rng, 2, biased), tau=3.0)
    n, k = sides[0].prior.n_nodes, 2 + biased
    V, lam, c = point.cols[:3], point.side_lam(0), np.zeros(3)
    if biased:
        c, V = V[:, -1], np.hstack((V[:, :-1], np.ones((3, 1))))
    K = sides[0].prior.product(np.eye(n))
    Q, h = np.kron(K, np.diag(lam)), np.zeros(n * k)
    X = np.zeros((4, 3))
    X[mask] = sides[0].entries.values
    for i, j in zip(*np.nonzero(mask), strict=True):
        at = slice(i * k, (i + 1) * k)
        Q[at, at] += 3.0 * np.outer(V[j], V[j])
        h[at] += 3.0 * (X[i, j] - c[j]) * V[j]
    cov = np.linalg.inv(Q)
    count = 200
    draws = np.array(
        [draw_factors(sides, 0, point, Weighting(3.0), rng, 1e-8).x.ravel() for _ in range(count)]
    )
    # Whitened by the exact covariance, draws are standard normal numbers.
    z = np.linalg.solve(np.linalg.cholesky(cov), (draws - cov @ h).T)
    assert np.abs(z.mean(axis=1)).max() < 4.5 / np.sqrt(count)
    assert abs((z**2).mean() - 1) < 4.5 * np.sqrt(2 / z.size)
    assert np.abs(np.cov(z) - np.eye(len(z))).max() < 6 / np.sqrt(count)


def test_a_long_chain_agrees_with_sums_over_the_prior():
    rng = np.random.default_rng(1)
    mask = np.array([[True, True], [True, False]])
    sides = make_sides(np.array([[1.0, -0.5], [0.8, 0.0]]), mask)
    # By the prior's own draws, weighted by how well they explain what was observed.
    n, root = 400_000, [np.linalg.cholesky(s.prior.product(np.eye(2))) for s in sides]
    lam = rng.gamma(PRIOR.c0, 1 / PRIOR.d0, n)
    tau = rng.gamma(PRIOR.likelihood.a0, 1 / PRIOR.likelihood.b0, n)
    U, V = (np.linalg.solve(R.T, rng.normal(size=(2, n))) / np.sqrt(lam) for R in root)
    Y = np.einsum("in,jn->nij", U, V)
    error = ((np.array([[1.0, -0.5], [0.8, 0.0]]) - Y) ** 2)[:, mask].sum(axis=1)
    w = tau ** (mask.sum() / 2) * np.exp(-0.5 * tau * error)
    w /= w.sum()
    point = prior_point(sides, rng, 1, False)
    kept = []
    for number in range(12_000):
        point = sweep(sides, PRIOR, point, rng, 1e-8)
        if number >= 200:
            A, B = ends(sides, point)
            kept.append([*(A @ B.T).ravel(), point.tau, point.lam[0]])
    kept, n_effective = np.array(kept), 1 / (w**2).sum()
    truth = np.column_stack((Y.reshape(n, 4), tau, lam))
    mean = w @ truth
    std = np.sqrt(w @ (truth - mean) ** 2)
    assert np.abs((kept.mean(axis=0) - mean) / std).max() < 0.09 + 4 / np.sqrt(n_effective)
    assert np.abs(kept.std(axis=0) / std - 1).max() < 0.1


def ranks(off, replicates=200, length=15):
    """Ranks of a drawn truth's noise and of an unobserved entry among a chain's draws."""
    rng, found = np.random.default_rng(2), []
    mask = np.ones((6, 5), dtype=bool)
    mask[0, 0] = False
    sides = make_sides(np.zeros((6, 5)), mask)
    for _ in range(replicates):
        truth = prior_point(sides, rng, 1, False)
        A, B = ends(sides, truth)
        noisy = A @ B.T + rng.normal(size=mask.shape) / np.sqrt(truth.tau)
        seen, point = with_values(sides, noisy, mask), truth
        draws = []
        for _ in range(length):
            for _ in range(3):
                point = sweep(seen, PRIOR, point, rng, 1e-6)
                point = replace(point, tau=point.tau * off)
            U, V = ends(seen, point)
            draws.append((point.tau, (U @ V.T)[0, 0]))
        found.append((np.array(draws) < (truth.tau, (A @ B.T)[0, 0])).sum(axis=0))
    return np.array(found), length + 1


def test_ranks_of_the_truth_are_uniform():
    found, bins = ranks(1.0)
    for column in found.T:
        counts = np.bincount(column * 8 // bins, minlength=8)
        assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_ranks_tell_a_noise_that_is_a_tenth_off():
    found, bins = ranks(1 / 1.1**2)
    counts = np.bincount(found[:, 0] * 8 // bins, minlength=8)
    assert scipy.stats.chisquare(counts).pvalue < 1e-3


def test_precisions_are_drawn_from_their_gamma():
    rng = np.random.default_rng(3)
    sides = make_sides(np.zeros((5, 4)), np.ones((5, 4), dtype=bool), graph=True)
    point = prior_point(sides, rng, 2, True)
    draws = np.array(
        [
            np.concatenate((new.lam, new.biases))
            for new in (draw_precisions(sides, PRIOR, point, rng) for _ in range(1500))
        ]
    )
    e = [
        np.diag(X.T @ s.prior.product(X))
        for s, X in zip(sides, (point.rows, point.cols), strict=True)
    ]
    shape = PRIOR.c0 + np.array([9, 9, 5, 4]) / 2
    rate = PRIOR.d0 + np.concatenate((e[0][:2] + e[1][:2], e[0][2:], e[1][2:])) / 2
    assert np.allclose(draws.mean(axis=0), shape / rate, rtol=0.05)
    assert np.allclose(draws.std(axis=0), np.sqrt(shape) / rate, rtol=0.09)


def test_one_precision_of_all_components_is_drawn_from_their_common_gamma():
    rng, prior = np.random.default_rng(3), replace(PRIOR, pooled=True)
    sides = make_sides(np.zeros((5, 4)), np.ones((5, 4), dtype=bool), graph=True)
    point = prior_point(sides, rng, 3, True)
    found = [draw_precisions(sides, prior, point, rng) for _ in range(1500)]
    lam = np.array([new.lam for new in found])
    assert (lam == lam[:, :1]).all()
    both = zip(sides, (point.rows, point.cols), strict=True)
    energy = sum(np.trace((X.T @ s.prior.product(X))[:3, :3]) for s, X in both)
    shape, rate = PRIOR.c0 + 3 * 9 / 2, PRIOR.d0 + energy / 2
    assert lam[:, 0].mean() == pytest.approx(shape / rate, rel=0.05)
    assert lam[:, 0].std() == pytest.approx(np.sqrt(shape) / rate, rel=0.09)
    # Biases keep a precision each.
    assert len({new.biases[0] for new in found}) == len(found)
    assert not np.allclose(found[0].biases[0], found[0].biases[1])


@pytest.mark.parametrize("features", [False, True])
def test_the_density_of_strengths_is_that_of_the_prior(features):
    rng = np.random.default_rng(4)
    side, _ = make_sides(np.zeros((6, 5)), np.ones((6, 5), dtype=bool), True, features)
    X, lam = rng.normal(size=(side.prior.n_nodes, 3)), np.array([0.5, 1.0, 2.0])
    parts = energies(side, X, lam)
    values = []
    for strengths in (side.strengths, Strengths(np.array([2.0]), 0.1, 0.4)):
        here = side.at(strengths)
        K = here.prior.product(np.eye(side.prior.n_nodes))
        exact = 0.5 * 3 * np.linalg.slogdet(K)[1] - 0.5 * np.einsum("ir,ij,jr,r->", X, K, X, lam)
        logs = np.log([strengths.graphs[0], strengths.ridge, strengths.beta])
        values.append((log_density(here, parts, 3), exact - 0.5 * logs @ logs / 25))
    assert np.isclose(values[0][0] - values[1][0], values[0][1] - values[1][1])


def test_strengths_are_drawn_from_their_density():
    rng = np.random.default_rng(5)
    side, _ = make_sides(np.zeros((40, 5)), np.ones((40, 5), dtype=bool), True)
    true = side.at(Strengths(np.array([3.0]), 0.2, 1.0))
    root = np.linalg.cholesky(true.prior.product(np.eye(40)))
    X, lam = np.linalg.solve(root.T, rng.normal(size=(40, 4))), np.ones(4)
    parts = energies(side, X, lam)
    logs = np.log(3.0) + np.linspace(-1.5, 1.5, 31), np.log(0.2) + np.linspace(-3, 3, 41)
    grid = np.array(
        [
            [
                log_density(side.at(Strengths(np.exp([a]), float(np.exp(b)), 1.0)), parts, 4)
                for b in logs[1]
            ]
            for a in logs[0]
        ]
    )
    p = np.exp(grid - grid.max())
    p /= p.sum()
    expected = p.sum(axis=1) @ logs[0], p.sum(axis=0) @ logs[1]
    spread = np.sqrt(p.sum(axis=1) @ (logs[0] - expected[0]) ** 2)
    here, kept = true, []
    steps = step_sizes(true, 4)
    for _ in range(3000):
        here = draw_strengths(here, X, lam, steps, rng)
        kept.append((np.log(here.strengths.graphs[0]), np.log(here.strengths.ridge)))
    kept = np.array(kept[200:])
    assert abs(kept[:, 0].mean() - expected[0]) < 0.25 * spread
    assert abs(kept[:, 0].std() / spread - 1) < 0.25
    assert here.strengths.beta == 1.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cost", [0, 10**6])
def test_noise_of_the_data_has_the_covariance_of_its_blocks(cost, weighted, monkeypatch):
    """By noise of each entry where that is cheap, by roots of blocks where it is not."""
    monkeypatch.setattr(sampling, "NORMAL", cost)
    rng = np.random.default_rng(0)
    mask, k = rng.random((6, 9)) < 0.5, 12
    side, _ = make_sides(rng.normal(size=mask.shape), mask)
    V = rng.normal(size=(9, k))
    weights = rng.gamma(1.0, size=mask.sum()) if weighted else None
    seen = Weighting(0.7, weights)
    F = sampling.partner_rows(V, True)
    G, _ = side.backend.biased_sums(side.entries, V, weights)
    draws = np.stack([sampling._data_noise(side, G, F, seen, rng) for _ in range(4000)])
    found = np.einsum("sir,sit->irt", draws, draws) / len(draws)
    want = 0.7 * unpack(G)
    size = np.sqrt(np.einsum("irr,itt->irt", want, want)) + 1e-12
    assert np.abs(found - want).max() < 0.12 * size.max()
    assert (np.abs(found - want) / size).mean() < 0.03


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("few", [sampling.FEW_CELLS, -1])
def test_weights_of_lines_are_those_of_their_entries(graph, biased, few, monkeypatch):
    """Whether rows, columns or both have a weight: the same draw as with one at each entry."""
    monkeypatch.setattr(sampling, "FEW_CELLS", few)
    rng = np.random.default_rng(8)
    M, mask = rng.normal(size=(14, 11)), rng.random((14, 11)) < 0.8
    rows, cols = make_sides(M, mask, graph)
    order = np.argsort(np.nonzero(mask)[1], kind="stable")
    sides = rows, replace(cols, order=lambda: order)
    point = prior_point(sides, rng, 3, biased)
    each = rng.gamma(2.0, size=14), rng.gamma(2.0, size=11)
    i, j = np.nonzero(mask)
    for lines in ((each[0], None), (None, each[1]), each):
        ones = [
            np.ones(n) if line is None else line for line, n in zip(lines, M.shape, strict=True)
        ]
        plain = Weighting(1.3, ones[0][i] * ones[1][j])
        for which in (0, 1):
            found = [
                sampling.draw_factors(sides, which, point, seen, np.random.default_rng(3), 1e-12).x
                for seen in (plain, plain._replace(lines=lines))
            ]
            np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-9)
