"""Rows after the fit get the factors that the model gives them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal

from bmcg import BMCG, Observations
from bmcg.backends import NumbaBackend, SparseRows
from bmcg.backends.packed import pack, unpack
from bmcg.graphs import chain_graph
from bmcg.inference.covariance import Blocks, Diagonal
from bmcg.inference.foldin import fold_in_rows, row_evidence
from bmcg.inference.state import Factors, Gamma
from bmcg.likelihoods import Gaussian, Noise

FAMILIES = ["column", "row", "joint"]
K, M, N = 3, 5, 8


def noise_of(tau):
    return Noise(Gamma(np.asarray(tau), np.asarray(1.0)))


def case(family, seed=0):
    """Random moments of V, and new rows of which one has nothing observed."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((M, N))
    X[rng.random((M, N)) < 0.4] = np.nan
    X[2] = np.nan
    roots = rng.standard_normal((N, K, K))
    C = roots @ roots.transpose(0, 2, 1) / 10
    if family == "column":
        C *= np.eye(K)
    kept = Diagonal(np.einsum("jrr->jr", C).copy()) if family == "column" else Blocks(pack(C))
    V = Factors(rng.standard_normal((N, K)), kept, 0.0, np.eye(K))
    view = Observations.from_any(X).by_row
    return X, V, C, SparseRows(*view, NumbaBackend(1)), rng


@pytest.mark.parametrize("family", FAMILIES)
def test_factors_equal_dense_algebra_row_by_row(family):
    X, V, C, side, rng = case(family)
    tau, prior = 2.5, rng.uniform(0.5, 2.0, (M, K))
    pull = rng.standard_normal((M, K))
    found = fold_in_rows(side, V, Gaussian(), noise_of(tau), prior, pull)
    log_det = 0.0
    for i in range(M):
        seen = np.flatnonzero(~np.isnan(X[i]))
        moments = sum((np.outer(V.mean[j], V.mean[j]) + C[j] for j in seen), np.zeros((K, K)))
        P = tau * moments + np.diag(prior[i])
        h = tau * X[i, seen] @ V.mean[seen] + pull[i]
        np.testing.assert_allclose(found.mean[i], np.linalg.solve(P, h), rtol=1e-10)
        if family == "column":
            np.testing.assert_allclose(found.cov[i], 1 / np.diag(P), rtol=1e-10)
            log_det += np.log(np.diag(P)).sum()
        else:
            np.testing.assert_allclose(unpack(found.cov[i]), np.linalg.inv(P), rtol=1e-9)
            log_det += np.linalg.slogdet(P)[1]
    assert found.log_det == pytest.approx(log_det)


def test_a_row_without_observations_falls_back_on_its_prior():
    _, V, _, side, rng = case("row")
    prior, pull = np.array([1.0, 2.0, 4.0]), rng.standard_normal((M, K))
    found = fold_in_rows(side, V, Gaussian(), noise_of(2.5), prior, pull)
    np.testing.assert_allclose(found.mean[2], pull[2] / prior, rtol=1e-12)
    np.testing.assert_allclose(unpack(found.cov[2]), np.diag(1 / prior), rtol=1e-12)


def test_a_row_without_data_or_prior_is_refused():
    _, V, _, side, _ = case("row")
    with pytest.raises(FloatingPointError, match="rescale"):
        fold_in_rows(side, V, Gaussian(), noise_of(0.0), np.zeros(K))


def planted(m, n=15, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((m, 2)) @ rng.standard_normal((2, n))
    X = truth + 0.05 * rng.standard_normal((m, n))
    X[rng.random((m, n)) < 0.3] = np.nan
    return X


@pytest.mark.parametrize("family", FAMILIES)
def test_new_rows_agree_with_a_refit_that_includes_them(family):
    X = planted(100)
    kept, new = X[:90], X[90:]
    model = BMCG(posterior=family, random_state=0, n_jobs=1).fit(kept)
    refit = BMCG(posterior=family, random_state=0, n_jobs=1).fit(X)
    rows = model.fitted_.fold_in(Observations.from_any(new).by_row, NumbaBackend(1))
    i, j = (a.ravel() for a in np.indices(new.shape))
    posterior = model.fitted_.with_rows(rows)
    np.testing.assert_allclose(
        posterior.mean(i, j), refit.predict(i + 90, j), atol=0.02 * np.nanstd(X)
    )
    np.testing.assert_allclose(
        np.sqrt(posterior.variance(i, j)), refit.predict(i + 90, j, return_std=True)[1], rtol=0.1
    )


def test_an_edge_pulls_an_unobserved_row_to_its_neighbours():
    X = planted(40)
    # A ridge as small as the default start leaves the neighbours alone to speak.
    model = BMCG(posterior="variational", learn_graphs=False, random_state=0, n_jobs=1).fit(
        X, row_graph=chain_graph(40)
    )
    posterior = model.fitted_
    nothing = Observations.from_any(X[:1]).by_row._replace(
        indptr=np.zeros(2, np.int64), indices=np.empty(0, np.int32), values=np.empty(0)
    )
    weights = np.zeros((1, 40))
    weights[0, [3, 4]] = 1.0, 3.0
    rows = posterior.fold_in(nothing, NumbaBackend(1), sp.csr_array(weights))
    U = posterior.rows.factors.mean
    np.testing.assert_allclose(rows.mean[0], (U[3] + 3 * U[4]) / 4, rtol=1e-5)
    np.testing.assert_allclose(rows.variances[0], 1 / (4 * posterior.lam.mean), rtol=1e-5)


def test_a_row_without_edges_has_the_fitted_rows_as_its_prior():
    X = planted(40)
    lone = (
        BMCG(posterior="variational", random_state=0, n_jobs=1)
        .fit(X, row_graph=chain_graph(40))
        .fitted_
    )
    nothing = Observations.from_any(X[:1]).by_row._replace(
        indptr=np.zeros(3, np.int64), indices=np.empty(0, np.int32), values=np.empty(0)
    )
    linked = sp.csr_array(np.vstack([np.zeros(40), np.eye(40)[:1]]))
    rows = lone.fold_in(nothing, NumbaBackend(1), linked)
    U = lone.rows.factors
    spread = ((U.mean - U.mean.mean(axis=0)) ** 2 + U.variances).mean(axis=0)
    np.testing.assert_allclose(rows.variances[0], np.maximum(spread, 1e-12), rtol=1e-9)
    np.testing.assert_allclose(rows.mean[0], U.mean.mean(axis=0), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_evidence_is_the_density_of_the_entries_where_the_columns_are_known(family):
    X, V, _, side, rng = case(family)
    V = replace(V, covariance=type(V.covariance)(np.zeros_like(V.cov)))
    tau, prior, pull = 2.5, rng.uniform(0.5, 2.0, K), rng.standard_normal(K)
    found = row_evidence(side, V, tau, prior, pull, biased=False)
    for i in range(M):
        seen = np.flatnonzero(~np.isnan(X[i]))
        if len(seen) == 0:
            assert found[i] == pytest.approx(0.0, abs=1e-12)
            continue
        W = V.mean[seen]
        density = multivariate_normal(W @ (pull / prior), W / prior @ W.T + np.eye(len(seen)) / tau)
        assert found[i] == pytest.approx(density.logpdf(X[i, seen]))


def test_evidence_of_a_model_with_biases_counts_units_and_levels():
    rng = np.random.default_rng(3)
    X = 50 + 7 * (rng.standard_normal((60, 2)) @ rng.standard_normal((2, 12)))
    X += 5 * rng.standard_normal((60, 1)) + rng.standard_normal(X.shape)
    model = BMCG(bias=True, posterior="row", random_state=0).fit(X).fitted_
    new = Observations.from_any(X[:3] + rng.standard_normal((3, 12))).by_row
    found = model.evidence(new, NumbaBackend(1))
    W, c = model.cols.factors.mean[:, :-1], model.cols.factors.mean[:, -1]
    spread = W / model.rows.lam[:-1] @ W.T + np.eye(12) / float(model.tau.mean)
    density = multivariate_normal(model.offset + model.scale * c, model.scale**2 * spread)
    values = new.values.reshape(3, 12)
    # The columns are all but certain here; what they lack is in the evidence, not in this.
    np.testing.assert_allclose(found, density.logpdf(values), atol=1.5)
