"""The estimator takes what people have, hands labels back, and refuses nonsense at once."""

from __future__ import annotations

import itertools
import pickle
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import estimator_checks as checks

from bmcg import BMCG, Observations
from bmcg.graphs import chain_graph

FAMILIES = ["column", "row", "joint"]
M, N = 8, 6
ROW_NAMES = [f"r{i}" for i in range(M)]
COL_NAMES = [f"c{j}" for j in range(N)]


def data(seed=0, missing=0.25):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((M, 2)) @ rng.standard_normal((2, N))
    X[rng.random((M, N)) < missing] = np.nan
    return X


def quick(**parameters):
    return BMCG(
        **{
            "posterior": "variational",
            "max_sweeps": 4,
            "random_state": 0,
            "n_jobs": 1,
            **parameters,
        }
    )


def fit(X, model=None, **graphs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return (model or quick()).fit(X, **graphs)


def long(library=lambda frame: frame):
    i, j = np.nonzero(~np.isnan(data()))
    frame = pd.DataFrame(
        {"row": np.array(ROW_NAMES)[i], "col": np.array(COL_NAMES)[j], "x": data()[i, j]}
    )
    return library(frame.sample(frac=1.0, random_state=0))


def stored():
    i, j = np.nonzero(~np.isnan(data()))
    return sp.csr_array((data()[i, j], (i, j)), shape=(M, N))


FRAME = pd.DataFrame(data(), index=ROW_NAMES, columns=COL_NAMES)
KINDS = {
    "masked": np.ma.masked_invalid(data()),
    "sparse": stored(),
    "triples": Observations.from_triples(*stored().nonzero(), stored().data, shape=(M, N)),
    "pandas": FRAME,
    "polars": pl.from_pandas(FRAME),
    "arrow": pa.Table.from_pandas(FRAME, preserve_index=False),
    "long pandas": Observations.from_frame(long(), "row", "col", "x"),
    "long polars": Observations.from_frame(long(pl.from_pandas), "row", "col", "x"),
    "long arrow": Observations.from_frame(long(pa.Table.from_pandas), "row", "col", "x"),
}


@pytest.fixture(scope="module")
def plain():
    return fit(data()).complete()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_matrix_gives_the_same_fit(kind, plain):
    model = fit(KINDS[kind])
    np.testing.assert_array_equal(model.fitted_.matrix(), plain)


GRAPHS = {
    "sparse": sp.coo_matrix(chain_graph(M)),
    "dense": chain_graph(M).toarray(),
    "edges": list(zip(*chain_graph(M).nonzero(), sp.coo_array(chain_graph(M)).data, strict=True)),
    "networkx": nx.from_scipy_sparse_array(chain_graph(M)),
    "frame": pd.DataFrame(chain_graph(M).toarray()),
}


@pytest.mark.parametrize("kind", GRAPHS)
def test_every_kind_of_graph_gives_the_same_fit(kind):
    found = fit(data(), row_graph=GRAPHS[kind]).complete()
    np.testing.assert_array_equal(found, fit(data(), row_graph=chain_graph(M)).complete())
    turned = fit(data().T, col_graph=GRAPHS[kind]).complete()
    np.testing.assert_array_equal(turned, fit(data().T, col_graph=chain_graph(M)).complete())


def test_graphs_may_use_the_labels_of_the_data():
    pairs = list(itertools.pairwise(range(N)))
    by_position = fit(data(), col_graph=pairs).complete()
    named = [(COL_NAMES[a], COL_NAMES[b]) for a, b in pairs]
    np.testing.assert_array_equal(fit(FRAME, col_graph=named).complete(), by_position)
    np.testing.assert_array_equal(fit(FRAME, col_graph=nx.Graph(named)).complete(), by_position)


@pytest.mark.parametrize("kind", ["pandas", "long pandas", "long polars", "long arrow"])
def test_labels_go_in_and_give_the_entries_of_their_positions(kind, plain):
    model = fit(KINDS[kind])
    rows, cols = ["r3", "r0", "r7"], ["c1", "c5", "c5"]
    i, j = [3, 0, 7], [1, 5, 5]
    reference = fit(data())
    np.testing.assert_allclose(model.predict(rows, cols), plain[i, j], rtol=1e-12)
    for asked, expected in (
        (model.predict(rows, cols, return_std=True), reference.predict(i, j, return_std=True)),
        (model.predict_interval(rows, cols), reference.predict_interval(i, j)),
        (model.sample(rows, cols, 2, 0), reference.sample(i, j, 2, 0)),
    ):
        np.testing.assert_array_equal(asked, expected)


def test_the_completed_matrix_carries_the_labels(plain):
    wide = fit(FRAME).complete()
    pd.testing.assert_frame_equal(wide, pd.DataFrame(plain, index=ROW_NAMES, columns=COL_NAMES))
    polars = fit(KINDS["polars"]).complete()
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == COL_NAMES
    arrow = fit(KINDS["arrow"]).complete()
    assert isinstance(arrow, pa.Table)
    assert arrow.column_names == COL_NAMES


def test_the_completed_matrix_of_long_data_carries_the_labels(plain):
    wide = fit(KINDS["long pandas"]).complete()
    pd.testing.assert_frame_equal(
        wide, pd.DataFrame(plain, index=ROW_NAMES, columns=COL_NAMES), check_names=False
    )
    assert (wide.index.name, wide.columns.name) == ("row", "col")
    polars = fit(KINDS["long polars"]).complete()
    assert polars.columns == ["row", *COL_NAMES]
    assert polars["row"].to_list() == ROW_NAMES
    np.testing.assert_array_equal(polars.drop("row").to_numpy(), plain)
    assert fit(KINDS["long arrow"]).complete().column_names == ["row", *COL_NAMES]


def test_columns_whose_names_look_alike_stay_apart():
    frame = pd.DataFrame(data()[:, :2], columns=[1, "1"])
    completed = fit(frame).complete()
    assert list(completed.columns) == [1, "1"]


def test_a_series_gives_a_series_with_its_index():
    model = fit(FRAME)
    rows = pd.Series(["r1", "r2"], index=[70, 80])
    mean, std = model.predict(rows, ["c0", "c1"], return_std=True)
    low, high = model.predict_interval(rows, "c0")
    for found in (mean, std, low, high, model.predict("r1", pd.Series(["c0", "c1"], [70, 80]))):
        assert isinstance(found, pd.Series)
        assert found.index.tolist() == [70, 80]
    assert isinstance(model.predict(pl.Series(["r1"]), "c0"), pl.Series)


def test_pairs_broadcast_and_may_be_none_at_all(plain):
    model = fit(data())
    np.testing.assert_allclose(model.predict(2, [0, 1, 5]), plain[2, [0, 1, 5]], rtol=1e-12)
    np.testing.assert_allclose(model.predict(np.int32(2), 3), plain[2, [3]], rtol=1e-12)
    for found in (model.predict([], []), *model.predict_interval([], [])):
        assert found.shape == (0,)
    assert model.sample([], [], 3).shape == (3, 0)


@pytest.mark.parametrize(
    ("rows", "cols", "error", "message"),
    [
        ([-1], [0], KeyError, "rows: -1 is outside the matrix, positions run from 0 to 7"),
        ([0], [6], KeyError, "cols: 6 is outside"),
        ([0.5], [0], KeyError, "rows: .*fitted without labels, pass whole numbers.*float64"),
        (["a"], [0], KeyError, "rows: .*fitted without labels"),
        ([0, 1, 2], [0, 1], ValueError, "rows and cols must pair up, got 3 rows and 2 cols"),
        ([[0]], [0], ValueError, r"rows must be one-dimensional, got shape \(1, 1\)"),
    ],
)
def test_pairs_that_make_no_sense_are_refused(rows, cols, error, message):
    model = fit(data())
    for ask in (model.predict, model.predict_interval, model.sample):
        with pytest.raises(error, match=message):
            ask(rows, cols)


def test_labels_never_seen_are_refused():
    model = fit(FRAME)
    for ask in (model.predict, model.predict_interval, model.sample):
        with pytest.raises(KeyError, match="cols: unknown column labels 'c9'; known labels look"):
            ask(["r0"], ["c9"])


def test_options_of_predictions_are_checked():
    model = fit(data())
    for level in (0, 1, 1.5, -0.1, np.nan):
        with pytest.raises(ValueError, match=r"level=.*between 0 and 1"):
            model.predict_interval([0], [0], level=level)
    for n_draws in (0, 1.5, True):
        with pytest.raises(ValueError, match=r"n_draws=.*at least 1"):
            model.sample([0], [0], n_draws)
    with pytest.raises(ValueError, match="random_state='a'"):
        model.sample([0], [0], 1, "a")
    with pytest.raises(TypeError, match="unexpected keyword"):
        model.predict([0], [0], noise=True)
    with pytest.raises(MemoryError, match=r"8 x 6 matrix needs .*memory_limit"):
        model.complete(memory_limit=100)


BAD_PARAMETERS = {
    "rank": [0, -1, 1.5, True, "ten", None],
    "posterior": ["diagonal", None, ["column"]],
    "ridge": [0, -1.0, np.nan, np.inf, "small"],
    "max_sweeps": [0, 1.5, None],
    "tol": [-1e-3, np.nan, "fine"],
    "engine": ["gpu", None],
    "storage": ["float16", np.float32, None],
    "n_jobs": [0, 1.5, "all"],
    "random_state": ["seed", -1],
}
BAD_PAIRS = [(name, value) for name, values in BAD_PARAMETERS.items() for value in values]


@pytest.fixture
def no_work(monkeypatch):
    """Any start of the fit itself fails the test."""

    def started(*args, **kwargs):
        raise AssertionError("the fit began")

    monkeypatch.setattr("bmcg.estimators.fitting.select", started)


@pytest.mark.parametrize(("name", "value"), BAD_PAIRS)
def test_parameters_that_make_no_sense_are_refused_before_any_work(no_work, name, value):
    with pytest.raises(ValueError, match=f"{name}="):
        BMCG(**{name: value}).fit(data())


@pytest.mark.parametrize(
    ("X", "graphs", "error", "message"),
    [
        (np.full((3, 3), np.nan), {}, ValueError, "no observations"),
        ([[1.0, np.inf]], {}, ValueError, "X must not hold infinity"),
        ([["a", "b"]], {}, ValueError, "X must hold numbers only"),
        (data(), {"row_graph": np.eye(5)}, ValueError, r"row_graph has shape \(5, 5\).*8 nodes"),
        (data(), {"col_graph": np.eye(8)}, ValueError, r"col_graph has shape \(8, 8\).*6 nodes"),
        (data(), {"col_graph": [(0, 1, -1.0)]}, ValueError, "col_graph: weights must be finite"),
        (data(), {"row_graph": [(0, 1, np.nan)]}, ValueError, "row_graph: weights must be finite"),
        (FRAME, {"row_graph": [("r0", "zz")]}, KeyError, "row_graph: .*'zz'"),
    ],
)
def test_input_that_makes_no_sense_is_refused_before_any_work(no_work, X, graphs, error, message):
    with pytest.raises(error, match=message):
        BMCG(posterior="variational").fit(X, **graphs)


def test_asymmetric_graphs_are_averaged_with_a_warning():
    A = np.triu(chain_graph(M).toarray())
    with pytest.warns(UserWarning, match="row_graph is not symmetric"):
        found = fit(data(), row_graph=A)
    np.testing.assert_array_equal(found.complete(), fit(data(), row_graph=(A + A.T) / 2).complete())


def test_self_loops_change_nothing():
    A = chain_graph(M).toarray()
    found = fit(data(), row_graph=A + 5 * np.eye(M)).complete()
    np.testing.assert_array_equal(found, fit(data(), row_graph=A).complete())


def empties():
    X = data(missing=0.1)
    X[3], X[:, 2] = np.nan, np.nan
    return X


def single():
    X = np.full((M, N), np.nan)
    X[2, 3] = 4.2
    return X


EXTREMES = {
    "constant": np.full((M, N), 3.0),
    "zero": np.zeros((M, N)),
    "one row": data(missing=0.0)[:1],
    "one column": data(missing=0.0)[:, :1],
    "one entry": np.array([[2.0]]),
    "a single observation": single(),
    "empty row and column": empties(),
    "values of 1e12": 1e12 * data(),
    "values of 1e-12": 1e-12 * data(),
    "noiseless rank one": np.outer(np.arange(1.0, M + 1), np.arange(1.0, N + 1)),
    "24 orders of magnitude": data() * 10.0 ** np.random.default_rng(0).integers(-12, 13, (M, N)),
}


def any_chain(n):
    return chain_graph(n) if n > 1 else sp.csr_array((1, 1))


@pytest.mark.parametrize("graphs", [(0, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("posterior", FAMILIES)
@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.filterwarnings(
    "error",
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore:all .* observed values are:UserWarning",
)
def test_extreme_data_gives_finite_results(name, posterior, graphs):
    X = EXTREMES[name]
    chains = [any_chain(n) if given else None for n, given in zip(X.shape, graphs, strict=True)]
    model = quick(posterior=posterior, max_sweeps=8).fit(X, *chains)
    i, j = (a.ravel() for a in np.indices(X.shape))
    mean, std = model.predict(i, j, return_std=True)
    low, high = model.predict_interval(i, j)
    draws = model.sample(i, j, 2, random_state=0, include_noise=True)
    for found in (mean, std, low, high, draws, model.elbo_trace_, model.noise_std_):
        assert np.isfinite(found).all()
    assert (std > 0).all()
    assert (low < high).all()


@pytest.mark.parametrize("posterior", FAMILIES)
@pytest.mark.parametrize("size", [1e12, 1e-12])
def test_the_size_of_the_data_changes_nothing_but_the_unit(posterior, size):
    small, large = (fit(X, quick(posterior=posterior)) for X in (data(), size * data()))
    np.testing.assert_allclose(large.complete(), size * small.complete(), rtol=1e-6)


def test_a_row_without_observations_is_predicted_from_its_graph_or_the_biases():
    X = np.outer(np.linspace(1.0, 2.0, M), np.arange(1.0, N + 1))
    truth = X[3].copy()
    X[3] = np.nan
    alone = BMCG(posterior="variational", random_state=0).fit(X).predict(3, np.arange(N))
    np.testing.assert_allclose(alone, np.nanmean(X, axis=0), rtol=0.1)
    with_graph = (
        BMCG(posterior="variational", random_state=0)
        .fit(X, row_graph=chain_graph(M))
        .predict(3, np.arange(N))
    )
    np.testing.assert_allclose(with_graph, truth, rtol=0.12)


@pytest.mark.parametrize(
    "check",
    [
        checks.check_no_attributes_set_in_init,
        checks.check_parameters_default_constructible,
        checks.check_get_params_invariance,
        checks.check_set_params,
        checks.check_estimator_cloneable,
        checks.check_estimator_repr,
        checks.check_estimator_tags_renamed,
        checks.check_valid_tag_types,
        checks.check_do_not_raise_errors_in_init_or_set_params,
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks_that_concern_parameters_pass(check):
    # The others ask for fit(X, y) and predict(X); a completion predicts pairs of positions.
    check("BMCG", quick())


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.predict([0], [0]),
        lambda model: model.predict_interval([0], [0]),
        lambda model: model.sample([0], [0]),
        lambda model: model.complete(),
        lambda model: model.save("nowhere"),
        lambda model: model.rank_,
        lambda model: model.noise_std_,
        lambda model: model.row_factors_,
    ],
)
def test_a_model_that_is_not_fitted_says_so(ask):
    with pytest.raises(NotFittedError, match="not fitted"):
        ask(BMCG(posterior="variational"))


def test_clone_and_pickle():
    model = fit(FRAME, row_graph=chain_graph(M))
    assert not hasattr(clone(model), "rank_")
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    pd.testing.assert_frame_equal(again.complete(), model.complete())


def test_a_fit_forgets_the_one_before():
    model = fit(FRAME)
    again = fit(data()[:5, :4], model)
    assert again is model
    assert model.shape_ == (5, 4)
    assert isinstance(model.complete(), np.ndarray)
    np.testing.assert_array_equal(model.complete(), fit(data()[:5, :4]).complete())
