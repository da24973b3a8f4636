"""Weights of entries through a whole fit: an entry of weight two is the entry given twice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pytest

from bmcg import Observations
from bmcg.backends import Backend, NumbaBackend, SparseRows
from bmcg.graphs import chain_graph
from bmcg.graphs.precision import stack_graphs
from bmcg.inference.fit import Settings, SideInput
from bmcg.inference.side import Prior
from bmcg.inference.start import initial_state, make_side
from bmcg.inference.variational import _Loop
from bmcg.likelihoods import Gaussian, Weighting
from bmcg.likelihoods.base import Match, Noise
from bmcg.linalg.engines import Analyses

RNG = np.random.default_rng(0)
X = np.cumsum(RNG.normal(size=(16, 2)), axis=0) @ RNG.normal(size=(2, 11))
X += 0.3 * RNG.normal(size=X.shape)
X[RNG.random(X.shape) < 0.4] = np.nan
DATA = Observations.from_any(X)
WEIGHTS = RNG.integers(1, 3, len(DATA)).astype(float)


@dataclass(frozen=True)
class Weighted(Gaussian):
    """Gaussian noise of precision τ w_ij."""

    is_plain = False

    def weighting(self, noise, match):
        return Weighting(float(noise.tau.mean), WEIGHTS)

    def update(self, noise, match):
        return Noise(self.update_tau(WEIGHTS.sum(), WEIGHTS @ match.squares))

    def bound(self, noise, match):
        return super().bound(
            noise, Match(Repeated(np.empty(int(WEIGHTS.sum()))), WEIGHTS @ match.squares)
        )


class Repeated(NamedTuple):
    """As many entries as weights say, of which a bound asks the number alone."""

    values: np.ndarray


def repeated(rows: SparseRows, weights) -> SparseRows:
    """Every entry as often as its weight says."""
    times = weights.astype(int)
    indptr = np.append(0, np.cumsum(times))[rows.indptr]
    return replace(
        rows,
        indptr=indptr,
        indices=np.repeat(rows.indices, times),
        values=np.repeat(rows.values, times),
        memo={},
    )


def fitted(family, engine, backend, bias=True, weighted=True):
    rows = SideInput(stack_graphs([chain_graph(16)], 16, ["chain"]), 0.1)
    cols = SideInput(stack_graphs([], 11), 1.0)
    likelihood = Weighted() if weighted else Gaussian()
    settings = Settings(
        family=family,
        engine=engine,
        rank=4,
        max_sweeps=8,
        learn=True,
        bias=bias,
        prior=Prior(likelihood=likelihood),
    )
    sides = [
        make_side(DATA, which, given, settings, backend, Analyses())
        for which, given in enumerate((rows, cols))
    ]
    if not weighted:
        orders = slice(None), DATA.col_order
        sides = [
            replace(side, entries=repeated(side.entries, WEIGHTS[order]))
            for side, order in zip(sides, orders, strict=True)
        ]
    loop = _Loop(*sides, settings, 0.0, 1.0, None, None)
    loop.n_observed = int(WEIGHTS.sum())
    # From a given state: a fresh one, and when λ is learned, depends on the kind of likelihood.
    return loop.run(initial_state(*sides, family, 4, 0, bias))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("family", "engine"), [("row", "auto"), ("column", "dense"), ("joint", "dense")]
)
def test_a_weight_of_two_is_the_entry_given_twice(family, engine, bias):
    once = fitted(family, engine, NumbaBackend(1), bias)
    twice = fitted(family, engine, NumbaBackend(1), bias, weighted=False)
    np.testing.assert_allclose(once.trace, twice.trace, rtol=1e-9)
    assert once.ranks == twice.ranks
    for mine, other in ((once.state.rows, twice.state.rows), (once.state.cols, twice.state.cols)):
        np.testing.assert_allclose(mine.mean, other.mean, atol=1e-7)
        np.testing.assert_allclose(mine.cov, other.cov, atol=1e-9)


@pytest.mark.parametrize("family", ["row", "column", "joint"])
def test_a_weighted_fit_is_the_same_on_every_back_end(family):
    fast, plain = (fitted(family, "dense", on) for on in (NumbaBackend(2), Backend()))
    np.testing.assert_allclose(fast.trace, plain.trace, rtol=1e-9)
    np.testing.assert_allclose(fast.state.rows.mean, plain.state.rows.mean, atol=1e-7)


def test_weights_matter():
    fit = fitted("row", "auto", NumbaBackend(1))
    order = np.random.default_rng(1).permutation(len(WEIGHTS))
    WEIGHTS[:] = WEIGHTS[order]
    try:
        other = fitted("row", "auto", NumbaBackend(1))
    finally:
        WEIGHTS[order] = WEIGHTS.copy()
    assert abs(fit.trace[-1] - other.trace[-1]) > 1e-3
