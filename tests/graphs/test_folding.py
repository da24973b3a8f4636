"""A folded table is the same table: every entry is found again, and days lie side by side."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg.graphs import fold_days

X = np.random.default_rng(0).normal(size=(3, 22))
X[1, 4:9] = np.nan


def test_every_entry_is_where_at_says():
    folded = fold_days(X, 5)
    assert folded.observations.shape == (15, 5)
    dense = np.full((15, 5), np.nan)
    dense[folded.observations.row_indices, folded.observations.col_indices] = (
        folded.observations.values
    )
    np.testing.assert_array_equal(folded.unfold(dense), X)
    i, j = np.nonzero(~np.isnan(X))
    np.testing.assert_array_equal(dense[folded.at(i, j)], X[i, j])


def test_an_array_of_days_is_the_same_table():
    flat, cube = fold_days(X[:, :20], 5), fold_days(X[:, :20].reshape(3, 4, 5), 5)
    np.testing.assert_array_equal(flat.observations.values, cube.observations.values)
    np.testing.assert_array_equal(flat.observations.row_indices, cube.observations.row_indices)


def test_steps_are_joined_within_a_day_and_a_sensor_alone():
    graph = fold_days(X, 5).row_graph.toarray()
    want = np.kron(np.eye(3), np.eye(5, k=1) + np.eye(5, k=-1))
    np.testing.assert_array_equal(graph, want)


@pytest.mark.parametrize("steps", [1, 23])
def test_steps_that_make_no_days_are_refused(steps):
    with pytest.raises(ValueError, match=f"steps={steps}"):
        fold_days(X, steps)
    with pytest.raises(ValueError, match="days of X have 11 steps"):
        fold_days(X.reshape(3, 2, 11), 5)
