from __future__ import annotations

import numpy as np
import pytest

from bmcg.datasets import graph_low_rank, netflix_like, random_low_rank, synthetic
from bmcg.graphs import chain_graph, knn_graph

LOW_RANK = [random_low_rank, graph_low_rank]


@pytest.mark.parametrize("make", LOW_RANK)
def test_planted_rank_share_and_snr_are_as_asked(make) -> None:
    data = make(7, observed=0.3, snr_db=10.0, shape=(200, 150))
    obs = data.observations
    assert np.linalg.matrix_rank(data.truth) == 7
    assert len(obs) == round(0.3 * 200 * 150)
    noise = obs.values - data.truth[obs.row_indices, obs.col_indices]
    snr = 10 * np.log10(data.truth.var() / noise.var())
    # The sample variance of 9,000 draws has a standard error of 1.5 %, or 0.065 dB.
    assert snr == pytest.approx(10.0, abs=0.3)
    np.testing.assert_array_equal(data.test_values, data.truth[data.test_rows, data.test_cols])


@pytest.mark.parametrize("make", LOW_RANK)
def test_without_noise_observed_entries_are_the_truth(make) -> None:
    data = make(3, snr_db=None, shape=(40, 30))
    obs = data.observations
    np.testing.assert_array_equal(obs.values, data.truth[obs.row_indices, obs.col_indices])


@pytest.mark.parametrize("make", [*LOW_RANK, lambda seed: netflix_like(seed=seed)])
def test_the_seed_decides_everything(make) -> None:
    a, b, c = make(seed=4), make(seed=4), make(seed=5)
    np.testing.assert_array_equal(a.observations.values, b.observations.values)
    np.testing.assert_array_equal(a.test_cols, b.test_cols)
    assert (a.row_graph != b.row_graph).nnz == 0
    assert not np.array_equal(a.truth, c.truth)


def test_defaults_are_the_papers() -> None:
    for make in LOW_RANK:
        data = make()
        assert data.truth.shape == (500, 500)
        assert len(data.observations) == 50_000
    assert netflix_like().truth.shape == (100, 200)


def test_smooth_draws_have_covariance_inverse_laplacian(monkeypatch) -> None:
    n, ridge = 30, 1e-3

    class Identity:
        def standard_normal(self, shape):
            return np.eye(*shape)

    graph = chain_graph(n)
    X = synthetic._draw_smooth(graph, ridge, n, Identity())
    A = graph.toarray()
    L = np.diag(A.sum(1)) - A + ridge * np.eye(n)
    np.testing.assert_allclose(L @ X @ X.T, np.eye(n), atol=1e-9)


def test_graph_low_rank_comes_with_the_papers_chains() -> None:
    data = graph_low_rank(2, shape=(40, 25))
    gap = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    expected = np.exp(-(gap**2) / 3.0) * (gap > 0)
    np.testing.assert_allclose(data.row_graph.toarray(), expected, atol=1e-8)
    assert data.col_graph.shape == (25, 25)


def test_neighbouring_rows_are_alike_in_graph_low_rank_only() -> None:
    def roughness(data) -> float:
        centred = data.truth - data.truth.mean(axis=0)
        return float((np.diff(centred, axis=0) ** 2).mean() / (2 * centred.var()))

    assert roughness(graph_low_rank(5)) < 0.05
    assert roughness(random_low_rank(5)) == pytest.approx(1.0, abs=0.15)


def test_random_low_rank_graph_from_observed_entries_has_seen_no_other(monkeypatch) -> None:
    made = random_low_rank(3, shape=(40, 30), graphs="observed")
    obs = made.observations
    expected = synthetic.observed_value_graph(obs, 10)
    assert (made.row_graph != expected).nnz == 0
    other = random_low_rank(3, shape=(40, 30), graphs="complete")
    np.testing.assert_array_equal(other.observations.values, obs.values)
    assert (other.row_graph != made.row_graph).nnz > 0


def test_random_low_rank_complete_graph_is_that_of_the_noisy_matrix() -> None:
    data = random_low_rank(3, snr_db=None, shape=(40, 30))
    assert (data.row_graph != knn_graph(data.truth, n_neighbors=10)).nnz == 0
    assert (data.col_graph != knn_graph(data.truth.T, n_neighbors=10)).nnz == 0


def test_netflix_like_is_block_constant_in_whole_ratings() -> None:
    data = netflix_like(observed=0.4, shape=(60, 80), n_groups=(5, 7))
    assert set(np.unique(data.truth)) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert len(np.unique(data.truth, axis=0)) == 5
    assert len(np.unique(data.truth, axis=1).T) == 7
    assert np.linalg.matrix_rank(data.truth) <= 5
    assert len(data.observations) == round(0.4 * 60 * 80)


def test_netflix_like_edges_follow_the_communities() -> None:
    data = netflix_like(shape=(200, 200), n_groups=(4, 5), within=0.6, between=0.1)
    for graph, M in ((data.row_graph, data.truth), (data.col_graph, data.truth.T)):
        same = (M[:, None, :] == M[None]).all(axis=2)
        np.fill_diagonal(same, False)
        edge = graph.toarray() > 0
        away = ~same & ~np.eye(200, dtype=bool)
        assert edge[same].mean() == pytest.approx(0.6, abs=0.03)
        assert edge[away].mean() == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (random_low_rank, {"rank": 0}, "rank=0"),
        (graph_low_rank, {"rank": 11, "shape": (10, 20)}, "rank=11: choose 1 to 10"),
        (random_low_rank, {"observed": 1.5}, "observed=1.5"),
        (random_low_rank, {"snr_db": float("nan")}, "snr_db=nan"),
        (random_low_rank, {"graphs": "none"}, "graphs='none'"),
        (graph_low_rank, {"ridge": 0.0}, "ridge=0.0"),
        (netflix_like, {"n_groups": (200, 3)}, "200 communities for 100 rows"),
        (netflix_like, {"within": 2.0}, "within=2.0"),
    ],
)
def test_impossible_arguments_are_refused(make, arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        make(**arguments)
