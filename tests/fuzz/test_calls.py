"""Public calls answer or refuse, whatever they are given."""

from __future__ import annotations

import warnings
from random import Random

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bmcg import BMCG, BMCGImputer, Observations, graphs, metrics
from bmcg.baselines import METHODS
from bmcg.evaluation import evaluate, random_split
from bmcg.graphs import pattern_graph
from bmcg.graphs.adjacency import as_adjacency
from bmcg.imputing import fill
from bmcg.inpainting import inpaint
from bmcg.observations.labels import Labels

from .calls import call_at_random
from .seeds import small_models
from .test_readers import quick


@settings(quick, max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_calls_answer_or_refuse(seed):
    call_at_random(Random(seed))


@pytest.mark.parametrize("place", [-1, 3, 10**6])
def test_positions_outside_a_sparse_matrix_are_refused(place):
    broken = sp.csr_array(np.eye(3))
    broken.indices[1] = place
    with pytest.raises(ValueError, match="X is not a whole sparse matrix"):
        Observations.from_any(broken)
    with pytest.raises(ValueError, match="row_graph is not a whole sparse matrix"):
        as_adjacency(broken, 3, None, "row_graph")


@pytest.mark.parametrize("falling", [[0, 2, -(2**31)], [0, 2**31 - 1, 0], [0, 3, 2]])
def test_counts_of_a_sparse_matrix_that_fall_are_refused(falling):
    # Their differences overflow, and SciPy looks no further where there are no entries.
    broken = sp.csr_array((2, 2))
    broken.indptr = np.array(falling, dtype=np.int32)
    with pytest.raises(ValueError, match="row_graph is not a whole sparse matrix"):
        as_adjacency(broken, 2, None, "row_graph")


def test_weights_that_leave_nothing_of_a_ridge_are_refused():
    with pytest.raises(ValueError, match="divide all of them by one number"):
        as_adjacency(np.array([[0, 1e10], [1e10, 0]]), 2, None, "row_graph")


def test_arguments_of_no_use_are_named():
    with pytest.raises(ValueError, match="values must be a matrix"):
        fill([1.0, np.nan])
    with pytest.raises(TypeError, match="pass Observations, not a DataFrame"):
        pattern_graph(pd.DataFrame(np.eye(3)))
    with pytest.raises(ValueError, match=r"selection=0\.5"):
        BMCG(selection=0.5).fit(np.eye(3))
    with pytest.raises(ValueError, match="pass two whole numbers"):
        Observations.from_triples([0], [0], [1.0], (np.inf, 2))
    with pytest.raises(TypeError, match="row labels must be plain values"):
        Labels(np.array(["a", "b"], dtype=object), "row").positions([{}], "rows")


@pytest.mark.parametrize("level", ["x", None, [0.9], b"x", 1.0, float("nan")])
def test_a_level_that_is_no_probability_is_named(level):
    with pytest.raises(ValueError, match="level="):
        small_models()["row"].predict_interval(["r0"], [0], level)


def test_a_cell_that_is_no_number_is_named():
    with pytest.raises(TypeError, match="column 1 holds <class 'object'>, which is no number"):
        BMCGImputer().fit([[1.0, object], [2.0, 3.0]])
    with pytest.raises(TypeError, match="X: a type is no matrix of numbers"):
        BMCGImputer().fit(object)


def test_grids_and_points_that_are_none_are_named():
    with pytest.raises(ValueError, match="shape=True"):
        graphs.grid_graph(True)
    with pytest.raises(ValueError, match=r"features holds 1e\+308"):
        graphs.knn_graph(np.array([[1e308], [-1e308], [0.0]]), 1)


def test_titles_that_are_one_are_named():
    twice = pd.DataFrame(np.eye(3), columns=["a", "a", "b"])
    for call in (graphs.feature_graph, BMCGImputer().fit, graphs.edge_graph):
        with pytest.raises(ValueError, match=r"must (have|be) distinct"):
            call(twice)
    with pytest.raises(ValueError, match=r"several are NaN|distinct names"):
        Observations.from_any(pd.DataFrame(np.eye(3), columns=[np.nan, np.nan, 0.0]))


def test_what_is_too_far_for_a_number_is_far():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(metrics.gaussian_nlpd([1e99], [0.0], [1e-300]))
        np.testing.assert_array_equal(metrics.pit([1e99, -1e99], [0.0, 0.0], 1e-300), [1, 0])
        far = graphs.time_graph([0.0, 1.0, 2.0, 1e200])
        ends = graphs.time_graph([-1e308, 1e308, 1e-3])
    assert far[2, 3] == ends[0, 1] == 0
    assert far[0, 1] > 0


@pytest.mark.parametrize("relevant", ["x", [0.5, 1.0], True, float("nan"), float("inf")])
def test_a_relevant_value_that_is_no_number_is_named(relevant):
    splits = random_split(Observations.from_any(np.arange(12.0).reshape(4, 3)), 0.4)
    with pytest.raises(ValueError, match="relevant="):
        evaluate({"m": METHODS["LMaFit"]()}, splits, relevant=relevant)


def test_no_candidates_are_named():
    with pytest.raises(ValueError, match="candidates is empty"):
        small_models()["row"].similar([0], candidates=[])


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e120])
def test_pixels_that_cannot_be_squared_are_refused(value):
    with pytest.raises(ValueError, match="not above"):
        inpaint(np.where(np.eye(12) > 0, value, 1.0), np.ones((12, 12), dtype=bool))
