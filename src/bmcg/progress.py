"""Progress of long work: a live line on a terminal, nothing when piped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from .inference.fit import Progress as Sweep

# A fit that ends sooner than this shows nothing.
QUIET_SECONDS = 2.0


@contextmanager
def fit_progress(max_sweeps: int, verbose: bool) -> Iterator[Callable[[Sweep], None]]:
    """A callback that shows sweep, bound, rank and noise while a fit runs.

    Parameters
    ----------
    max_sweeps : int
    verbose : bool
        Print plain lines also where the error output is no terminal.
    """
    if verbose and not sys.stderr.isatty():
        yield _print_line
        return
    if not sys.stderr.isatty():
        yield lambda sweep: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task: list[TaskID] = []

        def show(sweep: Sweep) -> None:
            if not task and not verbose and sweep.seconds < QUIET_SECONDS:
                return
            if not task:
                task.append(bar.add_task("fitting", total=max_sweeps))
            bar.update(task[0], completed=sweep.sweep, description=_describe(sweep))

        yield show


def _describe(sweep: Sweep) -> str:
    return (
        f"sweep {sweep.sweep}  bound {sweep.elbo:.6g}  rank {sweep.rank}  "
        f"noise {sweep.noise_std:.4g}"
    )


def _print_line(sweep: Sweep) -> None:
    print(f"{_describe(sweep)}  {sweep.seconds:.1f} s", file=sys.stderr, flush=True)
