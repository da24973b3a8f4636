"""The only loop: sweeps, the bound, when to drop or add columns, and when to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..kernels.passes import Side
from ..kernels.threads import Workers
from ..linalg.engines import choose_engine
from ..linalg.system import feature_map
from ..observations import Observations, View
from . import families
from .elbo import elbo
from .fit import Fit, FittedSide, Progress, Settings, SideInput, Start
from .mark import Mark, SideMark
from .pruning import drop, surplus
from .rotation import rotate
from .start import grow, initial_state
from .state import State, side_lam, with_nodes
from .strengths import SideModel, Strengths, learn_strengths, shares
from .updates import FactorUpdate, Half, sweep

Array = NDArray[np.float64]

# A stretch of sweeps is settled when one gains less than this many nats an observation:
# only then is it fair to ask whether a column is worth its keep.
PLATEAU = 1e-3
# Columns a fit starts with; more are added while all of them earn their keep.
FIRST_RANK = 16
# Sweeps before the strengths of graphs and features are first learned: the factors must
# have left their random start.
SETTLE = 3
# Where a ridge that is learned starts, at least: under a tiny one, nodes without edges have no
# prior to speak of and fit noise before the ridge has grown.
FIRST_RIDGE = 0.1
# Sweeps in which strengths are learned every time; later every `REST` sweeps, because a step can
# cost more than a sweep.
RESTLESS = 12
REST = 4
# An estimated bound goes up and down by more than a sweep gains: means over this many sweeps are
# compared instead.
WINDOW = 8
# A fit that decides on biases: short, small, and in the cheapest family.
TRIAL_SWEEPS = 8
TRIAL_RANK = 8


def run(
    observations: Observations,
    rows: SideInput,
    cols: SideInput,
    settings: Settings,
    *,
    pool: Workers,
    callback: Callable[[Progress], bool | None] | None = None,
    start: Start | None = None,
    resume: Mark | None = None,
    keep: Callable[[Mark], None] | None = None,
) -> Fit:
    """Fit the model.

    Parameters
    ----------
    observations : Observations
    rows, cols : SideInput
    settings : Settings
    pool : Workers
    callback : callable, optional
        Receives a `Progress` after every sweep; True from it ends the fit there.
    start : Start, optional
        Go on from there, in its units: columns may go, none are added.
    resume : Mark, optional
        Go on exactly as the fit that left this mark would have.
    keep : callable, optional
        Receives a `Mark` before every sweep but the first.

    Returns
    -------
    Fit
    """
    if start is None:
        offset = float(observations.values.mean()) if settings.bias else 0.0
        scale = root_mean_square(observations.values - offset)
    else:
        offset, scale = start.offset, start.scale
    # BLAS on many threads may round differently; the pool shares out the work instead.
    with threadpool_limits(1):
        sides = [
            _Side(view, offset, scale, given, settings, which, pool)
            for which, (view, given) in enumerate(
                ((observations.by_row, rows), (observations.by_col, cols))
            )
        ]
        if start is not None and start.strengths is not None:
            for side, strengths in zip(sides, start.strengths, strict=True):
                side.adopt(strengths)
        loop = _Loop(sides[0], sides[1], settings, pool, offset, scale, callback, keep)
        if resume is not None:
            loop.restore(resume)
        nodes = [side.half.prior.n_nodes for side in sides]
        return loop.run(None if start is None else with_nodes(start.state, *nodes))


def biases_pay(
    observations: Observations, rows: SideInput, cols: SideInput, settings: Settings, pool: Workers
) -> bool:
    """Whether a short fit with biases reaches a higher bound than one without.

    Where a row or a column has no observation at all there is no question: without biases its
    predictions fall towards the mean of everything, however good its partners are known to be.
    """
    if (np.diff(observations.by_row.indptr) == 0).any():
        return True
    if (np.diff(observations.by_col.indptr) == 0).any():
        return True
    short = replace(
        settings,
        max_sweeps=TRIAL_SWEEPS,
        rank=min(settings.rank, TRIAL_RANK),
        family="row",
        learn=False,
    )
    bounds = []
    for bias in (False, True):
        fit = run(observations, rows, cols, replace(short, bias=bias), pool=pool)
        if fit.interrupted:
            # A trial has nothing to save: the interrupt is the caller's.
            raise KeyboardInterrupt
        bounds.append(fit.trace[-1])
    return bounds[1] > bounds[0]


def root_mean_square(values: Array) -> float:
    """The data's scale; one for data that is zero throughout."""
    peak = float(np.abs(values).max())
    return peak * float(np.sqrt(np.mean((values / peak) ** 2))) if peak > 0 else 1.0


class _Side:
    """One side during a fit: its model, strengths as they stand, and its latest update."""

    def __init__(
        self,
        view: View,
        offset: float,
        scale: float,
        given: SideInput,
        settings: Settings,
        which: int,
        pool: Workers,
    ) -> None:
        side = Side(
            view.indptr,
            view.indices,
            (view.values - offset) / scale,
            pool,
            storage=np.float32 if settings.single else np.float64,
        )
        ridge = max(given.ridge, FIRST_RIDGE) if settings.learn else given.ridge
        self.strengths = Strengths(np.ones(len(given.stack.weights)), ridge, 1.0)
        engine = choose_engine(
            settings.engine,
            given.stack.precision(self.strengths.graphs, ridge),
            settings.family,
            min(settings.rank, FIRST_RANK) + settings.bias,
            pool,
            settings.seed * 2 + which,
            features=0 if given.features is None else max(given.features.nnz, 1),
            learn=settings.learn,
        )
        features = None if given.features is None else feature_map(given.features, pool)
        self.model = SideModel(given.stack, features, engine, settings.family != "joint")
        self.half = Half(side, self.model.prior(self.strengths), engine)
        # Without edges and features the ridge is only a scale, which λ learns already.
        self.can_learn = len(given.stack.heads) > 0 or features is not None
        # What the latest covariance was made from; λ and the prior may move on before the fit ends.
        self.data_precision: Array = np.empty((0, 0))
        self.kept_prior, self.kept_lam = self.half.prior, np.empty(0)

    def learn(self, update: FactorUpdate, lam: Array) -> None:
        if self.can_learn:
            self.strengths, self.half = learn_strengths(
                self.model, self.strengths, self.half, update, lam
            )

    def mark(self) -> SideMark:
        return SideMark(self.strengths, getattr(self.model.engine, "draws", None))

    def adopt(self, strengths: Strengths) -> None:
        self.strengths = strengths
        self.half = replace(self.half, prior=self.model.prior(strengths))

    def restore(self, mark: SideMark) -> None:
        self.adopt(mark.strengths)
        if mark.draws is not None:
            # Last: the prior's own log-determinant may have used the engine.
            self.model.engine.draws = mark.draws  # type: ignore[attr-defined]

    def finished(self, mean: Array) -> FittedSide:
        """What the fit leaves of this side; mean (n_nodes, k) are its means."""
        graphs, ridge = shares(self.model, self.strengths, self.half.prior)
        share, weights = float("nan"), np.empty((0, mean.shape[1]))
        if self.model.features is not None:
            weights = np.ascontiguousarray(self.half.prior.feature_weights(mean))
            explained = self.model.features.forward(weights)
            share = float((explained**2).sum() / max((mean[: len(explained)] ** 2).sum(), 1e-300))
        return FittedSide(
            self.half,
            self.model.stack,
            mean.shape[1],
            self.strengths,
            graphs,
            ridge,
            share,
            weights,
            self.data_precision,
            self.kept_prior,
            self.kept_lam,
        )


class _Loop:
    """State of one fit; `run` is its life."""

    def __init__(
        self,
        rows: _Side,
        cols: _Side,
        settings: Settings,
        pool: Workers,
        offset: float,
        scale: float,
        callback: Callable[[Progress], bool | None] | None,
        keep: Callable[[Mark], None] | None,
    ) -> None:
        self.rows, self.cols, self.settings, self.pool = rows, cols, settings, pool
        self.offset, self.scale = offset, scale
        self.callback, self.keep = callback, keep
        self.n_observed = len(rows.half.side.values)
        # The bound of the data itself, not of the data over its scale.
        self.shift = -self.n_observed * float(np.log(scale))
        self.trace: list[float] = []
        self.ranks: list[int] = []
        self.started = time.perf_counter()
        self.best: State | None = None
        self.stopped = False
        self.mark: Mark | None = None

    def restore(self, mark: Mark) -> None:
        self.rows.restore(mark.rows)
        self.cols.restore(mark.cols)
        self.trace, self.ranks = list(mark.trace), list(mark.ranks)
        self.mark = mark

    def run(self, start: State | None = None) -> Fit:
        settings = self.settings
        if self.mark is not None:
            state, self.may_grow = self.mark.state, self.mark.may_grow
        else:
            state, self.may_grow = start or self._first_state(), start is None
        converged = interrupted = False
        try:
            for number in range(len(self.trace), settings.max_sweeps):
                last_sweep = number + 1 == settings.max_sweeps
                state, converged = self._step(state, number, last_sweep)
                if converged or self.stopped:
                    break
                if not last_sweep:
                    self._leave_mark(state)
        except KeyboardInterrupt:
            if self.best is None:
                raise
            interrupted = True
        return self._fit(converged, interrupted)

    def _fit(self, converged: bool = False, interrupted: bool = False) -> Fit:
        assert self.best is not None
        return Fit(
            self.best,
            self.offset,
            self.scale,
            tuple(self.trace),
            tuple(self.ranks),
            converged,
            interrupted,
            self.stopped,
            self.rows.finished(self.best.rows.mean),
            self.cols.finished(self.best.cols.mean),
            None if converged else self.mark,
        )

    def _first_state(self) -> State:
        settings = self.settings
        return initial_state(
            self.rows.half,
            self.cols.half,
            settings.family,
            min(settings.rank, FIRST_RANK),
            settings.seed,
            settings.bias,
        )

    def _leave_mark(self, state: State) -> None:
        self.mark = Mark(
            state,
            self.rows.mark(),
            self.cols.mark(),
            tuple(self.trace),
            tuple(self.ranks),
            self.may_grow,
        )
        if self.keep is not None:
            self.keep(self.mark)

    def _step(self, state: State, number: int, last_sweep: bool) -> tuple[State, bool]:
        settings = self.settings
        if number:
            state = rotate(state, settings.prior)
        before = state
        state, U, V = sweep(settings.family, self.rows.half, self.cols.half, settings.prior, state)
        self._keep(before, state, U, V)
        gain = self._record(state, number)
        if last_sweep or self.stopped:
            return state, False
        if self._learning_is_due(number, gain):
            self._learn(state, U, V)
        if gain > PLATEAU * self.n_observed:
            return state, False
        changed = self._reshape(state, U, V, number)
        if changed is not None:
            return changed, False
        return state, self._is_over(gain)

    def _learn(self, state: State, U: FactorUpdate, V: FactorUpdate) -> None:
        jobs = (
            (self.rows, U, side_lam(state, "rows").mean),
            (self.cols, V, side_lam(state, "cols").mean),
        )
        if self.pool.n_threads == 1:
            for side, update, lam in jobs:
                side.learn(update, lam)
            return
        # Factors of one side's prior run on one thread each: both sides at once. The pool's own
        # threads stay free for the passes inside.
        with ThreadPoolExecutor(2, thread_name_prefix="bmcg-learn") as both:
            list(both.map(lambda job: job[0].learn(job[1], job[2]), jobs))

    def _learning_is_due(self, number: int, gain: float) -> bool:
        """Every sweep while strengths move fast, then now and then, and before the fit may end."""
        if not self.settings.learn or number + 1 < SETTLE:
            return False
        return number < RESTLESS or number % REST == 0 or gain <= self._target()

    def _is_over(self, gain: float) -> bool:
        """Whether another sweep would gain too little, as far as the bound can tell."""
        if not self.is_estimated:
            return gain <= self._target() and (not self.settings.learn or self._was_still())
        if len(self.ranks) < 2 * WINDOW or len(set(self.ranks[-2 * WINDOW :])) > 1:
            return False
        late, early = self.trace[-WINDOW:], self.trace[-2 * WINDOW : -WINDOW]
        return float(np.mean(late) - np.mean(early)) <= WINDOW * self._target()

    @property
    def is_estimated(self) -> bool:
        """Whether the bound has log-determinants from draws; those of `row` are the prior's."""
        engines = {side.half.engine.name for side in (self.rows, self.cols)}
        return self.settings.family != "row" and "monte_carlo" in engines

    def _was_still(self) -> bool:
        """Whether the sweep before the last gained too little as well, so strengths were asked."""
        still = len(self.ranks) > 2 and len(set(self.ranks[-3:])) == 1
        return still and self.trace[-2] - self.trace[-3] <= self._target()

    def _target(self) -> float:
        """The gain below which the fit ends."""
        return self.settings.tol * max(abs(self.trace[-1]), self.n_observed)

    def _keep(self, before: State, state: State, U: FactorUpdate, V: FactorUpdate) -> None:
        self.best = state
        tau = float(before.tau.mean)
        for side, update, lam in ((self.rows, U, before.row_lam), (self.cols, V, before.col_lam)):
            side.kept_prior, side.kept_lam = side.half.prior, lam
            side.data_precision = families.data_precision(
                self.settings.family, update.sums.grams, tau
            )

    def _record(self, state: State, number: int) -> float:
        bound = elbo(state, self.rows.half, self.cols.half, self.settings.prior) + self.shift
        same_rank = bool(self.ranks) and self.ranks[-1] == state.rank
        gain = bound - self.trace[-1] if same_rank else np.inf
        self.trace.append(bound)
        self.ranks.append(state.rank)
        if self.callback is not None:
            noise = self.scale / float(np.sqrt(state.tau.mean))
            seconds = time.perf_counter() - self.started
            where = number + 1, bound, gain, self._target(), state.rank, noise, seconds
            self.stopped = bool(self.callback(Progress(*where, state, self._fit)))
        return gain

    def _reshape(self, state: State, U: FactorUpdate, V: FactorUpdate, number: int) -> State | None:
        """The state with columns dropped or added, or None where neither is due."""
        settings = self.settings
        rows, cols = self.rows.half, self.cols.half
        dead = surplus(state, rows, cols, settings.prior, U, V)
        if dead.any():
            self.may_grow = False
            return drop(state, dead, settings.prior, self.n_observed, V)
        if self.may_grow and state.rank < settings.rank:
            return grow(state, min(2 * state.rank, settings.rank), settings.family, number)
        return None
