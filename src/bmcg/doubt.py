"""Second thoughts of a finished fit: could it do without columns, features or a graph?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .graphs.precision import GraphStack
from .inference.families import Family
from .inference.fit import Fit, FittedSide, Progress, Settings, SideInput, Start
from .inference.run import FIRST_RANK, run
from .inference.strengths import Strengths
from .kernels.threads import Workers
from .observations import Observations
from .posterior import Posterior
from .progress import Show

# Leverages are estimates: an entry that seems to determine its own prediction still counts.
LARGEST_LEVERAGE = 0.95
# A fit without a graph goes on while this many sweeps like its last could reach the other's bound.
PATIENCE = 20
# Its first sweeps say nothing yet: the factors have to leave the prior they came from.
LOST_SWEEPS = 3


@dataclass(frozen=True)
class _Question:
    """What every question asks about.

    Attributes
    ----------
    observations : Observations
    sides : tuple of SideInput
    settings : Settings
        Of the fit.
    pool : Workers
    show : Show
        Tells the user of every sweep.
    """

    observations: Observations
    sides: tuple[SideInput, SideInput]
    settings: Settings
    pool: Workers
    show: Show


def settled(
    observations: Observations,
    sides: tuple[SideInput, SideInput],
    settings: Settings,
    fit: Fit,
    pool: Workers,
    show: Show,
) -> Fit:
    """The fit, or a simpler one that is as good.

    Parameters
    ----------
    observations : Observations
    sides : tuple of SideInput
    settings : Settings
        Of the fit.
    fit : Fit
    pool : Workers
    show : Show
    """
    question = _Question(observations, sides, settings, pool, show)
    try:
        return without_idle_graphs(question, against_less(question, fit))
    except KeyboardInterrupt:
        # The question is interrupted, not the fit, which is finished.
        return fit


def against_less(question: _Question, fit: Fit) -> Fit:
    """The fit, or one of biases alone or without features, if that predicts left-out entries best.

    Columns are dropped one by one, on their own merits; the last ones can hold each other up,
    and features can hold up what they explain. Asked only of a finished fit that has dropped
    some of its first columns: one that needed more is beyond doubt.
    """
    settings, observations, sides = question.settings, question.observations, question.sides
    if not (fit.converged and fit.state.rank < min(settings.rank, FIRST_RANK)):
        return fit
    less = []
    if settings.bias and fit.state.rank:
        less.append((sides, replace(settings, rank=0), "biases alone"))
    if features_are_dispensable(observations, sides):
        bare = replace(sides[0], features=None), replace(sides[1], features=None)
        less.append((bare, settings, "without features"))
    fits = [_run(question, given, asked, about) for given, asked, about in less]
    fits = [fit, *(one for one in fits if one.converged)]
    if len(fits) == 1:
        return fit
    errors = [left_out_error(observations, one, settings.family) for one in fits]
    best = fits[int(np.argmin(errors))]
    if best is fit:
        return fit
    rows, cols = (
        replace(side, feature_share=0.0) if given.features is not None and _is_bare(side) else side
        for side, given in zip((best.rows, best.cols), sides, strict=True)
    )
    return replace(best, rows=rows, cols=cols)


def _run(
    question: _Question,
    sides: tuple[SideInput, SideInput],
    settings: Settings,
    about: str,
    enough: Callable[[Progress], bool] = lambda sweep: False,
    start: Start | None = None,
) -> Fit:
    """Another fit of the same observations; an interrupt of it ends all questions."""

    def after(sweep: Progress) -> bool:
        question.show(sweep, f"{about}: ")
        return enough(sweep)

    fit = run(
        question.observations, *sides, settings, pool=question.pool, callback=after, start=start
    )
    if fit.interrupted:
        raise KeyboardInterrupt
    return fit


def features_are_dispensable(
    observations: Observations, sides: tuple[SideInput, SideInput]
) -> bool:
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


def _is_bare(side: FittedSide) -> bool:
    return side.half.prior.features is None


def left_out_error(observations: Observations, fit: Fit, family: Family) -> float:
    """Root mean square of e/(1 − h), what observed entries would be missed by if left out.

    The leverage h of an entry is the variance of its prediction over that of the noise.
    """
    posterior = Posterior.from_fit(fit, family)
    at = observations.row_indices.astype(np.intp), observations.col_indices.astype(np.intp)
    leverage = posterior.variance(*at, include_noise=False) / posterior.noise_variance
    missed = (observations.values - posterior.mean(*at)) / (
        1.0 - np.minimum(leverage, LARGEST_LEVERAGE)
    )
    return float(np.sqrt(np.mean(missed**2)))


def without_idle_graphs(question: _Question, fit: Fit) -> Fit:
    """The fit, or one without the graphs that do not pay for the strength fitted to them.

    Where the data say little of a side its posterior is the prior, and every strength agrees
    with itself: a share of the prior does not tell a graph that helps from one that is only
    there. The bound of a fit without it does. A graph stays if it raises the bound by more than
    ½ log N, what a fitted number costs with N observations.

    Asked of finished fits that learned strengths. Not with features, where the bound is an
    estimate of less accuracy, nor of `row`, whose bound is known to think too little of graphs.
    """
    settings, sides = question.settings, question.sides
    plain = all(side.features is None for side in sides) and settings.family != "row"
    if not (settings.learn and fit.converged and plain):
        return fit
    price = 0.5 * np.log(len(question.observations))
    stacks = [side.stack for side in sides]
    shares = [
        (share, which, name)
        for which, side in enumerate((fit.rows, fit.cols))
        for name, share in zip(side.stack.names, side.graph_shares, strict=True)
    ]
    best = fit
    for _, which, name in sorted(shares):
        simpler = _refit(question, stacks, best, which, name, best.trace[-1] - price)
        if simpler is not None:
            best = simpler
            stacks[which] = stacks[which].without(stacks[which].names.index(name))
    if best is fit:
        return fit
    rows, cols = (
        _with_idle(side, given.stack)
        for side, given in zip((best.rows, best.cols), sides, strict=True)
    )
    # The course of the fit stays what it was; only what it left behind is simpler.
    return replace(best, rows=rows, cols=cols, trace=fit.trace, ranks=fit.ranks)


def _refit(
    question: _Question, stacks: list[GraphStack], fit: Fit, which: int, name: str, target: float
) -> Fit | None:
    """The fit gone on without a graph, or None where it does not reach the target."""
    sides = [replace(g, stack=stack) for g, stack in zip(question.sides, stacks, strict=True)]
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
    about = f"without graph {name!r} of the {('rows', 'columns')[which]}"
    simpler = _run(question, (sides[0], sides[1]), question.settings, about, hopeless, start)
    return simpler if simpler.converged and simpler.trace[-1] >= target else None


def _with_idle(side: FittedSide, stack: GraphStack) -> FittedSide:
    """The side with all the graphs it was given, at strength zero where they were left out."""
    at = [stack.names.index(name) for name in side.stack.names]
    graphs, shares = np.zeros(len(stack.names)), np.zeros(len(stack.names))
    graphs[at], shares[at] = side.strengths.graphs, side.graph_shares
    return replace(
        side, stack=stack, strengths=replace(side.strengths, graphs=graphs), graph_shares=shares
    )
