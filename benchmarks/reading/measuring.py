"""Steps of a case, each timed, in a process of their own."""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Case(NamedTuple):
    """A file and what is done with it.

    Attributes
    ----------
    title : str
    prepare : callable
        Writes the file into a folder; not measured.
    steps : callable
        Yields names and functions without arguments for a folder, in order; the work of a step
        is its function's. A module's own, so that another process can find it.
    """

    title: str
    prepare: Callable[[Path], None]
    steps: Callable[[Path], Iterator[tuple[str, Callable[[], Any]]]]


class Step(NamedTuple):
    """What a step took."""

    name: str
    seconds: float
    peak_mib: float


def measure(case: Case) -> list[Step]:
    """Prepare a case and time its steps in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        case.prepare(Path(folder))
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            return pool.apply(_run, (case, Path(folder)))


def _run(case: Case, folder: Path) -> list[Step]:
    from bmcg import BMCG

    BMCG(max_sweeps=3, tol=1e9).fit(np.add.outer(np.arange(4.0), np.arange(3.0)))
    done = []
    for name, work in case.steps(folder):
        started = time.perf_counter()
        work()
        done.append(Step(name, time.perf_counter() - started, _peak_mib()))
    return done


def _peak_mib() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
