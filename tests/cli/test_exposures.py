"""Exposures of counts from tables, by label."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from bmcg import load_model

from .conftest import call, refused

# What is tested is how files are read and written, and what is said; not what is learned.
pytestmark = pytest.mark.usefixtures("short_fits")

NAMES = ("--row", "cell", "--col", "gene", "--value", "count")
QUICK = ("--rank", "2", "--no-selection", "--posterior", "row", "--likelihood", "poisson")


@pytest.fixture
def counts(tmp_path):
    """Counts of 12 cells and 8 genes, and the cells' depths in another order."""
    rng = np.random.default_rng(0)
    depth = np.exp(rng.normal(size=12)) * 1000.0
    cells, genes = [f"c{i}" for i in range(12)], [f"g{j}" for j in range(8)]
    i, j = np.nonzero(rng.random((12, 8)) < 0.8)
    values = rng.poisson(0.01 * depth[i])
    frame = {"cell": [cells[k] for k in i], "gene": [genes[k] for k in j], "count": values}
    pl.DataFrame(frame).write_csv(tmp_path / "counts.csv")
    depths = pl.DataFrame({"cell": [*cells[::-1], "other"], "depth": [*depth[::-1], 7.0]})
    depths.write_csv(tmp_path / "depths.csv")
    return tmp_path, dict(zip(cells, depth, strict=True))


def test_exposures_reach_the_fit_and_newcomers(counts):
    folder, depth = counts
    model, data = folder / "m", folder / "counts.csv"
    told = ("--row-exposure", folder / "depths.csv")
    assert call("fit", data, *NAMES, *QUICK, *told, "-o", model).code == 0
    learned = load_model(model).fitted_.own["row_exposure"]
    labels = load_model(model).row_labels_.values
    np.testing.assert_allclose(np.exp(learned), [depth[name] for name in labels])
    folded = ("fold-in", model, data, "--value", "count")
    assert "row_exposure" in refused(*folded, "-o", folder / "n")
    assert call(*folded, *told, "-o", folder / "n").code == 0
    again = load_model(folder / "n").fitted_.own["row_exposure"]
    np.testing.assert_allclose(again, learned)


def test_a_table_of_exposures_that_does_not_do_is_named(counts):
    folder, _ = counts
    bad, fit = folder / "bad.csv", ("fit", folder / "counts.csv", *NAMES, *QUICK)
    for text, words in (
        ("cell,depth\nc0,1\n", "no number for row"),
        ("cell,depth\nc0,1\nc0,2\n", "twice"),
        ("cell,depth\nc0,deep\n", "no number for"),
        ("cell\nc0\n", "expected two"),
    ):
        bad.write_text(text)
        assert words in refused(*fit, "--row-exposure", bad, "-o", folder / "m")
