"""Labels are data: a page shows them, and a table writes them as they are."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from bmcg import BMCG, Observations
from bmcg.report import find, render

NASTY = [
    "<script>alert(1)</script>",
    '"onload="x',
    "$\\frac{",
    "=cmd|' /C calc'!A0",
    "&lt;b",
    "a\nb",
]


def test_no_label_becomes_part_of_a_page():
    rng = np.random.default_rng(0)
    rows, cols = (a.ravel() for a in np.indices((6, 5)))
    observed = Observations.from_triples(
        rows, cols, rng.standard_normal(30), row_labels=NASTY, col_labels=[*NASTY[1:]]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BMCG(posterior="row", max_sweeps=3, random_state=0, n_jobs=1).fit(observed)
        page = render(model, find(model))
    assert "<script>alert" not in page
    assert '"onload="' not in page
