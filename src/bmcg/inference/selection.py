"""What a model is made of: one listed sequence of questions, and the record of their answers.

Before the fit: are biases worth having? After it: would it do without components, without
features, without a graph? One that is not asked leaves the fuller model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..backends import Backend
from ..observations import Observations
from .fit import Fit, Progress, Settings
from .left_out import Judge, make_folds, ties
from .questions import (
    WHOLE,
    Clock,
    Question,
    Sides,
    Standing,
    Trials,
    as_given,
    ask_biases,
    ask_components,
    ask_features,
    ask_graphs,
)
from .sampled import run_sampled
from .sampled_questions import choose
from .snapshot import Snapshot
from .variational import run
from .verdict import Verdict


class Selection(NamedTuple):
    """The record of all questions.

    Attributes
    ----------
    holds : str
        The fit that the model holds: what its traces are of.
    verdicts : tuple of Verdict
    """

    holds: str
    verdicts: tuple[Verdict, ...] = ()

    @classmethod
    def from_plain(cls, parts: Any) -> Selection:
        """From lists, as a model file has them."""
        return cls(parts[0], tuple(Verdict(*verdict) for verdict in parts[1]))


RANGE = "because left-out entries are predicted better within it"
BEFORE: dict[str, Question] = {"biases": ask_biases}
AFTER: dict[str, Question] = {
    "components": ask_components,
    "features": ask_features,
    "graphs": ask_graphs,
}
QUESTIONS = (*BEFORE, *AFTER)


def select(
    observations: Observations,
    sides: Sides,
    settings: Settings,
    *,
    backend: Backend,
    show: Callable[..., None],
    asked: Collection[str] = QUESTIONS,
    callback: Callable[[Progress], bool | None] | None = None,
    keep: Callable[[Snapshot], None] | None = None,
    resume: Snapshot | None = None,
) -> tuple[Fit, Selection]:
    """Fit, with all questions asked.

    Parameters
    ----------
    observations : Observations
    sides : tuple of SideInput
    settings : Settings
        Its `bias` may be None: that is the first question.
    backend : Backend
    show : callable
        Tells the user of the sweeps of a trial.
    asked : collection of str
        Names of the questions that are asked.
    callback, keep, resume
        Of the fit itself, as in `run`.
    """
    if settings.draws:
        return _select_sampled(observations, sides, settings, backend, show, asked, callback)
    trials = Trials(observations, backend, show)
    if resume is not None:
        settings = replace(settings, bias=resume.state.biased)
    standing, verdicts = Standing(sides, settings), list[Verdict]()
    for name, question in BEFORE.items():
        if name in asked:
            standing, found = question(trials, standing)
            verdicts += found
    if standing.settings.bias is None:
        standing = replace(standing, settings=replace(standing.settings, bias=True))
    fit = run(
        observations,
        *sides,
        standing.settings,
        backend=backend,
        callback=callback,
        keep=keep,
        resume=resume,
        analyses=trials.analyses,
    )
    return settle(trials, replace(standing, fit=fit), asked, tuple(verdicts))


def _select_sampled(
    observations: Observations,
    sides: Sides,
    settings: Settings,
    backend: Backend,
    show: Callable[..., None],
    asked: Collection[str],
    callback: Callable[[Progress], bool | None] | None,
) -> tuple[Fit, Selection]:
    """Chains of the model that predicts left-out entries best, on all entries."""
    judge = Judge(make_folds(observations, settings.seed), sides, backend, show)
    choice, verdicts = choose(judge, settings, asked)
    chosen = choice.change(sides)
    fit = run_sampled(
        observations,
        *chosen,
        choice.settings,
        backend=backend,
        callback=callback,
        strengths=judge.strengths.get(ties(chosen, choice.settings)),
        analyses=judge.analyses,
    )
    if choice.score.clipped:
        low, high = float(observations.values.min()), float(observations.values.max())
        fit = replace(fit, limits=(low, high))
        verdicts.append(Verdict("range", "the observed range", True, RANGE, np.nan, np.nan, 0, 0.0))
    return as_given(fit, sides), Selection(WHOLE, tuple(verdicts))


def settle(
    trials: Trials,
    standing: Standing,
    asked: Collection[str] = QUESTIONS,
    verdicts: tuple[Verdict, ...] = (),
) -> tuple[Fit, Selection]:
    """The questions that are asked of a finished fit."""
    for name, question in AFTER.items():
        try:
            standing, found = question(trials, standing) if name in asked else (standing, ())
        except KeyboardInterrupt:
            # The question is interrupted, not the fit, which is finished.
            rule = "because it was interrupted"
            found = (Clock(trials).verdict(name, "the question", False, rule, np.nan, np.nan),)
            verdicts += found
            break
        verdicts += found
    assert standing.fit is not None
    return standing.fit, Selection(standing.name, verdicts)
