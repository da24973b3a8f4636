from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from graphs_for_tests import GRAPHS, grid
from hypothesis import given, settings
from hypothesis import strategies as st

from bmcg.linalg.sparse.symbolic import Symbolic, analyse


def analysed(A: sp.csr_array) -> Symbolic:
    symbolic = analyse(A.indptr, A.indices)
    assert symbolic is not None
    return symbolic


def eliminated_pattern(A: sp.csr_array, order: np.ndarray) -> np.ndarray:
    """Pattern of the factor by playing the elimination game on a dense boolean matrix."""
    filled = A.toarray()[np.ix_(order, order)] != 0
    np.fill_diagonal(filled, True)
    for j in range(len(order)):
        below = np.flatnonzero(filled[j + 1 :, j]) + j + 1
        filled[np.ix_(below, below)] = True
    return np.tril(filled)


def stored_pattern(symbolic: Symbolic) -> np.ndarray:
    fronts, stored = symbolic.fronts, np.zeros((symbolic.n, symbolic.n), bool)
    for s in range(len(fronts.children)):
        rows = fronts.rows[fronts.row_ptr[s] : fronts.row_ptr[s + 1]]
        stored[np.ix_(rows, np.arange(fronts.first[s], fronts.first[s + 1]))] = True
    return np.tril(stored)


@pytest.mark.parametrize("name", GRAPHS)
def test_counts_tree_and_panels_match_the_elimination_game(name: str) -> None:
    symbolic = analysed(GRAPHS[name])
    filled = eliminated_pattern(GRAPHS[name], symbolic.order)
    np.testing.assert_array_equal(symbolic.column_counts, filled.sum(axis=0))
    for j in range(symbolic.n):
        below = np.flatnonzero(filled[j + 1 :, j])
        assert symbolic.parent[j] == (below[0] + j + 1 if len(below) else -1)
    assert np.all(stored_pattern(symbolic)[filled])


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 14), st.integers(0, 2**32 - 1), st.floats(0.0, 0.8))
def test_every_random_graph_has_room_for_its_factor(n: int, seed: int, density: float) -> None:
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < density, 1)
    A = sp.csr_array((upper | upper.T).astype(float))
    symbolic = analysed(A)
    filled = eliminated_pattern(A, symbolic.order)
    assert symbolic.nnz_factor == filled.sum()
    assert np.all(stored_pattern(symbolic)[filled])


def test_both_triangles_share_their_panel_positions() -> None:
    A = grid(6, 5)
    symbolic = analysed(A)
    position = sp.csr_array((symbolic.entry_position + 1, A.indices, A.indptr)).toarray()
    np.testing.assert_array_equal(position, position.T)
    np.testing.assert_array_equal(np.diag(position) - 1, symbolic.diagonal_position)
    lower = np.tril(position)
    assert len(np.unique(lower[lower > 0])) == np.count_nonzero(lower)


def test_limit_on_the_fill_is_exact() -> None:
    A = grid(12, 12)
    fill = analysed(A).nnz_factor
    assert analyse(A.indptr, A.indices, max_fill=fill) is not None
    assert analyse(A.indptr, A.indices, max_fill=fill - 1) is None


def test_unsymmetric_or_inconsistent_patterns_are_refused() -> None:
    upper = sp.csr_array(np.triu(np.ones((3, 3))))
    with pytest.raises(ValueError, match="not symmetric"):
        analyse(upper.indptr, upper.indices)
    with pytest.raises(ValueError, match="square"):
        analyse(np.array([0, 1]), np.array([3]))


@pytest.mark.parametrize("name", GRAPHS)
def test_merged_columns_store_few_zeros(name: str) -> None:
    A = GRAPHS[name]
    symbolic = analyse(A.indptr, A.indices)
    fronts, counts = symbolic.fronts, symbolic.column_counts
    for s in range(len(fronts.first) - 1):
        width = fronts.first[s + 1] - fronts.first[s]
        height = fronts.row_ptr[s + 1] - fronts.row_ptr[s]
        entries = width * height - width * (width - 1) // 2
        zeros = entries - counts[fronts.first[s] : fronts.first[s + 1]].sum()
        most = 0.15 if width <= 8 else 0.1 if width <= 32 else 0.05
        assert 0 <= zeros <= most * entries


@pytest.mark.parametrize("n", [2, 5, 12, 40, 90])
def test_a_complete_graph_is_one_front(n: int) -> None:
    symbolic = analysed(sp.csr_array(np.ones((n, n)) + n * np.eye(n)))
    assert len(symbolic.fronts.children) == 1
    assert symbolic.nnz_factor == n * (n + 1) // 2
