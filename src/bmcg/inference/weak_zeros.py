"""How much a zero weighs beside what was seen: learned from lists.

Of each row a fifth of what was seen is left out, and the weights are taken under which short fits
rank it highest. Only the first of them starts from nothing: every other one goes on from where the
best so far has ended, so that few sweeps are enough, and so does the fit itself. The evidence
cannot tell: weights count observations, and a model of more of them has another evidence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend
from ..likelihoods import WeakZero
from ..observations import Observations
from .fit import Fit, Progress, Settings, Start
from .list_trials import CHAINS, MARGINAL, Known, Trials
from .lists import LEAST_ENTRIES, MOST_ENTRIES, gains, leave_out
from .verdict import Verdict

Array = NDArray[np.float64]

# Components of the first trials.
TRIAL_RANK = 32
MOST_TRIALS = 32
# Draws of lists to leave out, where entries are few: chance has less of a say in their mean.
MOST_DRAWS = 3
# The number of components is asked of so many times the entries.
MORE = 10
ROOT = float(np.sqrt(2.0))
# Power of what a row has seen that its ones may be divided by.
EVEN = 0.25
# Where the search starts. Chains learn τ, by which weights grow; else weights are precisions, and
# rows a priori of size one: a one settles an entry to a third, a zero not at all.
START = {
    CHAINS: WeakZero(zero=0.375, one=1.5, power=0.0),
    MARGINAL: WeakZero(zero=1.0, one=8.0, power=0.0, sure=True),
}


@dataclass
class Search:
    """Trials, each made once.

    Attributes
    ----------
    trials : sequence of Trials
        Of lists that were left out, by one draw or by several.
    """

    trials: Sequence[Trials]
    tried: set[str] = field(default_factory=set)
    verdicts: list[Verdict] = field(default_factory=list)
    best: list[Fit | None] = field(default_factory=list)
    standing: Array | None = None

    def fits(
        self, likelihood: WeakZero, rank: int, name: str, known: Known | None = None
    ) -> tuple[list[Fit | None], Array]:
        """Short fits of all lists, each from its own best so far, and what they gain."""
        before = self.best or [None] * len(self.trials)
        found = [
            trials.fit(likelihood, rank, name, best, known)
            for trials, best in zip(self.trials, before, strict=True)
        ]
        told = [gains(f, trials.lists) for f, trials in zip(found, self.trials, strict=True)]
        return list(found), np.concatenate(told)

    def wins(self, likelihood: WeakZero, rank: int, sure: bool = True) -> bool:
        """Whether lists of a short fit are better by more than the standard error of that.

        Better at all is enough where that is not asked for. The first one tried stands; one that
        was tried before does not win again.
        """
        # Told apart by words: a step and back differs by rounding alone.
        began, name = time.perf_counter(), words(likelihood, rank)
        if name in self.tried or len(self.tried) >= MOST_TRIALS:
            return False
        self.tried.add(name)
        found, new = self.fits(likelihood, rank, name)
        old = self.standing
        more = new if old is None else new - old
        least = more.std() / np.sqrt(len(more)) if sure else 0.0
        taken = old is None or bool(more.mean() > least)
        said = float("nan") if old is None else float(old.mean())
        if taken:
            self.best, self.standing = found, new
        made = (said, float(new.mean()), _sweeps(found), time.perf_counter() - began)
        self.verdicts.append(Verdict("weights", name, taken, "left-out lists", *made))
        return taken

    def keeps(self, likelihood: WeakZero, rank: int, known: Known, least: float) -> bool:
        """Whether lists with what is known besides gain so many standard errors."""
        assert self.standing is not None
        began, old = time.perf_counter(), self.standing
        found, new = self.fits(likelihood, rank, known.name, known)
        more = new - old
        taken = bool(more.mean() >= least * more.std() / np.sqrt(len(more)))
        if taken:
            self.best, self.standing = found, new
        seconds = time.perf_counter() - began
        made = float(old.mean()), float(new.mean()), _sweeps(found), seconds
        self.verdicts.append(Verdict("graphs", known.name, taken, "left-out lists", *made))
        return taken

    def climb(
        self,
        best: WeakZero,
        rank: int,
        steps: list[Callable[[WeakZero], WeakZero]],
        sure: bool = True,
    ) -> WeakZero:
        """Go a step while that gains; the first of the steps that does sets the direction."""
        for step in steps:
            moved = False
            while self.wins(step(best), rank, sure):
                best, moved = step(best), True
            if moved:
                break
        return best


def _sweeps(fits: Sequence[Fit | None]) -> int:
    return sum(len(fit.trace) for fit in fits if fit is not None)


def words(likelihood: WeakZero, rank: int) -> str:
    """What is tried."""
    count = {0.0: "", 1.0: " times their count"}.get(
        likelihood.power, f" times their count to the power of {likelihood.power:g}"
    )
    even = (
        f" over what rows have seen to the power of {likelihood.even:g}" if likelihood.even else ""
    )
    return (
        f"zeros of weight {likelihood.zero:.3g}, ones of {likelihood.one:.3g}{count}{even}, "
        f"{rank} components"
    )


Step = Callable[[WeakZero], WeakZero]


def _scaled(zero: float = 1.0, one: float = 1.0) -> list[Step]:
    """Both ways: by these factors, and back."""

    def by(a: float, b: float) -> Step:
        return lambda old: replace(old, zero=old.zero * a, one=old.one * b)

    return [by(1.0 / zero, 1.0 / one), by(zero, one)]


class Learned(NamedTuple):
    """What lists have told.

    Attributes
    ----------
    likelihood : WeakZero
    rank : int
    start : Start or None
        Where a fit with these is to go on; None where too little could be left out.
    verdicts : list of Verdict
        What was tried.
    search : Search or None
        Of the trials, for further questions.
    """

    likelihood: WeakZero
    rank: int
    start: Start | None
    verdicts: list[Verdict]
    search: Search | None = None


def learn_weights(
    observations: Observations,
    settings: Settings,
    backend: Backend,
    show: Callable[[Progress, str], None],
    kind: str = CHAINS,
) -> Learned:
    """Weights of zeros and ones, the components, and where their fit stands.

    One coordinate after the other, each as long as it gains more than chance would: the zeros'
    weight and the ones' by factors of two, the power of the counts, all weights by √2; then twice
    the components. Trials without chance are told apart by less: more components are taken
    where lists gain at all, and so are steps of the ones' weight by √2. These come last: how much
    a one may weigh depends on how many rows and components there are. Just before, rows that have
    seen much are asked whether their ones should weigh less. The zeros' weight follows where the
    search has seen a part of the rows alone; else finer steps of it would follow chance.
    """
    rank, best = min(settings.rank, TRIAL_RANK), START[kind]
    draws = 1 if kind == CHAINS else max(1, min(MOST_DRAWS, MOST_ENTRIES // len(observations)))
    left = [leave_out(observations, settings.seed, number) for number in range(draws)]
    if left[0] is None:
        rule = f"because fewer than {LEAST_ENTRIES} entries could be left out"
        said = Verdict("weights", words(best, rank), True, rule, np.nan, np.nan, 0, 0.0)
        return Learned(best.of(observations), rank, None, [said])
    settings = replace(settings, bias=bool(settings.bias))
    trials = [Trials(one, settings, backend, show, kind) for one in left if one is not None]
    search, last = Search(trials), None
    counted = observations.values.min() < observations.values.max()
    search.wins(best, rank)
    while best != last:
        last = best
        best = search.climb(best, rank, _scaled(zero=2.0))
        if kind == MARGINAL:
            best = search.climb(best, rank, _scaled(one=2.0))
        if counted:
            best = search.climb(best, rank, [_more_power, _less_power])
        if kind == CHAINS:
            best = search.climb(best, rank, _scaled(1 / ROOT, 1 / ROOT))
    wider = kind == MARGINAL and len(trials[0].lists.rows) < observations.shape[0]
    if wider:
        search = _of_more(search, observations, best, rank)
    while 2 * rank <= settings.rank and search.wins(best, 2 * rank, sure=kind == CHAINS):
        rank *= 2
    if kind == MARGINAL:
        evener = replace(best, even=EVEN)
        best = evener if search.wins(evener, rank, sure=False) else best
        best = search.climb(best, rank, _scaled(one=1 / ROOT), sure=False)
    if wider:
        best = search.climb(best, rank, _scaled(zero=1 / ROOT), sure=False)
    assert search.best[0] is not None
    start = trials[0].start_of(search.best[0], observations.shape[0])
    found = best.of(observations)
    return Learned(found, rank, start, search.verdicts, search)


def _of_more(search: Search, observations: Observations, best: WeakZero, rank: int) -> Search:
    """The search with lists of more rows: how many components there are depends on them."""
    first, fit = search.trials[0], search.best[0]
    assert fit is not None
    lists = leave_out(observations, first.settings.seed, most=MORE * MOST_ENTRIES)
    assert lists is not None
    wider = Search([replace(first, lists=lists)], verdicts=search.verdicts, best=[fit])
    wider.wins(best, rank)
    return wider


def _more_power(old: WeakZero) -> WeakZero:
    return replace(old, power=min(old.power + 0.5, 1.0))


def _less_power(old: WeakZero) -> WeakZero:
    return replace(old, power=max(old.power - 0.5, 0.0))


__all__ = ["Learned", "Search", "learn_weights", "words"]
