"""Small matrices with a known structure, for the tests of the compared methods."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from bmcg import Observations
from bmcg.graphs import chain_graph


def random_graph(rng, n, n_edges=None):
    """Weighted adjacency with about `n_edges` random edges."""
    n_edges = 2 * n if n_edges is None else n_edges
    a, b = rng.integers(n, size=(2, n_edges))
    upper = sp.coo_array((rng.uniform(0.2, 1.5, n_edges), (a, b)), shape=(n, n)).toarray()
    upper = np.triu(upper + upper.T, 1)
    return sp.csr_array(upper + upper.T)


def laplacian(A):
    """Dense D − A; the identity where there is no graph."""
    dense = A.toarray()
    return np.diag(dense.sum(axis=1)) - dense


def observe(rng, M, share=0.6, noise=0.0):
    """A random part of M, at least one entry, with Gaussian noise."""
    mask = rng.random(M.shape) < share
    mask[0, 0] = True
    rows, cols = np.nonzero(mask)
    values = M[mask] + noise * rng.standard_normal(len(rows))
    return Observations.from_triples(rows, cols, values, shape=M.shape)


def smooth_matrix(rng, m=40, n=30, rank=3):
    """A matrix of low rank, smooth along chains of rows and columns, with those chains."""
    U = np.cumsum(rng.standard_normal((m, rank)), axis=0) / np.sqrt(m)
    V = np.cumsum(rng.standard_normal((n, rank)), axis=0) / np.sqrt(n)
    return U @ V.T, chain_graph(m), chain_graph(n)


def as_nan(observations):
    """The observations as a dense array, NaN where nothing was observed."""
    out = np.full(observations.shape, np.nan)
    out[observations.row_indices, observations.col_indices] = observations.values
    return out
