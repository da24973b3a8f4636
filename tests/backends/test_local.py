"""Variances conditioned on a node's neighbourhood are what the definition says."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg.backends import NumbaBackend, open_backend
from bmcg.backends.numba import local
from bmcg.graphs.precision import graph_precision


def make_case(seed, n=30, k=2, s=5, density=0.1):
    rng = np.random.default_rng(seed)
    A = sp.random_array((n, n), density=density, random_state=rng)
    L = graph_precision(sp.csr_array(A + A.T), 0.1)
    D, lam = rng.gamma(1.0, size=(n, k)), rng.gamma(2.0, size=k)
    Q = np.stack([np.diag(D[:, r]) + lam[r] * L.toarray() for r in range(k)])
    z = rng.normal(size=(n, k, s))
    Qz = np.einsum("rij,jrs->irs", Q, z)
    return L, D, lam, Q, z, Qz


def plain_estimate(L, Q, z):
    """P_SS⁻¹ and the conditional mean given all outside S, by slicing dense matrices."""
    out = np.empty(z.shape[:2])
    pattern = L.toarray() != 0
    for i in range(len(out)):
        S = np.flatnonzero(pattern[i])
        rest, at = np.flatnonzero(~pattern[i]), int(np.searchsorted(S, i))
        for r, q in enumerate(Q):
            w = np.linalg.inv(q[np.ix_(S, S)])[at]
            shift = w @ q[np.ix_(S, rest)] @ z[rest, r]
            out[i, r] = w[at] + np.mean(shift**2)
    return out


@pytest.mark.parametrize("seed", range(3))
def test_the_kernel_conditions_on_all_nodes_beyond_the_neighbours(seed):
    L, D, lam, Q, z, Qz = make_case(seed)
    value = NumbaBackend(1).local_estimate(L, D, lam, z, Qz)
    np.testing.assert_allclose(value, plain_estimate(L, Q, z), rtol=1e-10)


def test_a_neighbourhood_of_all_nodes_leaves_nothing_to_chance():
    L, D, lam, Q, z, Qz = make_case(0, n=12, density=1.0)
    value = NumbaBackend(1).local_estimate(L, D, lam, z, Qz)
    exact = np.stack([np.diag(np.linalg.inv(q)) for q in Q], axis=1)
    np.testing.assert_allclose(value, exact, rtol=1e-10)


def test_a_hub_is_conditioned_on_part_of_its_neighbours_without_bias():
    n = 3 * local.MAX_NODES
    star = sp.csr_array((np.ones(n - 1), (np.zeros(n - 1, int), np.arange(1, n))), shape=(n, n))
    L = graph_precision(sp.csr_array(star + star.T), 0.1)
    D, lam = np.full((n, 1), 0.5), np.ones(1)
    Q = np.diag(D[:, 0]) + L.toarray()
    noise = np.random.default_rng(0).normal(size=(n, 4000))
    z = np.linalg.solve(np.linalg.cholesky(Q).T, noise)[:, None]
    Qz = np.einsum("ij,jrs->irs", Q, z)
    value = NumbaBackend(1).local_estimate(L, D, lam, z, Qz)
    exact, rest = np.diag(np.linalg.inv(Q)), Q[0, local.MAX_NODES :]
    assert rest.any()
    # A mean of 4000 squares is off by 2 % at most twice in three times.
    assert value[0, 0] == pytest.approx(exact[0], rel=0.05)


def test_the_number_of_threads_changes_nothing():
    L, D, lam, _, z, Qz = make_case(1, n=200, k=9, s=16)
    few, many = (
        pool.local_estimate(L, D, lam, z, Qz) for pool in (NumbaBackend(1), NumbaBackend(3))
    )
    np.testing.assert_array_equal(few, many)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("n_edges", [0, 1, 500])
def test_the_spread_of_edges_is_that_of_numpy(dtype, n_threads, n_edges):
    rng = np.random.default_rng(0)
    heads, tails = rng.integers(30, size=(2, n_edges)).astype(np.int32)
    z = rng.normal(size=(30, 3, 5)).astype(dtype)
    with open_backend(n_threads) as pool:
        found = pool.edge_spread(heads, tails, z)
    expected = ((z[heads].astype(float) - z[tails]) ** 2).mean(axis=2)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
