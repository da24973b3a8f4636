"""Models side by side: figures are those of `bmcg.metrics`, tables and pictures show them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from bmcg import BMCG
from bmcg.baselines import VBMC, LMaFit
from bmcg.datasets import random_low_rank
from bmcg.evaluation import evaluate, k_folds, random_split
from bmcg.evaluation.values import judge_values, value_measures
from bmcg.graphs import chain_graph
from bmcg.likelihoods.discrete import Levels
from bmcg.likelihoods.predictive import NO_LIMITS, Predictive
from bmcg.metrics import coverage, interval_calibration, mae, rmse


@pytest.fixture(scope="module")
def found():
    seen = random_low_rank(2, 0.6, shape=(30, 25)).observations
    splits = k_folds(seen, 2)
    models = {
        "BMCG": BMCG(posterior="variational", random_state=0),
        "LMaFit": LMaFit(),
        "VBMC": VBMC(),
    }
    return evaluate(models, splits, at=5), splits, models


def test_figures_of_values_are_those_of_the_metrics(found):
    table, splits, _ = found
    cells = dict(zip(table.measures, table.cells[0, 1], strict=True))
    model = BMCG(posterior="variational", random_state=0).fit(splits[1].train)
    mean, std = model.predict(splits[1].rows, splits[1].cols, return_std=True)
    x = splits[1].values
    low, high = model.predict_interval(splits[1].rows, splits[1].cols)
    assert np.isclose(cells["rmse"], rmse(x, mean))
    assert np.isclose(cells["mae"], mae(x, mean))
    assert np.isclose(cells["coverage"], coverage(x, low, high))
    levels = np.linspace(0.1, 0.9, 9)
    assert np.isclose(cells["calibration"], interval_calibration(x, mean, std, levels=levels).error)
    density = model.predictive(splits[1].rows, splits[1].cols).log_density(x)
    assert np.isclose(cells["log_score"], density.mean())


def test_a_method_without_distributions_has_none_and_one_with_variances_has(found):
    table = found[0]
    assert np.isnan(table["LMaFit"]["log_score"])
    assert not np.isnan(table["LMaFit"]["rmse"])
    assert abs(table["VBMC"]["coverage"] - 0.9) < 0.15


def test_models_stay_as_they_were(found):
    assert not any(hasattr(model, "fitted_") for model in found[2].values())


def test_the_table_names_every_model_and_its_best_figures(found):
    text = str(found[0])
    assert "ndcg@5" in text
    assert all(name in text for name in found[0].names)
    column = [line.split("|")[2] for line in text.splitlines()]
    bold = [line for line in column if "**" in line]
    best = np.argmin([found[0][name]["rmse"] for name in found[0].names])
    assert bold[0] == column[2 + best]


def test_the_frame_has_a_line_for_each_figure(found):
    frame = found[0].to_frame()
    assert len(frame) == found[0].cells.size
    line = frame[(frame.model == "VBMC") & (frame.measure == "rmse") & (frame.split == 1)]
    assert line.value.item() == found[0].cells[2, 1, 0]


def test_the_picture_is_written(found, tmp_path):
    found[0].plot(tmp_path / "found.png")
    assert (tmp_path / "found.png").stat().st_size > 10_000


def test_what_a_method_cannot_use_is_told():
    seen = random_low_rank(1, 0.5, shape=(20, 15)).observations
    features = np.arange(20.0)[:, None]
    with pytest.warns(UserWarning, match="LMaFit cannot use row_features"):
        evaluate({"LMaFit": LMaFit()}, random_split(seen), row_features=features)
    with pytest.raises(TypeError, match="graph: pass row_graph"):
        evaluate({"LMaFit": LMaFit()}, random_split(seen), graph=chain_graph(20))
    with pytest.raises(ValueError, match="models is empty"):
        evaluate({}, random_split(seen))
    with pytest.raises(KeyError, match="was not evaluated"):
        evaluate({"LMaFit": LMaFit()}, random_split(seen))["BMCG"]


def test_a_density_counts_with_its_mass_where_others_have_probabilities():
    rng = np.random.default_rng(0)
    values = rng.integers(1, 6, 200).astype(float)
    mean, std = values + rng.normal(size=200), np.full(200, 1.2)
    ends = np.arange(1.5, 5.0)
    table = np.diff(ndtr((ends - mean[:, None]) / std[:, None]), prepend=0.0, append=1.0, axis=1)
    levels = Levels(np.arange(1.0, 6.0), table)
    as_levels = value_measures(values, mean, levels, 1.0)
    as_mass = value_measures(values, mean, Predictive(mean, std, NO_LIMITS), 1.0)
    assert np.isclose(as_mass.log_score, as_levels.log_score, rtol=1e-6)
    assert value_measures(values, mean, Predictive(mean, std, NO_LIMITS)).log_score < -1.0


def test_levels_that_are_right_are_calibrated():
    rng = np.random.default_rng(1)
    table = rng.dirichlet(np.ones(3), 20_000)
    values = (rng.random(20_000)[:, None] > np.cumsum(table, axis=1)[:, :2]).sum(axis=1)
    levels = np.arange(3.0)
    found = value_measures(levels[values], table @ levels, Levels(levels, table))
    assert found.calibration < 0.015
    assert found.coverage > 0.93


def test_log_scores_side_by_side_are_all_of_probabilities():
    rng = np.random.default_rng(0)
    X = np.clip(np.round(3 + rng.normal(size=(30, 2)) @ rng.normal(size=(2, 20))), 1, 5)
    options = {"posterior": "row", "selection": False, "random_state": 0, "max_sweeps": 20}
    models = {name: BMCG(likelihood=name, **options) for name in ("ordinal", "gaussian")}
    splits = random_split(X, 0.2)
    both = evaluate(models, splits)
    alone = evaluate({"gaussian": models["gaussian"]}, splits)
    fitted = BMCG(likelihood="gaussian", **options).fit(splits[0].train)
    assert alone["gaussian"]["log_score"] == judge_values(fitted, splits[0]).log_score
    assert both["gaussian"]["log_score"] == judge_values(fitted, splits[0], 1.0).log_score
    assert both["gaussian"]["log_score"] != alone["gaussian"]["log_score"]
