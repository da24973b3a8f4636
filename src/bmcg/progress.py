"""Progress of long work: a live line on a terminal, nothing when piped."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from .inference.fit import Progress as Sweep

# A fit that ends sooner than this shows nothing.
QUIET_SECONDS = 2.0


# Sweeps whose gains and times say how long the rest will take.
WINDOW = 5


class Show(Protocol):
    """Tells the user of a sweep; `about` says what is fitted where that is not the model itself."""

    def __call__(self, sweep: Sweep, about: str = "") -> None: ...


@contextmanager
def fit_progress(verbose: bool) -> Iterator[Show]:
    """A callback that shows question, sweep, bound, rank, noise and the time left.

    Parameters
    ----------
    verbose : bool
        Print plain lines also where the error output is no terminal.
    """
    clock = TimeLeft()
    if verbose and not sys.stderr.isatty():
        yield lambda sweep, about="": _print_line(sweep, clock.after(sweep), about)
        return
    if not sys.stderr.isatty():
        yield lambda sweep, about="": None
        return
    # Loaded where it is seen.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task: list[Any] = []

        def show(sweep: Sweep, about: str = "") -> None:
            left = clock.after(sweep)
            if not task and not verbose and sweep.seconds < QUIET_SECONDS:
                return
            if not task:
                task.append(bar.add_task("fitting", total=sweep.most))
            described = f"{about}{_describe(sweep)}  {in_words(left)}"
            bar.update(task[0], completed=sweep.sweep, total=sweep.most, description=described)

        yield show


class TimeLeft:
    """Seconds a fit still needs, from the trend of its gains.

    Near its end a fit gains less with every sweep by about the same factor; the sweeps until
    the gain is below the one that ends the fit follow from that factor. Columns dropped or
    added start the trend anew, and so does another fit.
    """

    def __init__(self) -> None:
        self.recent: list[Sweep] = []

    def after(self, sweep: Sweep) -> float:
        """Seconds left after a sweep; NaN while there is no trend yet."""
        last = self.recent[-1] if self.recent else sweep
        if last.rank != sweep.rank or last.sweep > sweep.sweep:
            self.recent = []
        self.recent = [*self.recent, sweep][-WINDOW:]
        first, n = self.recent[0], len(self.recent) - 1
        if n == 0:
            return math.nan
        left = sweep.most - sweep.sweep
        # The first gain after a change of columns is infinite.
        gains = [s.gain for s in self.recent if 0 < s.gain < math.inf]
        if sweep.target > 0 and len(gains) > 1 and gains[-1] < gains[0]:
            factor = math.log(gains[0] / gains[-1]) / (len(gains) - 1)
            left = min(left, math.ceil(max(math.log(gains[-1] / sweep.target), 0.0) / factor))
        return left * (sweep.seconds - first.seconds) / n


def in_words(seconds: float) -> str:
    """A time left, in the largest unit that suits it."""
    if math.isnan(seconds):
        return ""
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * size:
            return f"about {seconds / size:.0f} {unit} left"
    return f"about {seconds:.0f} s left"


def _describe(sweep: Sweep) -> str:
    return (
        f"sweep {sweep.sweep} of at most {sweep.most}  bound {sweep.elbo:.6g}  rank {sweep.rank}  "
        f"noise {sweep.noise_std:.4g}"
    )


def _print_line(sweep: Sweep, left: float, about: str) -> None:
    line = f"{about}{_describe(sweep)}  {sweep.seconds:.1f} s  {in_words(left)}"
    print(line.rstrip(), file=sys.stderr, flush=True)
