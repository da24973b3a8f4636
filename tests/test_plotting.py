"""Each picture shows what the model says, on the axis it is given."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from bmcg import BMCG, plotting
from bmcg.graphs import chain_graph
from bmcg.metrics import interval_calibration

M, N = 20, 15


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    truth = np.outer(np.sin(np.arange(M) / 4), np.cos(np.arange(N) / 3)) + 0.5
    X = truth + 0.1 * rng.standard_normal((M, N))
    hidden = rng.random((M, N)) < 0.4
    model = BMCG(
        posterior="variational",
        engine="dense",
        bias=False,
        random_state=0,
        n_jobs=1,
        max_sweeps=200,
    ).fit(np.where(hidden, np.nan, X), chain_graph(M), chain_graph(N))
    rows, cols = np.nonzero(hidden)
    return model, rows, cols, X[hidden]


def axis():
    return Figure().subplots()


@pytest.mark.parametrize(
    "name", ["convergence", "precision_spectrum", "factors_on_graph", "uncertainty_map"]
)
def test_pictures_of_a_model_are_drawn_on_the_axis_given(name, case):
    ax = axis()
    draw = getattr(plotting, name)
    assert (draw(case[0], ax=ax)) is ax
    ax.figure.canvas.draw()
    assert draw(case[0]).get_title(loc="left")


@pytest.mark.parametrize("name", ["pit_histogram", "coverage_curve", "observed_against_predicted"])
def test_pictures_of_outcomes_are_drawn_on_the_axis_given(name, case):
    ax = axis()
    assert getattr(plotting, name)(*case, ax=ax) is ax
    ax.figure.canvas.draw()


def test_convergence_shows_every_sweep(case):
    line = plotting.convergence(case[0]).lines[0]
    np.testing.assert_array_equal(line.get_ydata(), case[0].elbo_trace_)


def test_the_spectrum_counts_kept_and_dropped_columns(case):
    model = case[0]
    ax = plotting.precision_spectrum(model)
    rectangles = [p for p in ax.patches if isinstance(p, Rectangle)]
    bars = [p for p in rectangles if p.get_height() in model.component_precisions_]
    assert len(bars) == model.rank_
    dropped = model.rank_trace_.max() - model.rank_
    assert dropped > 0
    assert ax.texts[0].get_text() == f"{dropped} dropped"


def test_coverage_is_that_of_the_metrics(case):
    model, rows, cols, values = case
    mean, std = model.predict(rows, cols, return_std=True)
    expected = interval_calibration(values, mean, std, levels=plotting.LEVELS).coverage
    line = plotting.coverage_curve(*case).lines[1]
    np.testing.assert_array_equal(line.get_ydata(), expected)


def test_nodes_lie_where_they_are_put(case):
    place = np.random.default_rng(1).random((N, 2))
    ax = plotting.factors_on_graph(case[0], "cols", positions=place)
    np.testing.assert_array_equal(ax.collections[1].get_offsets(), place)
    assert len(ax.collections[0].get_segments()) == len(case[0].fitted_.cols.precision.heads)


def test_the_map_holds_standard_deviations(case):
    model = case[0]
    image = plotting.uncertainty_map(model, rows=[2, 5], cols=[1]).images[0]
    _, std = model.predict([2, 5], [1, 1], return_std=True, include_noise=False)
    np.testing.assert_allclose(np.asarray(image.get_array())[:, 0], std, rtol=1e-10)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"side": "both"}, 'pass "rows" or "cols"'),
        ({"component": 99}, "component=99"),
        ({"positions": np.zeros((3, 2))}, "expected"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, reason, case):
    with pytest.raises(ValueError, match=reason):
        plotting.factors_on_graph(case[0], **wrong)


def test_a_filled_series_draws_known_and_filled_apart():
    x = np.array([0.0, 1.0, np.nan, 3.0, np.nan, np.nan, 6.0])
    mean = np.array([0.0, 1.0, 2.1, 3.0, 4.1, 5.1, 6.0])
    ax = plotting.filled_series(x, mean, (mean - 1, mean + 1), axis(), name="s")
    known, filled = (line.get_ydata() for line in ax.get_lines())
    np.testing.assert_array_equal(known, x)
    np.testing.assert_array_equal(filled, [np.nan, 1.0, 2.1, 3.0, 4.1, 5.1, 6.0])
    assert ax.get_title(loc="left") == "s"
