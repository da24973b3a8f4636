"""What the speed benchmarks share: clocks, the matrix product's rate, a side ready to update."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bmcg.backends import NumbaBackend, SparseRows
from bmcg.graphs.precision import stack_graphs
from bmcg.inference.families import Family
from bmcg.inference.side import Side
from bmcg.likelihoods.gaussian import root_mean_square
from bmcg.linalg.engines import EngineName, choose_engine
from bmcg.observations import Observations, View

Array = NDArray[np.float64]


def best_seconds(function: Callable[[], Any], repeats: int = 5) -> float:
    """Wall seconds of the fastest of several calls, after one that compiles and warms up."""
    function()
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def product_rate(n_threads: int, size: int = 2000, repeats: int = 5) -> float:
    """Floating-point operations a second of a float64 matrix product, on so many threads."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, size, size))
    with threadpool_limits(n_threads):
        return 2.0 * size**3 / best_seconds(lambda: A @ B, repeats)


def make_half(
    view: View,
    graph: sp.csr_array | None,
    family: Family,
    rank: int,
    pool: NumbaBackend,
    *,
    scale: float = 1.0,
    ridge: float = 1e-6,
    engine: EngineName = "auto",
    seed: int = 0,
) -> Side:
    """One side as a fit sees it, its prior prepared.

    Parameters
    ----------
    view : View
    graph : csr_array of shape (n, n) or None
    family : {"column", "row", "joint"}
    rank : int
    pool : NumbaBackend
    scale : float
        What the values are divided by.
    ridge : float
    engine : str
    seed : int
    """
    n = len(view.indptr) - 1
    stack = stack_graphs([] if graph is None else [graph], n)
    strengths = np.ones(len(stack.weights))
    precision = stack.precision(strengths, 1.0 if graph is None else ridge)
    chosen = choose_engine(engine, precision, family, rank, pool, seed)
    values = view.values if scale == 1.0 else view.values / scale
    side = SparseRows(view.indptr, view.indices, values, pool)
    return Side(side, chosen.prepare(precision), chosen)


def make_halves(
    observations: Observations,
    graphs: tuple[sp.csr_array | None, sp.csr_array | None],
    family: Family,
    rank: int,
    pool: NumbaBackend,
) -> tuple[Side, Side]:
    """Both sides, values over their root mean square."""
    scale = root_mean_square(observations.values)
    views = (observations.by_row, observations.by_col)
    rows, cols = (
        make_half(view, graph, family, rank, pool, scale=scale, seed=which)
        for which, (view, graph) in enumerate(zip(views, graphs, strict=True))
    )
    return rows, cols
