"""What BMCG promises on data whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bmcg import BMCG
from bmcg.graphs import chain_graph
from bmcg.graphs.precision import graph_precision
from bmcg.inference import variational as run_module
from bmcg.inference.families import FAMILIES
from bmcg.metrics import coverage


def planted(m=200, n=150, rank=5, observed=0.4, snr_db=20.0, seed=0):
    """Noisy entries of a matrix of known rank, NaN where not observed, and the noise's std."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    noise = truth.std() * 10 ** (-snr_db / 20)
    X = truth + noise * rng.normal(size=truth.shape)
    return np.where(rng.random(truth.shape) < observed, X, np.nan), truth, noise


@pytest.mark.parametrize("family", FAMILIES)
def test_planted_rank_and_noise_are_found(family):
    X, truth, noise = planted()
    model = BMCG(posterior=family, random_state=0, n_jobs=1).fit(X)
    assert model.rank_ == 5
    assert model.noise_std_ == pytest.approx(noise, rel=0.05)
    assert np.sqrt(np.mean((model.complete() - truth) ** 2)) < noise


def from_the_model(seed, m=50, n=40, rank=3, ridge=0.05):
    """A matrix whose factors are drawn from the prior of two chains, half of it observed."""
    rng = np.random.default_rng(seed)
    graphs = chain_graph(m, scale=1.5), chain_graph(n, scale=1.5)
    sides = []
    for graph in graphs:
        L = graph_precision(graph, ridge).toarray()
        white = rng.normal(size=(len(L), rank))
        sides.append(np.linalg.solve(np.linalg.cholesky(L).T, white))
    truth = sides[0] @ sides[1].T
    X = truth + 0.3 * truth.std() * rng.normal(size=truth.shape)
    return X, rng.random(X.shape) < 0.5, graphs


@pytest.mark.parametrize("family", FAMILIES)
def test_intervals_hold_what_they_say_on_data_from_the_model(family):
    """New noisy entries, over several draws of the whole matrix."""
    inside = []
    for seed in range(4):
        X, mask, graphs = from_the_model(seed)
        model = BMCG(posterior=family, ridge=0.05, bias=False, random_state=seed, n_jobs=1)
        model.fit(np.where(mask, X, np.nan), row_graph=graphs[0], col_graph=graphs[1])
        rows, cols = np.nonzero(~mask)
        low, high = model.predict_interval(rows, cols, level=0.9)
        inside.append(coverage(X[rows, cols], low, high))
    assert 0.87 <= np.mean(inside) <= 0.93


@pytest.mark.parametrize("family", ["row", "joint"])
def test_moments_stored_in_float32_change_predictions_by_rounding_alone(family):
    X, _, _ = planted(60, 50)
    fits = [
        BMCG(posterior=family, bias=False, storage=storage, max_sweeps=8, random_state=0, n_jobs=1)
        for storage in ("float64", "float32")
    ]
    double, single = (model.fit(X).complete() for model in fits)
    gap = np.abs(single - double).max() / np.abs(double).max()
    assert 0.0 < gap < 1e-5


def test_the_same_seed_gives_the_same_result_with_one_and_two_threads():
    X, _, _ = planted(observed=0.5)
    graph = chain_graph(200)
    for family in FAMILIES:
        one, two = (
            BMCG(posterior=family, max_sweeps=3, random_state=3, n_jobs=jobs) for jobs in (1, 2)
        )
        for model in (one, two):
            with pytest.warns(match="max_sweeps"):
                model.fit(X, row_graph=graph)
        np.testing.assert_array_equal(one.elbo_trace_, two.elbo_trace_)
        np.testing.assert_array_equal(one.complete(), two.complete())
        np.testing.assert_array_equal(
            one.predict([0, 7], [1, 9], return_std=True)[1],
            two.predict([0, 7], [1, 9], return_std=True)[1],
        )


def small(seed=0):
    X, _, _ = planted(m=40, n=30, rank=2, observed=0.6, seed=seed)
    return X, chain_graph(40), chain_graph(30)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("factor", [1024.0, 1e-9, 3.7e6])
def test_scaling_the_data_scales_means_deviations_and_noise(family, factor):
    X, rows, cols = small()
    plain, scaled = (
        BMCG(rank=6, posterior=family, max_sweeps=6, tol=0.0, random_state=0, n_jobs=1)
        for _ in range(2)
    )
    for model, data in ((plain, X), (scaled, factor * X)):
        with pytest.warns(match="max_sweeps"):
            model.fit(data, row_graph=rows, col_graph=cols)
    # Powers of two scale without rounding, so everything is equal to the last digit.
    rtol = 0.0 if factor == 1024.0 else 1e-6
    i, j = np.meshgrid(np.arange(40), np.arange(30))
    for ours, theirs in zip(
        plain.predict(i.ravel(), j.ravel(), return_std=True),
        scaled.predict(i.ravel(), j.ravel(), return_std=True),
        strict=True,
    ):
        size = np.abs(ours).max()
        np.testing.assert_allclose(theirs / factor, ours, rtol=rtol, atol=rtol * size)
    assert scaled.noise_std_ / factor == pytest.approx(plain.noise_std_, rel=rtol or 1e-15)
    shift = -np.isfinite(X).sum() * np.log(factor)
    np.testing.assert_allclose(scaled.elbo_trace_, plain.elbo_trace_ + shift, rtol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_permuting_rows_and_columns_permutes_the_result(family, monkeypatch):
    X, rows, cols = small()
    rng = np.random.default_rng(1)
    p, q = rng.permutation(40), rng.permutation(30)
    options = {"rank": 4, "posterior": family, "bias": False, "random_state": 0, "n_jobs": 1}
    plain = BMCG(**options).fit(X, row_graph=rows, col_graph=cols)

    initial = run_module.initial_state

    def permuted(*args, **named):
        """The start of the plain fit, in the other order."""
        state = initial(*args, **named)
        sides = [replace(F, mean=F.mean[order]) for F, order in ((state.rows, p), (state.cols, q))]
        return replace(state, rows=sides[0], cols=sides[1])

    monkeypatch.setattr(run_module, "initial_state", permuted)
    shuffled = BMCG(**options).fit(
        X[p][:, q], row_graph=rows.tocsr()[p][:, p], col_graph=cols.tocsr()[q][:, q]
    )
    expected = plain.complete()[p][:, q]
    scale = np.abs(expected).max()
    np.testing.assert_allclose(shuffled.complete(), expected, atol=1e-5 * scale)
    assert shuffled.noise_std_ == pytest.approx(plain.noise_std_, rel=1e-5)
    np.testing.assert_allclose(shuffled.elbo_trace_, plain.elbo_trace_, rtol=1e-6)


def test_transposing_the_matrix_changes_the_result_no_more_than_another_start():
    X, rows, cols = small()
    plain = BMCG(posterior="variational", rank=4, random_state=0, n_jobs=1).fit(
        X, row_graph=rows, col_graph=cols
    )
    turned = BMCG(posterior="variational", rank=4, random_state=0, n_jobs=1).fit(
        X.T, row_graph=cols, col_graph=rows
    )
    assert turned.rank_ == plain.rank_
    assert turned.noise_std_ == pytest.approx(plain.noise_std_, rel=1e-2)
    np.testing.assert_allclose(turned.complete().T, plain.complete(), atol=0.3)
