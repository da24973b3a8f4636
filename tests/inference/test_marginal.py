"""Columns as parameters, rows integrated out: against the marginal likelihood written down."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg.backends import NumbaBackend
from bmcg.backends.packed import unpack
from bmcg.graphs import chain_graph
from bmcg.graphs.precision import stack_graphs
from bmcg.inference.fit import Settings, SideInput, Start
from bmcg.inference.list_trials import MARGINAL, Trials
from bmcg.inference.lists import leave_out
from bmcg.inference.marginal import first_columns, in_terms_of, run_marginal
from bmcg.inference.side import Prior
from bmcg.likelihoods import WeakZero, likelihood_of
from bmcg.observations import Observations

M, N, K = 14, 9, 2


def clicks(seed=0, m=M, n=N):
    rng = np.random.default_rng(seed)
    like = np.where((np.arange(m)[:, None] % 2) == (np.arange(n) % 2), 0.6, 0.1)
    rows, cols = np.nonzero(rng.random((m, n)) < like)
    counts = rng.geometric(0.5, len(rows)).astype(float)
    return Observations.from_triples(rows, cols, counts, (m, n))


def sides(tied=False, shape=(M, N)):
    graphs = [[chain_graph(n)] if tied else [] for n in shape]
    names = ["chain"] if tied else []
    return [
        SideInput(stack_graphs(own, n, names), 1.0) for own, n in zip(graphs, shape, strict=True)
    ]


def weak(power=0.5, **numbers):
    return WeakZero(**{"zero": 0.7, "one": 3.0, "power": power, "sure": True, **numbers})


def fitted(seen, likelihood, tied=False, sweeps=200, tol=1e-12, learn=False, **options):
    prior = Prior(likelihood=likelihood.of_shape(seen.shape))
    settings = Settings(rank=K, max_sweeps=sweeps, tol=tol, learn=learn, prior=prior)
    given = sides(tied, seen.shape)
    return run_marginal(seen, *given, settings, backend=NumbaBackend(1), **options)


def log_marginal(seen, likelihood, V, K_rows, K_cols):
    """ln p(X | V) + ln p(V) by one dense Gaussian for all rows, up to a constant."""
    m, n = seen.shape
    k = V.shape[1]
    w = np.zeros((m, n))
    w[seen.row_indices, seen.col_indices] = likelihood.weights(seen.values)
    P, rhs = np.kron(K_rows, np.eye(k)), np.zeros(m * k)
    for i in range(m):
        at = slice(i * k, (i + 1) * k)
        P[at, at] += (V.T * (w[i] + likelihood.zero)) @ V
        rhs[at] = w[i] @ V
    _, log_det = np.linalg.slogdet(P)
    fit = rhs @ np.linalg.solve(P, rhs) - w.sum() - log_det
    prior = k * np.linalg.slogdet(K_rows)[1] - np.einsum("jr,ji,ir->", V, K_cols, V)
    return 0.5 * (fit + prior)


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_the_trace_is_the_marginal_likelihood(power):
    seen, likelihood = clicks(), weak(power)
    fit = fitted(seen, likelihood, sweeps=6, tol=0.0)
    last = fitted(seen, likelihood, sweeps=7, tol=0.0)
    values = [
        log_marginal(seen, likelihood, f.state.cols.rows, np.eye(M), np.eye(N)) for f in (fit, last)
    ]
    assert last.trace[-1] - fit.trace[-1] == pytest.approx(values[1] - values[0], abs=1e-8)


def test_no_step_from_where_it_ends_is_higher():
    seen, likelihood = clicks(), weak()
    fit = fitted(seen, likelihood, sweeps=3000)
    V = fit.state.cols.rows
    value = log_marginal(seen, likelihood, V, np.eye(M), np.eye(N))
    rng = np.random.default_rng(1)
    for _ in range(40):
        step = 1e-3 * rng.standard_normal(V.shape)
        more = log_marginal(seen, likelihood, V + step, np.eye(M), np.eye(N))
        assert more < value + 1e-7


@pytest.mark.parametrize("even", [0.0, 0.5])
def test_rows_are_the_posterior_given_columns(even):
    seen, likelihood = clicks(), weak(even=even, typical=3.0)
    fit = fitted(seen, likelihood, sweeps=5)
    V, X = fit.state.cols.rows, seen.to_csr().toarray()
    for i in range(M):
        w = np.where(X[i] > 0, likelihood.weights(np.maximum(X[i], 1.0)), 0.0)
        w *= (max((X[i] > 0).sum(), 1) / 3.0) ** -even
        C = np.linalg.inv((V.T * (w + likelihood.zero)) @ V + np.eye(K))
        np.testing.assert_allclose(fit.state.rows.rows[i], C @ (w @ V), atol=1e-10)
        np.testing.assert_allclose(unpack(fit.state.rows.cov)[i], C, atol=1e-10)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("even", [0.0, 0.25])
def test_the_bound_never_falls(even, tied, learn):
    likelihood = weak(even=even, typical=4.0)
    trace = np.array(fitted(clicks(3), likelihood, tied, 40, 0.0, learn).trace)
    assert (np.diff(trace) > -1e-9 * np.abs(trace[1:])).all()
    assert len(trace) > 4


def test_a_fit_goes_on_from_its_columns():
    seen, likelihood = clicks(), weak()
    first = fitted(seen, likelihood, sweeps=3000)
    again = fitted(seen, likelihood, sweeps=1, start=Start(first.state, 0.0, 1.0))
    assert again.trace[0] == pytest.approx(first.trace[-1], abs=1e-5)


def test_columns_start_from_the_leading_singular_vectors():
    seen = clicks(m=30, n=20)
    V = first_columns(seen, 3, 0)
    _, _, right = np.linalg.svd((seen.to_csr().toarray() > 0).astype(float))
    turned = np.linalg.svd(V, full_matrices=False)[0]
    # The angle between the two subspaces.
    assert np.linalg.svd(turned.T @ right[:3].T)[1].min() > 0.99


def test_even_graphs_tie_a_star_as_a_pair():
    star = np.zeros((6, 6))
    star[0, 1:] = star[1:, 0] = 2.0
    stack = stack_graphs([sp.csr_array(star)], 6, ["star"]).even(3.0)
    np.testing.assert_allclose(stack.weights, 3.0 * 2.0 / np.sqrt(10.0 * 2.0))
    part = stack.part(np.array([0, 2, 3]))
    assert part.n == 3
    assert sorted(zip(part.heads.tolist(), part.tails.tolist(), strict=True)) == [(0, 1), (0, 2)]


def test_strengths_are_told_in_the_weights_that_were_given():
    seen, given = clicks(), sides(True)
    even = [SideInput(side.stack.even(2.0), 1.0) for side in given]
    prior = Prior(likelihood=weak().of_shape(seen.shape))
    fit = run_marginal(
        seen, *even, Settings(rank=K, max_sweeps=3, prior=prior), backend=NumbaBackend(1)
    )
    told = in_terms_of(fit, (given[0], given[1]))
    mean = even[0].stack.weights.mean() / given[0].stack.weights.mean()
    assert told.rows.strengths.graphs[0] == pytest.approx(mean)
    assert fit.rows.strengths.graphs[0] == 1.0


def test_lists_of_a_trial_hold_what_was_left_out():
    seen = clicks(m=80, n=30)
    lists = leave_out(seen, 0)
    assert lists is not None
    made = Trials(lists, Settings(), NumbaBackend(1), lambda *_: None, MARGINAL)
    fit = made.fit(weak(0.0), 2, "a trial", None)
    assert fit.state.rows.rows.shape == (80, 2)
    other = leave_out(seen, 0, 1)
    assert other is not None
    assert (other.left_out[1] != lists.left_out[1]).any()


def test_a_title_keeps_that_weights_are_precisions():
    made = weak(0.5, pairs=77)
    assert likelihood_of(made.title) == made
