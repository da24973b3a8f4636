"""The judge: entries really left out, predicted by fits that have not seen them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend
from ..likelihoods import Likelihood, likelihood_of
from ..likelihoods.base import Places
from ..likelihoods.outcomes import Distribution
from ..likelihoods.predictive import NO_LIMITS, Limits, Predictive
from ..linalg.engines import Analyses
from ..observations import Observations
from .design import entry_moments
from .fit import Fit, Progress, Settings, Start
from .folds import ENOUGH, Fold, commonest, make_folds
from .forgiven import believable, chain_error
from .form import Form, Sides
from .hopeless import Hopeless
from .place import Origin
from .sampled import chains_of, run_sampled
from .score import NO_LOGS, OTHER, Confidence, Early, Score
from .side import Strengths
from .variational import run
from .verdict import Verdict

Array = NDArray[np.float64]

# Chains that a verdict rests on where entries are few: those of several folds, or several of one.
TRIAL_CHAINS = 3
# Share of the commoner of two values from which on the other is rare.
RARE = 0.9


def losses(
    fit: Fit,
    fold: Fold,
    likelihood: Likelihood,
    limits: Limits,
    squared: bool | None = None,
    known: Distribution | None = None,
) -> Array:
    """What a fit loses on each left-out entry, shape (n_left_out,).

    Squared errors where noise is Gaussian and one for all, or that is in question. Else such errors
    are those of the noisiest, or nothing that a value is meant for: −ln p of the value it is.
    `known` is what `predicted` says, where somebody has asked it.
    """
    found = predicted(fit, fold, likelihood) if known is None else known
    if isinstance(found, Predictive):
        found = replace(found, limits=limits)
    if likelihood.is_plain if squared is None else squared:
        return np.maximum((fold.values - found.mean) ** 2, fold.nothing)
    return -found.log_density(fold.values)


def predicted(fit: Fit, fold: Fold, likelihood: Likelihood) -> Distribution:
    """Left-out entries as a fit has them, without limits."""
    if fit.draws is not None:
        mean, variance = fit.draws.moments(fold.rows, fold.cols)
    else:
        mean, variance = entry_moments(fit.state, fold.rows, fold.cols)
    at = Places(fold.rows, fold.cols, fit.offset, fit.scale)
    return likelihood.observed(mean, variance, fit.state.noise, at)


def _ways(
    fold: Fold, settings: Settings, squared: bool, fit: Fit, known: Distribution | None = None
) -> list[Array]:
    """What a fit loses as it is, and within the range of the kept values if that is a question."""
    likelihood, kept = settings.prior.likelihood, fold.kept.values
    limits = [NO_LIMITS if settings.limits is None else settings.limits]
    if settings.limits is None and squared:
        limits.append((float(kept.min()), float(kept.max())))
    return [losses(fit, fold, likelihood, limit, squared, known) for limit in limits]


def ties(sides: Sides, settings: Settings) -> Any:
    """What two models have in common that share the meaning of their strengths.

    Biases alone say little of them.
    """
    own = tuple((s.stack.names, len(s.stack.heads), s.features is None) for s in sides)
    return own, settings.rank > 0


@dataclass(frozen=True)
class Choice:
    """A model, as far as questions have been answered, and how well it predicts.

    Attributes
    ----------
    form : Form
        What it uses of the sides as given.
    settings : Settings
    score : Score or None
        None before it was tried.
    answered : tuple of str
        Questions that a variational fit need not ask again.
    ends : tuple of Origin
        Where chains of its trial have ended.
    """

    form: Form
    settings: Settings
    score: Score | None = None
    answered: tuple[str, ...] = ()
    ends: tuple[Origin, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        """For a checkpoint."""
        settings = self.settings
        return {
            "graphs": list(self.form.graphs),
            "features": list(self.form.features),
            "rank": settings.rank,
            "bias": settings.bias,
            "drawn": settings.draws > 0,
            "clipped": self.clipped,
            "least_noise": settings.least_noise,
            "noise": settings.prior.likelihood.title,
            "pooled": settings.prior.pooled,
            "answered": list(self.answered),
        }

    @classmethod
    def from_plain(cls, parts: dict[str, Any], settings: Settings) -> Choice:
        """From what `to_plain` has made, for a fit with the same settings."""
        form = Form(tuple(parts["graphs"]), tuple(parts["features"]))
        draws = settings.draws if parts["drawn"] else 0
        least = float(parts.get("least_noise", 0.0))
        told = {name: parts[name] for name in ("rank", "bias")}
        chosen = replace(settings, **told, draws=draws, least_noise=least)
        if settings.open_noise and "noise" in parts:
            chosen = chosen.with_likelihood(likelihood_of(parts["noise"]))
        pooled = bool(parts.get("pooled", False))
        chosen = replace(chosen, prior=replace(chosen.prior, pooled=pooled))
        score = Score(np.empty(0), parts["clipped"])
        return cls(form, chosen, score, tuple(parts.get("answered", ())))

    @property
    def clipped(self) -> bool:
        """Whether it predicts better within the observed range."""
        return self.score is not None and self.score.clipped


@dataclass
class Judge:
    """Left-out errors of models.

    Attributes
    ----------
    folds : list of Fold
    sides : tuple of SideInput
        As given; what was made of the observations is made anew of those that are kept.
    backend : Backend
    show : callable
        Tells the user of a sweep, and what it is of.
    unseen : tuple of ndarray of bool
        Rows and columns without any entry, of shapes (m,) and (n,).
    n_entries : int
    squared : bool
        Whether squared errors are what is lost; if not, −ln p.
    draws, fit_chains : int
        That the fit will keep, if it samples, and how many chains it will have.
    analyses : Analyses
    sweeps : int
        Made so far.
    asking : str
        Which question this is of how many, for the user.
    latest : Fit or None
        The last variational trial.
    standing : Choice or None
        What a trial is up against: one that is clearly behind after some folds is over.
    rule : int
        How they are compared.
    latest_ends : list of Origin
        Where the chains of the latest trial have ended.
    early : Early or None
        What the first chain of the latest trial loses, if it has several.
    lost : bool
        Whether the latest trial was given up after that.
    """

    folds: list[Fold]
    sides: Sides
    backend: Backend
    show: Callable[[Progress, str], None]
    unseen: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    n_entries: int
    squared: bool = True
    draws: int = 0
    fit_chains: int = 1
    analyses: Analyses = field(default_factory=Analyses)
    sweeps: int = 0
    strengths: dict[Any, tuple[Strengths, Strengths]] = field(default_factory=dict)
    asking: str = ""
    latest: Fit | None = None
    standing: Choice | None = None
    rule: int = OTHER
    latest_ends: list[Origin] = field(default_factory=list)
    early: Early | None = None
    lost: bool = False

    @classmethod
    def of(
        cls,
        observations: Observations,
        sides: Sides,
        settings: Settings,
        backend: Backend,
        show: Callable[[Progress, str], None],
        **rest: Any,
    ) -> Judge:
        """The judge of models of these observations."""
        views = observations.by_row, observations.by_col
        rows, cols = (np.diff(view.indptr) == 0 for view in views)
        folds, n = make_folds(observations, settings.seed), len(observations)
        squared = settings.prior.likelihood.is_plain
        many = settings.draws, settings.chains or chains_of(settings, n)
        return cls(folds, sides, backend, show, (rows, cols), n, squared, *many, **rest)

    def start(self, observations: Observations, settings: Settings) -> Start | None:
        """Where a variational fit of all entries may start: where that of nearly all ended.

        None where that saw some rows alone, or where entries have weights of their own.
        """
        likelihood, fit = settings.prior.likelihood, self.latest
        if fit is None or not self._saw_nearly_all or not likelihood.is_plain:
            return None
        # A start may be off by what the units of so many entries differ.
        units = likelihood.units(observations.values, bool(settings.bias))
        return Start(fit.state, *units, (fit.rows.strengths, fit.cols.strengths))

    def ends(self, choice: Choice) -> tuple[Origin, ...]:
        """Where the chains of a fit of all entries may begin: where those of nearly all ended."""
        if not (choice.settings.draws and self.backend.on_host and self._saw_nearly_all):
            return ()
        return choice.ends

    @property
    def _saw_nearly_all(self) -> bool:
        return bool(self.folds) and len(self.folds[-1].kept) > 0.8 * self.n_entries

    @property
    def has_rare_ones(self) -> bool:
        """Whether there are two values, as zeros and ones, and one of them is rare."""
        values = self.folds[0].values if self.folds else np.empty(0)
        return len(np.unique(values)) == 2 and commonest(values) >= RARE * len(values)

    @property
    def chains(self) -> int:
        """That a trial has: one where parts are left out in turn; else several, if the fit has.

        Of few entries chains find different explanations, and a verdict must not rest on the luck
        of one. Entries of the commonest value, as zeros among few ones, hardly count. Two of many
        entries tell what a fit of more will gain by their mean.
        """
        values = np.concatenate([fold.values for fold in self.folds] or [np.empty(0)])
        if len(self.folds) == 1 and len(values) - commonest(values) >= ENOUGH:
            return min(2, self.fit_chains)
        return max(1, TRIAL_CHAINS // max(len(self.folds), 1))

    def scored(self, choice: Choice, name: str) -> Choice:
        """The choice with its left-out errors."""
        self.latest_ends = []
        score = self.score(choice.form, choice.settings, name)
        return replace(choice, score=score, ends=tuple(self.latest_ends))

    def score(self, form: Form, settings: Settings, name: str) -> Score:
        """Of a model, within the range of the kept values if that is a question and better so."""
        self.early, self.lost = None, False
        found: tuple[list[Array], list[Array]] = ([], [])
        likelihood, confidence = settings.prior.likelihood, Confidence()
        logs: list[Array] = []
        for number, fold in enumerate(self.folds, 1):
            of = f", part {number} of {len(self.folds)}" if len(self.folds) > 1 else ""
            about, ways = f"{self.asking}{name}{of}", partial(_ways, fold, settings, self.squared)
            hopeless = Hopeless(ways, partial(self._missing, found))
            fit = self._fit(number - 1, form, settings, about, hopeless)
            self.latest_ends += fit.ends
            now, guess = self._losses(fit, fold, settings)
            if self.squared and settings.open_noise:
                logs.append(now.logs)
            if self.squared and likelihood.is_plain:
                noise = fit.scale**2 / float(fit.state.noise.tau.mean)
                confidence = confidence.of(guess, fold.values, noise)
            for part, loss in zip(found, now.losses, strict=False):
                part.append(loss)
            if self.lost or self._is_lost(found, logs):
                break
        told = np.concatenate(logs) if logs else NO_LOGS
        scores = [
            Score(np.concatenate(part), clipped, self.squared, confidence, told, self.early)
            for part, clipped in zip(found, (False, True), strict=True)
            if part
        ]
        return min(scores, key=lambda score: score.error)

    def _losses(self, fit: Fit, fold: Fold, settings: Settings) -> tuple[Early, Distribution]:
        """What a fit loses, less what a longer one would be without; and what it predicts."""
        likelihood, less, logs = settings.prior.likelihood, np.zeros(len(fold.values)), NO_LOGS
        guess = predicted(fit, fold, likelihood)
        if self.squared:
            less = chain_error(fit, fold.rows, fold.cols, self.draws, self.fit_chains)
            if settings.open_noise:
                limits = settings.limits or NO_LIMITS
                logs = losses(fit, fold, likelihood, limits, False, guess)
        ways = _ways(fold, settings, self.squared, fit, guess)
        lost = tuple(way - believable(less, way, fold.nothing) for way in ways)
        return Early(lost, logs), guess

    def _is_out_of_reach(self, sweep: Progress, settings: Settings) -> bool:
        """Whether a trial of several chains is lost, asked when the first has ended."""
        if self.early is not None or not sweep.ended or settings.chains < 2 or len(self.folds) > 1:
            return False
        self.early, _ = self._losses(sweep.fit(), self.folds[0], settings)
        score = None if self.standing is None else self.standing.score
        self.lost = score is not None and score.is_out_of_reach(self.early, self.rule)
        return self.lost

    def _missing(self, found: Sequence[list[Array]], now: Sequence[Array]) -> float:
        """How much larger losses of a trial under way are; nought within the standard error."""
        if self.standing is None or self.standing.score is None:
            return 0.0
        whole = [np.concatenate((*part, one)) for part, one in zip(found, now, strict=False)]
        bar = self.standing.score.first(len(whole[0]))
        if any(Score(losses, False).is_as_good_as(bar) for losses in whole):
            return 0.0
        return min(float((losses - bar.losses).mean()) for losses in whole)

    def _is_lost(self, found: Sequence[list[Array]], logs: Sequence[Array]) -> bool:
        """Whether the folds so far, within the range or not, leave no hope for the rest."""
        if self.standing is None or self.standing.score is None:
            return False
        told = np.concatenate(logs) if logs else NO_LOGS
        whole = [Score(np.concatenate(part), False, logs=told) for part in found if part]
        return all(score.cannot_replace(self.standing.score, self.rule) for score in whole)

    def _fit(
        self, number: int, form: Form, settings: Settings, name: str, hopeless: Hopeless
    ) -> Fit:
        fold = self.folds[number]
        sides = form.of((self.sides[0].of(fold.kept), self.sides[1].of(fold.kept)))

        def after(sweep: Progress) -> bool:
            self.show(sweep, f"{name}: ")
            if settings.draws:
                return self._is_out_of_reach(sweep, settings)
            return self.standing is not None and hopeless(sweep)

        options: dict[str, Any] = {
            "backend": self.backend,
            "callback": after,
            "analyses": self.analyses,
        }
        if not settings.draws:
            fit = self.latest = run(fold.kept, *sides, settings, **options)
        else:
            # Strengths learned by one trial are where the next one with the same ties starts.
            shared = ties(sides, settings)
            options |= {"strengths": self.strengths.get(shared)}
            fit = run_sampled(fold.kept, *sides, settings, **options)
            self.strengths[shared] = fit.rows.strengths, fit.cols.strengths
        self.sweeps += len(fit.trace)
        if fit.interrupted:
            # A trial has nothing to save: the interrupt is the caller's.
            raise KeyboardInterrupt
        return fit


def weigh(
    judge: Judge, standing: Choice, other: Choice, question: str, tried: str, rule: int
) -> tuple[Choice, Verdict]:
    """The choice of two that left-out entries speak for; a draw leaves what stands."""
    began, sweeps = time.perf_counter(), judge.sweeps
    judge.standing, judge.rule = standing, rule
    other = judge.scored(other, tried)
    judge.standing = None
    assert standing.score is not None
    assert other.score is not None
    tried_on = len(other.score.losses)
    bar = standing.score.first(tried_on)
    # A trial that ended before the last fold, or the last chain, was lost.
    taken = (
        not judge.lost
        and tried_on == len(standing.score.losses)
        and other.score.replaces(bar, rule)
    )
    errors = bar.error, other.score.error
    used = judge.sweeps - sweeps, time.perf_counter() - began
    verdict = Verdict(question, tried, taken, other.score.measure, *errors, *used)
    return (other if taken else standing), verdict
