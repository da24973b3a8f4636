"""BMCGImputer keeps scikit-learn's promises and fills what is missing."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bmcg import BMCG, BMCGImputer
from bmcg.graphs import chain_graph

FAMILIES = ["column", "row", "joint"]


# Every check passes, so `expected_failed_checks` is not needed; scikit-learn itself skips the
# one on array API input where SCIPY_ARRAY_API is unset.
@pytest.mark.usefixtures("short_fits")
@parametrize_with_checks([BMCGImputer(posterior="variational", n_jobs=1, random_state=0)])
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)


def planted(m=60, n=12, rank=2, noise=0.05, missing=0.3, seed=0):
    """A noisy low-rank matrix with NaN, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n))
    X = truth + noise * rng.standard_normal((m, n))
    X[rng.random((m, n)) < missing] = np.nan
    return X, truth


def imputer(**parameters):
    return BMCGImputer(**{"posterior": "variational", "n_jobs": 1, "random_state": 0, **parameters})


def test_the_imputer_has_every_parameter_of_the_model():
    own, model = (
        BMCGImputer(posterior="variational").get_params(),
        BMCG(posterior="variational").get_params(),
    )
    # What is missing from a table is filled in, and so never taken for a zero.
    assert model.pop("missing") == "unknown"
    assert {name: own.get(name, "absent") for name in model} == model


@pytest.mark.parametrize("posterior", FAMILIES)
def test_missing_entries_are_recovered_and_observed_ones_kept(posterior):
    X, truth = planted()
    filled = imputer(posterior=posterior).fit_transform(X)
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(filled[seen], X[seen])
    assert np.sqrt(np.mean((filled - truth)[~seen] ** 2)) < 0.15


@pytest.mark.parametrize("posterior", FAMILIES)
def test_transform_of_the_fitted_rows_is_close_to_fit_transform(posterior):
    X, _ = planted()
    model = imputer(posterior=posterior, tol=1e-6)
    filled = model.fit_transform(X)
    np.testing.assert_allclose(model.transform(X), filled, atol=0.01 * np.nanstd(X))


def test_new_rows_are_filled_from_the_learned_columns():
    X, truth = planted(m=120)
    filled = imputer().fit(X[:80]).transform(X[80:])
    missing = np.isnan(X[80:])
    np.testing.assert_array_equal(filled[~missing], X[80:][~missing])
    assert np.sqrt(np.mean((filled - truth[80:])[missing] ** 2)) < 0.15


def test_a_row_is_filled_alike_alone_and_among_others():
    X, _ = planted()
    model = imputer().fit(X)
    together = model.transform(X)
    alone = np.vstack([model.transform(X[i : i + 1]) for i in range(len(X))])
    np.testing.assert_allclose(alone, together, rtol=1e-10)


def test_a_column_graph_fills_a_column_never_seen():
    rows = np.random.default_rng(0).standard_normal((40, 1))
    truth = rows * np.linspace(1.0, 2.0, 15)
    X = truth.copy()
    X[:, 7] = np.nan
    # Without the graph the biases of the rows are all that is known.
    alone = imputer().fit_transform(X)[:, 7]
    np.testing.assert_allclose(alone, np.nanmean(X, axis=1), atol=0.2)
    with_graph = imputer(col_graph=chain_graph(15)).fit_transform(X)
    np.testing.assert_allclose(with_graph[:, 7], truth[:, 7], atol=0.15)


def test_a_row_graph_at_fit_fills_a_row_never_seen_and_new_rows_stay_sane():
    cols = np.random.default_rng(0).standard_normal((1, 15))
    truth = np.linspace(1.0, 2.0, 40)[:, None] * cols
    X = truth + 0.01 * np.random.default_rng(1).standard_normal(truth.shape)
    X[11] = np.nan
    model = imputer()
    filled = model.fit_transform(X, row_graph=chain_graph(40))
    np.testing.assert_allclose(filled[11], truth[11], atol=0.15)
    # A new row knows no edges: one observed entry must not send it off to infinity.
    new = np.full((1, 15), np.nan)
    new[0, 0] = 1.5 * cols[0, 0]
    np.testing.assert_allclose(model.transform(new)[0], 1.5 * cols[0], atol=0.1)


def test_graphs_may_name_columns_and_rows_of_a_frame():
    X, _ = planted(m=20, n=4)
    frame = pd.DataFrame(X, columns=list("abcd"), index=[f"r{i}" for i in range(20)])
    by_name = imputer(col_graph=[("a", "b"), ("c", "d")]).fit_transform(
        frame, row_graph=[("r0", "r5")]
    )
    by_position = imputer(col_graph=[(0, 1), (2, 3)]).fit_transform(X, row_graph=[(0, 5)])
    np.testing.assert_array_equal(by_name, by_position)


def test_an_empty_row_is_filled_with_the_prior_mean():
    X, _ = planted()
    model = imputer().fit(X)
    nothing = np.full((2, X.shape[1]), np.nan)
    np.testing.assert_array_equal(model.transform(nothing), 0.0)
    np.testing.assert_array_equal(model.transform(np.vstack([nothing, X[:1]]))[:2], 0.0)


def test_every_column_comes_back_also_an_empty_one():
    X, _ = planted()
    X[:, 3] = np.nan
    filled = imputer().fit_transform(X)
    assert filled.shape == X.shape
    assert np.isfinite(filled).all()


def test_another_mark_for_missing_entries_gives_the_same():
    X, _ = planted()
    marked = np.where(np.isnan(X), -99.5, X)
    np.testing.assert_array_equal(
        imputer(missing_values=-99.5).fit_transform(marked), imputer().fit_transform(X)
    )
    with pytest.raises(ValueError, match="NaN"):
        imputer(missing_values=-99.5).fit(X)
    with pytest.raises(ValueError, match="missing_values='none'"):
        imputer(missing_values="none").fit(X)


def test_integers_with_a_mark_become_floats():
    X = np.outer(np.arange(1, 9), np.arange(1, 5))
    X[2, 1] = -1
    filled = imputer(missing_values=-1).fit_transform(X)
    assert filled.dtype == np.float64
    np.testing.assert_allclose(filled[2, 1], 6.0, atol=0.1)


def test_single_precision_stays_single():
    X, _ = planted()
    assert imputer().fit_transform(X.astype(np.float32)).dtype == np.float32


def test_frames_with_missing_values_of_their_own():
    frame = pd.DataFrame({"a": pd.array([1, None, 3, 4], dtype="Int64"), "b": [2.0, 4.0, 6.0, 8.0]})
    filled = imputer().set_output(transform="pandas").fit_transform(frame)
    assert list(filled.columns) == ["a", "b"]
    assert np.isfinite(filled.to_numpy()).all()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_names_the_columns_and_keeps_the_index(library):
    X, _ = planted(m=10, n=3)
    frame = pd.DataFrame(X, columns=["x", "y", "z"], index=np.arange(10) + 5)
    source = frame if library == "pandas" else pl.from_pandas(frame)
    model = imputer().set_output(transform=library)
    for filled in (model.fit_transform(source), model.transform(source)):
        assert list(filled.columns) == ["x", "y", "z"]
        assert type(filled) is type(source)
        if library == "pandas":
            assert list(filled.index) == list(frame.index)
    assert list(model.get_feature_names_out()) == ["x", "y", "z"]


def test_pickle_and_clone():
    X, _ = planted(m=20)
    model = imputer(col_graph=chain_graph(12)).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    twin = clone(model)
    assert not hasattr(twin, "model_")
    np.testing.assert_array_equal(twin.fit(X).transform(X), model.transform(X))


def test_a_pipeline_scales_fills_and_reduces():
    X, _ = planted()
    X = X * np.logspace(0, 6, X.shape[1])
    pipe = make_pipeline(StandardScaler(), imputer(), PCA(2))
    scores = pipe.fit_transform(X, bmcgimputer__row_graph=chain_graph(len(X)))
    assert np.isfinite(scores).all()
    assert pipe.transform(X[:3]).shape == (3, 2)


def test_sparse_matrices_are_refused():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        imputer().fit(sp.csr_array(np.eye(4)))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.full((3, 2), np.nan), "no observations"),
        ([[1.0, np.inf], [2.0, 3.0]], "infinity"),
        ([["a", "b"], ["c", "d"]], "column 0 holds 'a'.*Encoder"),
    ],
)
def test_bad_input_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        imputer().fit(X)


def test_other_columns_at_transform_are_refused():
    X, _ = planted(m=10, n=3)
    with pytest.raises(NotFittedError):
        imputer().transform(X)
    with pytest.raises(ValueError, match="3 features"):
        imputer().fit(X).transform(X[:, :2])
    model = imputer().fit(pd.DataFrame(X, columns=list("abc")))
    with pytest.raises(ValueError, match="feature names"):
        model.transform(pd.DataFrame(X, columns=list("abd")))
