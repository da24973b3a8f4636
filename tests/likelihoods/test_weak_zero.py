"""Weak zeros at all pairs are what explicit zeros with explicit weights are, number by number."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from bmcg.backends import NumbaBackend, SparseRows
from bmcg.graphs import chain_graph
from bmcg.graphs.precision import stack_graphs
from bmcg.inference.fit import Settings, SideInput
from bmcg.inference.sampled import run_sampled
from bmcg.inference.side import Prior
from bmcg.inference.variational import run
from bmcg.likelihoods import Match, Noise, WeakZero, Weighting, likelihood_of
from bmcg.observations import Observations

M, N = 14, 11


def clicks(seed=0):
    rng = np.random.default_rng(seed)
    chance = rng.gamma(1.0, size=(M, 1)) * rng.gamma(1.0, size=N) / 4
    counts = rng.poisson(chance + 0.2 * (np.arange(M)[:, None] % 3 == np.arange(N) % 3))
    counts[2], counts[:, 3] = 0, 0
    return counts.astype(float)


@dataclass(frozen=True)
class Explicit(WeakZero):
    """The same model on a full matrix of counts, every zero and every weight written down.

    w (1 − y)² + z y² = (w + z)(t − y)² + w z / (w + z) with t = w / (w + z).
    """

    counts: np.ndarray = field(default_factory=lambda: np.empty(0))

    def _parts(self):
        w = np.where(self.counts > 0, self.weights(np.maximum(self.counts, 1.0)), 0.0)
        return w, w + self.zero

    def _seen(self, tau, match):
        w, both = self._parts()
        return Weighting(tau, both, w / both)

    def size(self, counts):
        return float(self._parts()[1].sum())

    def _with_rest(self, match):
        w, both = self._parts()
        return replace(
            match, squared_error=match.squared_error + float((w * self.zero / both).sum())
        )

    def update(self, noise, match):
        return Noise(self.update_tau(self.size(None), self._with_rest(match).squared_error))

    def bound(self, noise, match):
        return super().bound(noise, self._with_rest(match))

    def draw(self, noise, match, seen, rng):
        return super().draw(noise, self._with_rest(match), seen, rng)

    def log_density(self, noise, match):
        return super().log_density(noise, self._with_rest(match))


def both(power, zero=0.2, one=1.5):
    """Observations and likelihood, with the zeros left to the Gram matrix and written down."""
    counts = clicks()
    i, j = np.nonzero(counts)
    numbers = {"zero": zero, "one": one, "power": power, "pairs": M * N}
    weak = Observations.from_triples(i, j, counts[i, j], (M, N)), WeakZero(**numbers)
    a, b = (part.ravel() for part in np.indices((M, N)))
    full = Observations.from_triples(a, b, counts.ravel(), (M, N))
    return weak, (full, Explicit(counts=counts.ravel(), **numbers))


def sides(tied):
    inputs = []
    for n in (M, N):
        graphs = [chain_graph(n)] if tied else []
        stack = stack_graphs(graphs, n, ["chain"] if tied else [])
        inputs.append(SideInput(stack, 0.5 if tied else 1.0))
    return inputs


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("family", ["row", "joint"])
def test_a_fit_is_that_of_explicit_zeros_and_weights(family, bias, tied, power):
    fits = []
    for observations, likelihood in both(power):
        settings = Settings(
            family, 3, 6, 0.0, bias=bias, learn=tied, prior=Prior(likelihood=likelihood)
        )
        backend = NumbaBackend(1)
        fits.append(run(observations, *sides(tied), settings, backend=backend))
    weak, explicit = fits
    np.testing.assert_allclose(weak.trace, explicit.trace, rtol=1e-8)
    for mine, theirs in (
        (weak.state.rows, explicit.state.rows),
        (weak.state.cols, explicit.state.cols),
    ):
        np.testing.assert_allclose(mine.mean, theirs.mean, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(mine.cov, theirs.cov, rtol=1e-6, atol=1e-9)
        assert mine.log_det == pytest.approx(theirs.log_det, rel=1e-8)
    assert float(weak.state.tau.mean) == pytest.approx(float(explicit.state.tau.mean), rel=1e-8)
    assert weak.ranks == explicit.ranks


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_a_chain_is_that_of_explicit_zeros_and_weights(tied, bias):
    fits = []
    for observations, likelihood in both(1.0):
        settings = Settings(
            "joint", 3, 5, bias=bias, draws=5, burn_in=4, prior=Prior(likelihood=likelihood)
        )
        backend = NumbaBackend(1)
        fits.append(run_sampled(observations, *sides(tied), settings, backend=backend))
    weak, explicit = fits
    np.testing.assert_allclose(weak.draws.tau, explicit.draws.tau, rtol=1e-4)
    np.testing.assert_allclose(weak.trace, explicit.trace, rtol=1e-4)
    np.testing.assert_allclose(weak.draws.rows, explicit.draws.rows, rtol=0.02, atol=2e-3)


@pytest.mark.parametrize("family", ["row", "joint"])
def test_the_bound_never_falls(family):
    (observations, likelihood), _ = both(1.0)
    settings = Settings(family, 4, 40, 0.0, prior=Prior(likelihood=likelihood))
    backend = NumbaBackend(1)
    trace = np.array(run(observations, *sides(False), settings, backend=backend).trace)
    assert (np.diff(trace) > -1e-9 * np.abs(trace[1:])).all()


@pytest.mark.parametrize("more", [{}, {"sure": True}, {"sure": True, "even": 0.25, "typical": 7.5}])
def test_a_title_makes_the_same_again(more):
    made = WeakZero(zero=0.03, one=2.5, power=0.5, pairs=77, **more)
    assert likelihood_of(made.title) == made


def test_ones_of_rows_that_have_seen_much_weigh_less_from_either_side():
    (observations, _), _ = both(1.0)
    likelihood = WeakZero(power=0.0, even=0.5, sure=True).of(observations)
    backend = NumbaBackend(1)
    rows, cols = (
        SparseRows(view.indptr, view.indices, view.values, n, backend)
        for view, n in zip((observations.by_row, observations.by_col), (N, M), strict=True)
    )
    noise = likelihood.start(rows, N)
    found = likelihood.weighting(noise, Match(rows)).weights
    counts = np.diff(observations.by_row.indptr)
    np.testing.assert_allclose(
        found, np.sqrt(likelihood.typical / np.repeat(counts, counts)), rtol=1e-12
    )
    turned = likelihood.transposed()
    assert turned.transposed() == likelihood
    as_cols = turned.weighting(turned.newcomers(noise, 1), Match(cols)).weights
    np.testing.assert_allclose(as_cols, np.sqrt(likelihood.typical / counts[cols.indices]))
    grown = likelihood.joined(noise, 3)
    assert grown.own["seen"][M:].tolist() == [likelihood.typical] * 3
