"""Nearest neighbours among points of which many may be identical."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..kernels import exact


def nearest_points(
    points: Any, n_neighbors: int, metric: str
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The nearest neighbours of every point, itself excluded.

    Distances are computed between distinct points only, and neighbours are then drawn from the
    sets of identical points: a table with a few hundred distinct lines costs as much as those,
    and ties between identical points are settled here instead of by the search tree.

    Parameters
    ----------
    points : ndarray or csr_array of shape (n_points, n_features)
    n_neighbors : int
        At most n_points − 1.
    metric : str

    Returns
    -------
    near : ndarray of int64, shape (n_points, n_neighbors)
    distance : ndarray of shape (n_points, n_neighbors)
    """
    first, group = _distinct(points)
    near, distance = _search(points[first], min(n_neighbors, len(first) - 1), metric)
    if len(first) == points.shape[0]:
        return first[near[group]], distance[group]
    member = np.argsort(group, kind="stable")
    start = np.concatenate(([0], np.cumsum(np.bincount(group))))
    out = np.empty((points.shape[0], n_neighbors), dtype=np.int64)
    gap = np.zeros((points.shape[0], n_neighbors))
    _spread(member, start, near, distance, _offsets_table(start, n_neighbors), out, gap)
    return out, gap


def _distinct(points: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Position of the first of each set of identical points, and the set of each point."""
    if sp.issparse(points):
        # Lines are added up in the same order, so identical ones have identical projections,
        # and others agree in three random projections with probability zero.
        key = points @ np.random.default_rng(0).standard_normal((points.shape[1], 3))
    else:
        key = points + 0.0  # −0.0 and 0.0 are the same value but not the same bytes
    line = np.ascontiguousarray(key).view([("", key.dtype)] * key.shape[1]).ravel()
    _, first, group = np.unique(line, return_index=True, return_inverse=True)
    return first, group.ravel()


def _search(
    points: Any, n_neighbors: int, metric: str
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    n = points.shape[0]
    if n_neighbors == 0:
        return np.empty((n, 0), dtype=np.int64), np.empty((n, 0))
    # Loaded where it is used: it takes a third of a second.
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=n_neighbors + 1, metric=metric).fit(points)
    distance, near = search.kneighbors(points)
    itself = near == np.arange(n)[:, None]
    itself[~itself.any(axis=1), -1] = True
    shape = (n, n_neighbors)
    return near[~itself].reshape(shape).astype(np.int64), distance[~itself].reshape(shape)


def _offsets_table(start: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Steps to the neighbours inside each set of identical points, shape (n_sets, ⌈k/2⌉).

    Steps grow geometrically from one to half the set, so that a set of any size is a
    well-connected circulant graph. Sets of at most k + 1 points need none.
    """
    half = (k + 1) // 2
    reach = (np.diff(start) - 1) // 2
    steps = np.empty((len(reach), half), dtype=np.int64)
    previous = np.zeros(len(reach), dtype=np.int64)
    for t in range(half):
        ideal = np.rint(np.maximum(reach, 1) ** (t / max(1, half - 1))).astype(np.int64)
        previous = np.minimum(np.maximum(previous + 1, ideal), reach - (half - 1 - t))
        steps[:, t] = previous
    return steps


@exact
def _spread(member, start, near, distance, steps, out, gap):  # type: ignore[no-untyped-def]
    """Fill `out` and `gap` with members of the point's own set, then of the nearest sets."""
    k = out.shape[1]
    for group in range(len(start) - 1):
        size = start[group + 1] - start[group]
        own = member[start[group] : start[group + 1]]
        for p in range(size):
            i = own[p]
            count = 0
            if size - 1 <= k:
                for q in range(size):
                    if q != p:
                        out[i, count] = own[q]
                        count += 1
            else:
                for t in range(steps.shape[1]):
                    out[i, count] = own[(p + steps[group, t]) % size]
                    count += 1
                    if count < k:
                        out[i, count] = own[(p - steps[group, t]) % size]
                        count += 1
            for g in range(near.shape[1]):
                if count == k:
                    break
                other = near[group, g]
                n_other = start[other + 1] - start[other]
                # Each point enters the other set at a place of its own, which spreads edges.
                for q in range(min(n_other, k - count)):
                    out[i, count] = member[start[other] + (i + q) % n_other]
                    gap[i, count] = distance[group, g]
                    count += 1
