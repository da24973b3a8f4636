"""Threads over fixed chunks: the cut depends on the data alone, so results do too.

Kernels release the interpreter lock and write to rows of their own. A chunk is a run of
rows of about equal work; its bounds never depend on the number of threads, and sums over
chunks are taken in order. That makes every result bit-identical for any `n_jobs`.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import T

# Operations of a chunk: a call costs as much as some ten thousand of them.
CHUNK_WORK = 1 << 20
# Of chunks whose rows are all alike, of which a few a thread are enough.
EVEN_WORK = 1 << 18


def count_jobs(n_jobs: int | None) -> int:
    """Threads to use: all cores for None or -1, scikit-learn's rule for other negatives."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cores = cores or 1
    if n_jobs is None:
        return cores
    if n_jobs == 0 or not isinstance(n_jobs, (int, np.integer)):
        raise ValueError(f"n_jobs={n_jobs!r}: pass a whole number of threads, -1 or None for all")
    return max(1, cores + 1 + n_jobs) if n_jobs < 0 else int(n_jobs)


def chunk_bounds(work: NDArray[np.int64], size: int = CHUNK_WORK) -> NDArray[np.int64]:
    """Cut rows into runs of about `size` units of work.

    Parameters
    ----------
    work : ndarray of shape (n_rows,)
        Work of each row.

    Returns
    -------
    ndarray of shape (n_chunks + 1,)
        Row positions, first 0 and last n_rows.
    """
    n = len(work)
    if n == 0:
        return np.zeros(1, dtype=np.int64)
    total = np.cumsum(work, dtype=np.int64)
    cuts = np.searchsorted(total, np.arange(size, int(total[-1]), size)) + 1
    return np.unique(np.concatenate(([0], cuts[cuts < n], [n]))).astype(np.int64)


def even_bounds(n: int, work: int) -> NDArray[np.int64]:
    """Cuts of n rows of `work` operations each, as `chunk_bounds` makes them."""
    step = max(1, EVEN_WORK // max(1, work))
    return np.append(np.arange(0, n, step), n).astype(np.int64)


class Workers:
    """A pool that maps a function over chunks, in order; one thread means no pool at all."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_threads = count_jobs(n_jobs)
        self._pool: ThreadPoolExecutor | None = None
        self._lock = Lock()

    def map(self, function: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
        """`function` of each item, results in the items' order; may be called from within one."""
        n = len(items)
        if self.n_threads == 1 or n < 2:
            return [function(item) for item in items]
        results: list[Any] = [None] * n
        # A queue hands out each place once, with or without a lock of the interpreter's own.
        places = deque(range(n))

        def work() -> None:
            while places:
                try:
                    i = places.popleft()
                except IndexError:  # another thread took the last one
                    return
                results[i] = function(items[i])

        # One hand-over a thread, not one a chunk: each takes the next chunk until none is left.
        pool = self._started()
        helpers = [pool.submit(work) for _ in range(min(self.n_threads, n) - 1)]
        try:
            work()
        finally:
            # Also where this thread failed: nobody may write to arrays that are given up. A
            # helper that has not begun finds nothing to do, and nobody waits for it.
            places.clear()
            begun = [helper for helper in helpers if not helper.cancel()]
            wait(begun)
        for helper in begun:
            helper.result()
        return results

    def _started(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="bmcg")
            return self._pool

    def over_rows(self, function: Callable[[int, int], T], bounds: NDArray[np.int64]) -> list[T]:
        """`function(start, stop)` over consecutive bounds."""
        return self.map(
            lambda i: function(int(bounds[i]), int(bounds[i + 1])), range(len(bounds) - 1)
        )

    def close(self) -> None:
        """End the threads."""
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown()
                self._pool = None
