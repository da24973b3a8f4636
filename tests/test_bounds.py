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
    "name", ["planted row both", "planted column graphs biases", "planted joint sparse"]
)
def test_bounds_are_those_of_an_earlier_commit(name, monkeypatch):
    # Sweep by sweep: that commit took no longer steps.
    monkeypatch.setattr(Momentum, "share", 0.0)
    np.testing.assert_allclose(bounds(*CASES[name]), STORED[name], rtol=1e-9)
