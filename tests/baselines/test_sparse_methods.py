"""Methods for sparse data never form the matrix."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import Observations
from bmcg.baselines import BPMF, GPMF, GRALS, KPMF, L1MC, VBMC, LMaFit


@pytest.mark.parametrize(
    "model",
    [
        BPMF(2, max_iter=2, burn_in=0),
        GPMF(2, max_iter=2, pmf_iter=2),
        GRALS(2, max_iter=2),
        KPMF(2, max_iter=2),
        L1MC(2, penalty=1.0, max_iter=2),
        LMaFit(2, max_iter=2),
        VBMC(2, max_iter=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_matrix_of_a_terabyte_is_fitted(model):
    rng = np.random.default_rng(0)
    m, n, size = 400_000, 300_000, 50_000
    observations = Observations.from_triples(
        rng.integers(m, size=size),
        rng.integers(n, size=size),
        3.0 + rng.standard_normal(size),
        shape=(m, n),
        duplicates="first",
    )
    model.fit(observations)
    assert np.isfinite(model.predict([0, m - 1], [n - 1, 0])).all()
