"""Bounds after every sweep are those that an earlier commit computed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.house import bounds, cases

from bmcg.inference.acceleration import Momentum

STORED = json.loads((Path(__file__).parent / "data" / "ab55c8f-bounds.json").read_text())["bounds"]
CASES = {name: case for name, *case in cases("small")}


@pytest.mark.parametrize(
    ("name", "sweeps"),
    [
        # Trials of features: the fit after them starts where they ended, as it did not then.
        ("planted row both", 19),
        ("planted row graphs biases", 25),
        ("planted column graphs biases", 25),
        ("planted joint sparse", 31),
    ],
)
def test_bounds_are_those_of_an_earlier_commit(name, sweeps, monkeypatch):
    # Sweep by sweep: that commit took no longer steps.
    monkeypatch.setattr(Momentum, "share", 0.0)
    found = bounds(*CASES[name])[:sweeps]
    np.testing.assert_allclose(found, STORED[name][:sweeps], rtol=1e-9)
