"""The only loop: sweeps, the bound, when to drop or add columns, and when to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..graphs.precision import Precision
from ..kernels.passes import Side
from ..kernels.threads import Workers
from ..linalg.engines import EngineName, choose_engine
from ..observations import Observations, View
from . import families
from .elbo import elbo
from .families import Family
from .pruning import drop, surplus
from .rotation import rotate
from .start import grow, initial_state
from .state import State
from .updates import FactorUpdate, Half, Prior, sweep

Array = NDArray[np.float64]

# A stretch of sweeps is settled when one gains less than this many nats an observation:
# only then is it fair to ask whether a column is worth its keep.
PLATEAU = 1e-3
# Columns a fit starts with; more are added while all of them earn their keep.
FIRST_RANK = 16


@dataclass(frozen=True)
class Settings:
    """What a fit is asked to do.

    Attributes
    ----------
    family : {"column", "row", "joint"}
    rank : int
        Most columns.
    max_sweeps : int
    tol : float
        Stop when a sweep's relative gain of the bound falls below this.
    engine : {"auto", "dense", "sparse", "monte_carlo"}
    seed : int
    prior : Prior
    """

    family: Family = "row"
    rank: int = 100
    max_sweeps: int = 200
    tol: float = 1e-5
    engine: EngineName = "auto"
    seed: int = 0
    prior: Prior = field(default_factory=Prior)


@dataclass(frozen=True)
class Progress:
    """Where a running fit stands after a sweep."""

    sweep: int
    elbo: float
    gain: float
    rank: int
    noise_std: float
    seconds: float
    state: State


@dataclass(frozen=True)
class Fit:
    """How a fit ended.

    Attributes
    ----------
    state : State
        In units where the data's root mean square is one.
    scale : float
        That root mean square.
    trace : tuple of float
        The bound after every sweep, in the data's units.
    ranks : tuple of int
        Columns after every sweep.
    converged : bool
    interrupted : bool
        Whether Ctrl-C ended it.
    rows, cols : Half
    row_data_precision, col_data_precision : ndarray
        What the observations add to the prior precision of each side, as the family keeps it:
        τ·diag(G_i) (n, k) for `column`, τ·G_i packed for `joint`, nothing for `row`.
    """

    state: State
    scale: float
    trace: tuple[float, ...]
    ranks: tuple[int, ...]
    converged: bool
    interrupted: bool
    rows: Half
    cols: Half
    row_data_precision: Array
    col_data_precision: Array


def run(
    observations: Observations,
    row_precision: Precision,
    col_precision: Precision,
    settings: Settings,
    *,
    pool: Workers,
    callback: Callable[[Progress], None] | None = None,
) -> Fit:
    """Fit the model.

    Parameters
    ----------
    observations : Observations
    row_precision, col_precision : Precision
        L_r and L_c.
    settings : Settings
    pool : Workers
    callback : callable, optional
        Receives a `Progress` after every sweep.

    Returns
    -------
    Fit
    """
    scale = root_mean_square(observations.values)
    # BLAS on many threads may round differently; the pool shares out the work instead.
    with threadpool_limits(1):
        rows = _half(observations.by_row, scale, row_precision, settings, 0, pool)
        cols = _half(observations.by_col, scale, col_precision, settings, 1, pool)
        return _Loop(rows, cols, settings, scale, callback).run()


def root_mean_square(values: Array) -> float:
    """The data's scale; one for data that is zero throughout."""
    peak = float(np.abs(values).max())
    return peak * float(np.sqrt(np.mean((values / peak) ** 2))) if peak > 0 else 1.0


def _half(
    view: View, scale: float, precision: Precision, settings: Settings, which: int, pool: Workers
) -> Half:
    side = Side(view.indptr, view.indices, view.values / scale, pool)
    engine = choose_engine(
        settings.engine,
        precision,
        settings.family,
        min(settings.rank, FIRST_RANK),
        pool,
        settings.seed * 2 + which,
    )
    return Half(side, engine.prepare(precision), engine)


class _Loop:
    """State of one fit; `run` is its life."""

    def __init__(
        self,
        rows: Half,
        cols: Half,
        settings: Settings,
        scale: float,
        callback: Callable[[Progress], None] | None,
    ) -> None:
        self.rows, self.cols, self.settings, self.scale = rows, cols, settings, scale
        self.callback = callback
        self.n_observed = len(rows.side.values)
        # The bound of the data itself, not of the data over its scale.
        self.shift = -self.n_observed * float(np.log(scale))
        self.trace: list[float] = []
        self.ranks: list[int] = []
        self.started = time.perf_counter()
        self.may_grow = True

    def run(self) -> Fit:
        first = min(self.settings.rank, FIRST_RANK)
        state = initial_state(self.rows, self.cols, self.settings.family, first, self.settings.seed)
        converged = interrupted = False
        try:
            for number in range(self.settings.max_sweeps):
                last_sweep = number + 1 == self.settings.max_sweeps
                state, converged = self._step(state, number, last_sweep)
                if converged:
                    break
        except KeyboardInterrupt:
            interrupted = True
        return Fit(
            self.best,
            self.scale,
            tuple(self.trace),
            tuple(self.ranks),
            converged,
            interrupted,
            self.rows,
            self.cols,
            *self.data_precisions,
        )

    def _step(self, state: State, number: int, last_sweep: bool) -> tuple[State, bool]:
        if number:
            state = rotate(state, self.settings.prior)
        tau = float(state.tau.mean)
        state, U, V = sweep(self.settings.family, self.rows, self.cols, self.settings.prior, state)
        self._keep(state, U, V, tau)
        gain = self._record(state, number)
        size = max(abs(self.trace[-1]), self.n_observed)
        if gain > PLATEAU * self.n_observed or last_sweep:
            return state, False
        changed = self._reshape(state, U, V, number)
        if changed is not None:
            return changed, False
        return state, gain <= self.settings.tol * size

    def _keep(self, state: State, U: FactorUpdate, V: FactorUpdate, tau: float) -> None:
        self.best = state
        family = self.settings.family
        self.data_precisions = [
            families.data_precision(family, update.grams, tau) for update in (U, V)
        ]

    def _record(self, state: State, number: int) -> float:
        bound = elbo(state, self.rows, self.cols, self.settings.prior) + self.shift
        same_rank = bool(self.ranks) and self.ranks[-1] == state.rank
        gain = bound - self.trace[-1] if same_rank else np.inf
        self.trace.append(bound)
        self.ranks.append(state.rank)
        if self.callback is not None:
            noise = self.scale / float(np.sqrt(state.tau.mean))
            seconds = time.perf_counter() - self.started
            self.callback(Progress(number + 1, bound, gain, state.rank, noise, seconds, state))
        return gain

    def _reshape(self, state: State, U: FactorUpdate, V: FactorUpdate, number: int) -> State | None:
        """The state with columns dropped or added, or None where neither is due."""
        settings = self.settings
        dead = surplus(settings.family, state, self.rows, self.cols, settings.prior, U, V)
        if dead.any():
            self.may_grow = False
            return drop(state, ~dead, settings.prior, self.n_observed, V)
        if self.may_grow and state.rank < settings.rank:
            return grow(state, min(2 * state.rank, settings.rank), settings.prior, number)
        return None
