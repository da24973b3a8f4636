"""The only loop: sweeps, the bound, when to drop or add components, and when to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..backends import Backend, host
from ..linalg.engines import Analyses
from ..linalg.prior import SidePrior
from ..observations import Observations
from .acceleration import REST, onward
from .elbo import elbo
from .families import posterior_of
from .finishing import finished
from .fit import Fit, Progress, Settings, SideInput, Start
from .pruning import drop, surplus
from .room import check_room
from .side import Side
from .snapshot import Snapshot
from .start import grow, initial_state, make_side, with_local, with_noise
from .state import State, moved, side_lam, with_nodes
from .strengths import learn_strengths
from .updates import FactorUpdate, sweep

Array = NDArray[np.float64]

# A stretch of sweeps is settled when one gains less than this many nats an observation:
# only then is it fair to ask whether a component is worth its keep.
PLATEAU = 1e-3
# Sweeps before strengths are first learned: the factors must have left their random start.
SETTLE = 3
# Sweeps of a fresh fit before λ is first learned, where weights depend on the entries: first steps
# are small, and λ would take small factors for factors that are not needed.
WAIT = 15
# A bound that falls by a larger share calls for caution.
FALL = 1e-9
# Strengths are learned in the first sweeps, later in one of several: a step can cost more than one.
LEARN_ALWAYS = 12
LEARN_EVERY = 4
# Of an estimated bound, which goes up and down by itself, means over so many sweeps are compared.
WINDOW = 8


def run(
    observations: Observations,
    rows: SideInput,
    cols: SideInput,
    settings: Settings,
    *,
    backend: Backend,
    callback: Callable[[Progress], bool | None] | None = None,
    start: Start | None = None,
    resume: Snapshot | None = None,
    keep: Callable[[Snapshot], None] | None = None,
    analyses: Analyses | None = None,
) -> Fit:
    """The fitted model.

    Parameters
    ----------
    observations : Observations
    rows, cols : SideInput
    settings : Settings
    backend : Backend
    callback : callable, optional
        Receives a `Progress` after every sweep; True from it ends the fit there.
    start : Start, optional
        Go on from there, in its units: components may go, none are added.
    resume : Snapshot, optional
        Go on exactly as the fit that left this would have.
    keep : callable, optional
        Receives a `Snapshot` before every sweep but the first.
    analyses : Analyses, optional
        Symbolic analyses of graphs, shared with other fits.
    """
    if start is None:
        likelihood = settings.prior.likelihood
        offset, scale = likelihood.units(observations.values, bool(settings.bias))
    else:
        offset, scale = start.offset, start.scale
    analyses = analyses or Analyses()
    # BLAS on many threads may round differently; the back end shares out the work instead.
    with threadpool_limits(1):
        sides = [
            make_side(observations, which, given, settings, backend, analyses, offset, scale)
            for which, given in enumerate((rows, cols))
        ]
        strengths = None if start is None else start.strengths
        if resume is not None:
            strengths = resume.rows, resume.cols
        if strengths is not None:
            sides = [side.at(own) for side, own in zip(sides, strengths, strict=True)]
        loop = _Loop(sides[0], sides[1], settings, offset, scale, callback, keep)
        rank = min(settings.rank, settings.first_rank) if start is None else start.state.rank
        check_room((sides[0], sides[1]), settings.family, rank + bool(settings.bias))
        nodes = [side.prior.n_nodes for side in sides]
        return loop.run(None if start is None else with_nodes(start.state, *nodes), resume)


class _Loop:
    """One fit under way: its sides, the state after the last sweep, and its traces."""

    def __init__(
        self,
        rows: Side,
        cols: Side,
        settings: Settings,
        offset: float,
        scale: float,
        callback: Callable[[Progress], bool | None] | None,
        keep: Callable[[Snapshot], None] | None,
    ) -> None:
        self.rows, self.cols, self.settings = rows, cols, settings
        self.offset, self.scale = offset, scale
        self.callback, self.keep = callback, keep
        self.lines = settings.local
        self.posterior = posterior_of(settings.family)
        self.n_observed = rows.n_observed
        # The bound of the data itself, not of the data over its scale.
        self.shift = -self.n_observed * float(np.log(scale))
        self.trace: list[float] = []
        self.ranks: list[int] = []
        self.steps: list[int] = []
        self.unsolved = 0
        self.started = time.perf_counter()
        self.swept: State | None = None
        # What the latest covariances were made from: λ and the priors may move on before the end.
        self.made_from: list[tuple[Array, SidePrior, Array]] = []
        self.stopped = self.changed = False
        self.snapshot: Snapshot | None = None
        self.momentum, self.share = REST, 0.0

    def run(self, start: State | None = None, resume: Snapshot | None = None) -> Fit:
        settings = self.settings
        given = start if resume is None else resume.state
        self.is_fresh = self.may_grow = start is None
        if resume is not None:
            self.trace, self.ranks = list(resume.trace), list(resume.ranks)
            self.may_grow, self.snapshot = resume.may_grow, resume
            self.momentum = resume.momentum.moved(self.rows.backend.array)
        state = self._first_state() if given is None else moved(given, self.rows.backend.array)
        converged = interrupted = False
        try:
            for number in range(len(self.trace), settings.max_sweeps):
                last_sweep = number + 1 == settings.max_sweeps
                state, converged = self._step(state, number, last_sweep)
                if converged or self.stopped:
                    break
                if not last_sweep:
                    self._leave_snapshot(state)
        except KeyboardInterrupt:
            if self.swept is None:
                raise
            interrupted = True
        return self._fit(converged, interrupted)

    def _fit(self, converged: bool = False, interrupted: bool = False) -> Fit:
        assert self.swept is not None
        if (snapshot := None if converged else self.snapshot) is not None:
            snapshot = replace(snapshot, state=moved(snapshot.state, host))
        return Fit(
            moved(self.swept, host),
            self.offset,
            self.scale,
            tuple(self.trace),
            tuple(self.ranks),
            converged,
            interrupted,
            self.stopped,
            finished(self.rows, self.swept.rows.mean, *self.made_from[0]),
            finished(self.cols, self.swept.cols.mean, *self.made_from[1]),
            snapshot,
            tuple(self.steps),
            self.unsolved,
            kind=self.settings.family,
            likelihood=self.settings.prior.likelihood,
        )

    def _first_state(self) -> State:
        settings = self.settings
        rank = min(settings.rank, settings.first_rank)
        state = initial_state(
            self.rows, self.cols, settings.family, rank, settings.seed, bool(settings.bias)
        )
        return with_noise(state, settings.prior.likelihood, self.rows, self.cols)

    def _leave_snapshot(self, state: State) -> None:
        self.snapshot = Snapshot(
            state,
            self.rows.strengths,
            self.cols.strengths,
            tuple(self.trace),
            tuple(self.ranks),
            self.may_grow,
            self.momentum,
        )
        if self.keep is not None:
            self.keep(self.snapshot)

    def _step(self, state: State, number: int, last_sweep: bool) -> tuple[State, bool]:
        state, U, V, bound = self._sweep(state, number)
        gain = self._record(state, number, bound)
        if last_sweep or self.stopped:
            return state, False
        if self._learning_is_due(number, gain):
            self._learn(state, U, V)
        if self._waits(number) or gain > PLATEAU * self.n_observed:
            return state, False
        over = self._is_over(gain)
        changed = self._reshape(state, U, V, number, over)
        if changed is not None:
            self.momentum = REST
            return changed, False
        return state, over

    def _sweep(self, state: State, number: int) -> tuple[State, FactorUpdate, FactorUpdate, float]:
        """A sweep from beyond the state or, where the bound would fall, from the state."""
        prior, waits = self.settings.prior, self._waits(number)
        if number == WAIT and self._waits(number - 1):
            # What the first steps needed care for says nothing of the later ones.
            bold = prior.likelihood.bold(state.noise)
            self.changed = bold is not state.noise
            state = replace(state, own=bold.own)
        if self.lines is not None and state.local is None and number >= SETTLE and not waits:
            # Low rank comes first, or S would take all it can.
            state = with_local(state, self.lines, self.n_observed)
            self.changed, self.momentum = True, REST
        for momentum in (self.momentum, REST):
            before, later = state, REST
            if number and not waits:
                before, later = onward(state, momentum, self.rows, self.cols, prior)
            new, U, V, bound = self._swept(before, waits)
            if momentum is REST or bound >= self.trace[-1]:
                break
        while self.ranks and self.ranks[-1] == new.rank and self._fell(bound):
            noise = prior.likelihood.cautious(before.noise)
            if noise is None:
                break
            # Another bound may hold from here on: it says nothing of what the bound was.
            self.changed = prior.likelihood.cautious(noise) is None
            before = replace(before, own=noise.own)
            new, U, V, bound = self._swept(before, waits)
        # The direction of a bound that goes up and down by itself says little.
        self.momentum, self.share = REST if self.is_estimated else later, momentum.share
        self._hold(before, new, U, V)
        return new, U, V, bound

    def _swept(self, state: State, hold: bool) -> tuple[State, FactorUpdate, FactorUpdate, float]:
        """A sweep, and the bound after it."""
        prior, sides = self.settings.prior, (self.rows, self.cols)
        new, U, V = sweep(self.settings.family, *sides, prior, state, hold=hold)
        return new, U, V, elbo(new, *sides, prior) + self.shift

    def _learn(self, state: State, U: FactorUpdate, V: FactorUpdate) -> None:
        jobs = (
            (self.rows, U, side_lam(state, "rows").mean),
            (self.cols, V, side_lam(state, "cols").mean),
        )
        # Factors of one side's prior run on one thread each: both sides at once.
        self.rows, self.cols = self.rows.backend.map(
            lambda job: learn_strengths(*job) if job[0].can_learn else job[0], jobs
        )

    def _fell(self, bound: float) -> bool:
        return self.trace[-1] - bound > FALL * abs(bound)

    def _waits(self, number: int) -> bool:
        """Whether λ is not learned yet."""
        return number < WAIT and self.is_fresh and not self.settings.prior.likelihood.is_plain

    def _learning_is_due(self, number: int, gain: float) -> bool:
        """Every sweep while strengths move fast, then now and then, and before the fit may end."""
        if not self.settings.learn or number + 1 < SETTLE:
            return False
        return number < LEARN_ALWAYS or number % LEARN_EVERY == 0 or gain <= self._target()

    def _is_over(self, gain: float) -> bool:
        """Whether another sweep would gain too little, as far as the bound can tell."""
        if self.lines is not None and self.swept is not None and self.swept.local is None:
            return False
        if not self.is_estimated:
            return gain <= self._target() and (not self.settings.learn or self._was_still())
        if len(self.ranks) < 2 * WINDOW or len(set(self.ranks[-2 * WINDOW :])) > 1:
            return False
        late, early = self.trace[-WINDOW:], self.trace[-2 * WINDOW : -WINDOW]
        return float(np.mean(late) - np.mean(early)) <= WINDOW * self._target()

    @property
    def is_estimated(self) -> bool:
        """Whether the bound has log-determinants from draws, not only those of the prior."""
        local = None if self.swept is None else self.swept.local
        if local is not None and local.is_estimated:
            return True
        engines = {side.engine.name for side in (self.rows, self.cols)}
        return self.posterior.uses_engine and "monte_carlo" in engines

    def _was_still(self) -> bool:
        """Whether the sweep before the last gained too little as well, so strengths were asked."""
        still = len(self.ranks) > 2 and len(set(self.ranks[-3:])) == 1
        return still and self.trace[-2] - self.trace[-3] <= self._target()

    def _target(self) -> float:
        """The gain below which the fit ends: what a sweep without momentum would gain counts."""
        least = self.settings.tol * max(abs(self.trace[-1]), self.n_observed)
        return least / (1.0 - self.share)

    def _hold(self, before: State, state: State, U: FactorUpdate, V: FactorUpdate) -> None:
        self.swept, self.made_from = state, []
        for name, side, update in (("rows", self.rows, U), ("cols", self.cols, V)):
            data = self.posterior.data_precision(update.sums.grams, update.weighting.tau)
            self.made_from.append((data, side.prior, side_lam(before, name).mean))
        self.steps.append(U.steps + V.steps)
        self.unsolved = (not U.converged) + (not V.converged)

    def _record(self, state: State, number: int, bound: float) -> float:
        same_rank = bool(self.ranks) and self.ranks[-1] == state.rank and not self.changed
        self.changed = False
        gain = bound - self.trace[-1] if same_rank else np.inf
        self.trace.append(bound)
        self.ranks.append(state.rank)
        if self.callback is not None:
            noise = self.scale / float(np.sqrt(state.tau.mean))
            seconds = time.perf_counter() - self.started
            where = number + 1, bound, gain, self._target(), state.rank, noise, seconds
            self.stopped = bool(
                self.callback(Progress(*where, self._fit, self.settings.max_sweeps))
            )
        return gain

    def _reshape(
        self, state: State, U: FactorUpdate, V: FactorUpdate, number: int, over: bool
    ) -> State | None:
        """The state with components dropped or added, or None where neither is due.

        A bound that goes up and down by itself looks flat long before it is. There, components are
        added where the fit would else be over: they cost draws, and take long to go.
        """
        settings = self.settings
        dead = surplus(state, self.rows, self.cols, settings.prior, U, V)
        if dead.any():
            self.may_grow = False
            return drop(state, dead, settings.prior, self.rows, V)
        if self.may_grow and state.rank < settings.rank and (over or not self.is_estimated):
            rank, sides = min(2 * state.rank, settings.rank), (self.rows, self.cols)
            return grow(state, rank, number, sides, settings.family)
        return None
