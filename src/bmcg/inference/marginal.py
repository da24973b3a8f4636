"""Columns as parameters, rows integrated out: the fit of what was seen among weak zeros.

What lists need of a column is a number, not a distribution, and a row has seen too little to be
one. So q(U) is the posterior of the rows given V, and V the place where what is left,

    ln p(X | V) + ln p(V),

is highest: expectation and maximisation, each by the updates of a variational fit. Where rows are
tied by a graph, blocks of a `row` posterior stand for theirs, and the bound for ln p(X | V).
Precisions of observations are given, not learned, and λ is one: what components are worth is in V.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..backends import Backend, host
from ..likelihoods import Match, Noise
from ..likelihoods.gaussian import LOG_2PI
from ..likelihoods.weak_zero import WeakZero
from ..linalg.engines import Analyses
from ..observations import Observations
from .covariance import Blocks, Diagonal
from .finishing import finished
from .fit import Fit, FittedSide, Progress, Settings, SideInput, Start
from .room import check_room
from .side import Side
from .start import make_side
from .state import Factors, Gamma, State
from .strengths import learn_strengths
from .updates import FactorUpdate, expected_squared_error, quadratic_form, update_factors

Array = NDArray[np.float64]

# Sweeps before strengths of graphs are first learned.
SETTLE = 3
# A step of V that gained is made longer by this much the next time; at most so many times.
STRETCH = 1.25
LONGEST = 4.0
# Of the subspace that V starts from: products with the data, and components besides.
POWERS = 4
BESIDES = 8


def run_marginal(
    observations: Observations,
    rows: SideInput,
    cols: SideInput,
    settings: Settings,
    *,
    backend: Backend,
    callback: Callable[[Progress], bool | None] | None = None,
    start: Start | None = None,
    analyses: Analyses | None = None,
) -> Fit:
    """The fitted model, with exactly `settings.rank` components and no biases.

    Parameters
    ----------
    observations : Observations
    rows, cols : SideInput
    settings : Settings
        Its likelihood is a `WeakZero` whose weights are precisions.
    backend : Backend
    callback : callable, optional
        Receives a `Progress` after every sweep; True from it ends the fit there.
    start : Start, optional
        Go on from its columns; rows follow from them.
    analyses : Analyses, optional
        Symbolic analyses of graphs, shared with other fits.

    Returns
    -------
    Fit
        Of the `row` family; its columns have no variance.
    """
    settings = replace(settings, family="row", draws=0, bias=False)
    analyses = analyses or Analyses()
    with threadpool_limits(1):
        sides = [
            make_side(observations, which, given, settings, backend, analyses)
            for which, given in enumerate((rows, cols))
        ]
        if start is not None and start.strengths is not None:
            sides = [side.at(own) for side, own in zip(sides, start.strengths, strict=True)]
        check_room((sides[0], sides[1]), "row", settings.rank)
        V = first_columns(observations, settings.rank, settings.seed)
        if start is not None:
            old = start.state.cols.rows
            V[: len(old), : old.shape[1]] = old[:, : settings.rank]
        return _Loop(sides[0], sides[1], settings, callback).run(_nodes(V, sides[1]))


def first_columns(observations: Observations, rank: int, seed: int) -> Array:
    """The leading right singular vectors of what was seen, by their size, (n, rank)."""
    m, n = observations.shape
    indptr, indices, values = observations.by_row
    X = sp.csr_array((np.ones(len(values)), indices, indptr), shape=(m, n))
    width = min(rank + BESIDES, m, n)
    Q = np.random.default_rng([seed, 5]).standard_normal((n, width))
    for _ in range(POWERS):
        Q, _ = np.linalg.qr(X.T @ (X @ Q))
    _, sizes, turned = np.linalg.svd(X @ Q, full_matrices=False)
    out = np.zeros((n, rank))
    out[:, :width] = ((Q @ turned.T) * np.sqrt(sizes) * m**-0.25)[:, :rank]
    return out


def in_terms_of(fit: Fit, sides: tuple[SideInput, SideInput]) -> Fit:
    """The fit with strengths of graphs in terms of the weights that were given, on the mean.

    Edges that come later have weights like those.
    """
    rows, cols = (
        _rescaled(side, given) for side, given in zip((fit.rows, fit.cols), sides, strict=True)
    )
    return replace(fit, rows=rows, cols=cols)


def _rescaled(side: FittedSide, given: SideInput) -> FittedSide:
    graphs = side.strengths.graphs.copy()
    for at, name in enumerate(side.stack.names):
        raw = given.stack.weights[given.stack.names.index(name)].sum()
        if raw > 0.0:
            graphs[at] *= side.stack.weights[at].sum() / raw
    return replace(side, strengths=replace(side.strengths, graphs=graphs))


def _nodes(V: Array, side: Side) -> Array:
    """Columns with a place for the weights of their features, where those are nodes."""
    return np.pad(V, ((0, side.prior.n_nodes - len(V)), (0, 0)))


@dataclass(frozen=True)
class _Place:
    """Columns, the rows' posterior given them, and the objective there."""

    V: Array
    U: FactorUpdate
    squared_error: float
    value: float


class _Loop:
    """One fit under way."""

    def __init__(
        self,
        rows: Side,
        cols: Side,
        settings: Settings,
        callback: Callable[[Progress], bool | None] | None,
    ) -> None:
        self.rows, self.cols, self.settings, self.callback = rows, cols, settings, callback
        likelihood = settings.prior.likelihood
        assert isinstance(likelihood, WeakZero)
        self.likelihood = likelihood
        known = likelihood.start(rows.entries, 0)
        self.own = known.own
        self.seen = likelihood.weighting(known, Match(rows.entries))
        assert self.seen.weights is not None
        self.size = float(self.seen.weights.sum()) + likelihood.zero * likelihood.pairs
        self.lam = np.ones(settings.rank)
        self.trace: list[float] = []
        self.steps: list[int] = []
        self.unsolved, self.stopped = 0, False
        self.started = time.perf_counter()

    def run(self, V: Array) -> Fit:
        converged = interrupted = False
        place, length = self._expect(V, None), 1.0
        try:
            for number in range(self.settings.max_sweeps):
                place, length, gain = self._sweep(place, length)
                self.trace.append(place.value)
                if self._told(place, gain):
                    break
                if self.settings.learn and number + 1 >= SETTLE:
                    place = self._learn(place)
                converged = number > SETTLE and gain <= self._target(place)
                if converged:
                    break
        except KeyboardInterrupt:
            if not self.trace:
                raise
            interrupted = True
        return self._fit(place, converged, interrupted)

    def _sweep(self, place: _Place, length: float) -> tuple[_Place, float, float]:
        """New columns and the rows given them; a longer step than the update's where it gains."""
        safe = self._maximise(place)
        if length > 1.0:
            far = self._expect(place.V + length * (safe - place.V), place.U)
            if far.value > place.value:
                return far, min(length * STRETCH, LONGEST), far.value - place.value
        new = self._expect(safe, place.U)
        return new, STRETCH if length == 1.0 else 1.0, new.value - place.value

    def _expect(self, V: Array, old: FactorUpdate | None) -> _Place:
        """q(U) given V."""
        known = self._known(V)
        start = None if old is None else old.factors
        U = update_factors("row", self.rows, known, start, self.seen, self.lam)
        self._solved(U)
        error = expected_squared_error(self.rows, U, known)
        return _Place(V, U, error, self._value(V, U, error))

    def _maximise(self, place: _Place) -> Array:
        """V given q(U), then both in units in which U is what its prior says.

        The second step, an expansion by parameters, leaves every product as it is.
        """
        found = update_factors(
            "row", self.cols, place.U.factors, self._known(place.V), self.seen, self.lam
        )
        self._solved(found)
        V, m = found.factors.mean, len(place.U.factors.mean)
        spread = place.U.factors.energy / m
        sizes, turns = np.linalg.eigh(spread)
        sizes = np.maximum(sizes, np.finfo(float).tiny)
        scaled = V @ ((turns * np.sqrt(sizes)) @ turns.T)
        gain = 0.5 * m * float((sizes - 1.0 - np.log(sizes)).sum())
        loss = 0.5 * (self._energy(scaled) - self._energy(V))
        return scaled if gain >= loss else V

    def _known(self, V: Array) -> Factors:
        """Columns without variance."""
        n, k = self.cols.entries.n, V.shape[1]
        return Factors(V, Diagonal.zeros(n, k), np.nan, np.full((k, k), np.nan))

    def _energy(self, V: Array) -> float:
        return float(np.trace(quadratic_form(self.cols.prior, V)))

    def _value(self, V: Array, U: FactorUpdate, error: float) -> float:
        """The bound of ln p(X | V) + ln p(V); weights count observations."""
        factors, k = U.factors, len(self.lam)
        rows = k * self.rows.prior.log_det - float(np.trace(factors.energy))
        rows += factors.mean.size - factors.log_det
        cols = k * (self.cols.prior.log_det - len(V) * LOG_2PI) - self._energy(V)
        return 0.5 * (rows + cols - error - self.size * LOG_2PI)

    def _learn(self, place: _Place) -> _Place:
        """Strengths of what ties the rows.

        Those of columns stay: without variances, columns that follow their graph ever closer
        would speak for ever more of it.
        """
        if not self.rows.can_learn:
            return place
        self.rows = learn_strengths(self.rows, place.U, self.lam)
        return replace(place, value=self._value(place.V, place.U, place.squared_error))

    def _target(self, place: _Place) -> float:
        return self.settings.tol * abs(place.value + 0.5 * self.size * LOG_2PI)

    def _solved(self, update: FactorUpdate) -> None:
        self.unsolved = int(not update.converged)
        self.steps.append(update.steps)

    def _told(self, place: _Place, gain: float) -> bool:
        """Whether the callback, which hears of the sweep, ends the fit."""
        if self.callback is None:
            return False
        seconds, tau = time.perf_counter() - self.started, self._noise(place).tau
        told = Progress(
            len(self.trace),
            place.value,
            gain,
            self._target(place),
            len(self.lam),
            float(tau.mean) ** -0.5,
            seconds,
            lambda: self._fit(place),
            self.settings.max_sweeps,
        )
        self.stopped = bool(self.callback(told))
        return self.stopped

    def _noise(self, place: _Place) -> Noise:
        """How far ones and zeros lie from their entries, which nothing here depends on."""
        return Noise(self.likelihood.update_tau(self.size, place.squared_error), self.own)

    def _fit(self, place: _Place, converged: bool = False, interrupted: bool = False) -> Fit:
        k = len(self.lam)
        energy = quadratic_form(self.cols.prior, place.V)
        cols = Factors(host(place.V), Blocks.zeros(self.cols.entries.n, k), np.nan, energy)
        held = place.U.factors
        rows = replace(held, mean=host(held.mean), covariance=Blocks(host(held.cov)))
        ones = Gamma(np.ones(k), np.ones(k))
        noise = self._noise(place)
        state = State(rows, cols, ones, noise.tau, place.squared_error, own=noise.own)
        nothing = np.empty((0, 0))
        return Fit(
            state,
            0.0,
            1.0,
            tuple(self.trace),
            (k,) * len(self.trace),
            converged,
            interrupted,
            self.stopped,
            finished(self.rows, held.mean, nothing, self.rows.prior, self.lam),
            finished(self.cols, place.V, nothing, self.cols.prior, self.lam),
            None,
            steps=tuple(self.steps),
            unsolved=self.unsolved,
            kind="row",
            likelihood=self.likelihood,
        )
