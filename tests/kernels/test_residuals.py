"""Passes over residuals do what their definitions say."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg.kernels.residuals import residual_sums, residuals

from test_twins import make_sides


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("density", [0.02, 0.5, 1.0])
def test_residuals_and_their_sums_are_those_of_the_dense_matrix(k, density):
    side, _, rng = make_sides(k, density=density)
    U, V = rng.normal(size=(37, k)), rng.normal(size=(23, k))
    rows = np.repeat(np.arange(37), side.counts)
    E = np.zeros((37, 23))
    E[rows, side.indices] = side.values - (U @ V.T)[rows, side.indices]
    np.testing.assert_allclose(residuals(side, U, V), E[rows, side.indices], atol=1e-12)
    sums, squared = residual_sums(side, U, V)
    np.testing.assert_allclose(sums, E @ V, atol=1e-11)
    assert squared == pytest.approx(np.sum(E**2), rel=1e-12)
