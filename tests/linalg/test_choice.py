"""Which engine pays: operations of an exact one against those of draws."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from bmcg.linalg.engines import _exact_pays


def most_flops(family, rank, n_samples=10, n=10_000, edges=1, panel=1.0):
    """Operations of a factor up to which an exact engine is taken."""
    precision = SimpleNamespace(n=n, data=np.empty(edges))
    low, high = 0.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        symbolic = SimpleNamespace(flops=2.0**middle, panel_size=panel)
        pays = _exact_pays(symbolic, precision, family, rank, n_samples)
        low, high = (middle, high) if pays else (low, middle)
    return 2.0**low


def test_more_draws_and_more_nodes_allow_for_more():
    for family in ("column", "joint"):
        once = most_flops(family, 4)
        assert most_flops(family, 4, n_samples=20) == pytest.approx(2 * once, rel=1e-3)
        assert most_flops(family, 4, n=20_000) == pytest.approx(2 * once, rel=1e-3)


def test_components_tied_together_cost_a_factor_their_cube_and_draws_their_square():
    assert most_flops("column", 8) == pytest.approx(most_flops("column", 4), rel=1e-3)
    assert most_flops("joint", 8) == pytest.approx(most_flops("joint", 4) / 2, rel=1e-3)
    assert most_flops("row", 8) == most_flops("row", 4)


def test_a_factor_that_does_not_fit_is_not_made():
    for family, size in (("column", 4e9 / 64), ("joint", 4e9 / (8 * 4**2))):
        assert most_flops(family, 4, panel=0.99 * size) > 1
        assert most_flops(family, 4, panel=1.01 * size) == 1
