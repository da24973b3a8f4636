"""Where a fit begins, and how it gets more columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .families import Family
from .state import Factors, Gamma, State
from .updates import Half

Array = NDArray[np.float64]


def initial_state(
    rows: Half, cols: Half, family: Family, rank: int, seed: int, biased: bool = False
) -> State:
    """Random means whose product has the data's root mean square, which is one.

    The first update draws on V alone; U is there for the shapes. Biases start at zero.
    """
    rng = np.random.default_rng([seed, 0])
    sides = [_random_factors(rng, half, rank, family, biased) for half in (rows, cols)]
    one = Gamma(np.ones(1), np.ones(1)) if biased else None
    return State(
        sides[0],
        sides[1],
        Gamma(np.ones(rank), np.ones(rank)),
        Gamma(np.asarray(1.0), np.asarray(1.0)),
        float(len(rows.side.values)),
        one,
        one,
    )


def _random_factors(
    rng: np.random.Generator, half: Half, rank: int, family: Family, biased: bool
) -> Factors:
    n, k = half.side.n, rank + biased
    mean = np.zeros((half.prior.n_nodes, k))
    mean[:n, :rank] = max(rank, 1) ** -0.25 * rng.standard_normal((n, rank))
    width = k if family == "column" else k * (k + 1) // 2
    return Factors(mean, np.zeros((n, width)), np.nan, np.eye(k))


def grow(state: State, rank: int, family: Family, seed: int) -> State:
    """Add columns of noise, small against what is not yet explained."""
    extra = rank - state.rank
    rng = np.random.default_rng([seed, rank])
    noise = 1.0 / float(np.sqrt(state.tau.mean))
    std = (0.1 * noise / np.sqrt(extra)) ** 0.5
    # A new column starts with the strongest prior precision that an old one has.
    strong = int(np.argmax(state.lam.mean))
    lam = Gamma(
        np.append(state.lam.shape, np.full(extra, state.lam.shape[strong])),
        np.append(state.lam.rate, np.full(extra, state.lam.rate[strong])),
    )
    return replace(
        state,
        rows=_widen(state.rows, state.rank, extra, std, family, rng),
        cols=_widen(state.cols, state.rank, extra, std, family, rng),
        lam=lam,
    )


def _widen(
    factors: Factors,
    at: int,
    extra: int,
    std: float,
    family: Family,
    rng: np.random.Generator,
) -> Factors:
    """New columns put in at position `at`; a bias stays last."""
    k, n = factors.rank, len(factors.cov)
    order = np.concatenate((np.arange(at), np.arange(k, k + extra), np.arange(at, k)))
    fresh = np.zeros((len(factors.mean), extra))
    fresh[:n] = std * rng.standard_normal((n, extra))
    mean = np.hstack((factors.mean, fresh))[:, order]
    energy = np.full((k + extra, k + extra), np.nan)
    return Factors(mean, _widen_cov(factors, extra, order, family), np.nan, energy)


def _widen_cov(factors: Factors, extra: int, order: NDArray[np.intp], family: Family) -> Array:
    """Covariances with `extra` columns of zeros, columns then put in the given order."""
    k, n = factors.rank, len(factors.cov)
    if family == "column":
        return np.hstack((factors.cov, np.zeros((n, extra))))[:, order]
    width = extra * k + extra * (extra + 1) // 2
    # Packed blocks grow at their end: rows k and on of each triangle.
    grown = np.hstack((factors.cov, np.zeros((n, width))))
    r, s = np.tril_indices(k + extra)
    a, b = np.maximum(order[r], order[s]), np.minimum(order[r], order[s])
    return np.ascontiguousarray(grown[:, a * (a + 1) // 2 + b])
