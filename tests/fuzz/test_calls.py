"""Public calls answer or refuse, whatever they are given."""

from __future__ import annotations

from random import Random

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bmcg import BMCG, Observations
from bmcg.graphs import pattern_graph
from bmcg.graphs.adjacency import as_adjacency
from bmcg.imputing import fill
from bmcg.observations.labels import Labels

from .calls import call_at_random
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
