"""`local`: predictions, deviations and files have the term, and what has no place for it raises."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import BMCG, BMCGImputer, load_model
from bmcg.graphs import chain_graph
from bmcg.graphs.precision import stack_graphs
from bmcg.inference.lines import lines_of
from bmcg.inference.local_question import gaps_like_those
from bmcg.observations import Observations

M, N = 10, 90


def smooth_table(size=1.0):
    rng = np.random.default_rng(0)
    S = np.cumsum(0.3 * rng.normal(size=(M, N)), axis=1)
    truth = np.outer(rng.normal(size=M), rng.normal(size=N)) + size * (S - S.mean(axis=1)[:, None])
    X = truth + 0.1 * rng.normal(size=truth.shape)
    X[rng.random(X.shape) < 0.3] = np.nan
    return X, truth


@pytest.fixture(scope="module")
def model():
    X, _ = smooth_table()
    given = {"rank": 3, "bias": False, "selection": False, "random_state": 0}
    return BMCG(local="cols", max_sweeps=25, **given).fit(X, col_graph=chain_graph(N))


def test_every_route_to_an_entry_has_the_term(model):
    i, j = (part.ravel() for part in np.indices((M, N)))
    plain = model.row_factors_ @ model.col_factors_.T + model.local_term_
    np.testing.assert_allclose(model.complete(), plain, atol=1e-10)
    np.testing.assert_allclose(model.predict(i, j).reshape(M, N), plain, atol=1e-10)
    _, std = model.predict(i, j, return_std=True)
    block = model.fitted_.variance_block(np.arange(M), np.arange(N), True)
    np.testing.assert_allclose(std.reshape(M, N) ** 2, block, rtol=1e-8)
    assert (block > model.noise_std_**2).all()


def test_a_file_keeps_the_term(model, tmp_path):
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.complete(), model.complete())
    assert again.local == "cols"


def test_what_has_no_place_for_the_term_raises(model):
    with pytest.raises(ValueError, match="local term"):
        model.sample([0], [1])
    with pytest.raises(ValueError, match="local term"):
        model.fold_in(np.full((1, N), 1.0))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"local": "sides"}, "local"),
        ({"local": "both"}, "row_graph"),
        ({"local": "cols", "likelihood": "poisson"}, "likelihood"),
        ({"local": "rows"}, "row_graph"),
        ({"local": "cols", "posterior": "sampled"}, "sampled"),
        ({"local": "cols", "checkpoint": "fit.safetensors"}, "checkpoint"),
    ],
)
def test_options_that_do_not_go_together_are_named(options, match):
    X = np.abs(np.round(smooth_table()[0]))
    with pytest.raises(ValueError, match=match):
        BMCG(**options).fit(X, col_graph=chain_graph(N))


def test_left_out_gaps_keep_what_is_smooth_and_drop_what_is_not():
    graph, taken = chain_graph(N), []
    for size in (1.0, 0.0):
        X, _ = smooth_table(size)
        options = {"rank": 3, "bias": False, "selection": ["local"], "max_sweeps": 25}
        found = BMCG(local="auto", random_state=0, **options).fit(X, col_graph=graph)
        verdict = next(v for v in found.selection_.verdicts if v.question == "local")
        assert verdict.taken == (found.local_term_ is not None)
        taken.append(verdict.taken)
    assert taken == [True, False]


def test_gaps_that_are_hidden_are_as_long_as_those_that_are_there():
    X = np.random.default_rng(1).normal(size=(40, 200))
    for i in range(40):
        X[i, 5 * i % 150 : 5 * i % 150 + 20] = np.nan
    data = Observations.from_any(X)
    lines = lines_of("cols", stack_graphs([chain_graph(200)], 200), X.shape)
    fold = gaps_like_those(data, [lines], 0)
    assert 0.1 <= len(fold.values) / len(data) < 0.11
    np.testing.assert_array_equal(X[fold.rows, fold.cols], fold.values)
    assert len(fold.kept) + len(fold.values) == len(data)
    same = (np.diff(fold.rows) == 0) & (np.diff(fold.cols) == 1)
    assert len(fold.values) / (len(same) + 1 - same.sum()) > 10


def test_the_imputer_fills_with_the_term():
    X, truth = smooth_table()
    given = {"rank": 2, "bias": False, "scale": False, "selection": False, "random_state": 0}
    with_s, without = (
        BMCGImputer(local=local, posterior="column", max_sweeps=25, **given).fit_transform(
            X.T, row_graph=chain_graph(N)
        )
        for local in ("rows", None)
    )
    out = np.isnan(X.T)
    errors = [np.sqrt(np.mean((part - truth.T)[out] ** 2)) for part in (with_s, without)]
    assert errors[0] < 0.9 * errors[1]
