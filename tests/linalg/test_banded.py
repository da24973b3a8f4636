"""Chains and strips have an engine of their own, which is exact: the dense inverse is the truth."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg.backends import NumbaBackend
from bmcg.graphs import chain_graph
from bmcg.graphs.precision import graph_precision
from bmcg.linalg import dense
from bmcg.linalg.banded import WIDEST, factor_bands, find_bands, solve_bands
from bmcg.linalg.engines import BandedEngine, DenseEngine, choose_engine


def shuffled(A, seed=0):
    order = np.random.default_rng(seed).permutation(A.shape[0])
    return sp.csr_array(sp.csr_array(A)[order][:, order])


def path(n):
    return sp.csr_array(sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1], shape=(n, n)))


def strips():
    """A chain, a path and two nodes alone, of uneven weights."""
    parts = [chain_graph(20), sp.csr_array((1, 1)), path(4), sp.csr_array((1, 1))]
    upper = sp.triu(sp.block_diag(parts)).tocoo()
    upper.data = np.random.default_rng(1).uniform(0.1, 5.0, upper.nnz)
    return sp.csr_array(upper + upper.T)


GRAPHS = {
    "two nodes": path(2),
    "path": path(40),
    "chain": chain_graph(60),
    "in another order": shuffled(chain_graph(60)),
    "several": strips(),
    "several in another order": shuffled(strips()),
}


@pytest.mark.parametrize("ridge", [1e-7, 0.1])
@pytest.mark.parametrize("name", GRAPHS)
def test_variances_along_bands_are_those_of_the_dense_inverse(name, ridge):
    L, rng = graph_precision(GRAPHS[name], ridge), np.random.default_rng(0)
    D, lam = rng.gamma(1.0, size=(L.n, 18)), rng.gamma(1.0, size=18)
    D[:, 1] = 0.0
    bands = find_bands(L)
    assert bands is not None
    want = dense.invert_columns(L.toarray(), D, lam, (L.heads, L.tails))
    for a, b in zip(bands.inverse(L, D, lam, map), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6 if ridge < 1e-6 else 1e-9)


@pytest.mark.parametrize("name", GRAPHS)
def test_solutions_along_bands_are_those_of_the_dense_systems(name):
    L, rng = graph_precision(GRAPHS[name], 0.1), np.random.default_rng(2)
    D, H, lam = rng.gamma(1.0, size=(L.n, 18)), rng.normal(size=(L.n, 18)), rng.gamma(1.0, size=18)
    x, found = find_bands(L).condition(L, D, H, lam, map)
    for r in range(18):
        want = np.linalg.solve(np.diag(D[:, r]) + lam[r] * L.toarray(), H[:, r])
        np.testing.assert_allclose(x[:, r], want, rtol=1e-9, atol=1e-12)
    for a, b in zip(found, find_bands(L).inverse(L, D, lam, map), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_compiled_solve_says_what_its_python_says():
    rng = np.random.default_rng(3)
    A, x = 0.1 * rng.normal(size=(12, 4, 3)), rng.normal(size=(12, 3))
    A[:, 0] = 2.0
    getattr(factor_bands, "py_func", factor_bands)(A)
    slow, quick = x.copy(), x.copy()
    getattr(solve_bands, "py_func", solve_bands)(A, slow)
    solve_bands(A, quick)
    np.testing.assert_allclose(quick, slow, rtol=1e-12)


def test_stars_and_wide_rings_are_not_banded():
    n = 4 * WIDEST
    star = np.zeros((n, n))
    star[0, 1:] = star[1:, 0] = 1.0
    for A in (sp.csr_array(star), sp.csr_array((3, 3)), chain_graph(n, 3.0 * WIDEST)):
        assert find_bands(graph_precision(A, 0.1)) is None


def test_a_precision_that_is_not_positive_definite_is_refused():
    L = graph_precision(chain_graph(10), 0.1)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        find_bands(L).inverse(L, -10.0 * np.ones((10, 1)), np.ones(1), map)


def test_bands_have_the_prior_that_the_dense_engine_has():
    L, backend = graph_precision(shuffled(chain_graph(30)), 0.1), NumbaBackend(1)
    engines = BandedEngine(find_bands(L), backend), DenseEngine(backend)
    priors = [on.prepare(L) for on in engines]
    assert priors[0].log_det == pytest.approx(priors[1].log_det)
    both = [on.prior_spread(prior) for on, prior in zip(engines, priors, strict=True)]
    for a, b in zip(*both, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "family", "n", "chosen"),
    [
        ("auto", "column", 300, "banded"),
        ("auto", "row", 300, "banded"),
        ("auto", "joint", 300, "sparse"),
        ("auto", "column", 100, "dense"),
        ("sparse", "column", 300, "sparse"),
    ],
)
def test_long_chains_are_banded_unless_blocks_or_another_engine_are_asked_for(
    name, family, n, chosen
):
    L, backend = graph_precision(chain_graph(n), 0.1), NumbaBackend(1)
    assert choose_engine(name, L, family, 4, backend, 0).name == chosen


def test_the_widest_band_is_one_and_a_wider_one_is_none():
    for width, there in ((WIDEST, True), (WIDEST + 1, False)):
        n = 4 * width
        ones = [np.ones(n - lag) for lag in range(1, width + 1)]
        A = sp.diags_array(ones, offsets=range(1, width + 1), shape=(n, n))
        found = find_bands(graph_precision(sp.csr_array(A + A.T), 0.1))
        assert (found is not None) is there
