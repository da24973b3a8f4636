"""Where a fit begins, and how it gets more columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .families import Family, is_column
from .state import Factors, Gamma, State
from .updates import Half, Prior

Array = NDArray[np.float64]


def initial_state(rows: Half, cols: Half, family: Family, rank: int, seed: int) -> State:
    """Random means whose product has the data's root mean square, which is one.

    The first update draws on V alone; U is there for the shapes.
    """
    rng = np.random.default_rng([seed, 0])
    sides = [_random_factors(rng, half.side.n, rank, rank**-0.25, family) for half in (rows, cols)]
    return State(
        sides[0],
        sides[1],
        Gamma(np.ones(rank), np.ones(rank)),
        Gamma(np.asarray(1.0), np.asarray(1.0)),
        float(len(rows.side.values)),
    )


def _random_factors(
    rng: np.random.Generator, n: int, k: int, std: float, family: Family
) -> Factors:
    width = k if family == "column" else k * (k + 1) // 2
    return Factors(std * rng.standard_normal((n, k)), np.zeros((n, width)), np.nan, np.eye(k))


def grow(state: State, rank: int, prior: Prior, seed: int) -> State:
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
        rows=_widen(state.rows, extra, std, rng),
        cols=_widen(state.cols, extra, std, rng),
        lam=lam,
    )


def _widen(factors: Factors, extra: int, std: float, rng: np.random.Generator) -> Factors:
    n, k = factors.mean.shape
    mean = np.hstack((factors.mean, std * rng.standard_normal((n, extra))))
    width = extra if is_column(factors) else extra * k + extra * (extra + 1) // 2
    # Packed blocks grow at their end: rows k and on of each triangle.
    cov = np.hstack((factors.cov, np.zeros((n, width))))
    energy = np.diag(np.append(np.diag(factors.energy), np.full(extra, np.nan)))
    energy[:k, :k] = factors.energy
    return Factors(mean, cov, np.nan, energy)
