"""Monte Carlo variances of a graph whose factor would fill memory, against exact solves.

200,000 rows with a 10-NN graph of points in 10 dimensions. After a few sweeps of the `column`
family, a random sample of the last sweep's variances is solved for exactly, one system an entry,
by conjugate gradients.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp
from benchmarks.reporting import table
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from threadpoolctl import threadpool_limits

from bmcg.backends import NumbaBackend, count_jobs
from bmcg.backends.packed import packed_diagonal
from bmcg.inference.side import Prior, Side
from bmcg.inference.start import initial_state
from bmcg.inference.updates import sweep
from bmcg.likelihoods.gaussian import root_mean_square
from bmcg.linalg.cg import conjugate_gradient
from bmcg.linalg.monte_carlo import MonteCarloEngine

from .common import make_half
from .synthetic import power_law_observations

Array = NDArray[np.float64]

NODES, COLUMNS, OBSERVED = 200_000, 2_000, 4_000_000
DIMENSIONS, NEIGHBOURS, RANK, SWEEPS = 10, 10, 4, 3
SAMPLE = 64
LIMIT = 0.02


def nearest_neighbours(n: int, seed: int, n_jobs: int) -> sp.csr_array:
    """10-NN graph of n standard normal points in 10 dimensions, made symmetric."""
    points = np.random.default_rng(seed).standard_normal((n, DIMENSIONS))
    _, found = cKDTree(points).query(points, NEIGHBOURS + 1, workers=n_jobs)
    heads = np.repeat(np.arange(n), NEIGHBOURS)
    A = sp.coo_array((np.ones(len(heads)), (heads, found[:, 1:].ravel())), shape=(n, n))
    return sp.csr_array(sp.csr_array(A).maximum(sp.csr_array(A.T)))


def exact_variances(half: Side, D: Array, lam: Array, nodes: NDArray[np.int64]) -> Array:
    """(Q_r⁻¹)_ii of the nodes for every column, by solves to a residual of 1e-10."""
    out = np.empty((len(nodes), len(lam)))
    for r in range(len(lam)):
        pivot = D[:, r] + half.prior.rows_diagonal * lam[r]
        unit = np.zeros((len(D), len(nodes)))
        unit[nodes, np.arange(len(nodes))] = 1.0
        found = conjugate_gradient(
            lambda X, d=pivot, c=lam[r]: d[:, None] * X + c * half.prior.neighbours(X),
            unit,
            precondition=lambda R, d=pivot: R / d[:, None],
            systems=len(nodes),
            residual_tol=1e-10,
            max_steps=2000,
        )
        out[:, r] = found.x[nodes, np.arange(len(nodes))]
    return out


def section(n_jobs: int | None = None, nodes: int = NODES, observed: int = OBSERVED) -> str:
    """The table in Markdown."""
    threads = count_jobs(n_jobs)
    pool = NumbaBackend(threads)
    observations = power_law_observations(observed, nodes, COLUMNS)
    graph = nearest_neighbours(nodes, 0, threads)
    scale = root_mean_square(observations.values)
    views = (observations.by_row, observations.by_col)
    with threadpool_limits(1):
        rows = make_half(
            views[0], graph, "column", RANK, pool, scale=scale, ridge=1e-2, engine="monte_carlo"
        )
        cols = make_half(views[1], None, "column", RANK, pool, scale=scale)
        state = initial_state(rows, cols, "column", RANK, 0)
        seconds = np.inf
        for _ in range(SWEEPS):
            tau, lam = float(state.tau.mean), state.row_lam
            begin = time.perf_counter()
            state, U, _ = sweep("column", rows, cols, Prior(), state)
            seconds = min(seconds, time.perf_counter() - begin)
        D = tau * U.sums.grams[:, packed_diagonal(RANK)]
        chosen = np.random.default_rng(1).choice(nodes, SAMPLE, replace=False)
        exact = exact_variances(rows, D, lam, chosen)
        lines = [line(rows, D, lam, chosen, exact, count, pool) for count in (4, 8, 16, 32)]
        swept = np.abs(U.factors.cov[chosen] / exact - 1.0)
    pool.close()
    header = ("draws", "largest error, %", "rms error, %", "share within 2 %", "seconds")
    return "\n\n".join(
        [
            f"{nodes} rows, {NEIGHBOURS}-NN graph of points in {DIMENSIONS} dimensions "
            f"({graph.nnz // 2} edges), {len(observations)} observations in {COLUMNS} columns, "
            f"`column`, rank {RANK}, {threads} threads. A sweep takes {seconds:.1f} s. "
            f"{SAMPLE} nodes chosen at random, all columns: {exact.size} entries solved to a "
            f"residual of 1e-10. The sweep's own variances (16 draws) are off by at most "
            f"**{100 * swept.max():.2f} %** (at most {100 * LIMIT:.0f} % asked: "
            f"{'met' if swept.max() <= LIMIT else 'missed'}).",
            table(header, lines),
        ]
    )


def line(
    half: Side,
    D: Array,
    lam: Array,
    chosen: NDArray[np.int64],
    exact: Array,
    count: int,
    pool: NumbaBackend,
) -> list[str]:
    """Errors with so many draws."""
    engine = MonteCarloEngine(pool, 0, count)
    begin = time.perf_counter()
    found = engine.estimate_columns(half.prior, D, lam)[chosen]
    seconds = time.perf_counter() - begin
    error = np.abs(found / exact - 1.0)
    return [
        str(count),
        f"{100 * error.max():.2f}",
        f"{100 * np.sqrt(np.mean(error**2)):.2f}",
        f"{100 * np.mean(error <= LIMIT):.0f} %",
        f"{seconds:.1f}",
    ]
