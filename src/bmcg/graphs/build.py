"""Graphs from points and shapes.

Every builder returns a symmetric adjacency matrix: a `scipy.sparse.csr_array` of float64
with positive weights, sorted indices and an empty diagonal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..observations.checking import LARGEST
from .nearest import nearest_points


def knn_graph(
    features: Any,
    n_neighbors: int = 10,
    *,
    metric: str = "euclidean",
    weights: Literal["gaussian", "binary"] = "gaussian",
    scale: float | None = None,
) -> sp.csr_array:
    """Graph that joins each point with its nearest neighbours.

    The Gaussian weight of a pair at distance d is exp(−d²/scale). The default scale is the one
    of GSPBox's ``gsp_nn_graph``: the squared mean of the distances from every point to itself
    (zero) and its neighbours. As there, the directed graph A becomes (A + Aᵀ)/2, so that a
    pair of which only one is the other's neighbour has half the weight of a mutual pair.

    Parameters
    ----------
    features : array_like, sparse matrix or numeric data frame, shape (n_points, n_features)
    n_neighbors : int
        Neighbours sought for each point, itself excluded; at most n_points − 1 are found.
    metric : str
        A metric of `sklearn.neighbors.NearestNeighbors`.
    weights : {"gaussian", "binary"}
        With ``"binary"`` every mutual pair has weight one.
    scale : float, optional
        Squared length over which Gaussian weights decay.

    Returns
    -------
    csr_array of shape (n_points, n_points)

    Notes
    -----
    Identical points are each other's first neighbours. Where there are more of them than
    `n_neighbors`, each is joined with a fixed choice spread over the whole set (a circulant
    graph), never with the same few: the result depends on the data alone and has no hubs.
    """
    check_count("n_neighbors", n_neighbors)
    if weights not in ("gaussian", "binary"):
        raise ValueError(f'weights={weights!r}: pass "gaussian" or "binary"')
    if scale is not None and not (np.isfinite(scale) and scale > 0):
        raise ValueError(f"scale={scale!r}: pass a positive number, or None for the default")
    points = _points(features)
    n = points.shape[0]
    k = min(int(n_neighbors), n - 1)
    near, distance = nearest_points(points, k, metric)
    i = np.repeat(np.arange(n), k)
    if weights == "binary":
        return symmetric_graph(n, i, near.ravel(), np.ones(n * k), how="mean")
    if scale is None:
        scale = (distance.sum() / (n * (k + 1))) ** 2
    # All distances are zero where the default scale is: any scale gives weights of one.
    weight = np.exp(-np.square(distance.ravel()) / (scale or 1.0))
    return symmetric_graph(n, i, near.ravel(), weight, how="mean")


def chain_graph(n: int, scale: float = math.sqrt(3.0), *, cutoff: float = 1e-8) -> sp.csr_array:
    """Chain whose weights exp(−|i − j|²/scale²) decay with distance along it.

    Parameters
    ----------
    n : int
        Number of nodes.
    scale : float
        Length over which weights decay, θ in the paper.
    cutoff : float
        Weights below it are left out, so that the matrix is banded: seven nodes to each side
        with the defaults.

    Returns
    -------
    csr_array of shape (n, n)
    """
    check_count("n", n)
    if not (np.isfinite(scale) and scale > 0):
        raise ValueError(f"scale={scale!r}: pass a positive number")
    if not 0 < cutoff < 1:
        raise ValueError(f"cutoff={cutoff!r}: pass a number between 0 and 1")
    reach = min(n - 1, int(scale * math.sqrt(-math.log(cutoff))))
    steps = np.arange(1, reach + 1)
    i = np.concatenate([np.arange(n - d) for d in steps] or [np.empty(0, dtype=np.int64)])
    lag = np.repeat(steps, n - steps)
    return symmetric_graph(n, i, i + lag, np.exp(-np.square(lag / scale)))


def grid_graph(shape: int | Sequence[int], *, diagonals: bool = False) -> sp.csr_array:
    """Grid of any dimension; neighbours along each axis have weight one.

    Parameters
    ----------
    shape : int or sequence of int
        Sizes of the axes. Nodes are numbered as `numpy.ravel` does: the last axis runs fastest.
    diagonals : bool
        Join diagonal neighbours too (eight neighbours in two dimensions instead of four).

    Returns
    -------
    csr_array of shape (prod(shape), prod(shape))
    """
    sizes = tuple(np.atleast_1d(np.asarray(shape)).tolist())
    if not sizes or any(type(s) is not int or s < 1 for s in sizes):
        raise ValueError(f"shape={shape!r}: pass whole numbers of at least one")
    number = np.arange(math.prod(sizes)).reshape(sizes)
    pairs = []
    for step in product((-1, 0, 1), repeat=len(sizes)):
        # Of a step and its opposite only the one that is positive first is taken.
        if step <= (0,) * len(sizes) or (not diagonals and sum(map(abs, step)) > 1):
            continue
        here = tuple(slice(max(0, -s), min(n, n - s)) for s, n in zip(step, sizes, strict=True))
        there = tuple(slice(max(0, s), min(n, n + s)) for s, n in zip(step, sizes, strict=True))
        pairs.append(np.stack([number[here].ravel(), number[there].ravel()]))
    i, j = np.concatenate(pairs, axis=1)
    return symmetric_graph(number.size, i, j, np.ones(len(i)))


def symmetric_graph(
    n: int,
    i: NDArray[np.integer],
    j: NDArray[np.integer],
    weight: NDArray[np.float64],
    how: Literal["max", "mean"] = "max",
) -> sp.csr_array:
    """Symmetric adjacency from directed edges; self loops and zero weights are dropped.

    Parameters
    ----------
    n : int
        Number of nodes.
    i, j : ndarray of int, shape (n_edges,)
    weight : ndarray of shape (n_edges,)
    how : {"max", "mean"}
        Weight of a pair {i, j}: the largest given in either direction, or (A + Aᵀ)/2, where no
        directed edge may be given twice.

    Returns
    -------
    csr_array of shape (n, n)
    """
    keep = (i != j) & (weight > 0)
    i, j, w = i[keep].astype(np.int64), j[keep].astype(np.int64), weight[keep]
    pair = np.minimum(i, j) * n + np.maximum(i, j)
    order = np.argsort(pair, kind="stable")
    pair, w = pair[order], w[order]
    starts = np.flatnonzero(np.concatenate(([True], pair[1:] != pair[:-1]))[: len(pair)])
    if len(starts):
        w = np.maximum.reduceat(w, starts) if how == "max" else np.add.reduceat(w, starts) / 2
    low, high = np.divmod(pair[starts], n)
    rows, cols = np.concatenate([low, high]), np.concatenate([high, low])
    graph = sp.csr_array((np.concatenate([w, w]), (rows, cols)), shape=(n, n), dtype=np.float64)
    graph.sort_indices()
    return graph


def check_count(argument: str, value: Any) -> None:
    """Refuse what is not a whole number of at least one."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{argument}={value!r}: pass a whole number of at least one")


def _points(features: Any) -> Any:
    if sp.issparse(features):
        points = sp.csr_array(features, dtype=np.float64)
        points.sum_duplicates()
        points.eliminate_zeros()
    else:
        try:
            points = np.asarray(features, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"features must hold numbers only: {error}; feature_graph takes mixed tables"
            ) from None
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(
            f"features has shape {points.shape}: pass a table of shape (n_points, n_features) "
            "with at least one of each"
        )
    values = points.data if sp.issparse(points) else points
    bad = int(values.size - np.isfinite(values).sum())
    if bad:
        raise ValueError(
            f"features holds {bad} NaN or infinite values; fill or drop them "
            "(feature_graph takes tables with missing values)"
        )
    if values.size and np.abs(values).max() > LARGEST:
        raise ValueError(
            f"features holds {np.abs(values).max():g}: the distance of values above {LARGEST:g} is "
            "no number; divide all of them by one"
        )
    return points
