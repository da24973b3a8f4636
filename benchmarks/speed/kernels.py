"""Kernels and whole sweeps against the arithmetic limit, at the size of MovieLens 1M.

The limit is the floating-point operations done at the rate of a large float64 matrix product,
measured in the same run on the same number of threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from benchmarks.reporting import table
from threadpoolctl import threadpool_limits

from bmcg import datasets
from bmcg.backends import NumbaBackend, count_jobs
from bmcg.backends.packed import outer_packed
from bmcg.inference.families import Family
from bmcg.inference.side import Prior, Side
from bmcg.inference.start import initial_state
from bmcg.inference.updates import sweep
from bmcg.linalg.engines import SparseEngine

from .common import make_halves, product_rate
from .stopwatch import OPERATIONS, Tally, stopwatch

RANK = 20
TARGETS: dict[Family, float] = {"row": 8.0, "column": 8.0}
SINGLE = ', storage="float32"'
# Many: a shared machine is quiet for moments only.
REPEATS = 25


def calls(half: Side, pool: NumbaBackend) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """One call of every kernel on one side, inputs drawn at random."""
    rng = np.random.default_rng(0)
    side, n_other = half.entries, int(half.entries.indices.max()) + 1
    F, X = rng.standard_normal((n_other, RANK)), rng.standard_normal((side.n, RANK))
    S = outer_packed(F)
    many = rng.standard_normal((side.n, RANK, 8))
    blocks, _ = pool.gram_and_sums(side, F)
    blocks[:, np.cumsum(np.arange(RANK) + 1) - 1] += 1.0
    return {
        "row_sums": (pool.row_sums, (side, S)),
        "row_sums, float32": (pool.row_sums, (side, S.astype(np.float32))),
        "gram_and_sums": (pool.gram_and_sums, (side, F)),
        "weighted_sums": (pool.weighted_sums, (side, F)),
        "gram_product": (pool.gram_product, (side, F, X)),
        "squared_error": (pool.squared_error, (side, X, F)),
        "block_product": (pool.block_product, (blocks, X)),
        "block_product, many": (pool.block_product, (blocks, many)),
        "lower_products": (pool.lower_products, (blocks, many)),
        "invert_blocks": (pool.invert_blocks, (blocks,)),
        "cholesky_blocks": (pool.cholesky_blocks, (blocks,)),
    }


def kernel_rows(half: Side, pool: NumbaBackend, rate: float) -> list[list[str]]:
    """A line for each kernel."""
    rows = []
    for name, (function, arguments) in calls(half, pool).items():
        function(*arguments)
        seconds = np.inf
        for _ in range(REPEATS):
            begin = time.perf_counter()
            function(*arguments)
            seconds = min(seconds, time.perf_counter() - begin)
        operations = OPERATIONS[name.split(",")[0]](*arguments)
        limit = operations / rate
        rows.append(
            [
                name,
                f"{operations / 1e9:.3f}",
                f"{1e3 * seconds:.1f}",
                f"{operations / seconds / 1e9:.1f}",
                f"{1e3 * limit:.2f}",
                f"{seconds / limit:.1f}",
            ]
        )
    return rows


def measure_sweep(family: Family, rows: Side, cols: Side) -> tuple[float, Tally, tuple[int, int]]:
    """The fastest of several sweeps: seconds, where they went, steps of both solves."""
    state = initial_state(rows, cols, family, RANK, 0)
    for _ in range(3):
        state, _, _ = sweep(family, rows, cols, Prior(), state)
    best, steps, least = Tally(), (0, 0), np.inf
    for _ in range(REPEATS):
        with stopwatch() as tally:
            begin = time.perf_counter()
            state, U, V = sweep(family, rows, cols, Prior(), state)
            seconds = time.perf_counter() - begin
        if seconds < least:
            least, best, steps = seconds, tally, (U.solution.steps, V.solution.steps)
    return least, best, steps


def breakdown(seconds: float, tally: Tally, rate: float) -> list[list[str]]:
    """Lines of one sweep, the slowest kind of work first, NumPy between the kernels last."""
    rows = []
    for name in sorted(tally.seconds, key=lambda kind: -tally.seconds[kind]):
        spent, operations = tally.seconds[name], tally.operations[name]
        rows.append(
            [
                name,
                str(tally.calls[name]),
                f"{operations / 1e9:.3f}",
                f"{1e3 * spent:.1f}",
                f"{100 * spent / seconds:.0f}",
                f"{spent * rate / operations:.1f}",
            ]
        )
    rest = seconds - sum(tally.seconds.values())
    rows.append(
        ["NumPy between kernels", "", "", f"{1e3 * rest:.1f}", f"{100 * rest / seconds:.0f}", ""]
    )
    return rows


def in_single(half: Side) -> Side:
    """The same side with its moments stored in float32."""
    return replace(half, entries=replace(half.entries, storage=np.float32))


def sweep_lines(
    family: Family,
    note: str,
    halves: tuple[Side, Side],
    seconds: float,
    tally: Tally,
    steps: tuple[int, int],
    rate: float,
) -> list[str]:
    """A sweep against its limit, and where its time went."""
    limit = tally.total_operations / rate
    factor, target = seconds / limit, TARGETS[family]
    engines = "/".join(half.engine.name for half in halves)
    if family != "row" and isinstance(halves[1].engine, SparseEngine):
        engines += f", {halves[1].engine.symbolic.flops / 1e9:.3f} GFLOP a column and factor"
    header = ("where", "calls", "GFLOP", "ms", "% of the sweep", "times the limit")
    return [
        f"`{family}`{note} sweep: {1e3 * seconds:.0f} ms for "
        f"{tally.total_operations / 1e9:.2f} GFLOP, **{factor:.1f} times the limit** of "
        f"{1e3 * limit:.0f} ms (at most {target:.0f} asked: "
        f"{'met' if factor <= target else 'missed'}); engines {engines}; "
        f"{steps[0]} and {steps[1]} steps of conjugate gradients.",
        table(header, breakdown(seconds, tally, rate)),
    ]


def section(n_jobs: int | None = None) -> str:
    """The tables in Markdown."""
    threads = count_jobs(n_jobs)
    pool = NumbaBackend(threads)
    data = datasets.load_movielens_1m()
    graphs = (data.row_graph, data.col_graph)
    found: dict[tuple[Family, str], tuple[float, Tally, tuple[int, int]]] = {}
    rates = [product_rate(threads)]
    with threadpool_limits(1):
        halves = {f: make_halves(data.observations, graphs, f, RANK, pool) for f in TARGETS}
        for family in TARGETS:
            found[family, ""] = measure_sweep(family, *halves[family])
            # The product is taken before and after: the fastest sets the limit.
            rates.append(product_rate(threads))
        found["row", SINGLE] = measure_sweep("row", *map(in_single, halves["row"]))
        rate = max(rates)
        kernels = kernel_rows(halves["row"][0], pool, rate)
    header = ("kernel, rows' side", "GFLOP", "ms", "GFLOP/s", "limit, ms", "times the limit")
    parts = [
        f"MovieLens 1M, {len(data.observations)} ratings, 10-NN feature graphs, rank {RANK}, "
        f"{threads} threads. A float64 matrix product of size 2000 runs at "
        f"{rate / 1e9:.1f} GFLOP/s, the best of {len(rates)} rounds; of sweeps and kernels the "
        f"best of {REPEATS}.",
        table(header, kernels),
    ]
    for (family, note), (seconds, tally, steps) in found.items():
        parts += sweep_lines(family, note, halves[family], seconds, tally, steps, rate)
    pool.close()
    return "\n\n".join(parts)
