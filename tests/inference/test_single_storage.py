"""Second moments may be stored in single precision; sums stay in double."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg.backends import NumbaBackend, SparseRows
from bmcg.inference import design
from bmcg.inference.covariance import Blocks
from bmcg.inference.state import Factors


@pytest.mark.parametrize("family", ["row", "joint"])
@pytest.mark.parametrize("biased", [False, True])
def test_single_storage_changes_sums_in_the_seventh_digit_alone(family, biased):
    rng = np.random.default_rng(0)
    X = sp.csr_array(sp.random_array((40, 30), density=0.5, random_state=rng))
    side = SparseRows(
        X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, NumbaBackend(1)
    )
    k = 5
    other = Factors(rng.normal(size=(30, k)), Blocks(rng.random((30, 15))), 0.0, np.eye(k))
    double = design.sums(side, other, biased)
    single = design.sums(replace(side, storage=np.float32), other, biased)
    assert single.grams.dtype == np.float64
    np.testing.assert_allclose(single.grams, double.grams, rtol=1e-5, atol=1e-5)
    assert not np.array_equal(single.grams, double.grams)
    np.testing.assert_allclose(single.targets, double.targets, rtol=1e-5, atol=1e-5)
