"""Options do what they say, or raise."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from bmcg import BMCG
from bmcg.backends import default_backend
from bmcg.backends.packed import pack, unpack
from bmcg.graphs import chain_graph
from bmcg.graphs.precision import graph_precision
from bmcg.inference import updates
from bmcg.linalg.engines import DenseEngine, choose_engine
from bmcg.linalg.prior import feature_map, with_features
from bmcg.linalg.system import mean_system

RNG = np.random.default_rng(0)
F = RNG.normal(size=(14, 2))
X = F @ RNG.normal(size=(2, 9)) + 0.3 * RNG.normal(size=(14, 9))
X[RNG.random(X.shape) < 0.3] = np.nan


def model(**options):
    return BMCG(
        **{
            "posterior": "variational",
            "random_state": 0,
            "n_jobs": 1,
            "rank": 3,
            "max_sweeps": 4,
            **options,
        }
    )


def fitted(given=X, **options):
    known = {name: options.pop(name) for name in list(options) if name[:4] in ("row_", "col_")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model(**options).fit(given, **known)


def test_a_dense_engine_with_features_is_dense():
    L = graph_precision(chain_graph(14), 0.2)
    engine = choose_engine("dense", L, "joint", 3, default_backend(), 0, features=28)
    assert isinstance(engine, DenseEngine)
    features = feature_map(sp.csr_array(F), default_backend())
    prior = with_features(engine.prepare(L), features, 0.7, integrate=False)
    A = RNG.normal(size=(14, 2, 2))
    G, lam = A @ A.transpose(0, 2, 1), np.array([0.5, 2.0])
    system = mean_system(pack(G), 1.0, lam, prior)
    spread = engine.blocks(system)
    Q = np.kron(prior.product(np.eye(16)), np.diag(lam))
    for i in range(14):
        Q[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] += G[i]
    exact = np.linalg.inv(Q).reshape(16, 2, 16, 2)[np.arange(14), :, np.arange(14), :]
    np.testing.assert_allclose(unpack(spread.cov), exact, rtol=1e-8)
    assert spread.log_det == pytest.approx(np.linalg.slogdet(Q)[1])
    assert spread.draws.shape[:2] == (16, 2)


def test_a_fit_with_features_uses_the_engine_that_was_asked_for():
    found = fitted(engine="dense", row_features=F, row_graph=chain_graph(14))
    assert found.engines_[0] == "dense"
    with pytest.raises(ValueError, match='engine="sparse" cannot hold features'):
        fitted(engine="sparse", row_features=F)


def test_single_storage_is_refused_where_nothing_is_stored():
    with pytest.raises(ValueError, match="storage='float32' does nothing"):
        fitted(storage="float32")
    assert fitted(storage="float32", posterior="row").posterior_ == "row"


def test_a_ridge_that_is_given_is_where_a_learned_one_starts():
    def first(ridge):
        # Strengths are first learned after the third sweep.
        known = {"row_graph": chain_graph(14), "max_sweeps": 2}
        return fitted(ridge=ridge, **known).graph_weights_["rows"]["ridge"].strength

    assert first(1e-4) == 1e-4
    assert first(None) == 0.1
    fixed = fitted(learn_graphs=False, row_graph=chain_graph(14))
    assert fixed.graph_weights_["rows"]["ridge"].strength == 1e-6
    with pytest.raises(ValueError, match="ridge=0"):
        fitted(ridge=0)


def test_a_solve_that_runs_out_of_steps_is_told(monkeypatch):
    plain = updates.update_factors

    def hurried(*arguments, **options):
        return plain(*arguments, **{**options, "max_steps": 1, "gain_tol": 0.0})

    monkeypatch.setattr(updates, "update_factors", hurried)
    with pytest.warns(ConvergenceWarning, match="ran out of steps"):
        found = model(bias=False).fit(X, row_graph=chain_graph(14))
    assert len(found.solve_steps_) == found.n_sweeps_
    assert (found.solve_steps_ >= 2).all()
