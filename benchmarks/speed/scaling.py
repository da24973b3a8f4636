"""Seconds a sweep and peak memory against observations, rows, rank and graph degree.

Each size runs in a process of its own, the whole fit as a user's would run: data with power-law
rows, ring graphs on both sides, `row` family. Peak memory is the process's largest resident set,
the generation of the data included.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import asdict, dataclass

import numpy as np
from benchmarks.reporting import ROOT, table

from bmcg.backends import count_jobs, open_backend
from bmcg.graphs.precision import stack_graphs
from bmcg.inference.fit import Progress, Settings, SideInput
from bmcg.inference.variational import run

from .synthetic import power_law_observations, ring_graph

SWEEPS = 4
LARGEST = 100_000_000
MEMORY_LIMIT, SECONDS_LIMIT, SLOPE_LIMIT = 12.0, 90.0, 1.1


@dataclass(frozen=True)
class Size:
    """One point.

    Attributes
    ----------
    n_observed, m, n, rank, degree : int
    n_jobs : int or None
    family : str
    """

    n_observed: int
    m: int
    n: int
    rank: int = 16
    degree: int = 4
    n_jobs: int | None = None
    family: str = "row"


@dataclass(frozen=True)
class Point:
    """What one size took: seconds a sweep, GiB at the peak, entries in the end."""

    seconds: float
    memory: float
    n_observed: int


def natural(n_observed: int, **options: int | None) -> Size:
    """200 observations a row, columns as the square root of the observations."""
    return Size(n_observed, n_observed // 200, int(2 * n_observed**0.5), **options)  # type: ignore[arg-type]


def measure(size: Size) -> Point:
    """Fit for a few sweeps; the fastest after the first counts."""
    observations = power_law_observations(size.n_observed, size.m, size.n)
    sides = [
        SideInput(
            stack_graphs([ring_graph(length, size.degree)] if size.degree else [], length), 1.0
        )
        for length in (size.m, size.n)
    ]
    settings = Settings(
        family=size.family,  # type: ignore[arg-type]
        rank=size.rank,
        max_sweeps=3 if size.n_observed == LARGEST else SWEEPS,
        tol=0.0,
    )
    clock: list[float] = []

    def note(progress: Progress) -> None:
        if progress.rank == size.rank:
            clock.append(progress.seconds)

    with open_backend(size.n_jobs) as pool:
        run(observations, sides[0], sides[1], settings, backend=pool, callback=note)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Point(float(np.diff(clock).min()), peak, len(observations))


def in_process(size: Size) -> Point:
    """`measure` in a fresh process."""
    found = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.scaling", json.dumps(asdict(size))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        raise RuntimeError(f"{size}: {found.stderr[-2000:]}")
    point = Point(**json.loads(found.stdout.splitlines()[-1]))
    print(size, point, file=sys.stderr, flush=True)
    return point


def lines(sizes: list[Size]) -> tuple[list[list[str]], list[Point]]:
    """Lines of a table and their points."""
    points = [in_process(size) for size in sizes]
    rows = [
        [
            f"{point.n_observed:.3g}",
            str(size.m),
            str(size.n),
            str(size.rank),
            str(size.degree),
            f"{point.seconds:.3g}",
            f"{1e9 * point.seconds / point.n_observed:.0f}",
            f"{point.memory:.2f}",
        ]
        for size, point in zip(sizes, points, strict=True)
    ]
    return rows, points


def slope(x: list[float], points: list[Point]) -> float:
    """Least-squares slope of log seconds against log x."""
    return float(np.polyfit(np.log(x), np.log([point.seconds for point in points]), 1)[0])


def section(n_jobs: int | None = None, largest: int = LARGEST) -> str:
    """The tables in Markdown."""
    threads = count_jobs(n_jobs)
    header = ("observations", "rows", "columns", "rank", "degree", "s a sweep", "ns an obs", "GiB")
    exponents = np.arange(5, np.log10(largest) + 0.1)
    sizes = [natural(int(10**e), n_jobs=threads) for e in exponents]
    rows, points = lines(sizes)
    found, last = slope([float(p.n_observed) for p in points], points), points[-1]
    within = last.memory < MEMORY_LIMIT and last.seconds < SECONDS_LIMIT
    parts = [
        f"`row`, {threads} threads. In observations, with rows and columns growing along:",
        table(header, rows),
        f"Slope of log seconds against log observations: **{found:.2f}** (at most {SLOPE_LIMIT} "
        f"asked: {'met' if found <= SLOPE_LIMIT else 'missed'}). "
        f"{last.n_observed:.3g} observations at rank {sizes[-1].rank}: **{last.seconds:.1f} s a "
        f"sweep, {last.memory:.1f} GiB** at the peak (below {SECONDS_LIMIT:.0f} s and "
        f"{MEMORY_LIMIT:.0f} GiB asked: {'met' if within else 'missed'}).",
    ]
    n_fixed = min(1_000_000, largest)
    others = {
        "rows": [Size(n_fixed, m, 2000, n_jobs=threads) for m in (5000, 50_000, 200_000)],
        "rank": [natural(n_fixed, rank=k, n_jobs=threads) for k in (4, 8, 16)],
        "graph degree": [natural(n_fixed, degree=d, n_jobs=threads) for d in (2, 8, 32)],
    }
    for name, group in others.items():
        rows, points = lines(group)
        x = {"rows": "m", "rank": "rank", "graph degree": "degree"}[name]
        found = slope([float(getattr(size, x)) for size in group], points)
        parts += [f"In {name}, {n_fixed:.0e} observations:", table(header, rows)]
        parts.append(f"Slope of log seconds against log {name}: {found:.2f}.")
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(json.dumps(asdict(measure(Size(**json.loads(sys.argv[1]))))))
