"""Threads share work without losing, doubling or racing for any of it."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest

from bmcg.backends import NumbaBackend, count_jobs, open_backend
from bmcg.backends.numba import threads
from bmcg.backends.numba.threads import chunk_bounds


def test_every_item_is_done_once_by_any_number_of_threads():
    done = []
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with open_backend(8) as backend:
            found = backend.map(lambda i: done.append(i) or -i, range(20_000))
    finally:
        sys.setswitchinterval(old)
    assert sorted(done) == list(range(20_000))
    assert found == [-i for i in range(20_000)]


def test_two_threads_that_ask_first_share_one_pool(monkeypatch):
    made, pool = [], NumbaBackend(2)

    class Slow(threads.ThreadPoolExecutor):
        def __init__(self, *arguments, **options):
            made.append(self)
            time.sleep(0.05)
            super().__init__(*arguments, **options)

    monkeypatch.setattr(threads, "ThreadPoolExecutor", Slow)
    crowd = [threading.Thread(target=pool.map, args=(str, range(4))) for _ in range(4)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert len(made) == 1
    pool.close()


def test_a_map_within_a_map_ends():
    with open_backend(2) as backend:
        found = backend.map(lambda i: sum(backend.map(lambda j: i * j, range(5))), range(6))
    assert found == [10 * i for i in range(6)]


def test_a_failure_in_a_thread_reaches_the_caller_after_all_have_stopped():
    running = []

    def work(i):
        running.append(i)
        if i == 3:
            raise ArithmeticError("three")
        return i

    with open_backend(3) as backend:
        assert backend.map(lambda i: i * i, range(50)) == [i * i for i in range(50)]
        with pytest.raises(ArithmeticError, match="three"):
            backend.map(work, range(50))
        count = len(running)
        assert backend.map(lambda i: i, range(4)) == [0, 1, 2, 3]
        assert len(running) == count


def test_chunks_cover_all_rows_once_and_share_the_work():
    rng = np.random.default_rng(0)
    work = rng.zipf(1.5, size=5000).clip(max=10**6)
    bounds = chunk_bounds(work, size=20000)
    assert bounds[0] == 0
    assert bounds[-1] == 5000
    assert (np.diff(bounds) > 0).all()
    sums = np.add.reduceat(work, bounds[:-1])
    largest = np.maximum.reduceat(work, bounds[:-1])
    assert (sums - largest <= 20000).all()


@pytest.mark.parametrize("bad", [0, 1.5, "two"])
def test_a_senseless_number_of_threads_is_refused(bad):
    with pytest.raises(ValueError, match="n_jobs"):
        count_jobs(bad)
    with pytest.raises(ValueError, match="n_jobs"):
        NumbaBackend(bad)
