"""One suite that every registered method passes."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from bmcg import Observations, load_model
from bmcg.baselines import METHODS

from .planted import as_nan, observe, smooth_matrix

# Methods that find a rank below the one they start from.
FINDS_RANK = [name for name in ("BMCG", "L1MC", "LMaFit", "VBMC") if name in METHODS]
TRACES = ("objective", "elbo", "error")
SMALL = {"rank": 4, "max_iter": 40, "max_sweeps": 40, "n_jobs": 1, "random_state": 0}
# Quick; what BMCG draws is tested where it is.
SMALL["posterior"] = "variational"

methods = pytest.mark.parametrize("name", METHODS)


def build(name, **changes):
    """The method with settings that suit a small test; changes it lacks are left out."""
    known = METHODS[name]().get_params()
    wanted = {key: value for key, value in (SMALL | changes).items() if key in known}
    return METHODS[name](**wanted)


@cache
def planted():
    rng = np.random.default_rng(0)
    M, A, B = smooth_matrix(rng, 24, 18, rank=2)
    return M + 1.0, observe(rng, M + 1.0, 0.6, noise=0.05), A, B


@cache
def fitted(name):
    """Fitted to positions without graphs; tests must not change it."""
    return build(name).fit(planted()[1])


def quiet_fit(model, *args):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*cannot use a graph.*")
        return model.fit(*args)


@methods
def test_every_kind_of_input_gives_the_same_fit(name):
    pandas = pytest.importorskip("pandas")
    observations = planted()[1]
    dense = as_nan(observations)
    forms = {
        "nan": dense,
        "masked": np.ma.masked_invalid(dense),
        "sparse": sp.csr_array(observations.to_csr()),
        "frame": pandas.DataFrame(dense),
    }
    expected = fitted(name).complete()
    for form, X in forms.items():
        found = np.asarray(build(name).fit(X).complete())
        np.testing.assert_array_equal(found, expected, err_msg=form)


@methods
def test_fitting_leaves_the_input_alone(name):
    X = as_nan(planted()[1])
    before = X.copy()
    model = build(name)
    assert model.fit(X) is model
    np.testing.assert_array_equal(X, before)


@methods
def test_the_same_seed_gives_the_same_result_with_any_number_of_threads(name):
    _, observations, A, B = planted()
    graphs = (
        A if METHODS[name]._uses_row_graph else None,
        B if METHODS[name]._uses_col_graph else None,
    )
    first, again, threaded = (
        build(name, n_jobs=jobs).fit(observations, *graphs).complete() for jobs in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, threaded)


@methods
def test_parameters_are_stored_untouched_and_clone(name):
    model = build(name)
    params = model.get_params()
    model.fit(planted()[1])
    assert model.get_params() == params
    assert clone(model).get_params() == params
    assert {"random_state", "n_jobs", "verbose", "tol"} <= set(params) or name == "BPMF"


@methods
def test_labels_go_in_and_come_out(name):
    pandas = pytest.importorskip("pandas")
    observations = planted()[1]
    rows = [f"r{i}" for i in range(24)]
    cols = [f"c{j}" for j in range(18)]
    frame = pandas.DataFrame(as_nan(observations), index=rows, columns=cols)
    model = build(name).fit(frame)
    completed = model.complete()
    assert list(completed.index) == rows
    assert list(completed.columns) == cols
    np.testing.assert_array_equal(completed.to_numpy(), fitted(name).complete())
    asked = model.predict(["r3", "r0"], ["c5", "c17"])
    np.testing.assert_allclose(asked, fitted(name).predict([3, 0], [5, 17]), rtol=1e-12)
    with pytest.raises(KeyError, match="r99"):
        model.predict(["r99"], ["c0"])


@methods
def test_graphs_may_be_given_by_label(name):
    _, observations, A, _ = planted()
    if not METHODS[name]._uses_row_graph:
        pytest.skip("uses no row graph")
    labels = np.array([f"r{i}" for i in range(24)])
    labelled = Observations.from_triples(
        observations.row_indices,
        observations.col_indices,
        observations.values,
        shape=observations.shape,
        row_labels=labels,
    )
    coo = sp.coo_array(sp.triu(A))
    edges = list(zip(labels[coo.row], labels[coo.col], coo.data, strict=True))
    by_label = build(name).fit(labelled, edges).complete()
    np.testing.assert_array_equal(by_label, build(name).fit(observations, A).complete())


@methods
def test_a_saved_model_predicts_the_same(name, tmp_path):
    model = fitted(name)
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    assert type(again) is METHODS[name]
    np.testing.assert_array_equal(again.complete(), model.complete())
    for key, value in again.get_params().items():
        assert value == model.get_params()[key] or key == "random_state"


@methods
def test_complete_holds_every_prediction(name):
    model = fitted(name)
    completed = model.complete()
    assert completed.shape == (24, 18)
    i, j = np.divmod(np.arange(24 * 18), 18)
    np.testing.assert_allclose(completed.ravel(), model.predict(i, j), rtol=1e-10, atol=1e-12)


@methods
def test_predictions_beat_the_mean(name):
    M, observations, _, _ = planted()
    hidden = np.isnan(as_nan(observations))
    error = np.sqrt(np.mean((fitted(name).complete() - M)[hidden] ** 2))
    mean_error = np.sqrt(np.mean((observations.values.mean() - M)[hidden] ** 2))
    assert error < 0.8 * mean_error


@methods
def test_a_graph_is_used_or_refused_aloud_once(name):
    _, observations, A, B = planted()
    for argument, graph in (("row_graph", A), ("col_graph", B)):
        used = getattr(METHODS[name], f"_uses_{argument}")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            # A method that asks held-out entries may find a graph useless.
            model = build(name, row_weight=0.1, col_weight=0.1, posterior="variational")
            model.fit(observations, **{argument: graph})
        said = [w for w in caught if argument in str(w.message)]
        assert len(said) == (0 if used else 1)
        same = np.array_equal(model.complete(), fitted(name).complete())
        assert same == (not used)


@methods
def test_a_standard_deviation_is_given_or_refused(name):
    model = fitted(name)
    if hasattr(model.fitted_, "variance"):
        mean, std = model.predict([0, 1], [0, 1], return_std=True)
        _, bare = model.predict([0, 1], [0, 1], return_std=True, include_noise=False)
        assert mean.shape == std.shape == (2,)
        assert (std > 0).all()
        assert (bare < std).all()
    else:
        with pytest.raises(NotImplementedError, match="standard deviation"):
            model.predict([0], [0], return_std=True)


@methods
@pytest.mark.parametrize(
    ("parameter", "value"),
    [("rank", 0), ("rank", 2.5), ("max_iter", 0), ("tol", -1.0), ("n_jobs", 0), ("ridge", -1.0)],
)
def test_bad_parameters_are_named_before_any_work(name, parameter, value):
    if parameter not in METHODS[name]().get_params():
        pytest.skip(f"has no {parameter}")
    with pytest.raises((ValueError, TypeError), match=parameter):
        build(name, **{parameter: value}).fit(planted()[1])


@methods
def test_rows_and_columns_without_observations_stay_finite(name):
    _, observations, A, B = planted()
    dense = as_nan(observations)
    dense[[0, 7]] = np.nan
    dense[:, [3, 17]] = np.nan
    completed = quiet_fit(build(name), dense, A, B).complete()
    assert np.isfinite(completed).all()
    assert np.isfinite(build(name).fit(dense).complete()).all()


@methods
def test_one_observation_is_enough_to_stay_finite(name):
    X = np.full((4, 3), np.nan)
    X[1, 2] = 2.0
    assert np.isfinite(build(name, rank=2).fit(X).complete()).all()


@methods
def test_constant_zero_data_predicts_zero(name):
    X = np.zeros((6, 5))
    X[::2, ::2] = np.nan
    # BPMF averages draws at a noise it does not learn by default.
    atol = 0.5 if name == "BPMF" else 1e-2
    np.testing.assert_allclose(build(name, rank=2).fit(X).complete(), 0.0, atol=atol)


@methods
def test_the_course_of_the_fit_is_kept(name):
    """Minimisers keep their objective, variational methods their bound, samplers their error."""
    model = fitted(name)
    kept = [vars(model)[f"{what}_trace_"] for what in TRACES if hasattr(model, f"{what}_trace_")]
    assert len(kept) == 1
    assert np.isfinite(kept[0]).all()
    steps = model.n_sweeps_ if name == "BMCG" else model.n_iter_
    assert steps >= 1
    assert len(kept[0]) >= 1


@pytest.mark.parametrize("name", FINDS_RANK)
def test_a_planted_rank_is_found_from_above(name):
    rng = np.random.default_rng(1)
    M = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 50))
    model = build(name, rank=12, max_iter=300, max_sweeps=300)
    model.fit(observe(rng, M, 0.7, noise=1e-3))
    assert model.rank_ == 3
    assert np.sqrt(np.mean((model.complete() - M) ** 2)) < 0.05


@methods
def test_verbose_does_not_change_the_result(name, capsys):
    model = build(name, verbose=True).fit(planted()[1])
    np.testing.assert_array_equal(model.complete(), fitted(name).complete())
    heard = capsys.readouterr()
    assert heard.out or heard.err
