"""The judge: entries really left out, predicted by fits that have not seen them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend
from ..likelihoods import Likelihood
from ..likelihoods.base import Places
from ..likelihoods.predictive import NO_LIMITS, Limits, Predictive
from ..linalg.engines import Analyses
from ..observations import Observations
from .design import entry_moments
from .fit import Fit, Progress, Settings, SideInput
from .sampled import run_sampled
from .side import Strengths
from .variational import run
from .verdict import Verdict

Array = NDArray[np.float64]
Sides = tuple[SideInput, SideInput]
Change = Callable[[Sides], Sides]

# Share of the entries that is left out at a time.
SHARE = 0.1
# Left-out entries that a verdict should rest on, and the most folds made to get them.
ENOUGH = 2000
MOST_FOLDS = 5
# Most entries that questions are asked on: of more, those of some rows.
MOST_ENTRIES = 200_000
# Fewer entries than this say nothing.
LEAST_ENTRIES = 40


@dataclass(frozen=True)
class Fold:
    """Some entries, and those left out of them.

    Attributes
    ----------
    kept : Observations
        On the whole matrix.
    rows, cols : ndarray of shape (n_left_out,)
    values : ndarray of shape (n_left_out,)
    """

    kept: Observations
    rows: NDArray[np.intp]
    cols: NDArray[np.intp]
    values: Array


def make_folds(observations: Observations, seed: int) -> list[Fold]:
    """Disjoint tenths of the entries, each with what is left; several where entries are few."""
    rng = np.random.default_rng([seed, 3])
    i, j, x = observations.row_indices, observations.col_indices, observations.values
    used = np.arange(len(x))
    if len(x) > MOST_ENTRIES:
        order = rng.permutation(observations.shape[0])
        counts = np.diff(observations.by_row.indptr)[order]
        some = order[: int(np.searchsorted(np.cumsum(counts), MOST_ENTRIES)) + 1]
        used = np.flatnonzero(np.isin(i, some))
    if len(used) < LEAST_ENTRIES:
        return []
    used = rng.permutation(used)
    size = int(SHARE * len(used))
    folds = []
    for number in range(min(-(-ENOUGH // size), MOST_FOLDS)):
        out = used[number * size : (number + 1) * size]
        kept = np.sort(np.concatenate((used[: number * size], used[(number + 1) * size :])))
        part = Observations.from_triples(i[kept], j[kept], x[kept], observations.shape)
        folds.append(Fold(part, i[out].astype(np.intp), j[out].astype(np.intp), x[out]))
    return folds


def losses(fit: Fit, fold: Fold, likelihood: Likelihood, limits: Limits) -> Array:
    """What a fit loses on each left-out entry, shape (n_left_out,).

    Squared errors where noise is Gaussian and one for all. Else such errors are those of the
    noisiest, or nothing that a value is meant for: −ln p of the value it is.
    """
    if fit.draws is not None:
        mean, variance = fit.draws.moments(fold.rows, fold.cols)
    else:
        mean, variance = entry_moments(fit.state, fold.rows, fold.cols)
    at = Places(fold.rows, fold.cols, fit.offset, fit.scale)
    found = likelihood.observed(mean, variance, fit.state.noise, at)
    if isinstance(found, Predictive):
        found = replace(found, limits=limits)
    if likelihood.is_plain:
        return (fold.values - found.mean) ** 2
    return -found.log_density(fold.values)


class Score(NamedTuple):
    """How well left-out entries are predicted.

    Attributes
    ----------
    losses : ndarray of shape (n_left_out,)
        Of all folds: squared errors, or −ln p.
    clipped : bool
        Whether these are within the observed range.
    squared : bool
    """

    losses: Array
    clipped: bool
    squared: bool = True

    @property
    def error(self) -> float:
        """Root mean squared error, or mean of −ln p."""
        mean = float(self.losses.mean())
        return float(np.sqrt(mean)) if self.squared else mean

    @property
    def measure(self) -> str:
        """What the error is."""
        return "left-out error" if self.squared else "left-out log loss"

    def is_as_good_as(self, other: Score) -> bool:
        """Whether the other's gain is within one standard error of nothing."""
        gain = self.losses - other.losses
        return bool(gain.mean() <= gain.std(ddof=1) / np.sqrt(len(gain)))


def ties(sides: Sides, settings: Settings) -> Any:
    """What two models have in common that share the meaning of their strengths.

    Biases alone say little of them.
    """
    own = tuple((s.stack.names, len(s.stack.heads), s.features is None) for s in sides)
    return own, settings.rank > 0


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
    analyses : Analyses
    sweeps : int
        Made so far.
    """

    folds: list[Fold]
    sides: Sides
    backend: Backend
    show: Callable[[Progress, str], None]
    analyses: Analyses = field(default_factory=Analyses)
    sweeps: int = 0
    strengths: dict[Any, tuple[Strengths, Strengths]] = field(default_factory=dict)

    def error(self, change: Change, settings: Settings, name: str) -> float:
        """Root mean squared error of the left-out entries of all folds, or their log loss."""
        return self.score(change, settings, name).error

    def score(self, change: Change, settings: Settings, name: str) -> Score:
        """The same, within the range of the kept values if that is a question and better so."""
        found: tuple[list[Array], list[Array]] = ([], [])
        likelihood = settings.prior.likelihood
        for fold in self.folds:
            fit, kept = self._fit(fold, change, settings, name), fold.kept.values
            limits = NO_LIMITS if settings.limits is None else settings.limits
            found[0].append(losses(fit, fold, likelihood, limits))
            if settings.limits is None and likelihood.is_plain:
                seen = float(kept.min()), float(kept.max())
                found[1].append(losses(fit, fold, likelihood, seen))
        scores = [
            Score(np.concatenate(part), clipped, likelihood.is_plain)
            for part, clipped in zip(found, (False, True), strict=True)
            if part
        ]
        return min(scores, key=lambda score: score.error)

    def _fit(self, fold: Fold, change: Change, settings: Settings, name: str) -> Fit:
        sides = change((self.sides[0].of(fold.kept), self.sides[1].of(fold.kept)))

        def after(sweep: Progress) -> bool:
            self.show(sweep, f"{name}: ")
            return False

        if not settings.draws:
            fit = run(
                fold.kept,
                *sides,
                settings,
                backend=self.backend,
                callback=after,
                analyses=self.analyses,
            )
        else:
            # Strengths learned by one trial are where the next one with the same ties starts.
            fit = run_sampled(
                fold.kept,
                *sides,
                settings,
                backend=self.backend,
                callback=after,
                analyses=self.analyses,
                strengths=self.strengths.get(ties(sides, settings)),
            )
            self.strengths[ties(sides, settings)] = fit.rows.strengths, fit.cols.strengths
        self.sweeps += len(fit.trace)
        if fit.interrupted:
            # A trial has nothing to save: the interrupt is the caller's.
            raise KeyboardInterrupt
        return fit


@dataclass(frozen=True)
class Choice:
    """The model that stands, as far as questions have been answered.

    Attributes
    ----------
    change : callable
        From the sides as given to those of the model.
    settings : Settings
    score : Score
    """

    change: Change
    settings: Settings
    score: Score

    def with_change(self, change: Change) -> Choice:
        """With something more done to the sides."""
        return replace(self, change=lambda sides: change(self.change(sides)))


def weigh(
    judge: Judge,
    standing: Choice,
    other: Choice,
    question: str,
    tried: str,
    simpler: bool = False,
) -> tuple[Choice, Verdict]:
    """The choice of two that predicts left-out entries better; a draw leaves what stands.

    One that is `simpler`, because it knows less, is taken unless what it leaves out shows: its
    gain has to be more than its standard error.
    """
    began, sweeps = time.perf_counter(), judge.sweeps
    score = judge.score(other.change, other.settings, tried)
    taken = score.error < standing.score.error or (simpler and score.is_as_good_as(standing.score))
    verdict = Verdict(
        question,
        tried,
        taken,
        score.measure,
        standing.score.error,
        score.error,
        judge.sweeps - sweeps,
        time.perf_counter() - began,
    )
    return (replace(other, score=score) if taken else standing), verdict
