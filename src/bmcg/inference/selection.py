"""What a model is made of: one listed sequence of questions, and the record of their answers.

A sampled model is put together from what left-out entries speak for (`sampled_questions`), and so
is the choice between draws and a variational posterior. A variational one asks before the fit: are
biases worth having, and a local term? After it: would it do without components, without features,
without a graph? A question that is not asked leaves the fuller model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..backends import Backend
from ..likelihoods import WeakZero
from ..linalg.engines import Analyses
from ..observations import Observations
from .fit import Fit, Progress, Settings, Start
from .folds import LEAST_ENTRIES
from .form import Form
from .left_out import Choice, Judge, ties
from .list_questions import ask_known
from .list_trials import CHAINS, MARGINAL
from .local_question import ask_local
from .marginal import in_terms_of, run_marginal
from .place import ChainPlace
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
    ask_start,
)
from .sampled import run_sampled
from .sampled_questions import Questions
from .score import Score
from .snapshot import Snapshot
from .variational import run
from .verdict import Verdict
from .weak_zeros import learn_weights


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


Place = Snapshot | ChainPlace
Keep = Callable[[Any], None]

RANGE = "because left-out entries are predicted better within it"
BEFORE: dict[str, Question] = {"biases": ask_biases, "local": ask_local}
AFTER: dict[str, Question] = {
    "start": ask_start,
    "components": ask_components,
    "features": ask_features,
    "graphs": ask_graphs,
}
QUESTIONS = (*BEFORE, *AFTER, "posterior", "noise")


def select(
    observations: Observations,
    sides: Sides,
    settings: Settings,
    *,
    backend: Backend,
    show: Callable[..., None],
    asked: Collection[str] = QUESTIONS,
    callback: Callable[[Progress], bool | None] | None = None,
    keep: Keep | None = None,
    resume: Place | None = None,
    analyses: Analyses | None = None,
    start: Start | None = None,
    whole: Score | None = None,
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
    callback, keep, resume, analyses, start
        Of the fit itself, as in `run`.
    whole : Score, optional
        How well these settings predict left-out entries, where that is known.
    """
    options: dict[str, Any] = {"backend": backend, "callback": callback}
    trials = Trials(observations, backend, show, analyses or Analyses(), whole=whole)
    if isinstance(settings.prior.likelihood, WeakZero):
        options |= {"keep": keep, "resume": resume}
        return _select_lists(trials, sides, settings, asked, options)
    if settings.draws:
        kept = keep, resume
        return _select_drawn(observations, sides, settings, show, asked, kept, options)
    if resume is not None:
        assert isinstance(resume, Snapshot)
        settings = replace(settings, bias=resume.state.biased)
    standing, verdicts = Standing(sides, settings), list[Verdict]()
    for name, question in BEFORE.items():
        if name in asked:
            trials.asking = f"{name}: "
            standing, found = question(trials, standing)
            verdicts += found
    if standing.settings.bias is None:
        standing = replace(standing, settings=replace(standing.settings, bias=True))
    options |= {"keep": keep, "resume": resume, "analyses": trials.analyses}
    fit = run(observations, *sides, standing.settings, start=start, **options)
    return settle(trials, replace(standing, fit=fit), asked, tuple(verdicts))


def runner_of(settings: Settings) -> Callable[..., Fit]:
    """What makes a fit in which nothing is in question."""
    likelihood = settings.prior.likelihood
    if isinstance(likelihood, WeakZero) and likelihood.sure:
        return run_marginal
    return run_sampled if settings.draws else run


def _select_lists(
    trials: Trials,
    sides: Sides,
    settings: Settings,
    asked: Collection[str],
    options: dict[str, Any],
) -> tuple[Fit, Selection]:
    """A fit of what was seen among weak zeros, whose weights left-out lists tell.

    Columns are parameters, and left-out lists tell whether to use graphs and features, unless
    draws or a variational posterior are asked for by name, or biases: then whether it would do
    without a graph is asked of the bound; errors of left-out entries would say nothing, because
    all of them are ones.
    """
    observations = trials.observations
    plain = settings.either and not settings.bias
    kind = MARGINAL if plain else CHAINS
    learned = learn_weights(observations, settings, trials.backend, trials.show, kind)
    settings = replace(
        settings,
        rank=learned.rank,
        first_rank=learned.rank,
        bias=bool(settings.bias),
        prior=replace(settings.prior, likelihood=learned.likelihood),
    )
    analyses = trials.analyses
    if plain:
        known = ask_known(learned, observations, sides, settings, "graphs" in asked)
        usual = {name: options[name] for name in ("backend", "callback")}
        usual |= {"analyses": analyses, "start": learned.start}
        settings = replace(settings, learn=known.learns and settings.learn)
        fit = run_marginal(observations, *known.whole, settings, **usual)
        return as_given(in_terms_of(fit, sides), sides), Selection(WHOLE, tuple(learned.verdicts))
    verdicts = tuple(learned.verdicts)
    if settings.draws:
        usual = {name: options[name] for name in ("backend", "callback")}
        usual |= {"analyses": analyses, "start": learned.start}
        fit = run_sampled(observations, *sides, settings, **usual)
        return fit, Selection(WHOLE, verdicts)
    fit = run(observations, *sides, settings, **options, analyses=analyses)
    standing = Standing(sides, settings, fit)
    return settle(trials, standing, set(asked) & {"graphs"}, verdicts)


def _select_drawn(
    observations: Observations,
    sides: Sides,
    settings: Settings,
    show: Callable[..., None],
    asked: Collection[str],
    kept: tuple[Keep | None, Place | None],
    options: dict[str, Any],
) -> tuple[Fit, Selection]:
    """The model that predicts left-out entries best, on all entries; drawn, or else variational."""
    if not asked and settings.limits is not None:
        # Nothing is in question: there is nothing to judge, and no trial to wait for.
        whole = replace(settings, either=False, bias=settings.bias is not False)
        return run_sampled(observations, *sides, whole, **options), Selection(WHOLE)
    judge = Judge.of(observations, sides, settings, options["backend"], show)
    keep, resume = kept
    if resume is None:
        choice, verdicts = _choose(judge, settings, asked)
    else:
        # Questions that were answered are not asked again.
        assert resume.answers is not None
        choice = Choice.from_plain(resume.answers, replace(settings, either=False))
        verdicts = [Verdict(*verdict) for verdict in resume.answers["verdicts"]]
    chosen, answers = choice.form.of(sides), choice.to_plain() | {"verdicts": verdicts}
    options |= {
        "analyses": judge.analyses,
        "keep": None if keep is None else lambda at: keep(replace(at, answers=answers)),
        "resume": resume,
    }
    if choice.settings.draws:
        options |= {"strengths": judge.strengths.get(ties(chosen, choice.settings))}
        options |= {"origins": judge.ends(choice)}
        fit = run_sampled(observations, *chosen, choice.settings, **options)
        selection = Selection(WHOLE, tuple(verdicts))
    else:
        # A variational fit asks its own questions of what has been chosen, and begins where the
        # trial that spoke for it has ended.
        if resume is None:
            options |= {"whole": choice.score}
            options |= {"start": judge.start(observations, choice.settings)}
        left = [name for name in asked if name not in choice.answered]
        inner = select(observations, chosen, choice.settings, show=show, asked=left, **options)
        fit, selection = inner[0], Selection(inner[1].holds, (*verdicts, *inner[1].verdicts))
    if fit.snapshot is not None:
        fit = replace(fit, snapshot=replace(fit.snapshot, answers=answers))
    if choice.clipped:
        low, high = float(observations.values.min()), float(observations.values.max())
        fit = replace(fit, limits=(low, high))
        clip = Verdict("range", "the observed range", True, RANGE, np.nan, np.nan, 0, 0.0)
        selection = Selection(selection.holds, (*selection.verdicts, clip))
    return as_given(fit, sides), selection


def _choose(
    judge: Judge, settings: Settings, asked: Collection[str]
) -> tuple[Choice, list[Verdict]]:
    """What left-out entries speak for; where they are too few to speak, a variational fit."""
    either = settings.either and "posterior" in asked
    drawn = replace(settings, either=False)
    variational = replace(drawn, draws=0) if either else None
    if variational is not None and not judge.folds:
        few = f"because fewer than {LEAST_ENTRIES} entries say nothing"
        words = f"a variational posterior ({settings.family})"
        verdict = Verdict("posterior", words, True, few, np.nan, np.nan, 0, 0.0)
        return Choice(Form(), variational), [verdict]
    return Questions(judge, drawn, asked, variational).answer()


def settle(
    trials: Trials,
    standing: Standing,
    asked: Collection[str] = QUESTIONS,
    verdicts: tuple[Verdict, ...] = (),
) -> tuple[Fit, Selection]:
    """The questions that are asked of a finished fit."""
    due = [name for name in AFTER if name in asked]
    for name, question in AFTER.items():
        if name in asked:
            trials.asking = f"question {due.index(name) + 1} of {len(due)}, {name}: "
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
