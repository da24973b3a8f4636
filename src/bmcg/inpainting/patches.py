"""Overlapping patches as the rows of a matrix: its few components are the picture's texture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators import BMCG
from ..kernels.threads import workers
from ..observations import Observations, View
from ..posterior import Posterior

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]

SIDE = 8
# Patches are learned from at most this many entries, and evaluated this many rows at a time.
LEARN_FROM = 1_000_000
ROWS_AT_ONCE = 16_384


@dataclass(frozen=True)
class PatchGrid:
    """Where the patches of a picture lie.

    Attributes
    ----------
    corners : ndarray of shape (p,)
        Position of each patch's first pixel in the flattened picture (channels, rows, columns).
    steps : ndarray of shape (w,)
        From there to each of its pixels, channel by channel.
    size : int
        Pixels of the picture, all channels.
    """

    corners: Index
    steps: Index
    size: int

    def pixels(self, rows: slice | Index) -> Index:
        """Positions of the pixels of some patches, shape (n_rows, w)."""
        return self.corners[rows][:, None] + self.steps

    def observations(self, values: Array, known: Bool, rows: slice | Index) -> Observations:
        """The known pixels of some patches as a matrix of patches by pixels."""
        at = self.pixels(rows)
        i, j = np.nonzero(known[at])
        return Observations.from_triples(i, j, values[at[i, j]], shape=at.shape)


def patch_grid(shape: tuple[int, int, int], stride: int) -> PatchGrid:
    """Patches at every `stride` pixels, and along the far edges."""
    channels, h, w = shape
    side = min(SIDE, h, w)
    tops, lefts = (
        np.unique(np.append(np.arange(0, n - side + 1, stride), n - side)) for n in (h, w)
    )
    corners = (tops[:, None] * w + lefts).ravel()
    inside = (np.arange(side)[:, None] * w + np.arange(side)).ravel()
    steps = (np.arange(channels)[:, None] * h * w + inside).ravel()
    return PatchGrid(corners, steps, channels * h * w)


def learn_patches(
    values: Array, known: Bool, shape: tuple[int, int, int], parameters: dict[str, Any]
) -> BMCG:
    """Fit the model to patches of the known pixels.

    Parameters
    ----------
    values, known : ndarray of shape (channels * h * w,)
    shape : (channels, h, w)
    parameters : dict
        Of `BMCG`.
    """
    stride = 2
    while True:
        grid = patch_grid(shape, stride)
        if known.mean() * len(grid.corners) * len(grid.steps) <= LEARN_FROM or stride >= SIDE:
            break
        stride += 1
    observations = grid.observations(values, known, slice(None))
    return BMCG(**parameters).fit(observations)


def apply_patches(
    posterior: Posterior,
    values: Array,
    known: Bool,
    shape: tuple[int, int, int],
    n_jobs: int | None,
) -> tuple[Array, Array]:
    """Every pixel from all patches that hold it, each weighted by its precision.

    Returns
    -------
    mean, variance : ndarray of shape (channels * h * w,)
        The variance is that of a typical patch, not of their mean: patches share pixels, so
        their errors do not average out.
    """
    grid = patch_grid(shape, 2)
    total, weight, count = (np.zeros(grid.size) for _ in range(3))
    cols = np.arange(len(grid.steps))
    with workers(n_jobs) as pool:
        for first in range(0, len(grid.corners), ROWS_AT_ONCE):
            rows = np.arange(first, min(first + ROWS_AT_ONCE, len(grid.corners)))
            at = grid.pixels(rows)
            i, j = np.nonzero(known[at])
            indptr = np.concatenate(([0], np.cumsum(known[at].sum(axis=1)))).astype(np.int64)
            view = View(indptr, j.astype(np.int32), values[at[i, j]])
            local = posterior.with_rows(posterior.fold_in(view, pool))
            here = np.arange(len(rows))
            precision = 1.0 / np.maximum(local.variance_block(here, cols), 1e-12)
            weighted = precision * local.mean_block(here, cols)
            for sums, parts in ((total, weighted), (weight, precision), (count, at * 0 + 1.0)):
                sums += np.bincount(at.ravel(), parts.ravel(), grid.size)
    return total / weight, count / weight
