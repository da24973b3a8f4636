"""How much a zero weighs beside what was seen: learned from lists.

Of each row a fifth of what was seen is left out, and the weights are taken under which the means
of short chains rank it highest. Only the first chain starts small and has to settle: every other
one goes on from where the best so far has ended, so that few sweeps are enough, and so does the fit
itself. The evidence cannot tell: weights count observations, and a model of more of them has
another evidence. Graphs and features have no part in these chains.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend
from ..graphs.precision import stack_graphs
from ..likelihoods import WeakZero
from ..observations import Observations
from .covariance import Diagonal
from .fit import Fit, Progress, Settings, SideInput, Start
from .sampled import run_sampled
from .side import Prior
from .state import Factors
from .verdict import Verdict

Array = NDArray[np.float64]
Index = NDArray[np.integer[Any]]

# Share of a row that is left out.
SHARE = 0.2
# Most entries that are asked, those of some rows where there are more, and most rows ranked.
MOST_ENTRIES = 100_000
MOST_ROWS = 2_000
# Fewer left-out entries than this say nothing.
LEAST_ENTRIES = 40
# Components of the first trials.
TRIAL_RANK = 32
# Sweeps of a trial whose draws count, and those before: from a small start, with components that
# are new, and under other weights.
TRIAL_SWEEPS = 16
FROM_NOTHING = 60
WITH_MORE = 32
ONWARD = 8
# Length of the lists that are judged.
LENGTH = 20
# Where the search starts: a zero weighs a quarter of a one, which is an observation and a half.
START = WeakZero(zero=0.375, one=1.5, power=0.0)
MOST_TRIALS = 24
# Scores held at a time, 32 MiB.
BLOCK = 1 << 22


@dataclass(frozen=True)
class Lists:
    """What some rows have seen, and what was left out of it.

    Attributes
    ----------
    kept : Observations
        Of these rows alone.
    left_out : csr-like pair of ndarray
        Pointers (n_rows + 1,) and columns of what was left out of each row.
    """

    kept: Observations
    left_out: tuple[Index, Index]


def leave_out(observations: Observations, seed: int) -> Lists | None:
    """Lists to be judged by; None where too little could be left out."""
    rng = np.random.default_rng([seed, 4])
    indptr, indices, values = observations.by_row
    counts, order = np.diff(indptr), rng.permutation(observations.shape[0])
    some = order[: int(np.searchsorted(np.cumsum(counts[order]), MOST_ENTRIES)) + 1]
    parts, out, sizes = [], [], []
    for i in some:
        n = int(counts[i])
        size = max(1, int(SHARE * n)) if n > 1 else 0
        at = indptr[i] + rng.permutation(n)
        out.append(np.sort(indices[at[:size]]))
        parts.append(np.sort(at[size:]))
        sizes.append(size)
    if sum(sizes) < LEAST_ENTRIES:
        return None
    at = np.concatenate(parts)
    rows = np.repeat(np.arange(len(some)), [len(part) for part in parts])
    shape = len(some), observations.shape[1]
    kept = Observations.from_triples(rows, indices[at], values[at], shape)
    return Lists(kept, (np.concatenate(([0], np.cumsum(sizes))), np.concatenate(out)))


def gains(fit: Fit, lists: Lists) -> Array:
    """Discounted gain of what was left out, of the most there could be, for each row ranked.

    Rows count from the first, as far as `MOST_ROWS`; those without anything left out do not.
    """
    pointers, left = lists.left_out
    assert fit.draws is not None
    draws = list(zip(fit.draws.rows, fit.draws.cols, strict=True))
    rows = np.flatnonzero(np.diff(pointers))[:MOST_ROWS]
    n_cols = lists.kept.shape[1]
    length = min(LENGTH, n_cols)
    discount = 1.0 / np.log2(np.arange(2, length + 2))
    most, out = np.cumsum(discount), np.empty(len(rows))
    seen, step = lists.kept.by_row, max(1, BLOCK // n_cols)
    for start in range(0, len(rows), step):
        at = rows[start : start + step]
        scores = sum(U[at] @ V.T for U, V in draws)
        for line, i in zip(scores, at, strict=True):
            line[seen.indices[seen.indptr[i] : seen.indptr[i + 1]]] = -np.inf
        best = np.argpartition(-scores, length - 1, axis=1)[:, :length]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
        best = np.take_along_axis(best, order, axis=1)
        for n, (i, line) in enumerate(zip(at, best, strict=True), start):
            wanted = left[pointers[i] : pointers[i + 1]]
            out[n] = np.isin(line, wanted) @ discount / most[min(len(wanted), length) - 1]
    return out


@dataclass
class Search:
    """Trials, each made once.

    Attributes
    ----------
    lists : Lists
    settings : Settings
    backend : Backend
    show : callable
    """

    lists: Lists
    settings: Settings
    backend: Backend
    show: Callable[[Progress, str], None]
    tried: set[tuple[WeakZero, int]] = field(default_factory=set)
    verdicts: list[Verdict] = field(default_factory=list)
    best: Fit | None = None
    standing: Array | None = None
    chains: int = 0

    def wins(self, likelihood: WeakZero, rank: int) -> bool:
        """Whether lists of a short chain are better by more than the standard error of that.

        The first one tried stands; one that was tried before does not win again.
        """
        began, key = time.perf_counter(), (likelihood, rank)
        if key in self.tried or len(self.tried) >= MOST_TRIALS:
            return False
        self.tried.add(key)
        if self.best is None:
            # Judged like all others: from a chain that has settled, not from a small start.
            self.best = self._chain(likelihood, rank, FROM_NOTHING)
        fit = self._chain(likelihood, rank, WITH_MORE if self.best.state.rank < rank else ONWARD)
        new, old = gains(fit, self.lists), self.standing
        more = new if old is None else new - old
        taken = old is None or bool(more.mean() > more.std() / np.sqrt(len(more)))
        said = float("nan") if old is None else float(old.mean())
        if taken:
            self.best, self.standing = fit, new
        name, seconds = words(likelihood, rank), time.perf_counter() - began
        made = (said, float(new.mean()), len(fit.trace), seconds)
        self.verdicts.append(Verdict("weights", name, taken, "left-out lists", *made))
        return taken

    def _chain(self, likelihood: WeakZero, rank: int, burn_in: int) -> Fit:
        """A short chain from where the best so far has ended."""
        kept, best, name = self.lists.kept, self.best, words(likelihood, rank)
        self.chains += 1
        settings = replace(
            self.settings,
            # A chain that goes on must not meet the numbers again that have led to its start.
            seed=self.settings.seed + self.chains,
            rank=rank,
            max_sweeps=TRIAL_SWEEPS,
            draws=TRIAL_SWEEPS,
            burn_in=burn_in,
            learn=False,
            prior=Prior(likelihood=likelihood.of_shape(kept.shape)),
        )
        # As the fit has them where nothing ties rows: λ is to be in the same units.
        bare = [SideInput(stack_graphs([], n), 1.0) for n in kept.shape]
        fit = run_sampled(
            kept,
            bare[0],
            bare[1],
            settings,
            backend=self.backend,
            callback=lambda sweep: self.show(sweep, f"{name}: "),
            start=None if best is None else Start(best.state, best.offset, best.scale),
        )
        if fit.interrupted:
            # A trial has nothing to save: the interrupt is the caller's.
            raise KeyboardInterrupt
        return fit

    def start_of(self, n_rows: int) -> Start:
        """Where a chain over all rows is to go on: the first it draws are rows, given columns."""
        assert self.best is not None
        state = self.best.state
        rows = np.zeros((n_rows, state.rows.rank))
        rest = Diagonal.zeros(n_rows, state.rows.rank), np.nan, state.rows.energy
        return Start(replace(state, rows=Factors(rows, *rest)), self.best.offset, self.best.scale)

    def climb(self, best: WeakZero, rank: int, steps: list[Callable[[WeakZero], WeakZero]]) -> Any:
        """Go a step while that gains; the first of the steps that does sets the direction."""
        for step in steps:
            moved = False
            while self.wins(step(best), rank):
                best, moved = step(best), True
            if moved:
                break
        return best


def words(likelihood: WeakZero, rank: int) -> str:
    """What is tried."""
    count = {0.0: "", 1.0: " times their count"}.get(
        likelihood.power, f" times their count to the power of {likelihood.power:g}"
    )
    return (
        f"zeros of weight {likelihood.zero:.3g}, ones of {likelihood.one:.3g}{count}, "
        f"{rank} components"
    )


def _scaled(zero: float = 1.0, one: float = 1.0) -> Callable[[WeakZero], WeakZero]:
    return lambda old: replace(old, zero=old.zero * zero, one=old.one * one)


class Learned(NamedTuple):
    """What lists have told.

    Attributes
    ----------
    likelihood : WeakZero
    rank : int
    start : Start or None
        Where a chain with these is to go on; None where too little could be left out.
    verdicts : list of Verdict
        What was tried.
    """

    likelihood: WeakZero
    rank: int
    start: Start | None
    verdicts: list[Verdict]


def learn_weights(
    observations: Observations,
    settings: Settings,
    backend: Backend,
    show: Callable[[Progress, str], None],
) -> Learned:
    """Weights of zeros and ones, the components, and where their chain stands.

    One coordinate after the other, each as long as it gains more than chance would: the zeros'
    weight by factors of two, all weights by factors of √2, the power of the counts, then twice the
    components.
    """
    rank = min(settings.rank, TRIAL_RANK)
    lists = leave_out(observations, settings.seed)
    if lists is None:
        rule = f"because fewer than {LEAST_ENTRIES} entries could be left out"
        said = Verdict("weights", words(START, rank), True, rule, np.nan, np.nan, 0, 0.0)
        return Learned(START.of_shape(observations.shape), rank, None, [said])
    search = Search(lists, replace(settings, bias=bool(settings.bias)), backend, show)
    best, last = START, None
    counted = observations.values.min() < observations.values.max()
    root = float(np.sqrt(2.0))
    search.wins(best, rank)
    while best != last:
        last = best
        best = search.climb(best, rank, [_scaled(zero=0.5), _scaled(zero=2.0)])
        if counted:
            powers = [lambda old: replace(old, power=min(old.power + 0.5, 1.0))]
            powers += [lambda old: replace(old, power=max(old.power - 0.5, 0.0))]
            best = search.climb(best, rank, powers)
        best = search.climb(best, rank, [_scaled(root, root), _scaled(1 / root, 1 / root)])
    while 2 * rank <= settings.rank and search.wins(best, 2 * rank):
        rank *= 2
    found = best.of_shape(observations.shape)
    return Learned(found, rank, search.start_of(observations.shape[0]), search.verdicts)
