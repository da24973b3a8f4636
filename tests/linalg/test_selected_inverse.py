from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from graphs_for_tests import GRAPHS, grid, random_graph

from bmcg.linalg.dense import invert_blocks, invert_columns
from bmcg.linalg.sparse import multifrontal
from bmcg.linalg.sparse import selected_inverse as engine
from bmcg.linalg.sparse.panels import column_panels
from bmcg.linalg.sparse.symbolic import Symbolic, analyse

# Wide enough for matrix products to be cut into several strips and blocks.
LARGE = {**GRAPHS, "large": random_graph(260, 0.15, 9)}


def analysed(A: sp.csr_array) -> Symbolic:
    symbolic = analyse(A.indptr, A.indices)
    assert symbolic is not None
    return symbolic


def everywhere(A: sp.csr_array) -> np.ndarray:
    return np.arange(A.nnz)


def ends(A: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), A.indices


def columns_problem(A: sp.csr_array, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    D = rng.uniform(0.0, 2.0, (A.shape[0], k)) * (rng.random((A.shape[0], k)) < 0.8)
    return D, rng.uniform(0.2, 3.0, k)


def blocks_problem(A: sp.csr_array, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((A.shape[0], k, k + 2))
    return X @ X.transpose(0, 2, 1) / k, rng.uniform(0.2, 3.0, k)


def column_precision(A: sp.csr_array, D: np.ndarray, lam: np.ndarray, r: int) -> np.ndarray:
    return np.diag(D[:, r]) + lam[r] * A.toarray()


def block_precision(A: sp.csr_array, B: np.ndarray, lam: np.ndarray) -> np.ndarray:
    n, k = B.shape[:2]
    Q = np.kron(A.toarray(), np.diag(lam))
    for i in range(n):
        Q[i * k : (i + 1) * k, i * k : (i + 1) * k] += B[i]
    return Q


@pytest.mark.parametrize("k", [1, 3, 9])
@pytest.mark.parametrize("name", LARGE)
def test_columns_agree_with_dense_inverses(name: str, k: int) -> None:
    A = LARGE[name]
    D, lam = columns_problem(A, k)
    sparse = engine.inverse_columns(analysed(A), A.data, D, lam, everywhere(A))
    dense = invert_columns(A.toarray(), D, lam, ends(A))
    np.testing.assert_allclose(sparse.diagonal, dense.diagonal, rtol=1e-10)
    np.testing.assert_allclose(sparse.logdet, dense.logdet, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(sparse.between, dense.between, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("name", GRAPHS)
def test_blocks_agree_with_the_dense_inverse(name: str, k: int) -> None:
    A = GRAPHS[name]
    B, lam = blocks_problem(A, k)
    sparse = engine.inverse_blocks(analysed(A), A.data, B, lam, everywhere(A))
    dense = invert_blocks(A.toarray(), B, lam, ends(A))
    scale = np.abs(dense.diagonal).max()
    np.testing.assert_allclose(sparse.diagonal, dense.diagonal, rtol=1e-10, atol=1e-11 * scale)
    np.testing.assert_allclose(sparse.logdet, dense.logdet, rtol=1e-10)
    np.testing.assert_allclose(sparse.between, dense.between, rtol=1e-10, atol=1e-11 * scale)


def test_dense_twins_satisfy_the_definitions() -> None:
    A = GRAPHS["islands"]
    D, lam = columns_problem(A, 2)
    found = invert_columns(A.toarray(), D, lam, ends(A))
    for r in range(2):
        Q = column_precision(A, D, lam, r)
        np.testing.assert_allclose(found.diagonal[:, r], np.diag(np.linalg.inv(Q)), rtol=1e-9)
        np.testing.assert_allclose(found.logdet[r], np.linalg.slogdet(Q)[1], rtol=1e-10)
        # Σ_r Q_r = I, so the entries on the edges give the trace of the prior term.
        trace = (A.data * found.between[:, r]).sum()
        np.testing.assert_allclose(
            lam[r] * trace, A.shape[0] - D[:, r] @ found.diagonal[:, r], rtol=1e-9
        )
    B, lam = blocks_problem(A, 3)
    inverse = np.linalg.inv(block_precision(A, B, lam))
    blocks = invert_blocks(A.toarray(), B, lam).diagonal
    for i in range(A.shape[0]):
        np.testing.assert_allclose(
            blocks[i], inverse[3 * i : 3 * i + 3, 3 * i : 3 * i + 3], rtol=1e-8
        )


def dense_factor(symbolic: Symbolic, panels: np.ndarray) -> np.ndarray:
    fronts, L = symbolic.fronts, np.zeros((symbolic.n, symbolic.n))
    for s in range(len(fronts.children)):
        rows = fronts.rows[fronts.row_ptr[s] : fronts.row_ptr[s + 1]]
        own = np.arange(fronts.first[s], fronts.first[s + 1])
        panel = panels[fronts.panel_ptr[s] : fronts.panel_ptr[s + 1]]
        L[np.ix_(rows, own)] = panel.reshape(len(rows), len(own))
    return np.tril(L)


@pytest.mark.parametrize("name", LARGE)
def test_factor_times_its_transpose_is_the_permuted_precision(name: str) -> None:
    A = LARGE[name]
    D, lam = columns_problem(A, 2)
    symbolic = analysed(A)
    panels = column_panels(symbolic, A.data, D, lam)
    assert multifrontal.factor(symbolic.fronts, panels, np.zeros(2, np.int64)) == -1
    for r in range(2):
        L = dense_factor(symbolic, panels[:, r])
        Q = column_precision(A, D, lam, r)[np.ix_(symbolic.order, symbolic.order)]
        np.testing.assert_allclose(L @ L.T, Q, rtol=1e-11, atol=1e-12 * np.abs(Q).max())


def test_one_matrix_at_a_time_agrees_with_eight(monkeypatch: pytest.MonkeyPatch) -> None:
    A = LARGE["large"]
    D, lam = columns_problem(A, 9)
    symbolic = analysed(A)
    eight = engine.inverse_columns(symbolic, A.data, D, lam, everywhere(A))
    monkeypatch.setattr(engine, "_TALL", 1)
    one = engine.inverse_columns(symbolic, A.data, D, lam, everywhere(A))
    np.testing.assert_allclose(one.diagonal, eight.diagonal, rtol=1e-11)
    np.testing.assert_allclose(one.logdet, eight.logdet, rtol=1e-11)


def test_threads_do_not_change_a_bit() -> None:
    A = LARGE["large"]
    D, lam = columns_problem(A, 20)
    symbolic = analysed(A)
    one = engine.inverse_columns(symbolic, A.data, D, lam, everywhere(A))
    with ThreadPoolExecutor(3) as pool:
        many = engine.inverse_columns(symbolic, A.data, D, lam, everywhere(A), pool.map)
    np.testing.assert_array_equal(one.diagonal, many.diagonal)
    np.testing.assert_array_equal(one.logdet, many.logdet)


@pytest.mark.parametrize("name", GRAPHS)
def test_log_determinant_of_a_precision(name: str) -> None:
    A = GRAPHS[name]
    expected = np.linalg.slogdet(A.toarray())[1]
    assert engine.logdet_precision(analysed(A), A.data) == pytest.approx(expected, rel=1e-10)


def test_diagonal_entries_may_be_missing_from_the_pattern() -> None:
    W = sp.csr_array(np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1))
    D, lam = np.full((5, 2), 3.0), np.array([1.0, -1.0])
    found = engine.inverse_columns(analysed(W), W.data, D, lam, everywhere(W))
    expected = np.diag(np.linalg.inv(3.0 * np.eye(5) + W.toarray()))
    np.testing.assert_allclose(found.diagonal, np.stack([expected, expected], axis=1), rtol=1e-12)


def test_indefinite_precisions_name_the_node() -> None:
    A = grid(4, 4)
    symbolic = analysed(A)
    D = np.full((16, 3), 1.0)
    D[5, 1] = -50.0
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite at node"):
        engine.inverse_columns(symbolic, A.data, D, np.ones(3), everywhere(A))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite at node"):
        engine.inverse_blocks(
            symbolic, A.data, -np.ones((16, 1, 1)) * 50.0, np.ones(1), everywhere(A)
        )


def test_a_precision_of_nothing_is_not_positive_definite() -> None:
    A = GRAPHS["no edges"]
    D = np.ones((A.shape[0], 3))
    D[2, 1] = -A.diagonal()[2]
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite at node 2"):
        engine.inverse_columns(analysed(A), A.data, D, np.ones(3), everywhere(A))


@pytest.mark.parametrize(
    ("D", "lam", "size", "match"),
    [
        (np.ones((5, 2)), np.ones(2), None, "a row or a block for each of 16 nodes, k=2"),
        (np.ones((16, 2)), np.ones(3), None, "k=3"),
        (np.ones((16, 2)), np.ones(2), 7, "data: shape"),
    ],
)
def test_wrong_shapes_are_named(
    D: np.ndarray, lam: np.ndarray, size: int | None, match: str
) -> None:
    A = grid(4, 4)
    with pytest.raises(ValueError, match=match):
        engine.inverse_columns(analysed(A), A.data[:size], D, lam, everywhere(A))
