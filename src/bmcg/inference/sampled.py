"""A fit by sampling: chains over the whole model, and what they leave behind as a fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..backends import Backend, host
from ..backends.packed import contiguous, outer_packed, pack
from ..likelihoods import Gaussian, Likelihood
from ..linalg.engines import Analyses
from ..observations import Observations
from .chain import Chain, Outcome, Plan, sample
from .covariance import Blocks
from .draws import Draws
from .finishing import finished
from .fit import Fit, Progress, Settings, SideInput, Start
from .place import ChainPlace, Origin
from .room import check_room
from .sampling import Point, Sides
from .side import Prior, Strengths
from .start import make_side
from .state import Factors, Gamma, State

Array = NDArray[np.float64]
Single = NDArray[np.float32]

# Numbers of the draws that are turned at once.
BATCH = 1 << 23
# Most chains of a fit, and the sweeps that each of them has after its burn-in at the least. A chain
# stays near the explanation it found first: where entries are few others predict as well, and the
# mean over several is better than any. Where they are many there is one.
MOST_CHAINS = 4
LEAST_SWEEPS = 25
MANY_ENTRIES = 500_000
# Standard deviation of the factors that a chain starts from, for a product of unit variance.
SMALL_START = 0.3


def run_sampled(
    observations: Observations,
    rows: SideInput,
    cols: SideInput,
    settings: Settings,
    *,
    backend: Backend,
    callback: Callable[[Progress], bool | None] | None = None,
    start: Start | None = None,
    strengths: tuple[Strengths, Strengths] | None = None,
    analyses: Analyses | None = None,
    keep: Callable[[ChainPlace], None] | None = None,
    resume: ChainPlace | None = None,
    origins: Sequence[Origin] = (),
) -> Fit:
    """Sample the model with exactly `settings.rank` components.

    Parameters
    ----------
    observations : Observations
    rows, cols : SideInput
    settings : Settings
        `max_sweeps` are those after the burn-in, of all chains together.
    backend : Backend
    callback : callable, optional
        Receives a `Progress` after every sweep; True from it ends the fit there.
    start : Start, optional
        Go on from there, in its units; components that it lacks start small.
    strengths : tuple of Strengths, optional
        Where those of both sides start.
    analyses : Analyses, optional
        Symbolic analyses of graphs, shared with other fits.
    keep : callable, optional
        Hears of every place between two sweeps.
    resume : ChainPlace, optional
        Such a place, to go on from exactly.
    origins : sequence of Origin
        Where the first chains begin that others have led to; the rest begin anew.

    Returns
    -------
    Fit
        Its state has the draws' moments, in the terms of the last of them.
    """
    offset, scale = _units(observations, settings, start)
    analyses = analyses or Analyses()
    # Rows and the weights of their features are drawn together, so those are nodes.
    settings = replace(settings, family="joint", engine="auto", prior=_with_least(settings, scale))
    with threadpool_limits(1):
        sides: Sides = (
            make_side(observations, 0, rows, settings, backend, analyses, offset, scale),
            make_side(observations, 1, cols, settings, backend, analyses, offset, scale),
        )
        if strengths is not None:
            sides = sides[0].at(strengths[0]), sides[1].at(strengths[1])
        loop = _Chains(sides, settings, offset, scale, callback, keep)
        return loop.run(None if start is None else start.state, resume, origins)


def chains_of(settings: Settings, n_entries: int) -> int:
    """How many chains a fit has that is not told."""
    if n_entries > MANY_ENTRIES:
        return 1
    return max(1, min(MOST_CHAINS, settings.max_sweeps // LEAST_SWEEPS))


def _with_least(settings: Settings, scale: float) -> Prior:
    """The prior with noise that is no smaller than it may be."""
    prior, least = settings.prior, settings.least_noise / scale
    if not least:
        return prior
    assert isinstance(prior.likelihood, Gaussian)
    return replace(prior, likelihood=replace(prior.likelihood, most=least**-2))


def _units(
    observations: Observations, settings: Settings, start: Start | None
) -> tuple[float, float]:
    if start is not None:
        return start.offset, start.scale
    return settings.prior.likelihood.units(observations.values, bool(settings.bias))


class _Chains:
    """Chains under way, one after the other."""

    def __init__(
        self,
        sides: Sides,
        settings: Settings,
        offset: float,
        scale: float,
        callback: Callable[[Progress], bool | None] | None,
        keep: Callable[[ChainPlace], None] | None,
    ) -> None:
        self.origins = tuple[Origin, ...]()
        self.sides, self.settings, self.callback, self.keep = sides, settings, callback, keep
        self.offset, self.scale = offset, scale
        # Of the data itself, not of the data over its scale.
        self.shift = -sides[0].n_observed * float(np.log(scale))
        self.started = time.perf_counter()
        self.trace: list[float] = []
        self.steps: list[int] = []
        self.stopped, self.ended = False, 0
        self.n_chains = settings.chains or chains_of(settings, sides[0].n_observed)

    def run(
        self,
        start: State | None,
        resume: ChainPlace | None,
        origins: Sequence[Origin] = (),
    ) -> Fit:
        settings = self.settings
        kept, plain = min(settings.draws, settings.max_sweeps), settings.prior.likelihood.is_plain
        size = settings.rank + bool(settings.bias)
        check_room(self.sides, "sampled", size, draws=kept, plain=plain)
        if resume is not None:
            self.trace, self.steps = list(resume.trace), list(resume.steps)
        chains = self.n_chains
        plan = Plan(
            -(-settings.max_sweeps // chains),
            kept,
            settings.burn_in,
            settings.learn,
        )
        self.origins = tuple((origins if resume is None else resume.origins)[:chains])
        points = [origin.point for origin in self.origins]
        points += [self._first(start, number) for number in range(len(points), chains)]
        seeds = [[settings.seed, 2, number] for number in range(chains)]
        ages = [origin.age for origin in self.origins]
        on = ages, self._after, self._between, resume
        return self._fit(sample(self.sides, settings.prior, points, seeds, plan, *on))

    def _between(self, place: ChainPlace) -> None:
        if self.keep is not None:
            self.keep(self._whole(place))

    def _whole(self, place: ChainPlace) -> ChainPlace:
        trace, steps = tuple(self.trace), tuple(self.steps)
        return replace(place, trace=trace, steps=steps, origins=self.origins)

    def _first(self, start: State | None, number: int) -> Point:
        settings, rng = self.settings, np.random.default_rng([self.settings.seed, 1, number])
        k, biased = settings.rank, bool(settings.bias)
        factors = []
        for side, old in zip(
            self.sides, (None, None) if start is None else (start.rows, start.cols), strict=True
        ):
            X, n = np.zeros((side.prior.n_nodes, k + biased)), side.entries.n
            X[:n, :k] = SMALL_START * max(k, 1) ** -0.25 * rng.standard_normal((n, k))
            if old is not None:
                shared = min(k, old.rank - biased)
                # What a start does not know of, new rows or weights of features, stays small.
                X[: len(old.mean), :shared] = old.mean[:, :shared]
                if biased:
                    X[: len(old.mean), k] = old.mean[:, -1]
            factors.append(side.backend.array(X))
        biases = np.ones(2) if biased else np.empty(0)
        lam, likelihood = np.ones(k), settings.prior.likelihood
        noise = likelihood.start(self.sides[0].entries, self.sides[1].entries.n)
        if start is not None:
            shared, noise = min(k, start.rank), start.noise
            lam[:shared] = start.lam.mean[:shared]
            if shared:
                lam[shared:] = start.lam.mean.max()
        tau, own = likelihood.first_draw(noise)
        return Point(factors[0], factors[1], lam, biases, tau, np.nan, own)

    def _after(self, chain: Chain, so_far: Callable[[], Outcome]) -> bool:
        density = chain.density[-1] + self.shift
        self.trace.append(density)
        self.steps.append(chain.point.steps)
        if self.callback is None:
            return False
        noise = self.scale * chain.point.spread
        seconds = time.perf_counter() - self.started
        where = len(self.trace), density, np.nan, np.nan, len(chain.point.lam), noise, seconds
        most = self.n_chains * self.settings.burn_in + self.settings.max_sweeps
        self.ended += chain.is_over
        most = max(most, len(self.trace))
        told = Progress(*where, lambda: self._fit(so_far()), most, self.ended)
        self.stopped = bool(self.callback(told))
        return self.stopped

    def _fit(self, found: Outcome) -> Fit:
        point, diagnostics = found.point, found.diagnostics
        done = diagnostics.agree and not found.interrupted and not self.stopped
        how = self.settings.prior.likelihood, self.sides[0].backend
        state = summary(found.draws, point, found.n_last, *how)
        rows, cols = (
            finished(
                side,
                np.concatenate((factors.mean, host(X[len(factors.mean) :]))),
                np.empty((0, 0)),
                side.prior,
                point.side_lam(which),
            )
            for which, (side, factors, X) in enumerate(
                zip(found.sides, (state.rows, state.cols), (point.rows, point.cols), strict=True)
            )
        )
        return Fit(
            state,
            self.offset,
            self.scale,
            tuple(self.trace),
            (len(point.lam),) * len(self.trace),
            diagnostics.agree,
            found.interrupted,
            self.stopped,
            rows,
            cols,
            None if done else self._whole(found.place),
            steps=tuple(self.steps),
            unsolved=point.unsolved,
            draws=found.draws.on_host(),
            diagnostics=diagnostics,
            kind="sampled",
            likelihood=self.settings.prior.likelihood,
            ends=found.ends,
        )


def summary(
    draws: Draws, last: Point, n_last: int, likelihood: Likelihood, backend: Backend
) -> State:
    """Moments of the last draws, those of one chain, rotated into the terms of the last of them.

    Shared components may turn from draw to draw without a change of any entry; an orthogonal
    rotation of (U, V) takes each draw as near the last point as it goes. Chains may explain the
    same entries by different components, which have no common mean.
    """
    k, sides = len(last.lam), (draws.rows[-n_last:], draws.cols[-n_last:])
    ends = zip((last.rows, last.cols), sides, strict=True)
    points = [backend.array(X)[: kept.shape[1]] for X, kept in ends]
    # The constants that biases meet, and the level of all entries, are left out.
    order = np.arange(k + last.biased), np.append(np.arange(k), [k + 1] * last.biased).astype(int)
    turns = np.tile(np.eye(k + last.biased), (n_last, 1, 1))
    turns[:, :k, :k] = _rotations(sides, points, k, backend)
    moments = [
        _moments(X, at, point, turns, backend)
        for X, at, point in zip(sides, order, points, strict=True)
    ]
    shape, inverse = 0.5 * (len(last.rows) + len(last.cols)), last.lam
    biases = [Gamma(np.ones(1), 1.0 / b) for b in last.biases.reshape(-1, 1)]
    noise = likelihood.summary(draws.tau, draws.own)
    return State(
        moments[0],
        moments[1],
        Gamma(np.full(k, shape), shape / inverse),
        noise.tau,
        last.squared_error,
        biases[0] if biases else None,
        biases[1] if biases else None,
        noise.own,
    )


def _rotations(
    sides: tuple[Single, Single], points: list[Array], k: int, backend: Backend
) -> Array:
    """What takes the first k components of each draw nearest to those of the points, (s, k, k)."""
    near = np.zeros((len(sides[0]), k, k))
    for X, point in zip(sides, points, strict=True):
        step = max(1, BATCH // max(1, X.shape[1] * X.shape[2]))
        for start in range(0, len(X), step):
            here = slice(start, start + step)
            own = backend.array(X[here])[:, :, :k].astype(point.dtype)
            near[here] += host(np.matmul(own.transpose(0, 2, 1), point[:, :k]))
    left, _, right = np.linalg.svd(near)
    return np.matmul(left, right)


def _moments(
    X: Single, order: NDArray[np.intp], point: Array, turns: Array, backend: Backend
) -> Factors:
    """Means and covariances over draws (s, n, w), some rows at a time, around one of them."""
    s, n, _ = X.shape
    k = len(order)
    means, covariances = [], []
    step = max(1, BATCH // max(1, k * max(s, k)))
    for start in range(0, n, step):
        here = slice(start, start + step)
        own = backend.array(X[:, here]).astype(point.dtype).take(order, axis=2)
        gap = contiguous((np.matmul(own, turns) - point[here]).transpose(1, 2, 0))
        total = gap.sum(axis=2)
        squares = pack(np.matmul(gap, gap.transpose(0, 2, 1)))
        means.append(host(point[here] + total / s))
        covariance = (squares - outer_packed(total / np.sqrt(s))) / max(s - 1, 1)
        covariances.append(np.asarray(covariance))
    # A device's single precision is kept: it is all there is, and half the file.
    mean, covariance = np.concatenate(means), np.concatenate(covariances)
    return Factors(mean, Blocks(covariance), np.nan, np.full((k, k), np.nan))
