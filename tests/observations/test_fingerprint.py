"""A number tells data apart, in whatever parts they come."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bmcg.observations import View, view


def some(seed=0, m=9, n=7):
    rng = np.random.default_rng(seed)
    seen = rng.random((m, n)) < 0.5
    starts = np.append(0, np.cumsum(seen.sum(axis=1))).astype(np.int64)
    return View(starts, np.nonzero(seen)[1].astype(np.int32), rng.standard_normal(seen.sum()))


@pytest.mark.parametrize("hashed", [5, 1 << 20])
@pytest.mark.parametrize("cut", [0, 1, 4, 9])
def test_parts_add_up_to_the_whole(cut, hashed, monkeypatch):
    monkeypatch.setattr(view, "HASHED", hashed)
    whole = some()
    at = whole.indptr[cut]
    parts = (
        View(whole.indptr[: cut + 1], whole.indices[:at], whole.values[:at]).fingerprint(),
        View(whole.indptr[cut:] - at, whole.indices[at:], whole.values[at:]).fingerprint(cut),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sum(parts) % 2**64 == whole.fingerprint()
    assert 0 <= whole.fingerprint() < 2**64


def test_every_change_of_an_entry_is_another_number():
    whole = some()
    found = {whole.fingerprint()}
    for p in range(len(whole.values)):
        values, places = whole.values.copy(), whole.indices.copy()
        values[p] = np.nextafter(values[p], np.inf)
        places[p] += 1
        found |= {
            whole._replace(values=values).fingerprint(),
            whole._replace(indices=places).fingerprint(),
        }
    assert len(found) == 1 + 2 * len(whole.values)
    # Bits are mixed well: about half of them are set.
    ones = np.mean([number.bit_count() for number in found])
    assert 28 < ones < 36


def test_a_zero_has_no_sign():
    zeros = [View(np.array([0, 1]), np.zeros(1, np.int32), np.array([x])) for x in (0.0, -0.0)]
    assert zeros[0].fingerprint() == zeros[1].fingerprint()
