"""Recommend for 1,000 rows over 100,000 columns at rank 32: seconds and memory on top.

python -m benchmarks.users recommend
"""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import psutil

from bmcg import BMCG
from bmcg.graphs.precision import identity_precision
from bmcg.inference.state import Factors, Gamma
from bmcg.posterior import Posterior, SidePosterior
from bmcg.serving.ranking import Seen
from reporting import table

M, N, K, PER_ROW = 1_000, 100_000, 32, 100


def model(family: str) -> BMCG:
    """A fitted model of that size; its numbers do not matter to the time it takes."""
    rng = np.random.default_rng(0)
    sides = []
    for n in (M, N):
        width = K if family == "column" else K * (K + 1) // 2
        cov = np.full((n, width), 1e-3)
        if family != "column":
            r, s = np.tril_indices(K)
            cov *= r == s
        factors = Factors(rng.standard_normal((n, K)), cov, 0.0, np.eye(K))
        sides.append(SidePosterior(factors, identity_precision(n), np.empty((0, 0)), np.ones(K)))
    made = BMCG(posterior=family)
    gamma = Gamma(np.ones(K), np.ones(K))
    made.fitted_ = Posterior(family, *sides, gamma, Gamma(np.ones(()), np.ones(())), 1.0)
    made.shape_, made.row_labels_, made.col_labels_ = (M, N), None, None
    cols = np.sort(rng.integers(0, N, (M, PER_ROW)), axis=1).astype(np.int32)
    made.seen_ = Seen(np.arange(0, M * PER_ROW + 1, PER_ROW, dtype=np.int64), cols.ravel())
    return made


def measured(function) -> tuple[float, float, float]:
    """Seconds on the clock and on the processors, and the most memory on top, in MB."""
    process = psutil.Process(os.getpid())
    before, peak, done = process.memory_info().rss, 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, process.memory_info().rss)
            done.wait(0.005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    start, busy = time.perf_counter(), time.process_time()
    function()
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    done.set()
    watcher.join()
    return seconds, busy, (peak - before) / 1e6


def page() -> str:
    """Seconds and memory of each family and score."""
    rows = []
    for family in ("column", "row"):
        made = model(family)
        made.recommend(0, n=10)  # compiles
        for score in ("mean", "ucb"):
            seconds, busy, memory = measured(lambda s=score, one=made: one.recommend(n=10, score=s))
            rows.append([family, score, f"{seconds:.2f}", f"{busy:.2f}", f"{memory:.0f}"])
    header = ["posterior", "score", "seconds", "of processors", "MB on top of the model"]
    return (
        f"The best 10 of {N:,} columns for each of {M:,} rows at rank {K}. "
        "Promised: under 5 s and under 500 MB.\n\n" + table(header, rows)
    )
