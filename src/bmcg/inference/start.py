"""Where a fit begins, and how it gets more components."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from ..backends import Backend, SparseRows
from ..likelihoods import Likelihood
from ..linalg.engines import Analyses, choose_engine
from ..linalg.prior import explained_by, feature_map
from ..observations import Observations
from .families import Family, posterior_of
from .fit import Settings, SideInput
from .local import Ground, first_local
from .room import check_room
from .side import Side
from .state import Factors, Gamma, State


def make_side(
    observations: Observations,
    which: int,
    given: SideInput,
    settings: Settings,
    backend: Backend,
    analyses: Analyses,
    offset: float = 0.0,
    scale: float = 1.0,
) -> Side:
    """Rows (0) or columns (1) as a fit starts with them."""
    view = (observations.by_row, observations.by_col)[which]
    entries = SparseRows(
        view.indptr,
        view.indices,
        backend.scaled(view.values, offset, scale),
        backend,
        storage=np.float32 if settings.single else np.float64,
    )
    strengths = given.first_strengths(settings.learn)
    precision = given.stack.precision(strengths.graphs, strengths.ridge)
    # Draws have no use for variances: of a graph they ask what `row` does, the prior's own.
    bare = settings.draws > 0 and given.features is None
    engine = choose_engine(
        settings.engine,
        precision,
        "row" if bare else settings.family,
        min(settings.rank, settings.first_rank) + bool(settings.bias),
        backend,
        settings.seed * 2 + which,
        features=0 if given.features is None else max(given.features.nnz, 1),
        learn=settings.learn,
        analyses=analyses,
    )
    graph = engine.prepare(precision)
    side = Side(
        entries,
        graph,
        engine,
        given.stack,
        None if given.features is None else feature_map(given.features, backend),
        strengths,
        not posterior_of(settings.family).ties_rows,
        order=cache(lambda: backend.array(observations.col_order)) if which else None,
    )
    if side.features is None:
        return side
    if not side.integrate:
        side = replace(side, explained=explained_by(graph, side.features, given.stack))
    return side.at(strengths)


def initial_state(
    rows: Side, cols: Side, family: Family, rank: int, seed: int, biased: bool = False
) -> State:
    """Random means whose product has the data's root mean square, which is one.

    The first update draws on V alone; U is there for the shapes. Biases start at zero.
    """
    rng = np.random.default_rng([seed, 0])
    sides = [_random_factors(rng, side, rank, family, biased) for side in (rows, cols)]
    one = Gamma(np.ones(1), np.ones(1)) if biased else None
    return State(
        sides[0],
        sides[1],
        Gamma(np.ones(rank), np.ones(rank)),
        Gamma(np.asarray(1.0), np.asarray(1.0)),
        float(rows.n_observed),
        one,
        one,
    )


def with_noise(state: State, likelihood: Likelihood, rows: Side, cols: Side) -> State:
    """The state as a likelihood starts from it.

    Where weights or targets depend on the entries, a random product of both sides would be taken
    for what is known: entries start at zero.
    """
    noise = likelihood.start(rows.entries, cols.entries.n)
    if likelihood.is_plain:
        return replace(state, tau=noise.tau, own=noise.own)
    bare = replace(state.rows, mean=np.zeros_like(state.rows.mean))
    return replace(state, rows=bare, tau=noise.tau, own=noise.own)


def with_local(state: State, lines: Ground, n_observed: int) -> State:
    """The state with a local term that could be half of what is noise so far."""
    return replace(state, local=first_local(lines, 0.5 * state.squared_error / n_observed))


def _random_factors(
    rng: np.random.Generator, side: Side, rank: int, family: Family, biased: bool
) -> Factors:
    n, k = side.entries.n, rank + biased
    mean = np.zeros((side.prior.n_nodes, k))
    mean[:n, :rank] = max(rank, 1) ** -0.25 * rng.standard_normal((n, rank))
    kind = posterior_of(family).kind
    cov = kind(side.backend.zeros((n, kind.zeros(0, k).array.shape[1])))
    return Factors(side.backend.array(mean), cov, np.nan, np.eye(k))


def grow(state: State, rank: int, seed: int, sides: tuple[Side, Side], family: Family) -> State:
    """Add components of noise, small against what is not yet explained."""
    check_room(sides, family, rank + state.biased, before=state.rank + state.biased)
    extra = rank - state.rank
    rng = np.random.default_rng([seed, rank])
    noise = 1.0 / float(np.sqrt(state.tau.mean))
    std = (0.1 * noise / np.sqrt(extra)) ** 0.5
    # A new component starts with the strongest prior precision that an old one has.
    strong = int(np.argmax(state.lam.mean))
    lam = Gamma(
        np.append(state.lam.shape, np.full(extra, state.lam.shape[strong])),
        np.append(state.lam.rate, np.full(extra, state.lam.rate[strong])),
    )
    return replace(
        state,
        rows=_widen(state.rows, state.rank, extra, std, rng),
        cols=_widen(state.cols, state.rank, extra, std, rng),
        lam=lam,
        at_entries=None,
    )


def _widen(factors: Factors, at: int, extra: int, std: float, rng: np.random.Generator) -> Factors:
    """New components put in at position `at`; a bias stays last."""
    k, n = factors.rank, len(factors.covariance)
    order = np.concatenate((np.arange(at), np.arange(k, k + extra), np.arange(at, k)))
    fresh = np.zeros((len(factors.mean), extra))
    fresh[:n] = std * rng.standard_normal((n, extra))
    mean = np.hstack((factors.mean, fresh)).take(order, axis=1)
    energy = np.full((k + extra, k + extra), np.nan)
    return Factors(mean, factors.covariance.widen(extra, order), np.nan, energy)
