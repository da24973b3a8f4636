"""Overlapping patches as the rows of matrices: their few components are the picture's texture.

Patches come in kinds: edges of one direction, a texture, flat ground. One matrix of all kinds
has a high rank, one of each kind a low one, so every kind has a model of its own, and a patch
belongs where its known pixels are most probable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from ..backends import Backend, NumbaBackend
from ..estimators import BMCG
from ..observations import Observations, View
from .fits import fit_whole

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]
Shape = tuple[int, int, int]

SIDE = 8
# Kinds of patches at most, and how many times they are learned and told apart anew.
KINDS, ROUNDS = 16, 1
# Sweeps of the fits before the last.
ROUGH_SWEEPS = 8
# A kind is learned from no fewer entries than this many whole patches have.
LEAST_PATCHES = 300
# Patches are learned from at most this many entries, and evaluated this many rows at a time.
LEARN_FROM = 400_000
ROWS_AT_ONCE = 16_384
# A picture is covered by this many patches, or by those at every half of a side where it takes
# more.
COVER_WITH = 300_000


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

    def view(self, values: Array, known: Bool, rows: slice | Index) -> View:
        """The same by patch alone."""
        at = self.pixels(rows)
        seen = known[at]
        i, j = np.nonzero(seen)
        indptr = np.concatenate(([0], np.cumsum(seen.sum(axis=1)))).astype(np.int64)
        return View(indptr, j.astype(np.int32), values[at[i, j]])

    def batches(self) -> list[Index]:
        """Rows, `ROWS_AT_ONCE` at a time."""
        p = len(self.corners)
        return [np.arange(a, min(a + ROWS_AT_ONCE, p)) for a in range(0, p, ROWS_AT_ONCE)]


def patch_grid(shape: Shape, stride: int) -> PatchGrid:
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


def covering_grid(shape: Shape, known: Bool) -> PatchGrid:
    """As many patches as are affordable where pixels are missing; any pixel is in four at least.

    Parameters
    ----------
    shape : (channels, h, w)
    known : ndarray of bool, shape (channels * h * w,)
    """
    _, h, w = shape
    far = patch_grid(shape, SIDE // 2)
    # How many pixels are missing in the rectangle above and left of each.
    gone = (~known.reshape(shape)).any(axis=0).cumsum(axis=0).cumsum(axis=1)
    below = np.pad(gone, ((1, 0), (1, 0)))
    side = min(SIDE, h, w)
    for stride in range(1, SIDE // 2 + 1):
        near = patch_grid(shape, stride)
        top, left = np.divmod(near.corners, w)
        last, right = top + side, left + side
        holes = below[last, right] - below[top, right] - below[last, left] + below[top, left]
        corners = np.union1d(near.corners[holes > 0], far.corners)
        if len(corners) <= COVER_WITH:
            break
    return PatchGrid(corners, far.steps, far.size)


def learn_kinds(
    values: Array, known: Bool, shape: Shape, surface: Array, parameters: dict[str, Any]
) -> list[BMCG]:
    """Fit a model to each kind of patches.

    Parameters
    ----------
    values, known : ndarray of shape (channels * h * w,)
    shape : (channels, h, w)
    surface : ndarray of shape (h, w)
        A first guess of the picture, in grey: directions in it tell patches apart at first.
    parameters : dict
        Of `BMCG`.
    """
    grid = patch_grid(shape, 2)
    rng = np.random.default_rng(int(parameters["random_state"]))
    # Entries of patches that are nearly whole tell less each: more of them are wanted.
    share = float(known.mean())
    wanted = int(LEARN_FROM * max(share, 0.5) / (share * len(grid.steps)))
    rows = np.sort(rng.permutation(len(grid.corners))[:wanted])
    # Inside a hole nothing is known, and nothing to learn.
    rows = rows[known[grid.pixels(rows)].any(axis=1)]
    entries = known[grid.pixels(rows)].sum()
    n_kinds = int(np.clip(entries / (LEAST_PATCHES * len(grid.steps)), 1, KINDS))
    kind = _first_kinds(surface, rows, grid, n_kinds)
    pool = NumbaBackend(parameters["n_jobs"])
    models: list[BMCG] = []
    # Fits that only tell patches apart may be rough.
    rough = parameters | {"max_sweeps": min(ROUGH_SWEEPS, parameters["max_sweeps"])}
    rounds = ROUNDS if n_kinds > 1 else 1
    for number in range(1, rounds + 1):
        if models:
            kind = _most_probable(models, grid.view(values, known, rows), pool)
        # A kind that lost its patches is dropped: the rest takes what it had.
        sets = [rows[kind == c] for c in np.unique(kind)]
        large = [few for few in sets if len(few) >= LEAST_PATCHES // 10] or [rows]
        usual = parameters if number == rounds else rough
        models = [fit_whole(usual, grid.observations(values, known, s)) for s in large]
    pool.close()
    return models


def kinds_of(
    models: list[BMCG], grid: PatchGrid, values: Array, known: Bool, width: int, pool: Backend
) -> Index:
    """Which model each patch of a grid belongs to, shape (p,).

    Every second patch of every second line is asked which of all models is the most probable, the
    others which one among those of the patches around them.

    Parameters
    ----------
    width : int
        Of the picture.
    """
    top, left = np.divmod(grid.corners, width)
    size = int(grid.corners.max()) + 2 * width + 2
    found = np.full(size, -1, dtype=np.intp)
    first = (top % 2 == 0) & (left % 2 == 0)
    _ask(models, grid, values, known, np.flatnonzero(first), None, found, pool)
    before, after = grid.corners - (top % 2) * width, grid.corners + (top % 2) * width
    around = np.stack([row + step for row in (before, after) for step in (-(left % 2), left % 2)])
    near = found[around]
    # A patch without any such neighbour is asked of all models.
    lonely = (near < 0).all(axis=0)
    _ask(models, grid, values, known, np.flatnonzero(lonely), None, found, pool)
    rest = np.flatnonzero(~first & ~lonely)
    _ask(models, grid, values, known, rest, near[:, rest], found, pool)
    return found[grid.corners]


def _ask(
    models: list[BMCG],
    grid: PatchGrid,
    values: Array,
    known: Bool,
    rows: Index,
    among: Index | None,
    found: Index,
    pool: Backend,
) -> None:
    """Write the most probable kind of some patches to where they begin in `found`.

    `among` (4, n_rows) has the kinds in question, -1 for none; None for all.
    """
    best = np.full(len(rows), -np.inf)
    kind = np.zeros(len(rows), dtype=np.intp)
    if among is not None:
        kind = among.max(axis=0)
        # Patches whose neighbours agree are not asked.
        open_ = ((among != kind) & (among >= 0)).any(axis=0)
    for c, model in enumerate(models):
        here = np.arange(len(rows))
        if among is not None:
            here = np.flatnonzero(open_ & (among == c).any(axis=0))
        for start in range(0, len(here), ROWS_AT_ONCE):
            some = here[start : start + ROWS_AT_ONCE]
            evidence = model.fitted_.evidence(grid.view(values, known, rows[some]), pool)
            better = evidence > best[some]
            best[some[better]], kind[some[better]] = evidence[better], c
    found[grid.corners[rows]] = kind


def apply_patches(
    models: list[BMCG], kind: Index, grid: PatchGrid, values: Array, known: Bool, pool: Backend
) -> tuple[Array, Array]:
    """Every pixel from all patches that hold it, each weighted by its precision.

    Returns
    -------
    mean, variance : ndarray of shape (channels * h * w,)
        The variance is that of a typical patch, not of their mean: patches share pixels, so
        their errors do not average out.
    """
    total, weight, count = (np.zeros(grid.size) for _ in range(3))
    cols = np.arange(len(grid.steps))
    for batch in grid.batches():
        for c, model in enumerate(models):
            rows = batch[kind[batch] == c]
            if len(rows) == 0:
                continue
            at, here = grid.pixels(rows), np.arange(len(rows))
            posterior = model.fitted_
            local = posterior.with_rows(posterior.fold_in(grid.view(values, known, rows), pool))
            precision = 1.0 / np.maximum(local.variance_block(here, cols), 1e-12)
            weighted = precision * local.mean_block(here, cols)
            for sums, parts in ((total, weighted), (weight, precision), (count, at * 0 + 1.0)):
                sums += np.bincount(at.ravel(), parts.ravel(), grid.size)
    return total / weight, count / weight


def _most_probable(models: list[BMCG], patches: View, pool: Backend) -> Index:
    return np.argmax([model.fitted_.evidence(patches, pool) for model in models], axis=0)


def _first_kinds(surface: Array, rows: Index, grid: PatchGrid, n_kinds: int) -> Index:
    """Kinds by the direction, its clarity and the strength of the slopes within a patch.

    These come from the averaged products of slopes, the structure tensor: the direction's double
    angle has no sign, and a clarity of nought makes it irrelevant.
    """
    if n_kinds == 1:
        return np.zeros(len(rows), dtype=np.intp)
    inside = grid.steps[grid.steps < surface.size]
    at = grid.corners[rows][:, None] + inside
    gy, gx = (slope.ravel() for slope in np.gradient(surface))
    xx, yy, xy = (product[at].mean(axis=1) for product in (gx * gx, gy * gy, gx * gy))
    strength = xx + yy + 1e-12
    features = np.stack(
        [(xx - yy) / strength, 2 * xy / strength, 0.7 * np.log1p(np.sqrt(strength))], axis=1
    )
    # One thread, for the same sums whatever the machine.
    with threadpool_limits(1):
        return KMeans(n_kinds, n_init=2, random_state=0).fit_predict(features)
