"""Factors, biases and the offset are the completed matrix, taken apart."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import load_model

from .tiny import Case, M, N, cases, fit

AUTO = [case for case in cases() if case.engine == "auto"]


def assert_parts_make_the_whole(model):
    m, n = model.shape_
    assert model.row_factors_.shape == (m, model.rank_)
    assert model.col_factors_.shape == (n, model.rank_)
    assert model.row_bias_.shape == (m,)
    assert model.col_bias_.shape == (n,)
    whole = model.row_factors_ @ model.col_factors_.T
    whole += model.row_bias_[:, None] + model.col_bias_ + model.offset_
    np.testing.assert_allclose(whole, model.complete(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", AUTO, ids=lambda case: case.name)
def test_factors_biases_and_offset_make_the_completed_matrix(case, tmp_path):
    model = fit(case)
    assert model.biased_ == ("bias" in case.prior)
    assert_parts_make_the_whole(model)
    if not model.biased_:
        assert model.offset_ == 0.0
        assert not model.row_bias_.any()
    model.save(tmp_path / "model")
    assert_parts_make_the_whole(load_model(tmp_path / "model"))


@pytest.mark.parametrize("prior", ["none", "none+bias"])
@pytest.mark.parametrize("family", ["column", "row", "joint"])
def test_so_they_do_for_rows_and_columns_folded_in(family, prior):
    model = fit(Case(family, prior))
    X = np.random.default_rng(0).normal(size=(4, N))
    assert_parts_make_the_whole(model.fold_in(X))
    Y = np.random.default_rng(1).normal(size=(M, 3))
    assert_parts_make_the_whole(model.fold_in(Y, side="cols"))
