"""The questions of `selection`, one function each, and what decides them.

A question takes the model that stands and gives back the one that stands after it, with a verdict
on each thing it tried.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend
from ..graphs.precision import GraphStack
from ..linalg.engines import Analyses
from ..observations import Observations
from .families import posterior_of
from .fit import Fit, FittedSide, Progress, Settings, SideInput, Start
from .folds import LEAST_ENTRIES
from .form import Form
from .left_out import Judge
from .score import LESS, Score
from .side import Strengths
from .variational import WAIT, run
from .verdict import Verdict

Array = NDArray[np.float64]
Sides = tuple[SideInput, SideInput]

# A fit that decides on biases: short, small, and in the cheapest family.
TRIAL_SWEEPS = 8
TRIAL_RANK = 8
# A fit without a graph goes on while this many sweeps like its last could reach the other's bound.
PATIENCE = 20
# Its first sweeps say nothing yet: the factors have to leave the prior they came from.
LOST_SWEEPS = 3


WHOLE = "the whole model"


@dataclass(frozen=True)
class Standing:
    """The model that stands, before or after a question.

    Attributes
    ----------
    sides : tuple of SideInput
    settings : Settings
    fit : Fit or None
        None before the fit.
    name : str
        Of the fit.
    """

    sides: Sides
    settings: Settings
    fit: Fit | None = None
    name: str = WHOLE


@dataclass
class Trials:
    """Fits made to answer questions.

    Attributes
    ----------
    observations : Observations
    backend : Backend
    show : callable
        Tells the user of a sweep, and what it is of.
    analyses : Analyses
        Of the graphs, shared by all fits.
    sweeps : int
        Made so far.
    asking : str
        Which question this is of how many, for the user.
    whole : Score or None
        How well the model as it was asked for predicts left-out entries, once that was tried.
    """

    observations: Observations
    backend: Backend
    show: Callable[[Progress, str], None]
    analyses: Analyses = field(default_factory=Analyses)
    sweeps: int = 0
    asking: str = ""
    whole: Score | None = None

    def fit(
        self,
        sides: Sides,
        settings: Settings,
        name: str = "",
        enough: Callable[[Progress], bool] = lambda sweep: False,
        start: Start | None = None,
    ) -> Fit:
        """Another fit of the same observations; an interrupt of it ends all questions."""

        def after(sweep: Progress) -> bool:
            if name:
                self.show(sweep, f"{self.asking}{name}: ")
            return enough(sweep)

        found = run(
            self.observations,
            *sides,
            settings,
            backend=self.backend,
            callback=after,
            start=start,
            analyses=self.analyses,
        )
        self.sweeps += len(found.trace)
        if found.interrupted:
            # A trial has nothing to save: the interrupt is the caller's.
            raise KeyboardInterrupt
        return found

    def judge(self, standing: Standing) -> Judge:
        """Who tells which model predicts better."""
        rest = self.backend, self.show
        given = self.observations, standing.sides, standing.settings
        return Judge.of(*given, *rest, analyses=self.analyses, asking=self.asking)


Answer = tuple[Standing, tuple[Verdict, ...]]
Question = Callable[[Trials, Standing], Answer]


def ask_biases(trials: Trials, standing: Standing) -> Answer:
    """Whether a short fit with biases reaches a higher bound than one without.

    Where a row or a column has no observation at all there is no question: without biases its
    predictions fall towards the mean of everything, however good its partners are known to be.
    """
    clock, settings = Clock(trials), standing.settings
    if settings.bias is not None:
        return standing, ()
    views = trials.observations.by_row, trials.observations.by_col
    if any((np.diff(view.indptr) == 0).any() for view in views):
        rule = "because a row or a column has no observation"
        verdict = clock.verdict("biases", "biases", True, rule, np.nan, np.nan)
        return replace(standing, settings=replace(settings, bias=True)), (verdict,)
    # Where precisions wait for the rest, bounds say nothing before they are learned.
    waits = 0 if settings.prior.likelihood.is_plain else WAIT
    short = replace(
        settings,
        max_sweeps=waits + TRIAL_SWEEPS,
        rank=min(settings.rank, TRIAL_RANK),
        family="row",
        learn=False,
    )
    bounds = [
        trials.fit(standing.sides, replace(short, bias=bias)).trace[-1] for bias in (False, True)
    ]
    pays = bounds[1] > bounds[0]
    verdict = clock.verdict("biases", "biases", pays, "bound", *bounds)
    return replace(standing, settings=replace(settings, bias=pays)), (verdict,)


def ask_start(trials: Trials, standing: Standing) -> Answer:
    """Whether a fit that ended with nothing, or with all it may have, does better from elsewhere.

    The bound tells which of both is the better fit.
    """
    fit, settings = standing.fit, standing.settings
    odd = fit is not None and fit.converged and settings.rank > 0
    if fit is None or not odd or 0 < fit.state.rank < max(settings.rank, settings.first_rank):
        return standing, ()
    clock = Clock(trials)
    end = "nothing was found" if fit.state.rank == 0 else "every component was used"
    tried = f"another start, because {end}"
    other = trials.fit(standing.sides, replace(settings, seed=settings.seed + 1), tried)
    taken = other.converged and other.trace[-1] > fit.trace[-1]
    verdict = clock.verdict("start", tried, taken, "bound", fit.trace[-1], other.trace[-1])
    return (replace(standing, fit=other) if taken else standing), (verdict,)


def ask_components(trials: Trials, standing: Standing) -> Answer:
    """Whether biases alone predict left-out entries better.

    Components are dropped one by one, on their own merits; the last ones can hold each other up.
    """
    fit, settings = standing.fit, standing.settings
    if not (_in_doubt(standing) and settings.bias and fit is not None and fit.state.rank):
        return standing, ()
    less = replace(settings, rank=0)
    return _judged(trials, standing, "components", Form(), less, "biases alone")


def ask_features(trials: Trials, standing: Standing) -> Answer:
    """Whether a fit without features predicts left-out entries better.

    Features can hold up what they explain.
    """
    sides = standing.sides
    if not (_in_doubt(standing) and features_are_dispensable(trials.observations, sides)):
        return standing, ()
    bare = Form(features=(False, False))
    return _judged(trials, standing, "features", bare, standing.settings, "without features")


def ask_graphs(trials: Trials, standing: Standing) -> Answer:
    """Whether the fit does without the graphs that do not pay for the strength fitted to them.

    Where the data say little of a side its posterior is the prior, and every strength agrees
    with itself: a share of the prior does not tell a graph that helps from one that is only
    there. The bound of a fit without it does. A graph stays if it raises the bound by more than
    ½ log N, what a fitted number costs with N observations.

    Asked of finished fits that learned strengths. Not with features, where the bound is an
    estimate of less accuracy, nor of `row`, whose bound is known to think too little of graphs.
    """
    settings, sides, fit = standing.settings, standing.sides, standing.fit
    exact = posterior_of(settings.family).uses_engine
    plain = all(side.features is None for side in sides) and exact
    if fit is None or not (settings.learn and fit.converged and plain):
        return standing, ()
    price = 0.5 * np.log(len(trials.observations))
    stacks = [side.stack for side in sides]
    shares = [
        (share, which, name)
        for which, side in enumerate((fit.rows, fit.cols))
        for name, share in zip(side.stack.names, side.graph_shares, strict=True)
    ]
    best, called, verdicts = fit, standing.name, []
    for _, which, name in sorted(shares):
        clock = Clock(trials)
        tried = f"without graph {name!r} of the {('rows', 'columns')[which]}"
        target = best.trace[-1] - price
        simpler = _without_graph(trials, standing, stacks, best, which, name, target, tried)
        taken = simpler.converged and simpler.trace[-1] >= target
        verdicts.append(
            clock.verdict("graphs", tried, taken, "bound", best.trace[-1], simpler.trace[-1])
        )
        if taken:
            best = simpler
            called = tried if called == standing.name else f"{called}, {tried}"
            stacks[which] = stacks[which].without(stacks[which].names.index(name))
    if best is not fit:
        standing = replace(standing, fit=as_given(best, sides), name=called)
    return standing, tuple(verdicts)


class Clock:
    """Seconds and sweeps of one verdict."""

    def __init__(self, trials: Trials) -> None:
        self.trials, self.began, self.sweeps = trials, time.perf_counter(), trials.sweeps

    def verdict(
        self, question: str, tried: str, taken: bool, measure: str, old: float, new: float
    ) -> Verdict:
        seconds = time.perf_counter() - self.began
        sweeps = self.trials.sweeps - self.sweeps
        return Verdict(
            question, tried, bool(taken), measure, float(old), float(new), sweeps, seconds
        )


def _in_doubt(standing: Standing) -> bool:
    """Whether a finished fit has dropped some of its first components.

    One that needed more is beyond doubt.
    """
    fit, most = standing.fit, min(standing.settings.rank, standing.settings.first_rank)
    return fit is not None and fit.converged and fit.state.rank < most


def _judged(
    trials: Trials, standing: Standing, question: str, form: Form, settings: Settings, name: str
) -> Answer:
    """The model that stands, or a simpler one unless what that leaves out shows.

    It shows where entries that were left out are predicted better by more than the standard error.
    """
    clock, judge, old = Clock(trials), trials.judge(standing), standing.fit
    assert old is not None
    if not judge.folds:
        rule = f"because fewer than {LEAST_ENTRIES} entries say nothing"
        return standing, (clock.verdict(question, name, False, rule, np.nan, np.nan),)
    if trials.whole is None:
        trials.whole = judge.score(Form(), standing.settings, standing.name)
    full = trials.whole
    less = judge.score(form, settings, name)
    trials.sweeps += judge.sweeps
    enough = less.replaces(full, LESS)
    new = trials.fit(form.of(standing.sides), settings, name) if enough else old
    taken = new is not old and new.converged
    verdict = clock.verdict(question, name, taken, full.measure, full.error, less.error)
    if not taken:
        return standing, (verdict,)
    return replace(standing, fit=as_given(new, standing.sides), name=name), (verdict,)


def as_given(fit: Fit, sides: Sides) -> Fit:
    """The fit with all that its sides were given, unused where it was left out."""
    rows, cols = (
        _with_idle(side, given) for side, given in zip((fit.rows, fit.cols), sides, strict=True)
    )
    return replace(fit, rows=rows, cols=cols)


def features_are_dispensable(observations: Observations, sides: Sides) -> bool:
    """Whether there are features, and none that are all that is known of a row or column.

    Left-out entries say nothing of rows that have no entry.
    """
    if all(side.features is None for side in sides):
        return False
    for side, view in zip(sides, (observations.by_row, observations.by_col), strict=True):
        unseen = np.diff(view.indptr) == 0
        if side.features is not None and (np.diff(side.features.indptr)[unseen] > 0).any():
            return False
    return True


def _without_graph(
    trials: Trials,
    standing: Standing,
    stacks: list[GraphStack],
    fit: Fit,
    which: int,
    name: str,
    target: float,
    about: str,
) -> Fit:
    """The fit gone on without a graph, until it has converged or has no hope of the target."""
    sides = [replace(g, stack=stack) for g, stack in zip(standing.sides, stacks, strict=True)]
    strengths = [fit.rows.strengths, fit.cols.strengths]
    old, g = (fit.rows, fit.cols)[which], stacks[which].names.index(name)
    sides[which] = replace(sides[which], stack=stacks[which].without(g))
    # The ridge takes over what the graph determined, so that the prior's scale stays.
    ridge = old.strengths.ridge * (1.0 + old.graph_shares[g] / max(old.ridge_share, 1e-12))
    kept = np.delete(old.strengths.graphs, g)
    strengths[which] = Strengths(kept, float(ridge), old.strengths.beta)

    def hopeless(sweep: Progress) -> bool:
        # An estimated bound may fall in a sweep: that says nothing against one that is there.
        missing = target - sweep.elbo
        return sweep.sweep > LOST_SWEEPS and missing > PATIENCE * max(sweep.gain, 0.0)

    start = Start(fit.state, fit.offset, fit.scale, (strengths[0], strengths[1]))
    return trials.fit((sides[0], sides[1]), standing.settings, about, hopeless, start)


def _with_idle(side: FittedSide, given: SideInput) -> FittedSide:
    """The side with all it was given, at strength zero where that was left out."""
    stack = given.stack
    at = [stack.names.index(name) for name in side.stack.names]
    graphs, shares = np.zeros(len(stack.names)), np.zeros(len(stack.names))
    graphs[at], shares[at] = side.strengths.graphs, side.graph_shares
    idle = given.features is not None and side.side.prior.features is None
    return replace(
        side,
        stack=stack,
        strengths=replace(side.strengths, graphs=graphs),
        graph_shares=shares,
        feature_share=0.0 if idle else side.feature_share,
    )
