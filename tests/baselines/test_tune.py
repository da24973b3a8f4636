from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from bmcg.base import MatrixCompleter
from bmcg.baselines import GRALS, METHODS, FactorModel, default_grid, tune

from .planted import observe, smooth_matrix


class Constant(MatrixCompleter):
    """Predicts one number and remembers what each fit saw."""

    _fitted_type = FactorModel
    seen: list = []  # noqa: RUF012

    def __init__(self, level=0.0):
        self.level = level

    def _fit(self, observations, A, B):
        Constant.seen.append((self.level, observations, A))
        m, n = observations.shape
        return FactorModel(np.zeros((m, 1)), np.zeros((n, 1)), self.level, 1.0)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    Constant.seen = []
    return observe(rng, rng.standard_normal((9, 8)) + 2.0)


def test_the_choice_has_the_smallest_held_out_error(data):
    result = tune(Constant, data, grid={"level": [0.0, 2.0, 5.0]})
    assert result.best_params == {"level": 2.0}
    for trial in result.table:
        expected = np.sqrt(np.mean((data.values - trial.params["level"]) ** 2))
        assert trial.error == pytest.approx(expected)
    assert result.estimator.level == 2.0


def test_every_observed_entry_is_held_out_once_and_never_seen_by_its_fold(data):
    tune(Constant, data, grid={"level": [0.0, 1.0]}, n_folds=4)
    folds = [seen for level, seen, _ in Constant.seen if level == 0.0][:4]
    held = [
        data.to_csr().astype(bool).toarray() & ~f.to_csr().astype(bool).toarray() for f in folds
    ]
    np.testing.assert_array_equal(np.sum(held, axis=0), data.to_csr().astype(bool).toarray())
    assert all(f.shape == data.shape for f in folds)


def test_the_cost_is_counted(data):
    result = tune(Constant, data, grid={"level": [0.0, 1.0, 2.0]}, n_folds=3)
    assert result.n_fits == len(Constant.seen) == 10
    assert len(result.table) == 3
    assert result.seconds >= sum(trial.seconds for trial in result.table) > 0


def test_the_last_fit_sees_everything(data):
    tune(Constant, data, grid={"level": [0.0, 1.0]})
    assert len(Constant.seen[-1][1]) == len(data)


def test_nothing_to_choose_costs_one_fit(data):
    result = tune(Constant(level=3.0), data)
    assert result.n_fits == 1
    assert result.table == ()
    assert result.estimator.level == 3.0


def test_tuning_grals_finds_a_better_weight_than_its_default():
    rng = np.random.default_rng(1)
    M, A, B = smooth_matrix(rng)
    observations = observe(rng, M, 0.3, noise=0.3)
    grid = {"graph_weight": [0.004, 0.4, 40.0], "ridge": [1e-4, 1.0]}
    result = tune(GRALS(3, max_iter=50), observations, A, B, grid=grid)
    default = GRALS(3, max_iter=50, random_state=0).fit(observations, A, B)
    error = [np.mean((model.complete() - M) ** 2) for model in (result.estimator, default)]
    assert error[0] <= error[1]
    assert result.n_fits == 19


def test_the_result_is_reproducible_and_frozen(data):
    rng = np.random.default_rng(2)
    M, A, B = smooth_matrix(rng, 12, 10)
    observations = observe(rng, M)
    results = [
        tune(GRALS(2, max_iter=10), observations, A, B, grid={"ridge": [0.1, 1.0]}) for _ in "ab"
    ]
    assert results[0].table[0].fold_errors == results[1].table[0].fold_errors
    with pytest.raises(dataclasses.FrozenInstanceError):
        results[0].n_fits = 0


def test_labels_go_through():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.eye(5) + 1.0, index=list("abcde"), columns=list("vwxyz"))
    result = tune(GRALS(2, max_iter=5), frame, grid={"ridge": [0.1, 1.0]})
    assert list(result.estimator.complete().index) == list("abcde")


def test_unknown_parameters_and_empty_lists_are_refused(data):
    with pytest.raises(ValueError, match="wieght"):
        tune(Constant, data, grid={"wieght": [1]})
    with pytest.raises(ValueError, match="level"):
        tune(Constant, data, grid={"level": []})
    with pytest.raises(ValueError, match="n_folds"):
        tune(Constant, data, grid={"level": [0, 1]}, n_folds=1)


@pytest.mark.parametrize("name", METHODS)
def test_default_grids_name_parameters_that_exist(name):
    grid = default_grid(METHODS[name])
    assert set(grid) <= set(METHODS[name]().get_params())
    assert all(len(values) > 0 for values in grid.values())


def test_a_default_grid_can_be_changed_without_changing_the_method():
    default_grid(GRALS)["ridge"].append(99)
    assert 99 not in default_grid(GRALS)["ridge"]
