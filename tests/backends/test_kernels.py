"""Kernels beyond what their NumPy twins say of one case: units and memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from bmcg.backends import Backend, NumbaBackend, SparseRows
from bmcg.backends.numba import fewer, lanes, tables
from bmcg.backends.numba.backend import _lane_bounds
from bmcg.backends.numba.threads import EVEN_WORK
from bmcg.backends.packed import pack


@pytest.mark.parametrize("factor", [2.0**-60, 2.0**40])
def test_factors_of_blocks_have_the_unit_of_the_blocks(factor):
    """A pivot is lost beside its own block, not beside one."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(200, 3, 5))
    A[::7, :, 1] = A[::7, :, 0]
    P = pack(np.einsum("irs,iqs->irq", A, A))
    for backend in (NumbaBackend(1), Backend()):
        want = np.sqrt(factor) * backend.cholesky_blocks(P)
        np.testing.assert_allclose(backend.cholesky_blocks(factor * P), want, rtol=1e-12)


def test_what_is_missing_is_found_in_slabs(monkeypatch):
    monkeypatch.setattr(fewer, "SLAB", 1 << 12)
    seen = np.random.default_rng(0).random((1500, 300)) < 0.98
    starts = np.append(0, np.cumsum(seen.sum(axis=1)))
    places = np.nonzero(seen)[1].astype(np.int32)
    rows = SparseRows(starts, places, np.ones(len(places)), NumbaBackend(1))
    tracemalloc.start()
    found = fewer.fewer(rows, 300)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(found.rows.indices, np.nonzero(~seen)[1])
    assert peak < 1e6


@pytest.mark.parametrize("n", [1, lanes.LANES, 1000, 1001])
@pytest.mark.parametrize("work", [1, 10_000, 10**9])
def test_cuts_between_blocks_are_where_groups_of_lanes_end(n, work):
    bounds = _lane_bounds(n, work)
    assert bounds[0] == 0
    assert bounds[-1] == n
    assert (np.diff(bounds) > 0).all()
    assert (bounds[:-1] % lanes.LANES == 0).all()
    assert len(bounds) == 2 or n * work >= EVEN_WORK


def test_a_table_is_made_once_for_the_values_it_is_made_of():
    rng, backend = np.random.default_rng(0), NumbaBackend(1)
    seen = rng.random((300, 40)) < 0.8
    starts = np.append(0, np.cumsum(seen.sum(axis=1)))
    x = rng.standard_normal(int(seen.sum()))
    rows = SparseRows(starts, np.nonzero(seen)[1].astype(np.int32), x, backend)
    F = rng.standard_normal((40, 3))
    assert tables.is_table(rows, F)
    found = [backend.weighted_sums(rows, F)]
    kept = rows.memo["table of values"][2]
    found.append(backend.weighted_sums(rows, F))
    assert rows.memo["table of values"][2] is kept
    W = np.zeros(seen.shape)
    W[seen] = x
    for sums in found:
        np.testing.assert_allclose(sums, W @ F, rtol=1e-10)
