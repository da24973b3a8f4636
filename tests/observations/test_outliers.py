"""Values far off all others, among few and among many."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg.observations import outliers
from bmcg.observations.outliers import far_out, surely_none


@pytest.mark.parametrize("far", [None, -999.0, 1e6])
def test_a_sample_never_hides_a_value_far_out(far, monkeypatch):
    monkeypatch.setattr(outliers, "MANY", 1000)
    monkeypatch.setattr(outliers, "SAMPLED", 200)
    x = np.random.default_rng(0).normal(size=5000)
    if far is not None:
        x[17] = far
    assert surely_none(x) == (far is None)
    assert bool(far_out(x[:, None]).any()) == (far is not None)


def test_few_values_are_all_looked_at():
    assert not surely_none(np.arange(100.0))


def test_as_many_as_are_sampled_are_a_sample(monkeypatch):
    monkeypatch.setattr(outliers, "MANY", 1000)
    monkeypatch.setattr(outliers, "SAMPLED", 200)
    x = np.random.default_rng(0).normal(size=1000)
    assert surely_none(x)
    assert not surely_none(x[1:])
