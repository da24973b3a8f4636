"""Where matrix entries lie in the factor's panels: putting matrices in, taking inverses out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...kernels import exact
from .symbolic import Symbolic

Float = NDArray[np.float64]
Int64 = NDArray[np.int64]


@exact
def _fill_columns(position, diagonal_position, data, D, lam, panels):  # type: ignore[no-untyped-def]
    K = panels.shape[1]
    for e in range(len(position)):
        for r in range(K):
            panels[position[e], r] = data[e] * lam[r]
    for i in range(len(diagonal_position)):
        for r in range(K):
            panels[diagonal_position[i], r] += D[i, r]


@exact
def _fill_blocks(corner, stride, node_corner, node_stride, data, B, lam, panels):  # type: ignore[no-untyped-def]
    k = len(lam)
    for e in range(len(corner)):
        for a in range(k):
            panels[corner[e] + a * (stride[e] + 1), 0] = data[e] * lam[a]
    for i in range(len(node_corner)):
        for a in range(k):
            for b in range(k):
                panels[node_corner[i] + a * node_stride[i] + b, 0] += B[i, a, b]


@exact
def _take_blocks(corner, stride, panels, out):  # type: ignore[no-untyped-def]
    k = out.shape[1]
    for i in range(len(corner)):
        for a in range(k):
            for b in range(k):
                out[i, a, b] = panels[corner[i] + a * stride[i] + b, 0]


def column_panels(symbolic: Symbolic, data: Float, D: Float, lam: Float) -> Float:
    """Panels (panel_size, K) of diag(D[:, r]) + lam[r] L for the K columns of D."""
    panels = np.zeros((symbolic.panel_size, len(lam)))
    _fill_columns(
        symbolic.entry_position, symbolic.diagonal_position, data, np.ascontiguousarray(D), lam,
        panels,
    )  # fmt: skip
    return panels


def block_panels(symbolic: Symbolic, data: Float, B: Float, lam: Float) -> Float:
    """Panels (k² panel_size, 1) of blockdiag(B) + L ⊗ diag(lam)."""
    k = len(lam)
    panels = np.zeros((symbolic.panel_size * k * k, 1))
    entries = _block_corners(symbolic, symbolic.entry_position, k)
    nodes = _block_corners(symbolic, symbolic.diagonal_position, k)
    _fill_blocks(*entries, *nodes, data, np.ascontiguousarray(B), lam, panels)
    return panels


def node_blocks(symbolic: Symbolic, panels: Float, k: int) -> Float:
    """The (n, k, k) diagonal blocks stored in panels of blocks."""
    out = np.empty((symbolic.n, k, k))
    _take_blocks(*_block_corners(symbolic, symbolic.diagonal_position, k), panels, out)
    return out


def block_diagonals(symbolic: Symbolic, positions: Int64, panels: Float, k: int) -> Float:
    """(len(positions), k) diagonals of the blocks at scalar panel positions."""
    corner, stride = _block_corners(symbolic, positions, k)
    return panels[corner[:, None] + np.arange(k) * (stride[:, None] + 1), 0]


def _block_corners(symbolic: Symbolic, positions: Int64, k: int) -> tuple[Int64, Int64]:
    """First entry of the k × k block at each scalar panel position, and its panel's row length."""
    fronts = symbolic.fronts
    s = np.searchsorted(fronts.panel_ptr, positions, side="right") - 1
    width = np.diff(fronts.first)[s]
    row, column = np.divmod(positions - fronts.panel_ptr[s], width)
    return (fronts.panel_ptr[s] + row * width) * k * k + column * k, width * k
