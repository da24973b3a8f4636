from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg.backends import NumbaBackend, SparseRows
from bmcg.baselines import GPMF, GRALS
from bmcg.baselines.gpmf import factor_covariance, posterior_covariance
from bmcg.graphs.precision import graph_precision

from .planted import observe, random_graph


def contested_case(seed=0, m=60, n=50):
    """Two groups of rows with opposite tastes; edges inside a group are right, across wrong."""
    rng = np.random.default_rng(seed)
    group = np.repeat([1.0, -1.0], m // 2)
    U = np.column_stack((np.ones(m), group)) + 0.1 * rng.standard_normal((m, 2))
    V = np.column_stack((3.0 + 0.1 * rng.standard_normal(n), rng.standard_normal(n)))
    M = U @ V.T
    a, b = rng.integers(m, size=(2, 6 * m))
    a, b = a[a != b], b[a != b]
    A = sp.coo_array((np.ones(len(a)), (a, b)), shape=(m, m)).toarray()
    A = sp.csr_array(((A + A.T) > 0).astype(float))
    return M, observe(rng, M, 0.5, noise=0.05), A, group


def test_contested_edges_go_and_right_ones_stay():
    _, observations, A, group = contested_case()
    model = GPMF(2, pmf_ridge=0.05, random_state=0).fit(observations, A)
    edges = model.row_edges_
    right = group[edges.heads] == group[edges.tails]
    assert right.sum() > 50
    assert (~right).sum() > 50
    assert edges.kept[right].mean() > 0.95
    assert edges.kept[~right].mean() < 0.05
    assert model.col_edges_ is None


def test_removing_contested_edges_beats_trusting_them():
    M, observations, A, _ = contested_case(1)
    pruned = GPMF(2, pmf_ridge=0.05, random_state=0).fit(observations, A)
    trusting = GRALS(2, random_state=0).fit(observations, A)
    error = [np.sqrt(np.mean((model.complete() - M) ** 2)) for model in (pruned, trusting)]
    assert error[0] < 0.8 * error[1]


def test_the_pruned_graph_holds_the_kept_edges_with_their_weights():
    _, observations, A, _ = contested_case(2)
    edges = GPMF(2, pmf_ridge=0.05, random_state=0).fit(observations, 2.5 * A).row_edges_
    pruned = edges.graph(60)
    assert pruned.nnz == 2 * edges.kept.sum()
    assert set(pruned.data) == {2.5}
    assert abs(pruned - pruned.T).nnz == 0


def test_factor_covariance_is_the_covariance_over_factors():
    rng = np.random.default_rng(3)
    U = rng.standard_normal((8, 5))
    a, b = np.triu_indices(8, 1)
    expected = np.cov(U, bias=True)[a, b]
    np.testing.assert_allclose(factor_covariance(U, a, b), expected, rtol=1e-12)


def test_posterior_covariance_is_that_of_the_dense_inverse():
    rng = np.random.default_rng(4)
    precision = graph_precision(random_graph(rng, 25, 40), 1e-2)
    D = rng.uniform(0.0, 2.0, (25, 3))
    none = SparseRows(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), NumbaBackend(1))
    found = posterior_covariance(precision, D, none, 0, 2000)
    dense = np.mean([np.linalg.inv(precision.toarray() + np.diag(d)) for d in D.T], axis=0)
    expected = dense[precision.heads, precision.tails]
    np.testing.assert_allclose(found, expected, rtol=0.1)
    assert np.corrcoef(found, expected)[0, 1] > 0.999


def test_the_inner_solver_never_raises_its_objective():
    _, observations, A, _ = contested_case(5)
    trace = GPMF(2, tol=0.0, random_state=0).fit(observations, A).objective_trace_
    assert (np.diff(trace) <= 1e-12 * trace[0]).all()


def test_a_threshold_removes_more_edges():
    _, observations, A, _ = contested_case(6)
    kept = [
        GPMF(2, threshold=t, max_iter=5, random_state=0).fit(observations, A).row_edges_.kept.sum()
        for t in (0.0, 0.3, 0.9)
    ]
    assert kept[0] > kept[1] > kept[2] > 0


def test_more_rounds_only_remove_edges():
    _, observations, A, _ = contested_case(7)
    one = GPMF(2, n_rounds=1, random_state=0).fit(observations, A).row_edges_
    two = GPMF(2, n_rounds=2, random_state=0).fit(observations, A).row_edges_
    assert two.kept.sum() <= one.kept.sum() == len(two.kept)


@pytest.mark.parametrize("bad", [{"noise_variance": 0.0}, {"n_rounds": 0}, {"threshold": -1.0}])
def test_bad_parameters_are_named(bad):
    _, observations, _, _ = contested_case()
    with pytest.raises(ValueError, match=next(iter(bad))):
        GPMF(**bad).fit(observations)
