"""What must not change an answer, or change it in a known way: relations between two fits."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg import BMCG, Observations
from bmcg.graphs import chain_graph

# A graph's strength is learned all the same; nothing is tried on entries left out.
QUICK = {
    "max_sweeps": 150, "tol": 1e-7, "bias": False, "random_state": 0, "n_jobs": 1, "rank": 2,
    "selection": False,
}  # fmt: skip
FAMILIES = ("column", "row", "joint")


def data(m=24, n=16):
    """Two components under noise, so that fits from different starts end alike."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((m, 2)) @ rng.standard_normal((2, n))
    X += 0.2 * rng.standard_normal(X.shape)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


def learn(X, row_graph=None, col_graph=None, **options):
    features = {
        name: options.pop(name) for name in ("row_features", "col_features") if name in options
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BMCG(**{**QUICK, **options}).fit(X, row_graph, col_graph, **features)


def named(X, rows, cols):
    """Entries with labels."""
    i, j = np.nonzero(~np.isnan(X))
    return Observations.from_triples(i, j, X[i, j], X.shape, row_labels=rows, col_labels=cols)


@pytest.mark.parametrize("family", FAMILIES)
def test_names_are_names(family):
    X, m, n = data(), *data().shape
    models = [
        learn(named(X, rows, cols), chain_graph(m), posterior=family)
        for rows, cols in (
            (np.arange(m), np.arange(n)),
            ([f"=r{i:02}" for i in range(m)], [f"é {j:02}" for j in range(n)]),
        )
    ]
    np.testing.assert_array_equal(*(np.asarray(one.complete()) for one in models))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_graph_twice_is_that_graph(family):
    m, rng = 24, np.random.default_rng(0)
    A, waves = chain_graph(m), np.sin(np.arange(m)[:, None] / [3.0, 5.0])
    X = waves @ rng.standard_normal((2, 12)) + 0.3 * rng.standard_normal((m, 12))
    both = learn(X, {"a": A, "b": A.copy()}, posterior=family)
    alone = learn(X, {"a": A}, posterior=family)
    np.testing.assert_allclose(both.complete(), alone.complete(), atol=1e-3 * np.nanstd(X))
    shares = [
        sum(weight.share for name, weight in one.graph_weights_["rows"].items() if name in "ab")
        for one in (both, alone)
    ]
    assert shares[0] == pytest.approx(shares[1], abs=0.01)
    assert shares[1] > 0.5


@pytest.mark.parametrize("family", FAMILIES)
def test_an_isolated_empty_row_leaves_the_others_alone(family):
    X, A = data(), chain_graph(len(data()))
    more = np.vstack([X, np.full(X.shape[1], np.nan)])
    wider = sp.block_diag([A, sp.csr_array((1, 1))]).tocsr()
    plain, grown = learn(X, A, posterior=family), learn(more, wider, posterior=family)
    expected = np.asarray(plain.complete())
    found = np.asarray(grown.complete())
    np.testing.assert_allclose(found[:-1], expected, atol=0.02 * np.nanstd(X))
    # Of the new row nothing is known: less than of any other.
    rows = np.repeat(np.arange(len(more)), 2)
    std = grown.predict(rows, np.tile([0, 1], len(more)), return_std=True)[1].reshape(-1, 2)
    assert (std[-1] > std[:-1].max(axis=0)).all()


def test_a_constant_feature_tells_nothing_beside_biases():
    X = data() + 3.0
    options = {"posterior": "joint", "bias": True, "max_sweeps": 40}
    features = np.column_stack([np.arange(len(X)) % 2, np.arange(len(X)) % 3]).astype(float)
    with_one = np.column_stack([features, np.full(len(X), 7.0)])
    plain = learn(X, row_features=features, **options)
    more = learn(X, row_features=with_one, **options)
    np.testing.assert_allclose(more.complete(), plain.complete(), atol=0.02 * np.nanstd(X))


@pytest.mark.parametrize("family", [*FAMILIES, "sampled"])
@pytest.mark.parametrize("bias", [False, True])
def test_values_in_another_unit_are_predicted_in_it(family, bias):
    more = {"n_draws": 12, "max_sweeps": 24} if family == "sampled" else {}
    # When a bound has settled is asked of the bound itself, whose level follows the unit.
    options = {"posterior": family, "bias": bias, "max_sweeps": 20, "tol": 0.0, **more}
    plain = learn(data(), **options)
    scaled = learn(1024.0 * data(), **options)
    i, j = np.indices(plain.shape_).reshape(2, -1)
    both = (model.predict(i, j, return_std=True) for model in (scaled, plain))
    for found, expected in zip(*both, strict=True):
        np.testing.assert_allclose(found / 1024.0, expected, atol=1e-6 * np.nanstd(data()))


@pytest.mark.parametrize("family", FAMILIES)
def test_values_with_another_zero_are_predicted_from_it(family):
    options = {"posterior": family, "bias": True, "max_sweeps": 60}
    plain = np.asarray(learn(data(), **options).complete())
    moved = np.asarray(learn(data() + 512.0, **options).complete())
    np.testing.assert_allclose(moved - 512.0, plain, atol=1e-3 * np.nanstd(data()))
