"""The only loop: sweeps, the bound, when to drop or add columns, and when to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..graphs.precision import GraphStack
from ..kernels.passes import Side
from ..kernels.threads import Workers
from ..linalg.engines import EngineName, choose_engine
from ..linalg.system import feature_map
from ..observations import Observations, View
from . import families
from .elbo import elbo
from .families import Family
from .pruning import drop, surplus
from .rotation import rotate
from .start import grow, initial_state
from .state import State, side_lam
from .strengths import SideModel, Strengths, learn_strengths, shares
from .updates import FactorUpdate, Half, Prior, sweep

Array = NDArray[np.float64]

# A stretch of sweeps is settled when one gains less than this many nats an observation:
# only then is it fair to ask whether a column is worth its keep.
PLATEAU = 1e-3
# Columns a fit starts with; more are added while all of them earn their keep.
FIRST_RANK = 16
# Sweeps before the strengths of graphs and features are first learned: the factors must
# have left their random start.
SETTLE = 3
# A fit that decides on biases: short, small, and in the cheapest family.
TRIAL_SWEEPS = 8
TRIAL_RANK = 8


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
    bias : bool
    learn : bool
        Whether strengths of graphs, ridge and features are learned.
    prior : Prior
    """

    family: Family = "row"
    rank: int = 100
    max_sweeps: int = 200
    tol: float = 1e-5
    engine: EngineName = "auto"
    seed: int = 0
    bias: bool = False
    learn: bool = False
    prior: Prior = field(default_factory=Prior)


@dataclass(frozen=True)
class SideInput:
    """What is known of one side besides its observations.

    Attributes
    ----------
    stack : GraphStack
        Its graphs; none is an identity prior.
    ridge : float
        Where the ridge starts, or stays.
    features : csr_array of shape (n, p) or None
    """

    stack: GraphStack
    ridge: float
    features: sp.csr_array | None = None


@dataclass(frozen=True)
class Start:
    """An earlier fit to go on from.

    Attributes
    ----------
    state : State
    offset, scale : float
        What its units are.
    """

    state: State
    offset: float
    scale: float


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
class FittedSide:
    """One side at the end of a fit.

    Attributes
    ----------
    half : Half
    stack : GraphStack
    n_columns : int
        Columns of the side, its bias included.
    strengths : Strengths
    graph_shares : ndarray of shape (n_graphs,)
        Share of the prior that each graph determines.
    ridge_share : float
    feature_share : float
        Share of the rows' energy that the features explain; NaN without features.
    feature_weights : ndarray of shape (p, k)
        ⟨B⟩; empty without features.
    data_precision : ndarray
        What the observations add to the prior precision, as the family keeps it:
        τ·diag(G_i) (n, k) for `column`, τ·G_i packed for `joint`, nothing for `row`.
    """

    half: Half
    stack: GraphStack
    n_columns: int
    strengths: Strengths
    graph_shares: Array
    ridge_share: float
    feature_share: float
    feature_weights: Array
    data_precision: Array


@dataclass(frozen=True)
class Fit:
    """How a fit ended.

    Attributes
    ----------
    state : State
        Of the data less its offset, in units of its root mean square.
    offset, scale : float
    trace : tuple of float
        The bound after every sweep, in the data's units.
    ranks : tuple of int
        Columns after every sweep.
    converged : bool
    interrupted : bool
        Whether Ctrl-C ended it.
    rows, cols : FittedSide
    """

    state: State
    offset: float
    scale: float
    trace: tuple[float, ...]
    ranks: tuple[int, ...]
    converged: bool
    interrupted: bool
    rows: FittedSide
    cols: FittedSide


def run(
    observations: Observations,
    rows: SideInput,
    cols: SideInput,
    settings: Settings,
    *,
    pool: Workers,
    callback: Callable[[Progress], None] | None = None,
    start: Start | None = None,
) -> Fit:
    """Fit the model.

    Parameters
    ----------
    observations : Observations
    rows, cols : SideInput
    settings : Settings
    pool : Workers
    callback : callable, optional
        Receives a `Progress` after every sweep.
    start : Start, optional
        Go on from there, in its units: columns may go, none are added.

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
        loop = _Loop(sides[0], sides[1], settings, offset, scale, callback)
        return loop.run(None if start is None else start.state)


class GraphWeight(NamedTuple):
    """How much a graph, the ridge or the features of a side count.

    Attributes
    ----------
    strength : float
        w_g, the ridge ε, or the features' precision β.
    share : float
        Share of the prior's degrees of freedom it determines; NaN for features.
    log_std : float
        Standard error of the logarithm of the strength, from the curvature of the bound
        were every degree of freedom it determines independent; NaN for features.
    sentence : str
        What that means.
    """

    strength: float
    share: float
    log_std: float
    sentence: str


def graph_weights(side: FittedSide) -> dict[str, GraphWeight]:
    """The learned weights of one side by name, the ridge and the features included."""
    stack, k = side.stack, side.n_columns
    parts = [*zip(stack.names, side.strengths.graphs, side.graph_shares, strict=True)]
    parts.append(("ridge", side.strengths.ridge, side.ridge_share))
    out = {}
    for name, strength, share in parts:
        count = max(float(share) * stack.n * k, 1e-300)
        used = "not used" if share < 0.01 else f"determines {100 * share:.0f} % of the prior"
        out[name] = GraphWeight(
            float(strength), float(share), float(min(np.sqrt(2.0 / count), 1e3)), f"{name}: {used}"
        )
    if side.half.prior.features is not None:
        explained = f"features: explain {100 * side.feature_share:.0f} % of the rows' factors"
        out["features"] = GraphWeight(
            side.strengths.beta, side.feature_share, float("nan"), explained
        )
    return out


def biases_pay(
    observations: Observations, rows: SideInput, cols: SideInput, settings: Settings, pool: Workers
) -> bool:
    """Whether a short fit with biases reaches a higher bound than one without."""
    short = replace(
        settings,
        max_sweeps=TRIAL_SWEEPS,
        rank=min(settings.rank, TRIAL_RANK),
        family="row",
        learn=False,
    )
    bounds = [
        run(observations, rows, cols, replace(short, bias=bias), pool=pool).trace[-1]
        for bias in (False, True)
    ]
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
        side = Side(view.indptr, view.indices, (view.values - offset) / scale, pool)
        self.strengths = Strengths(np.ones(len(given.stack.weights)), given.ridge, 1.0)
        engine = choose_engine(
            settings.engine,
            given.stack.precision(self.strengths.graphs, given.ridge),
            settings.family,
            min(settings.rank, FIRST_RANK) + settings.bias,
            pool,
            settings.seed * 2 + which,
            features=given.features is not None,
        )
        features = None if given.features is None else feature_map(given.features, pool)
        self.model = SideModel(given.stack, features, engine)
        self.half = Half(side, self.model.prior(self.strengths), engine)
        # Without edges and features the ridge is only a scale, which λ learns already.
        self.can_learn = len(given.stack.heads) > 0 or features is not None
        self.data_precision: Array = np.empty((0, 0))

    def learn(self, update: FactorUpdate, lam: Array) -> None:
        if self.can_learn:
            self.strengths, self.half = learn_strengths(
                self.model, self.strengths, self.half, update, lam
            )

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
        )


class _Loop:
    """State of one fit; `run` is its life."""

    def __init__(
        self,
        rows: _Side,
        cols: _Side,
        settings: Settings,
        offset: float,
        scale: float,
        callback: Callable[[Progress], None] | None,
    ) -> None:
        self.rows, self.cols, self.settings = rows, cols, settings
        self.offset, self.scale = offset, scale
        self.callback = callback
        self.n_observed = len(rows.half.side.values)
        # The bound of the data itself, not of the data over its scale.
        self.shift = -self.n_observed * float(np.log(scale))
        self.trace: list[float] = []
        self.ranks: list[int] = []
        self.started = time.perf_counter()

    def run(self, start: State | None = None) -> Fit:
        settings = self.settings
        self.may_grow = start is None
        state = start or initial_state(
            self.rows.half,
            self.cols.half,
            settings.family,
            min(settings.rank, FIRST_RANK),
            settings.seed,
            settings.bias,
        )
        converged = interrupted = False
        try:
            for number in range(settings.max_sweeps):
                last_sweep = number + 1 == settings.max_sweeps
                state, converged = self._step(state, number, last_sweep)
                if converged:
                    break
        except KeyboardInterrupt:
            if not self.trace:
                raise
            interrupted = True
        return Fit(
            self.best,
            self.offset,
            self.scale,
            tuple(self.trace),
            tuple(self.ranks),
            converged,
            interrupted,
            self.rows.finished(self.best.rows.mean),
            self.cols.finished(self.best.cols.mean),
        )

    def _step(self, state: State, number: int, last_sweep: bool) -> tuple[State, bool]:
        settings = self.settings
        if number:
            state = rotate(state, settings.prior)
        tau = float(state.tau.mean)
        state, U, V = sweep(settings.family, self.rows.half, self.cols.half, settings.prior, state)
        self._keep(state, U, V, tau)
        gain = self._record(state, number)
        if last_sweep:
            return state, False
        if settings.learn and number + 1 >= SETTLE:
            self.rows.learn(U, side_lam(state, "rows").mean)
            self.cols.learn(V, side_lam(state, "cols").mean)
        if gain > PLATEAU * self.n_observed:
            return state, False
        changed = self._reshape(state, U, V, number)
        if changed is not None:
            return changed, False
        size = max(abs(self.trace[-1]), self.n_observed)
        return state, gain <= settings.tol * size

    def _keep(self, state: State, U: FactorUpdate, V: FactorUpdate, tau: float) -> None:
        self.best = state
        for side, update in ((self.rows, U), (self.cols, V)):
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
            self.callback(Progress(number + 1, bound, gain, state.rank, noise, seconds, state))
        return gain

    def _reshape(self, state: State, U: FactorUpdate, V: FactorUpdate, number: int) -> State | None:
        """The state with columns dropped or added, or None where neither is due."""
        settings = self.settings
        rows, cols = self.rows.half, self.cols.half
        dead = surplus(settings.family, state, rows, cols, settings.prior, U, V)
        if dead.any():
            self.may_grow = False
            return drop(state, dead, settings.prior, self.n_observed, V)
        if self.may_grow and state.rank < settings.rank:
            return grow(state, min(2 * state.rank, settings.rank), settings.family, number)
        return None
