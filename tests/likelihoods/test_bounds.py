"""Every likelihood: a bound from below that touches, and updates that never lower it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bmcg.inference.elbo import elbo
from bmcg.inference.start import initial_state, with_noise
from bmcg.inference.state import side_lam
from bmcg.inference.updates import (
    match_of,
    matched,
    update_factors,
    update_lambda,
    update_noise,
)
from bmcg.likelihoods import likelihood_of
from tests.inference.small import make_problem

from .cases import TITLES, low_rank, match_at, prior_of, some_entries, sure_noise, values_of

NODES, SHARES = np.polynomial.hermite_e.hermegauss(60)
SHARES = SHARES / SHARES.sum()


def densities(likelihood, noise, entries, y):
    """ln p of each value given its entry, the augmentation integrated out."""
    drawn = likelihood.first_draw(noise)
    whole = likelihood.log_density(drawn, match_at(entries, y, np.zeros_like(y)))
    parts = np.empty(len(y))
    for p in range(len(y)):
        one = replace(
            entries,
            indptr=np.array([0, 1]),
            indices=entries.indices[p : p + 1],
            values=entries.values[p : p + 1],
        )
        parts[p] = likelihood.log_density(drawn, match_at(one, y[p : p + 1], np.zeros(1)))
    assert parts.sum() == pytest.approx(whole, rel=1e-9)
    return parts


def loose(title, tolerance):
    """The Gaussian that stands for a log rate of counts is near its density, no more."""
    return 100 * tolerance if title == "poisson" else tolerance


@pytest.mark.parametrize("title", TITLES)
def test_the_bound_is_the_density_where_entries_are_known(title):
    rng = np.random.default_rng(0)
    entries = some_entries(title, rng)
    likelihood, noise = sure_noise(title, entries)
    y = rng.normal(size=len(entries.values))
    known = likelihood.bound(noise, match_at(entries, y, np.zeros_like(y)))
    exact = densities(likelihood, noise, entries, y).sum()
    # What is left is the divergence of a q that knows τ from a prior that does not.
    gap = exact - known
    other = y + 0.3
    gap_there = densities(likelihood, noise, entries, other).sum() - likelihood.bound(
        noise, match_at(entries, other, np.zeros_like(y))
    )
    assert gap == pytest.approx(gap_there, abs=loose(title, 1e-5) * len(y))


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("variance", [0.01, 0.3, 2.0])
def test_the_bound_is_one_by_numerical_integration(title, variance):
    rng = np.random.default_rng(1)
    entries = some_entries(title, rng)
    likelihood, noise = sure_noise(title, entries)
    mean, s = rng.normal(size=len(entries.values)), np.full(len(entries.values), variance)
    exact = sum(
        share * densities(likelihood, noise, entries, mean + np.sqrt(variance) * node).sum()
        for node, share in zip(NODES, SHARES, strict=True)
    )
    zeros = np.zeros_like(s)
    gap = densities(likelihood, noise, entries, mean).sum() - likelihood.bound(
        noise, match_at(entries, mean, zeros)
    )
    bound = likelihood.bound(noise, match_at(entries, mean, s)) + gap
    assert bound <= exact + loose(title, 1e-6) * len(s)
    # And not a useless one.
    assert bound >= exact - (0.5 * variance + 0.05) * len(s)


@pytest.mark.parametrize("title", TITLES)
def test_weights_and_targets_have_the_slope_of_the_density(title):
    rng = np.random.default_rng(2)
    entries = some_entries(title, rng)
    likelihood, noise = sure_noise(title, entries)
    y, step = rng.normal(size=len(entries.values)), 1e-5
    seen = likelihood.weighting(noise, match_at(entries, y, np.zeros_like(y)))
    targets = entries.values if seen.targets is None else seen.targets
    weights = np.ones_like(y) if seen.weights is None else seen.weights
    slope = (
        densities(likelihood, noise, entries, y + step)
        - densities(likelihood, noise, entries, y - step)
    ) / (2 * step)
    np.testing.assert_allclose(seen.tau * weights * (targets - y), slope, atol=loose(title, 2e-4))


def problem_of(title, seed, graphs):
    problem = make_problem(seed, m=12, n=10, graphs=graphs)
    rng = np.random.default_rng([seed, 1])
    values = values_of(title, low_rank(rng, 12, 10), rng)
    mask = problem.mask > 0
    return [
        replace(side, entries=replace(side.entries, values=part[seen]), order=order)
        for side, part, seen, order in (
            (problem.rows, values, mask, None),
            (problem.cols, values.T, mask.T, lambda: column_order(mask)),
        )
    ]


def column_order(mask):
    """Place in row order of each entry in column order."""
    place = np.full(mask.shape, -1)
    place[mask] = np.arange(mask.sum())
    return place.T[mask.T]


def single_updates(family, sides, prior, state):
    """Each update on its own; yields the state after it, and its name."""
    rows, cols = sides
    likelihood, biased = prior.likelihood, state.biased
    exact = {"gain_tol": 0.0, "max_steps": 500, "biased": biased}
    seen = likelihood.weighting(state.noise, match_of(likelihood, state, rows))
    lam = side_lam(state, "rows").mean
    U = update_factors(family, rows, state.cols, state.rows, seen, lam, **exact)
    state = matched(likelihood, replace(state, rows=U.factors), rows)
    yield "U", state
    seen = likelihood.weighting(state.noise, match_of(likelihood, state, rows))
    lam = side_lam(state, "cols").mean
    V = update_factors(family, cols, state.rows, state.cols, seen, lam, **exact)
    state = matched(likelihood, replace(state, cols=V.factors), rows)
    yield "V", state
    state = update_lambda(prior, state)
    yield "λ", state
    yield "noise", update_noise(likelihood, state, rows)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize("family", ["column", "row", "joint"])
@pytest.mark.parametrize("title", TITLES)
def test_no_single_update_lowers_the_bound(title, family, graphs, biased):
    sides, prior = problem_of(title, 3, graphs), prior_of(title)
    state = initial_state(sides[0], sides[1], family, 3, 0, biased)
    state = with_noise(state, likelihood_of(title), sides[0], sides[1])
    if "caution" in state.own:
        # Bold weights may lower the bound; those a fit falls back to must not.
        state = replace(state, own={**state.own, "caution": np.asarray(np.inf)})
    old, names = None, []
    for _ in range(8):
        for name, after in single_updates(family, sides, prior, state):
            names.append(name)
            state = after
            if np.isnan(state.rows.log_det) or np.isnan(state.cols.log_det):
                continue
            new = elbo(state, sides[0], sides[1], prior)
            if old is not None:
                assert new >= old - 1e-8 * abs(old), (name, len(names))
            old = new
    assert old is not None


@pytest.mark.parametrize("caution", [1.0, np.inf])
@pytest.mark.parametrize("title", ["bernoulli", "negative_binomial"])
def test_bold_weights_are_right_to_all_digits_and_cautious_ones_bound(title, caution):
    rng = np.random.default_rng(4)
    entries = some_entries(title, rng)
    likelihood, noise = sure_noise(title, entries)
    noise = noise._replace(own={**noise.own, "caution": np.asarray(caution)})
    mean, s = rng.normal(size=len(entries.values)), np.full(len(entries.values), 0.8)
    exact = sum(
        share * densities(likelihood, noise, entries, mean + np.sqrt(0.8) * node).sum()
        for node, share in zip(NODES, SHARES, strict=True)
    )
    bound = likelihood.bound(noise, match_at(entries, mean, s))
    if np.isinf(caution):
        assert bound < exact - 1e-3
    else:
        assert bound == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("title", ["bernoulli", "negative_binomial"])
def test_the_trace_of_a_fit_does_not_fall_between_changes(title):
    from bmcg import BMCG

    rng = np.random.default_rng(5)
    X = values_of(title, 3.0 * low_rank(rng, 40, 30), rng)
    X[rng.random(X.shape) < 0.3] = np.nan
    model = BMCG(
        likelihood=title.split()[0], posterior="row", rank=5, bias=True, selection=False,
        random_state=0, n_jobs=1, max_sweeps=60, tol=1e-7,
    ).fit(X)  # fmt: skip
    same = np.diff(model.rank_trace_) == 0
    falls = np.diff(model.elbo_trace_)[same] < -1e-8 * np.abs(model.elbo_trace_[1:][same])
    # Going over to the strict bound is one fall at most.
    assert falls.sum() <= np.isinf(model.fitted_.own["caution"])
