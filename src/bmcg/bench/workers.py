"""Cells in processes of their own, so that one can be stopped, and memory be limited."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from threadpoolctl import threadpool_limits

from .measuring import FAILED, NOT_RUN, Cell, measure, stopped, unfinished

GIB = 2**30
TOO_LITTLE = (
    "the process of a cell could not begin: there is too little memory to import the package; "
    "finished cells are kept, the same command goes on from there"
)
Done = Callable[[Cell, dict[str, Any]], None]
Results = queue.SimpleQueue[tuple[Cell, dict[str, Any] | Exception]]


@dataclass(frozen=True)
class Limits:
    """What a cell may take.

    Attributes
    ----------
    seconds : float
        Wall time of one cell.
    memory : float
        GiB of one worker's address space beyond what it has at the start; not enforced where
        the system cannot.
    budget : float or None
        Seconds after which no further cell is started.
    """

    seconds: float = 1800.0
    memory: float = 8.0
    budget: float | None = None


def run_cells(cells: Sequence[Cell], limits: Limits, jobs: int, done: Done) -> None:
    """Measure cells and hand each result over as it comes.

    Parameters
    ----------
    cells : sequence of Cell
        Started in this order.
    limits : Limits
    jobs : int
        Workers, each with one thread.
    done : callable
        Called in this process, one call at a time.
    """
    todo: queue.SimpleQueue[Cell] = queue.SimpleQueue()
    for cell in cells:
        todo.put(cell)
    end = None if limits.budget is None else time.monotonic() + limits.budget
    results: Results = queue.SimpleQueue()
    stop = threading.Event()
    threads = [
        threading.Thread(target=_serve, args=(todo, results, limits, end, stop), daemon=True)
        for _ in range(min(jobs, len(cells)))
    ]
    for thread in threads:
        thread.start()
    try:
        for _ in cells:
            cell, found = results.get()
            if isinstance(found, Exception):
                raise found
            done(cell, found)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _serve(
    todo: queue.SimpleQueue[Cell],
    results: Results,
    limits: Limits,
    end: float | None,
    stop: threading.Event,
) -> None:
    """Feed one worker until nothing is left."""
    worker: _Worker | None = None
    while not stop.is_set():
        try:
            cell = todo.get_nowait()
        except queue.Empty:
            break
        if end is not None and time.monotonic() > end:
            results.put((cell, unfinished(NOT_RUN, "time")))
            continue
        try:
            worker = worker if worker is not None and worker.alive else _Worker(limits.memory)
            results.put((cell, worker.run(cell, limits.seconds, stop)))
        except Exception as error:
            # A table in which nothing could be tried says nothing: the command ends, and nobody
            # waits for this thread.
            results.put((cell, error))
            return
    if worker is not None:
        worker.end()


class _Worker:
    """A process that measures one cell after another."""

    def __init__(self, memory: float) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, memory), daemon=True)
        self._process.start()
        self._has_begun = False
        theirs.close()

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def run(self, cell: Cell, seconds: float, stop: threading.Event) -> dict[str, Any]:
        try:
            if not self._has_begun:
                self._has_begun = self._answers(float("inf"), stop) and self._pipe.recv()
            self._pipe.send(cell)
            if self._answers(seconds, stop):
                found: dict[str, Any] | MemoryError = self._pipe.recv()
                if isinstance(found, MemoryError):
                    raise found
                return found
            self.end()
            return stopped(seconds)
        except (EOFError, OSError):
            self.end()
            if self._process.exitcode == -signal.SIGTERM:  # by a person, not by a limit
                return unfinished(NOT_RUN, "ended from outside")
            if not self._has_begun:
                raise MemoryError(TOO_LITTLE) from None
            return unfinished(FAILED, "the process died, perhaps for lack of memory")

    def _answers(self, seconds: float, stop: threading.Event) -> bool:
        """Whether something comes in time."""
        begin = time.monotonic()
        while not self._pipe.poll(0.2):
            if stop.is_set() or time.monotonic() - begin > seconds:
                return False
        return True

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _work(pipe: Connection, memory: float) -> None:
    _limit_memory(memory)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # What every cell imports: with too little memory for that there is nothing to try.
    from .. import baselines  # noqa: F401

    pipe.send(True)
    with threadpool_limits(1):
        while True:
            try:
                cell = pipe.recv()
            except EOFError:
                return
            pipe.send(_measured(cell))


def _measured(cell: Cell) -> dict[str, Any] | MemoryError:
    """The cell, or that memory is too short for a library that it needs."""
    try:
        return measure(cell)
    except ImportError as error:
        # The words of glibc for a library that does not fit into the address space.
        if "failed to map" in str(error) or "cannot allocate memory" in str(error).lower():
            return MemoryError(TOO_LITTLE)
        return unfinished(NOT_RUN, " ".join(str(error).split())[:120])


def _end_with_parent() -> None:
    """A parent that was killed cannot end its workers, and a cell may take half an hour."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _limit_memory(memory: float) -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    limit = int(memory * GIB)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
