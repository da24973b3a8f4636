"""Where the patches of a picture lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Bool = NDArray[np.bool_]
Index = NDArray[np.intp]

SIDE = 8
# A picture is covered by this many patches, or by those at every half of a side where it takes
# more.
COVER_WITH = 300_000


@dataclass(frozen=True)
class PatchGrid:
    """Patches of a picture.

    Attributes
    ----------
    corners : ndarray of shape (p,)
        Position of each patch's first pixel in the flattened picture.
    steps : ndarray of shape (w,)
        From there to each of its pixels.
    size : int
        Pixels of the picture.
    """

    corners: Index
    steps: Index
    size: int

    def pixels(self, rows: slice | Index) -> Index:
        """Positions of the pixels of some patches, shape (n_rows, w)."""
        return self.corners[rows][:, None] + self.steps

    def batches(self, known: Bool, count: int) -> Iterator[Index]:
        """Patches with any known pixel, so many at a time; known (h * w,)."""
        for start in range(0, len(self.corners), count):
            rows = np.arange(start, min(start + count, len(self.corners)))
            rows = rows[known[self.pixels(rows)].any(axis=1)]
            if len(rows):
                yield rows


def patch_grid(shape: tuple[int, ...], stride: int) -> PatchGrid:
    """Patches at every `stride` pixels, and along the far edges; shape (h, w)."""
    h, w = shape
    side = min(SIDE, h, w)
    tops, lefts = (
        np.unique(np.append(np.arange(0, n - side + 1, stride), n - side)) for n in (h, w)
    )
    corners = (tops[:, None] * w + lefts).ravel()
    steps = (np.arange(side)[:, None] * w + np.arange(side)).ravel()
    return PatchGrid(corners, steps, h * w)


def covering_grid(shape: tuple[int, ...], wanted: Bool) -> PatchGrid:
    """As many patches as are affordable where pixels are wanted; any pixel is in four at least.

    At best every third of all patches, none of them next to another: all of them would say the
    same.

    Parameters
    ----------
    shape : (h, w)
    wanted : ndarray of bool, shape (h, w)
    """
    h, w = shape
    far = patch_grid(shape, SIDE // 2)
    # How many pixels are wanted in the rectangle above and left of each.
    below = np.pad(wanted.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    side = min(SIDE, h, w)
    for stride in range(1, SIDE // 2 + 1):
        near = patch_grid(shape, stride)
        top, left = np.divmod(near.corners, w)
        last, right = top + side, left + side
        holds = below[last, right] - below[top, right] - below[last, left] + below[top, left] > 0
        if stride == 1:
            holds &= (top + 2 * left) % 3 == 0
        corners = np.union1d(near.corners[holds], far.corners)
        if len(corners) <= COVER_WITH:
            break
    return PatchGrid(corners, far.steps, far.size)
