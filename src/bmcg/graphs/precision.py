"""Adjacency matrices turned into the prior precision of one side of the matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


@dataclass(frozen=True)
class Precision:
    """A sparse prior precision L = Σ_e w_e (e_a − e_b)(e_a − e_b)ᵀ + ridge·I.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n + 1,)
    indices : ndarray of int32, shape (nnz,)
    data : ndarray of float64, shape (nnz,)
        Compressed rows of L, every diagonal entry stored.
    diagonal : ndarray of shape (n,)
    heads, tails : ndarray of int32, shape (n_edges,)
        The two ends of each edge.
    weights : ndarray of shape (n_edges,)
    ridge : float
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]
    diagonal: NDArray[np.float64]
    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    weights: NDArray[np.float64]
    ridge: float

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.diagonal)

    @property
    def has_edges(self) -> bool:
        """Whether any two nodes are tied."""
        return len(self.weights) > 0

    def to_csr(self) -> sp.csr_array:
        """L as a sparse array of shape (n, n)."""
        return sp.csr_array((self.data, self.indices, self.indptr), shape=(self.n, self.n))

    def toarray(self) -> NDArray[np.float64]:
        """L as a dense array of shape (n, n); for small cases."""
        return self.to_csr().toarray()


@dataclass(frozen=True)
class GraphStack:
    """Several graphs over the same nodes on the union of their edges.

    Attributes
    ----------
    n : int
    heads, tails : ndarray of int32, shape (n_edges,)
        Union of the edges, heads before tails.
    weights : ndarray of shape (n_graphs, n_edges)
        Weight of each edge in each graph, zero where the graph lacks it.
    names : tuple of str
    """

    n: int
    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    weights: NDArray[np.float64]
    names: tuple[str, ...]

    def precision(
        self, strengths: Sequence[float] | NDArray[np.float64], ridge: float
    ) -> Precision:
        """Σ_g strength_g L_g + ridge·I on the pattern of the union."""
        w = np.asarray(strengths, dtype=np.float64) @ self.weights
        return _assemble(self.n, self.heads, self.tails, w, float(ridge))

    def without(self, graph: int) -> GraphStack:
        """The same less one graph and the edges that it alone has."""
        weights = np.delete(self.weights, graph, axis=0)
        used = weights.any(axis=0)
        names = tuple(name for g, name in enumerate(self.names) if g != graph)
        return GraphStack(self.n, self.heads[used], self.tails[used], weights[:, used], names)

    def part(self, nodes: NDArray[np.integer]) -> GraphStack:
        """Of some nodes, in ascending order, with the edges among them."""
        place = np.full(self.n, -1, dtype=np.int32)
        place[nodes] = np.arange(len(nodes), dtype=np.int32)
        inside = (place[self.heads] >= 0) & (place[self.tails] >= 0)
        ends = place[self.heads[inside]], place[self.tails[inside]]
        return GraphStack(len(nodes), *ends, self.weights[:, inside], self.names)

    def even(self, strength: float = 1.0) -> GraphStack:
        """Each edge over the root of both its ends' sums: every node is tied about alike."""
        weights = np.empty_like(self.weights)
        for g, own in enumerate(self.weights):
            ends = np.append(self.heads, self.tails)
            sums = np.bincount(ends, weights=np.append(own, own), minlength=self.n)
            both = sums[self.heads] * sums[self.tails]
            weights[g] = strength * np.divide(own, np.sqrt(both), out=own * 0.0, where=own > 0)
        return GraphStack(self.n, self.heads, self.tails, weights, self.names)

    def nearest(self, count: int) -> GraphStack:
        """In each graph only the edges that are among the `count` strongest of either end."""
        weights = np.zeros_like(self.weights)
        ends, others = np.append(self.heads, self.tails), np.arange(len(self.heads))
        edges = np.append(others, others)
        for g, own in enumerate(self.weights):
            order = np.lexsort((-own[edges], ends))
            counts = np.bincount(ends, minlength=self.n)
            place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
            kept = np.unique(edges[order[place < count]])
            weights[g, kept] = own[kept]
        used = weights.any(axis=0)
        return GraphStack(self.n, self.heads[used], self.tails[used], weights[:, used], self.names)


def stack_graphs(
    adjacencies: Sequence[sp.csr_array], n: int, names: Sequence[str] = ()
) -> GraphStack:
    """Collect adjacency matrices over n nodes.

    Parameters
    ----------
    adjacencies : sequence of csr_array of shape (n, n)
        Symmetric, non-negative, without self-loops.
    n : int
    names : sequence of str, optional

    Returns
    -------
    GraphStack
    """
    uppers = [sp.triu(A, k=1, format="csr") for A in adjacencies]
    union = sp.csr_array((n, n))
    for upper in uppers:
        union = union + (upper > 0).astype(np.float64)
    union = sp.coo_array(union)
    heads, tails = union.row.astype(np.int32), union.col.astype(np.int32)
    weights = np.zeros((len(uppers), len(heads)))
    key = heads.astype(np.int64) * n + tails
    for g, upper in enumerate(uppers):
        coo = sp.coo_array(upper)
        weights[g, np.searchsorted(key, coo.row.astype(np.int64) * n + coo.col)] = coo.data
    return GraphStack(n, heads, tails, weights, tuple(names))


def graph_precision(adjacency: sp.csr_array, ridge: float) -> Precision:
    """D − A + ridge·I (equation (46) of the paper)."""
    n = adjacency.shape[0]
    return stack_graphs([adjacency], n).precision([1.0], ridge)


def identity_precision(n: int) -> Precision:
    """The prior precision of a side without a graph."""
    none = np.empty(0, dtype=np.int32)
    return _assemble(n, none, none, np.empty(0), 1.0)


def _assemble(
    n: int,
    heads: NDArray[np.int32],
    tails: NDArray[np.int32],
    weights: NDArray[np.float64],
    ridge: float,
) -> Precision:
    degree = np.bincount(heads, weights, n) + np.bincount(tails, weights, n)
    diagonal: NDArray[np.float64] = (degree + ridge).astype(np.float64, copy=False)
    nodes = np.arange(n, dtype=np.int32)
    rows = np.concatenate((heads, tails, nodes))
    cols = np.concatenate((tails, heads, nodes))
    data = np.concatenate((-weights, -weights, diagonal))
    order = np.argsort(rows.astype(np.int64) * n + cols, kind="stable")
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n)))).astype(np.int64)
    return Precision(indptr, cols[order], data[order], diagonal, heads, tails, weights, ridge)
