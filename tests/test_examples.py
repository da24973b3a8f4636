"""Every example of the gallery runs and draws something."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("plot_*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_without_a_warning_and_draws(path):
    mpl.use("Agg", force=True)
    plt.close("all")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(path))
    try:
        drawn = [ax for number in plt.get_fignums() for ax in plt.figure(number).axes]
        assert drawn
        assert all(ax.has_data() for ax in drawn)
    finally:
        plt.close("all")


def test_there_is_a_gallery():
    assert len(EXAMPLES) >= 7
