from __future__ import annotations

import numpy as np

from bmcg.base import Fitted
from bmcg.baselines import DenseModel, FactorModel, factor_model


def test_factors_predict_their_product_moved_and_scaled(monkeypatch):
    monkeypatch.setattr(factor_model, "_PAIRS", 7)
    rng = np.random.default_rng(0)
    model = FactorModel(rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), 1.5, 2.0)
    i, j = np.divmod(np.arange(20), 4)
    expected = 1.5 + 2.0 * model.row_factors @ model.col_factors.T
    np.testing.assert_allclose(model.mean(i, j), expected.ravel(), rtol=1e-12)
    assert model.rank == 3


def test_rank_zero_predicts_the_offset():
    model = FactorModel(np.zeros((5, 0)), np.zeros((4, 0)), 1.5, 2.0)
    np.testing.assert_array_equal(model.mean(np.arange(4), np.arange(4)), 1.5)


def test_arrays_hold_the_whole_model():
    rng = np.random.default_rng(1)
    i, j = np.arange(4), np.arange(4)
    for model in (
        FactorModel(rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), 1.5, 2.0),
        DenseModel(rng.normal(size=(5, 4))),
    ):
        assert isinstance(model, Fitted)
        again = type(model).from_arrays(model.to_arrays())
        np.testing.assert_array_equal(again.mean(i, j), model.mean(i, j))
