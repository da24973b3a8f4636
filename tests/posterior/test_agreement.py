"""Deviations, intervals and draws are those of one q, whatever it is made of."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import BMCG, load_model
from bmcg.backends.packed import unpack
from bmcg.inference import families

from .tiny import Case, M, N, cases, dense_variances, fit, tiny_data

DRAWS = 4000
ALL = pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)


def every_pair(model):
    i, j = np.meshgrid(*map(np.arange, model.shape_), indexing="ij")
    return i.ravel(), j.ravel()


def newcomers(model):
    """Rows that were not part of the fit: one seen in half the columns, one not at all."""
    X = np.full((2, N), np.nan)
    X[0, ::2] = np.linspace(-1, 1, len(X[0, ::2]))
    return model.fold_in(X)


def assert_draws_agree(model, include_noise):
    i, j = every_pair(model)
    mean, std = model.predict(i, j, return_std=True, include_noise=include_noise)
    draws = model.sample(i, j, DRAWS, random_state=1, include_noise=include_noise)
    squares = (draws - mean) ** 2
    error = squares.std(axis=0) / np.sqrt(DRAWS)
    np.testing.assert_array_less(np.abs(squares.mean(axis=0) - std**2), 5 * error)
    np.testing.assert_array_less(np.abs(draws.mean(axis=0) - mean), 5 * std / np.sqrt(DRAWS))
    # Not quite Gaussian where both factors are unsure: the level is held within a few points.
    low, high = model.predict_interval(i, j, 0.8, include_noise=include_noise)
    held = ((low <= draws) & (draws <= high)).mean(axis=0)
    assert abs(held.mean() - 0.8) < 0.04
    np.testing.assert_allclose((low + high) / 2, mean, atol=1e-9)


@ALL
def test_draws_have_the_deviations_that_are_told(case):
    """Observed rows, a row and a column without observations, with and without noise."""
    model = fit(case)
    assert_draws_agree(model, include_noise=False)
    assert_draws_agree(model, include_noise=True)


@ALL
def test_draws_of_rows_folded_in_have_the_deviations_that_are_told(case):
    assert_draws_agree(newcomers(fit(case)), include_noise=False)


@pytest.mark.parametrize(
    "case", [case for case in cases() if case.family != "row"], ids=lambda case: case.name
)
def test_deviations_are_those_of_the_dense_precision(case):
    model = fit(case)
    i, j = every_pair(model)
    _, std = model.predict(i, j, return_std=True, include_noise=False)
    np.testing.assert_allclose(std**2, dense_variances(model).ravel(), rtol=1e-6)


def test_the_precision_is_that_of_the_model():
    """Columns come last in a sweep: their data is τ Σ ⟨uuᵀ⟩ of the rows that are kept."""
    posterior = fit(Case("joint", "graph")).fitted_
    U = posterior.rows.factors
    second = np.einsum("ir,is->irs", U.mean, U.mean) + unpack(U.cov)
    expected = np.einsum("ij,irs->jrs", np.isfinite(tiny_data()).astype(float), second)
    seen = expected[:, 0, 0] > 0
    ratio = unpack(posterior.cols.data_precision)[seen] / expected[seen]
    np.testing.assert_allclose(ratio, ratio.mean(), rtol=1e-6)
    # τ moved on a little after the last update.
    assert ratio.mean() == pytest.approx(float(posterior.tau.mean), rel=0.3)


def test_features_widen_a_row_without_observations():
    """They tie it to weights that are not known exactly, graph or no graph."""
    model = fit(Case("joint", "graph+features"))
    assert model.fitted_.rows.features is not None
    draws = model.sample([4] * N, range(N), DRAWS, random_state=0).var(axis=0)
    exact = dense_variances(model)[4]
    np.testing.assert_allclose(draws, exact, rtol=0.2)


def test_a_model_file_keeps_what_draws_need(tmp_path):
    model = fit(Case("joint", "graph+features+bias"))
    model.save(tmp_path / "model")
    i, j = every_pair(model)
    first, second = (
        m.sample(i, j, 3, random_state=0) for m in (model, load_model(tmp_path / "model"))
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("case", [Case("column", "graph"), Case("joint", "graph+features")])
def test_variances_from_draws_are_near_the_exact_ones(case, monkeypatch):
    """What large sides get: an estimate from many draws."""
    monkeypatch.setattr(families, "EXACT_UNKNOWNS", 0)
    if case.family == "column":
        case = Case("column", "graph", "monte_carlo")
    model = fit(case)
    i, j = every_pair(model)
    _, std = model.predict(i, j, return_std=True, include_noise=False)
    ratio = std**2 / dense_variances(model).ravel()
    assert ratio.mean() == pytest.approx(1.0, abs=0.1)
    np.testing.assert_allclose(np.log(ratio), 0.0, atol=0.6)


def test_a_matrix_that_is_noise_alone_predicts_its_mean_with_the_noise_as_deviation():
    """Rank zero has no factors left, and still answers."""
    X = np.random.default_rng(0).normal(size=(M, N))
    model = BMCG(posterior="variational", bias=False, random_state=0, n_jobs=1).fit(X)
    if model.rank_ == 0:
        mean, std = model.predict([0, 1], [2, 3], return_std=True)
        np.testing.assert_array_equal(mean, 0.0)
        np.testing.assert_allclose(std, model.noise_std_)
        assert model.sample([0], [0], 3).shape == (3, 1)
