"""Exact diagonals of inverses through a sparse Cholesky factor and Takahashi's recursion.

One `Symbolic` per graph serves both shapes of posterior. *Columns*: k precisions
diag(D[:, r]) + lam[r] L, factored several side by side where fronts are small.
*Blocks*: one precision blockdiag(B) + L ⊗ diag(lam), on the same tree with every entry widened
to a k × k block.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dense import SelectedInverse
from . import multifrontal
from .panels import block_diagonals, block_panels, column_panels, node_blocks
from .symbolic import Fronts, Symbolic

Float = NDArray[np.float64]
Index = NDArray[np.integer]
Mapper = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]

# Matrices factored side by side: at most so many, and where there are as many, no fewer than a
# register holds.
LANES, REGISTER = 12, 4
# Beyond this many rows in the typical column, fronts of several matrices leave the caches, and one
# matrix at a time is faster (measured: 630 rows 1.4 times faster, 100 rows 1.5 times slower).
_TALL = 300


def inverse_columns(
    symbolic: Symbolic, data: Float, D: Float, lam: Float, at: Index, map_batches: Mapper = map
) -> SelectedInverse:
    """Of (diag(D[:, r]) + lam[r] L)⁻¹ for every r.

    Parameters
    ----------
    symbolic : Symbolic
        Analysis of L's pattern.
    data : (nnz,) array
        Values of L on that pattern.
    D : (n, k) array
    lam : (k,) array
    at : (n_edges,) integer array
        Place of each edge among the entries of the pattern.
    map_batches : callable
        ``map`` or a thread pool's; gets batches of columns.
    """
    _check(symbolic, data, D, lam)
    edges = symbolic.entry_position[at]

    def invert(batch: slice) -> SelectedInverse:
        panels = column_panels(symbolic, data, D[:, batch], lam[batch])
        _factor(symbolic, symbolic.fronts, panels)
        logdet = 2.0 * np.log(panels[symbolic.diagonal_position]).sum(axis=0)
        multifrontal.selected_inverse(symbolic.fronts, panels, _lanes(panels))
        return SelectedInverse(panels[symbolic.diagonal_position], logdet, panels[edges])

    diagonal, between = np.empty(D.shape), np.empty((len(edges), len(lam)))
    logdet, batches = np.empty(len(lam)), _batches(symbolic, len(lam))
    for batch, part in zip(batches, map_batches(invert, batches), strict=True):
        diagonal[:, batch], logdet[batch], between[:, batch] = part
    return SelectedInverse(diagonal, logdet, between)


def inverse_blocks(
    symbolic: Symbolic, data: Float, B: Float, lam: Float, at: Index
) -> SelectedInverse:
    """Of (blockdiag(B) + L ⊗ diag(lam))⁻¹ for symmetric blocks B (n, k, k).

    The other arguments are those of `inverse_columns`.
    """
    _check(symbolic, data, B, lam)
    k = len(lam)
    fronts, panels = symbolic.fronts.expand(k), block_panels(symbolic, data, B, lam)
    _factor(symbolic, fronts, panels)
    pivots = block_diagonals(symbolic, symbolic.diagonal_position, panels, k)
    logdet = float(2.0 * np.log(pivots).sum())
    multifrontal.selected_inverse(fronts, panels, _lanes(panels))
    between = block_diagonals(symbolic, symbolic.entry_position[at], panels, k)
    return SelectedInverse(node_blocks(symbolic, panels, k), logdet, between)


def logdet_precision(symbolic: Symbolic, data: Float) -> float:
    """Log-determinant of one positive definite graph precision with values `data` (nnz,)."""
    panels = column_panels(symbolic, data, np.zeros((symbolic.n, 1)), np.ones(1))
    _factor(symbolic, symbolic.fronts, panels)
    return float(2.0 * np.log(panels[symbolic.diagonal_position]).sum())


def _check(symbolic: Symbolic, data: Float, own: Float, lam: Float) -> None:
    """Kernels check no bounds: what reaches them has to fit."""
    n, k, nnz = symbolic.n, len(lam), len(symbolic.indices)
    if own.shape not in ((n, k), (n, k, k)):
        raise ValueError(f"shape {own.shape}: pass a row or a block for each of {n} nodes, k={k}")
    if data.shape != (nnz,):
        raise ValueError(f"data: shape {data.shape}; pass one value per pattern entry, ({nnz},)")


def _batches(symbolic: Symbolic, k: int) -> list[slice]:
    """Columns factored together: an even number of equal runs, for two threads or more."""
    tall = symbolic.flops > 3.0 * _TALL * symbolic.nnz_factor
    runs = k if tall else min(2 * -(-k // (2 * LANES)), max(1, k // REGISTER))
    cuts = np.linspace(0, k, runs + 1).round().astype(int)
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(cuts)]


def _lanes(panels: Float) -> NDArray[np.int64]:
    """An array whose length the kernels read: known lengths would be unrolled, not vectorised."""
    return np.zeros(panels.shape[1], np.int64)


def _factor(symbolic: Symbolic, fronts: Fronts, panels: Float) -> None:
    """The factor in the place of the matrix."""
    failed = multifrontal.factor(fronts, panels, _lanes(panels))
    if failed >= 0:
        node = symbolic.order[failed * symbolic.n // fronts.first[-1]]
        raise np.linalg.LinAlgError(
            f"the precision is not positive definite at node {node}: "
            "raise the ridge of the graph or the diagonal"
        )
