from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from graphs_for_tests import GRAPHS, chain, grid, random_graph, star
from scipy.sparse.linalg import splu

from bmcg.linalg.sparse.ordering import minimum_degree


def superlu_fill(A: sp.csr_array, spec: str) -> int:
    factor = splu(
        A.tocsc(), permc_spec=spec, diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    return int(factor.L.nnz)


def near_neighbours(n: int, dimension: int, seed: int) -> sp.csr_array:
    X = np.random.default_rng(seed).standard_normal((n, dimension))
    nearest = np.argsort(((X[:, None] - X) ** 2).sum(axis=2), axis=1)[:, 1:9]
    W = sp.csr_array((np.ones(8 * n), (np.repeat(np.arange(n), 8), nearest.ravel())), shape=(n, n))
    W = sp.csr_array(W.maximum(W.T))
    return sp.csr_array(sp.eye_array(n) * (W.sum(axis=1).max() + 1.0) - W)


@pytest.mark.parametrize("name", GRAPHS)
def test_ordering_is_a_permutation(name: str) -> None:
    A = GRAPHS[name]
    order = minimum_degree(A.indptr, A.indices)
    np.testing.assert_array_equal(np.sort(order), np.arange(A.shape[0]))


@pytest.mark.parametrize(
    "A",
    [
        grid(40, 40),
        random_graph(300, 0.02, 3),
        near_neighbours(400, 3, 0),
        near_neighbours(400, 8, 1),
    ],
    ids=["grid", "random", "neighbours-3d", "neighbours-8d"],
)
def test_fill_is_close_to_that_of_multiple_minimum_degree(A: sp.csr_array) -> None:
    order = minimum_degree(A.indptr, A.indices)
    ours = superlu_fill(A[order][:, order], "NATURAL")
    assert ours <= 1.3 * superlu_fill(A, "MMD_AT_PLUS_A")


@pytest.mark.parametrize("A", [chain(500), star(500), star(40_000)], ids=["chain", "star", "hub"])
def test_trees_have_no_fill(A: sp.csr_array) -> None:
    n = A.shape[0]
    order = minimum_degree(A.indptr, A.indices, max_fill=2 * n - 1)
    assert order is not None
    assert superlu_fill(A[order][:, order], "NATURAL") == 2 * n - 1


def test_ordering_stops_when_the_factor_grows_too_large() -> None:
    A = random_graph(300, 0.05, 5)
    order = minimum_degree(A.indptr, A.indices)
    fill = superlu_fill(A[order][:, order], "NATURAL")
    assert minimum_degree(A.indptr, A.indices, max_fill=fill) is not None
    assert minimum_degree(A.indptr, A.indices, max_fill=fill // 2) is None
