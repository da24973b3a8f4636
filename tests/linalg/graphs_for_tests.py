"""Small graph precisions of every shape the engines must handle."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def precision(adjacency: sp.sparray, ridge: float = 0.05) -> sp.csr_array:
    """Laplacian plus ridge with every diagonal entry stored and rows sorted."""
    W = sp.csr_array(adjacency)
    L = sp.csr_array(sp.diags_array(np.asarray(W.sum(axis=1)).ravel() + ridge) - W)
    L.sort_indices()
    return L


def random_graph(n: int, density: float, seed: int) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    W = np.triu((rng.random((n, n)) < density) * rng.uniform(0.1, 2.0, (n, n)), 1)
    return precision(sp.csr_array(W + W.T))


def chain(n: int) -> sp.csr_array:
    return precision(sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1], shape=(n, n)))


def grid(rows: int, cols: int) -> sp.csr_array:
    def path(n: int) -> sp.dia_array:
        return sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1], shape=(n, n))

    return precision(
        sp.kron(sp.eye_array(rows), path(cols)) + sp.kron(path(rows), sp.eye_array(cols))
    )


def star(n: int) -> sp.csr_array:
    W = sp.lil_array((n, n))
    W[0, 1:] = 1.0
    W[1:, 0] = 1.0
    return precision(W)


def islands() -> sp.csr_array:
    """A chain, a clique and isolated nodes, shuffled."""
    clique = np.ones((9, 9)) - np.eye(9)
    path = np.diag(np.ones(11), 1) + np.diag(np.ones(11), -1)
    W = sp.block_diag([clique, path, sp.csr_array((5, 5))], format="csr")
    shuffle = np.random.default_rng(7).permutation(W.shape[0])
    return precision(W[shuffle][:, shuffle])


GRAPHS = {
    "random": random_graph(40, 0.1, 0),
    "dense": random_graph(70, 0.5, 1),
    "chain": chain(33),
    "grid": grid(13, 9),
    "star": star(30),
    "islands": islands(),
    "one node": precision(sp.csr_array((1, 1))),
    "no edges": precision(sp.csr_array((6, 6))),
}
