"""Exact diagonals of inverses through a sparse Cholesky factor and Takahashi's recursion.

One `Symbolic` per graph serves both shapes of posterior. *Columns*: k precisions
diag(D[:, r]) + lam[r] L, factored several side by side where fronts are small.
*Blocks*: one precision blockdiag(B) + L ⊗ diag(lam), on the same tree with every entry widened
to a k × k block.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dense import SelectedInverse, check_blocks, check_columns
from . import multifrontal
from .panels import block_diagonals, block_panels, column_panels, node_blocks
from .symbolic import Fronts, Symbolic

Float = NDArray[np.float64]
Mapper = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]

# Matrices factored side by side: at most so many, and where there are as many, no fewer than a
# register holds.
LANES, REGISTER = 12, 4
# The lanes of one matrix: see `_lanes`.
ONE = np.zeros(1, np.int64)
# Beyond this many rows in the typical column, fronts of several matrices leave the caches, and one
# matrix at a time is faster (measured: 630 rows 1.4 times faster, 100 rows 1.5 times slower).
_TALL = 300


@dataclass(frozen=True)
class ColumnFactor:
    """Cholesky factors of k precisions with one pattern.

    Attributes
    ----------
    symbolic : Symbolic
    panels : tuple of (panel_size, K) arrays
        Factors of consecutive runs of columns.
    k : int
    """

    symbolic: Symbolic
    panels: tuple[Float, ...]
    k: int

    @property
    def logdet(self) -> Float:
        """(k,) log-determinants of the precisions."""
        diagonal, out = self.symbolic.diagonal_position, np.empty(self.k)
        for batch, panel in zip(_batches(self.symbolic, self.k), self.panels, strict=True):
            width = batch.stop - batch.start
            out[batch] = 2.0 * np.log(panel[diagonal, :width]).sum(axis=0)
        return out


@dataclass(frozen=True)
class BlockFactor:
    """Cholesky factor of blockdiag(B) + L ⊗ diag(lam).

    Attributes
    ----------
    symbolic : Symbolic
    fronts : Fronts
        The graph's fronts widened to blocks.
    panels : (k² panel_size, 1) array
    k : int
    """

    symbolic: Symbolic
    fronts: Fronts
    panels: Float
    k: int

    @property
    def logdet(self) -> float:
        """Log-determinant of the precision."""
        positions = self.symbolic.diagonal_position
        pivots = block_diagonals(self.symbolic, positions, self.panels, self.k)
        return float(2.0 * np.log(pivots).sum())


def inverse_columns(
    symbolic: Symbolic,
    data: Float,
    D: Float,
    lam: Float,
    *,
    edges: bool = False,
    map_batches: Mapper = map,
) -> SelectedInverse:
    """Diagonals of (diag(D[:, r]) + lam[r] L)⁻¹ for every r.

    Parameters
    ----------
    symbolic : Symbolic
        Analysis of L's pattern.
    data : (nnz,) array
        Values of L on that pattern.
    D : (n, k) array
    lam : (k,) array
    edges : bool
        Also return the inverses' entries on the pattern.
    map_batches : callable
        ``map`` or a thread pool's; gets batches of columns.

    Returns
    -------
    SelectedInverse
        diagonal (n, k), logdet (k,), edges (nnz, k) or None.
    """
    data, D, lam = check_columns(symbolic, data, D, lam)

    def invert(batch: slice) -> tuple[Float, Float, Float | None]:
        panels, lanes = _factor_batch(symbolic, data, D, lam, batch)
        logdet = 2.0 * np.log(panels[symbolic.diagonal_position]).sum(axis=0)
        multifrontal.selected_inverse(symbolic.fronts, panels, panels, lanes)
        width = batch.stop - batch.start
        on_edges = panels[symbolic.entry_position, :width] if edges else None
        return panels[symbolic.diagonal_position, :width], logdet[:width], on_edges

    return _collect(symbolic, D.shape[1], edges, map_batches, invert)


def inverse_from_factor(
    factor: ColumnFactor, *, edges: bool = False, map_batches: Mapper = map
) -> SelectedInverse:
    """As `inverse_columns`, from a factor that is kept."""
    symbolic, logdet = factor.symbolic, factor.logdet
    starts = (batch.start for batch in _batches(symbolic, factor.k))
    panels_of = dict(zip(starts, factor.panels, strict=True))

    def invert(batch: slice) -> tuple[Float, Float, Float | None]:
        panels = panels_of[batch.start]
        inverse = np.empty_like(panels)
        multifrontal.selected_inverse(symbolic.fronts, panels, inverse, _lanes(panels))
        width = batch.stop - batch.start
        on_edges = inverse[symbolic.entry_position, :width] if edges else None
        return inverse[symbolic.diagonal_position, :width], logdet[batch], on_edges

    return _collect(symbolic, factor.k, edges, map_batches, invert)


def factor_columns(
    symbolic: Symbolic, data: Float, D: Float, lam: Float, *, map_batches: Mapper = map
) -> ColumnFactor:
    """Factor diag(D[:, r]) + lam[r] L for every r; arguments as in `inverse_columns`."""
    data, D, lam = check_columns(symbolic, data, D, lam)

    def factor(batch: slice) -> Float:
        return _factor_batch(symbolic, data, D, lam, batch)[0]

    panels = tuple(map_batches(factor, _batches(symbolic, D.shape[1])))
    return ColumnFactor(symbolic, panels, D.shape[1])


def solve_columns(factor: ColumnFactor, rhs: Float) -> Float:
    """x with Q_r x[:, r] = rhs[:, r] for every r; both (n, k)."""
    return _sweep_columns(factor, rhs, lower=True)


def draw_columns(factor: ColumnFactor, noise: Float) -> Float:
    """Columns distributed as N(0, Q_r⁻¹) for standard normal noise, both (n, k): PᵀL⁻ᵀ noise."""
    return _sweep_columns(factor, noise, lower=False)


def inverse_blocks(
    symbolic: Symbolic, data: Float, B: Float, lam: Float, *, edges: bool = False
) -> SelectedInverse:
    """Diagonal blocks of (blockdiag(B) + L ⊗ diag(lam))⁻¹.

    Parameters
    ----------
    symbolic : Symbolic
        Analysis of L's pattern.
    data : (nnz,) array
        Values of L on that pattern.
    B : (n, k, k) array
        Symmetric blocks.
    lam : (k,) array
    edges : bool
        Also return the diagonals of the inverse's blocks on the pattern.

    Returns
    -------
    SelectedInverse
        diagonal (n, k, k), logdet float, edges (nnz, k) or None.
    """
    factor = factor_blocks(symbolic, data, B, lam)
    logdet = factor.logdet
    inverse, k = factor.panels, factor.k
    multifrontal.selected_inverse(factor.fronts, inverse, inverse, ONE)
    on_edges = block_diagonals(symbolic, symbolic.entry_position, inverse, k) if edges else None
    return SelectedInverse(node_blocks(symbolic, inverse, k), logdet, on_edges)


def factor_blocks(symbolic: Symbolic, data: Float, B: Float, lam: Float) -> BlockFactor:
    """Factor blockdiag(B) + L ⊗ diag(lam); arguments as in `inverse_blocks`."""
    data, B, lam = check_blocks(symbolic, data, B, lam)
    k = len(lam)
    fronts = symbolic.fronts.expand(k)
    panels = block_panels(symbolic, data, B, lam)
    failed = multifrontal.factor(fronts, panels, ONE)
    if failed >= 0:
        _raise_indefinite(int(symbolic.order[failed // k]))
    return BlockFactor(symbolic, fronts, panels, k)


def solve_blocks(factor: BlockFactor, rhs: Float) -> Float:
    """x with Q vec(x) = vec(rhs), nodes by factors, both (n, k)."""
    return _sweep_blocks(factor, rhs, lower=True)


def draw_blocks(factor: BlockFactor, noise: Float) -> Float:
    """A draw from N(0, Q⁻¹) for standard normal noise, both (n, k): PᵀL⁻ᵀ noise."""
    return _sweep_blocks(factor, noise, lower=False)


def logdet_precision(symbolic: Symbolic, data: Float) -> float:
    """Log-determinant of one positive definite graph precision with values `data` (nnz,)."""
    zero = np.zeros((symbolic.n, 1))
    return float(factor_columns(symbolic, data, zero, np.ones(1)).logdet[0])


def _batches(symbolic: Symbolic, k: int) -> list[slice]:
    """Columns factored together: an even number of equal runs, for two threads or more."""
    tall = symbolic.flops > 3.0 * _TALL * symbolic.nnz_factor
    runs = k if tall else min(2 * -(-k // (2 * LANES)), max(1, k // REGISTER))
    cuts = np.linspace(0, k, runs + 1).round().astype(int)
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(cuts)]


def _lanes(panels: Float) -> NDArray[np.int64]:
    """An array whose length the kernels read: known lengths would be unrolled, not vectorised."""
    return np.zeros(panels.shape[1], np.int64)


def _factor_batch(
    symbolic: Symbolic, data: Float, D: Float, lam: Float, batch: slice
) -> tuple[Float, NDArray[np.int64]]:
    panels = column_panels(symbolic, data, D[:, batch], lam[batch])
    lanes = _lanes(panels)
    failed = multifrontal.factor(symbolic.fronts, panels, lanes)
    if failed >= 0:
        _raise_indefinite(int(symbolic.order[failed]))
    return panels, lanes


def _collect(
    symbolic: Symbolic,
    k: int,
    edges: bool,
    map_batches: Mapper,
    invert: Callable[[slice], tuple[Float, Float, Float | None]],
) -> SelectedInverse:
    """Put the batches' results side by side."""
    diagonal, logdet = np.empty((symbolic.n, k)), np.empty(k)
    on_edges = np.empty((len(symbolic.indices), k)) if edges else None
    batches = _batches(symbolic, k)
    for batch, part in zip(batches, map_batches(invert, batches), strict=True):
        diagonal[:, batch], logdet[batch] = part[0], part[1]
        if on_edges is not None:
            on_edges[:, batch] = part[2]
    return SelectedInverse(diagonal, logdet, on_edges)


def _sweep_columns(factor: ColumnFactor, rhs: Float, lower: bool) -> Float:
    symbolic, out = factor.symbolic, np.empty((factor.symbolic.n, factor.k))
    _check_rhs(rhs, out.shape)
    for batch, panels in zip(_batches(symbolic, factor.k), factor.panels, strict=True):
        x = np.zeros((symbolic.n, panels.shape[1]))
        width = batch.stop - batch.start
        x[:, :width] = rhs[symbolic.order, batch] if lower else rhs[:, batch]
        if lower:
            multifrontal.solve_lower(symbolic.fronts, panels, x, _lanes(panels))
        multifrontal.solve_upper(symbolic.fronts, panels, x, _lanes(panels))
        out[symbolic.order, batch] = x[:, :width]
    return out


def _sweep_blocks(factor: BlockFactor, rhs: Float, lower: bool) -> Float:
    order, shape = factor.symbolic.order, (factor.symbolic.n, factor.k)
    _check_rhs(rhs, shape)
    x = np.array(rhs[order] if lower else rhs, np.float64).reshape(-1, 1)
    if lower:
        multifrontal.solve_lower(factor.fronts, factor.panels, x, ONE)
    multifrontal.solve_upper(factor.fronts, factor.panels, x, ONE)
    out = np.empty(shape)
    out[order] = x.reshape(shape)
    return out


def _check_rhs(rhs: Float, shape: tuple[int, int]) -> None:
    if rhs.shape != shape:
        raise ValueError(f"rhs: shape {rhs.shape}; pass one value per node and column, {shape}")


def _raise_indefinite(node: int) -> None:
    raise np.linalg.LinAlgError(
        f"the precision is not positive definite at node {node}: "
        "raise the ridge of the graph or the diagonal"
    )
