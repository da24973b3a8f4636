"""How much a zero weighs beside what was seen: learned from lists.

Of each row a fifth of what was seen is left out, and the weights are taken under which short fits
rank it highest. Only the first of them starts from nothing: every other one goes on from where the
best so far has ended, so that few sweeps are enough, and so does the fit itself. The evidence
cannot tell: weights count observations, and a model of more of them has another evidence.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend
from ..likelihoods import WeakZero
from ..observations import Observations
from .fit import Fit, Progress, Settings, SideInput, Start
from .form import Form
from .list_trials import CHAINS, MARGINAL, Trials
from .lists import LEAST_ENTRIES, Lists, gains, leave_out
from .verdict import Verdict

Array = NDArray[np.float64]
Sides = tuple[SideInput, SideInput]

# Components of the first trials.
TRIAL_RANK = 32
MOST_TRIALS = 32
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
    lists : Lists
    trials : Trials
    """

    lists: Lists
    trials: Trials
    tried: set[tuple[WeakZero, int]] = field(default_factory=set)
    verdicts: list[Verdict] = field(default_factory=list)
    best: Fit | None = None
    standing: Array | None = None

    def wins(self, likelihood: WeakZero, rank: int, sure: bool = True) -> bool:
        """Whether lists of a short fit are better by more than the standard error of that.

        Better at all is enough where that is not asked for. The first one tried stands; one that
        was tried before does not win again.
        """
        began, key = time.perf_counter(), (likelihood, rank)
        if key in self.tried or len(self.tried) >= MOST_TRIALS:
            return False
        self.tried.add(key)
        fit = self.trials.fit(likelihood, rank, words(likelihood, rank), self.best)
        new, old = gains(fit, self.lists), self.standing
        more = new if old is None else new - old
        least = more.std() / np.sqrt(len(more)) if sure else 0.0
        taken = old is None or bool(more.mean() > least)
        said = float("nan") if old is None else float(old.mean())
        if taken:
            self.best, self.standing = fit, new
        name, seconds = words(likelihood, rank), time.perf_counter() - began
        made = (said, float(new.mean()), len(fit.trace), seconds)
        self.verdicts.append(Verdict("weights", name, taken, "left-out lists", *made))
        return taken

    def keeps(self, likelihood: WeakZero, rank: int, sides: Sides, name: str, needed: bool) -> bool:
        """Whether lists are no worse with what is known of a side besides.

        Where it is all that is known of some, no worse by more than the standard error of that.
        """
        assert self.best is not None
        assert self.standing is not None
        began, old = time.perf_counter(), self.standing
        fit = self.trials.fit(likelihood, rank, name, self.best, sides)
        new = gains(fit, self.lists)
        more = new - old
        taken = bool(more.mean() >= (-more.std() / np.sqrt(len(more)) if needed else 0.0))
        if taken:
            self.best, self.standing = fit, new
        made = float(old.mean()), float(new.mean()), len(fit.trace), time.perf_counter() - began
        self.verdicts.append(Verdict("graphs", name, taken, "left-out lists", *made))
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


def words(likelihood: WeakZero, rank: int) -> str:
    """What is tried."""
    count = {0.0: "", 1.0: " times their count"}.get(
        likelihood.power, f" times their count to the power of {likelihood.power:g}"
    )
    return (
        f"zeros of weight {likelihood.zero:.3g}, ones of {likelihood.one:.3g}{count}, "
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
    the components. Trials without chance are told apart by less: steps of √2 are taken at the end
    where they gain at all.
    """
    rank, best = min(settings.rank, TRIAL_RANK), START[kind]
    lists = leave_out(observations, settings.seed)
    if lists is None:
        rule = f"because fewer than {LEAST_ENTRIES} entries could be left out"
        said = Verdict("weights", words(best, rank), True, rule, np.nan, np.nan, 0, 0.0)
        return Learned(best.of_shape(observations.shape), rank, None, [said])
    trials = Trials(lists, replace(settings, bias=bool(settings.bias)), backend, show, kind)
    search, last, root = Search(lists, trials), None, float(np.sqrt(2.0))
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
            best = search.climb(best, rank, _scaled(1 / root, 1 / root))
    if kind == MARGINAL:
        best = search.climb(best, rank, _scaled(zero=root), sure=False)
        best = search.climb(best, rank, _scaled(one=root), sure=False)
    while 2 * rank <= settings.rank and search.wins(best, 2 * rank):
        rank *= 2
    start = None if search.best is None else trials.start_of(search.best, observations.shape[0])
    found = best.of_shape(observations.shape)
    return Learned(found, rank, start, search.verdicts, search)


def ask_known(
    learned: Learned, observations: Observations, sides: Sides
) -> tuple[Form, list[Verdict]]:
    """What is used of the graphs and features of either side: all that does not harm lists.

    What was made of the observations themselves is taken as it is.
    """
    search, form, before = learned.search, Form(), len(learned.verdicts)
    if search is None:
        return form, []
    tied = [which for which, side in enumerate(sides) if _is_tied(side)]
    form = _without(form, tied)
    for which in tied:
        more = _without(Form(), [w for w in tied if w != which and form.graphs[w] is None])
        part = search.lists.part_of(more.of(sides))
        name = "what is known of the " + ("rows", "columns")[which]
        view = (observations.by_row, observations.by_col)[which]
        needed = not np.diff(view.indptr).all()
        given = learned.likelihood, learned.rank
        if part is None or search.keeps(*given, part, name, needed):
            form = more
    return form, search.verdicts[before:]


def _is_tied(side: SideInput) -> bool:
    return bool(side.stack.names) or side.features is not None


def _without(form: Form, which: list[int]) -> Form:
    graphs, features = list(form.graphs), list(form.features)
    for at in which:
        graphs[at], features[at] = None, False
    return Form((graphs[0], graphs[1]), (features[0], features[1]))


def _more_power(old: WeakZero) -> WeakZero:
    return replace(old, power=min(old.power + 0.5, 1.0))


def _less_power(old: WeakZero) -> WeakZero:
    return replace(old, power=max(old.power - 0.5, 0.0))


__all__ = ["Learned", "Search", "ask_known", "learn_weights", "words"]
