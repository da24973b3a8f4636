"""Lines of a matrix along which the local term is smooth: rows or columns, each by itself.

A line is Gaussian with precision K = aI + Σ_g b_g L_g, lines independent. Along a chain the
posterior is banded: means, variances and log-determinants are exact and take time linear in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend, SparseRows
from ..graphs.precision import GraphStack, Precision
from ..linalg.banded import WIDEST, Bands, find_bands

Array = NDArray[np.float64]
Index = NDArray[np.integer]
Along = Literal["rows", "cols"]

# Cells of the matrix up to which S is kept: a mean and a variance each, 512 MiB together.
MOST_CELLS = 1 << 25
# Lines that are solved together.
BATCH = 64


class Found(NamedTuple):
    """q(S) given the scales and the rest.

    Attributes
    ----------
    mean, variance : ndarray of shape (m, n)
    log_det : float
        Of the posterior precisions of all lines together.
    pull : float
        hᵀQ⁻¹h, where h is precision times target.
    energies : ndarray of shape (1 + n_graphs,)
        Σ ⟨sᵀs⟩ and Σ ⟨sᵀL_g s⟩ over the lines.
    draws : ndarray or None
        What an estimate may start from the next time.
    is_estimated : bool
        Whether variances and the log-determinant come from draws.
    """

    mean: Array
    variance: Array
    log_det: float
    pull: float
    energies: Array
    draws: Array | None = None
    is_estimated: bool = False


@dataclass(frozen=True, eq=False)
class Lines:
    """Where S is smooth: the lines of a matrix, and the graphs along each of them.

    Attributes
    ----------
    along : {"rows", "cols"}
        Whose graphs these are: "cols" smooths each row along the graph of the columns.
    shape : (int, int)
        Of the matrix.
    stack : GraphStack
    bands : Bands
    """

    along: Along
    shape: tuple[int, int]
    stack: GraphStack
    bands: Bands

    @property
    def count(self) -> int:
        """Lines, each with as many nodes as the graphs have."""
        return self.shape[0] if self.along == "cols" else self.shape[1]

    def places(self, rows: Index, cols: Index) -> tuple[Index, Index]:
        """Line and node of positions in the matrix."""
        return (rows, cols) if self.along == "cols" else (cols, rows)

    @property
    def diagonals(self) -> Array:
        """Mean diagonal of each graph's Laplacian, shape (n_graphs,)."""
        found: Array = 2.0 * self.stack.weights.sum(axis=1) / self.stack.n
        return found

    def prior(self, scales: Array) -> tuple[float, Array]:
        """ln|K| of one line, and how fast it grows with each scale: prior energies, (1 + g,)."""
        diagonal, between, log_det = _inverse(self, self.precision(scales))
        return log_det, _energies(self.stack, None, diagonal, between)

    def precision(self, scales: Array) -> Precision:
        """K."""
        return self.stack.precision(scales[1:], float(scales[0]))

    def condition(
        self,
        scales: Array,
        entries: SparseRows,
        precisions: Array,
        targets: Array,
        backend: Backend,
        before: tuple[Array, Array | None],
    ) -> Found:
        """q(S), exactly; `before` is what an inexact one would start from."""
        stack = self.stack
        line, node = self.places(entries.owners, entries.indices)
        order = np.argsort(line, kind="stable")
        ends = np.searchsorted(line[order], np.arange(0, self.count + BATCH, BATCH))
        K = self.precision(scales)
        mean, variance = np.empty((self.count, stack.n)), np.empty((self.count, stack.n))
        log_det, pull, energies = 0.0, 0.0, np.zeros(len(scales))
        for number, start in enumerate(range(0, self.count, BATCH)):
            stop = min(start + BATCH, self.count)
            here = order[ends[number] : ends[number + 1]]
            at = node[here], line[here] - start
            D, H = np.zeros((stack.n, stop - start)), np.zeros((stack.n, stop - start))
            D[at], H[at] = precisions[here], precisions[here] * targets[here]
            x, found = self.bands.condition(K, D, H, np.ones(stop - start), backend.map)
            mean[start:stop], variance[start:stop] = x.T, found.diagonal.T
            log_det += float(np.sum(found.logdet))
            pull += float(np.einsum("ij,ij->", x, H))
            energies += _energies(stack, x, found.diagonal, found.between)
        if self.along == "rows":
            mean, variance = np.ascontiguousarray(mean.T), np.ascontiguousarray(variance.T)
        return Found(mean, variance, log_det, pull, energies)


def lines_of(along: Along, stack: GraphStack, shape: tuple[int, int]) -> Lines:
    """Lines along a side's graphs; those that are not narrow are refused."""
    word = {"rows": "row", "cols": "column"}[along]
    if shape[0] * shape[1] > MOST_CELLS:
        raise ValueError(
            f"local={along!r} keeps a number for every cell: {shape[0]} x {shape[1]} are more than "
            f"{MOST_CELLS}; pass local=None"
        )
    if not len(stack.heads):
        raise ValueError(f"local={along!r} is smooth along a {word} graph: pass {word[:3]}_graph")
    bands = find_bands(stack.precision(np.ones(len(stack.weights)), 1.0))
    if bands is None:
        raise ValueError(
            f"local={along!r} needs a {word} graph along a line, such as chain_graph or time_graph "
            f"without period: in no order are all neighbours within {WIDEST} of each other"
        )
    return Lines(along, shape, stack, bands)


def _energies(stack: GraphStack, x: Array | None, diagonal: Array, between: Array) -> Array:
    """Σ ⟨sᵀs⟩ and Σ ⟨sᵀL_g s⟩ over lines (columns) of means x and covariances."""
    i, j = stack.heads, stack.tails
    steps = (diagonal[i] + diagonal[j] - 2.0 * between).sum(axis=1)
    size = float(diagonal.sum())
    if x is not None:
        steps = steps + ((x[i] - x[j]) ** 2).sum(axis=1)
        size += float(np.einsum("ij,ij->", x, x))
    return np.append(size, stack.weights @ steps)


def _inverse(lines: Lines, K: Precision) -> tuple[Array, Array, float]:
    """Variances (n, 1), covariances along edges (n_edges, 1) and log-determinant of K."""
    found = lines.bands.inverse(K, np.zeros((K.n, 1)), np.ones(1), map)
    return found.diagonal, found.between, float(np.sum(found.logdet))
