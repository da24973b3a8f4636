"""posterior="sampled": everything that a model does, by draws."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from bmcg import BMCG, BMCGImputer, Observations, load_model
from bmcg.graphs import chain_graph
from bmcg.inference.draws import Draws
from bmcg.inference.fit import Settings
from bmcg.inference.forgiven import BATCHES, believable, chain_error
from bmcg.inference.form import Form
from bmcg.inference.left_out import Choice, Judge
from bmcg.inference.sampled_questions import _after
from bmcg.inference.score import Score


def planted(seed=0, m=40, n=30, noise=0.3, density=0.5, rank=2):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    X = truth + noise * rng.normal(size=truth.shape)
    return truth, X, rng.random(truth.shape) < density


@pytest.fixture(scope="module")
def model():
    _, X, seen = planted()
    return BMCG(posterior="sampled", max_sweeps=60, n_draws=60, random_state=0, n_jobs=1).fit(
        np.where(seen, X, np.nan)
    )


def test_a_planted_truth_is_found_and_its_noise(model):
    truth, X, seen = planted()
    i, j = np.nonzero(~seen)
    mean, std = model.predict(i, j, return_std=True)
    assert np.sqrt(np.mean((mean - truth[i, j]) ** 2)) < 0.35
    assert abs(model.noise_std_ - 0.3) < 0.05
    assert 0.85 < np.mean(np.abs(X[i, j] - mean) < 1.645 * std) < 0.95


def test_what_was_asked_is_on_record_and_the_chains_speak(model):
    questions = {verdict.question for verdict in model.selection_.verdicts}
    assert {"biases", "components"} <= questions
    assert model.posterior_ == "sampled"
    assert 1 <= model.diagnostics_.noise_size <= 60
    assert "draws" in model.diagnostics_.sentence


def test_deviations_intervals_and_draws_agree(model):
    i, j = np.arange(12), np.arange(12)
    std = model.predict(i, j, return_std=True, include_noise=False)[1]
    draws = model.sample(i, j, n_draws=60, random_state=0)
    assert np.allclose(draws.std(axis=0, ddof=1), std, rtol=1e-4)
    low, high = model.predict_interval(i, j, level=0.6827)
    mean, wide = model.predict(i, j, return_std=True)
    assert np.allclose((high - low) / 2, wide, rtol=1e-3)
    assert np.allclose(model.complete()[i, j], mean, atol=1e-5)


def test_the_same_seed_is_the_same_model_with_any_number_of_threads(model):
    _, X, seen = planted()
    again = BMCG(posterior="sampled", max_sweeps=60, n_draws=60, random_state=0, n_jobs=2)
    assert np.array_equal(again.fit(np.where(seen, X, np.nan)).complete(), model.complete())


def test_a_saved_model_predicts_the_same(model, tmp_path):
    path = tmp_path / "model.safetensors"
    model.save(path)
    loaded = load_model(path)
    i, j = np.nonzero(np.ones(model.shape_))
    for a, b in zip(
        model.predict(i, j, return_std=True), loaded.predict(i, j, return_std=True), strict=True
    ):
        assert np.array_equal(a, b)
    assert loaded.diagnostics_ == model.diagnostics_
    assert loaded.selection_ == model.selection_


def test_factors_and_biases_are_near_the_completed_matrix(model):
    whole = model.row_factors_ @ model.col_factors_.T
    whole += model.row_bias_[:, None] + model.col_bias_ + model.offset_
    assert model.row_factors_.shape == (40, model.rank_)
    assert np.sqrt(np.mean((whole - model.complete()) ** 2)) < 0.3 * model.complete().std()


def test_new_rows_new_entries_and_lists(model):
    truth, X, seen = planted()
    known = Observations.from_triples(np.zeros(15, int), np.arange(15), X[0, :15], shape=(1, 30))
    folded = model.fold_in(known)
    error = folded.predict(np.zeros(15, int), np.arange(15, 30)) - truth[0, 15:]
    assert np.sqrt(np.mean(error**2)) < 0.6
    best = model.recommend([0], n=3)
    assert len(best) == 3
    old = Observations.from_any(np.where(seen, X, np.nan))
    i, j = np.nonzero(~seen)
    new = Observations.from_triples(i[:40], j[:40], X[i[:40], j[:40]], shape=X.shape)
    # The fixture is for other tests, too, in whatever order they run.
    updated = copy.deepcopy(model)
    updated.update(new, observations=old)
    assert updated.posterior_ == "sampled"
    rest = updated.predict(i[40:], j[40:]) - truth[i[40:], j[40:]]
    assert np.sqrt(np.mean(rest**2)) < 0.35


def useless_and_useful(seed):
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(size=(60, 2)), axis=0)
    walk = (walk - walk.mean(axis=0)) / walk.std(axis=0)
    X = walk @ rng.normal(size=(2, 25)) + 0.5 * rng.normal(size=(60, 25))
    seen = rng.random(X.shape) < 0.25
    chain = sp.csr_array(chain_graph(60))
    order = rng.permutation(60)
    return X, seen, chain, chain[order][:, order]


def test_a_graph_that_helps_is_used_and_one_that_does_not_is_left_out():
    X, seen, good, bad = useless_and_useful(0)
    options = {"posterior": "sampled", "max_sweeps": 40, "random_state": 0, "n_jobs": 1}
    options |= {"rank": 6, "selection": ["graphs"], "bias": False}
    errors = {}
    for name, graph in (("none", None), ("good", good), ("bad", bad)):
        model = BMCG(**options).fit(np.where(seen, X, np.nan), row_graph=graph)
        errors[name] = np.sqrt(np.mean((model.complete() - X)[~seen] ** 2))
        if name == "bad":
            assert model.graph_weights_["rows"]["graph"].sentence == "graph: not used"
    assert errors["good"] < 0.93 * errors["none"]
    assert errors["bad"] < 1.02 * errors["none"]


def test_a_dense_similarity_is_cut_to_its_nearest():
    X, seen, _, _ = useless_and_useful(1)
    X, seen = np.repeat(X, 2, axis=0)[:110], np.repeat(seen, 2, axis=0)[:110]
    place = np.arange(110) / 2
    similar = np.exp(-np.abs(place[:, None] - place) / 30)
    model = BMCG(
        posterior="sampled", rank=3, max_sweeps=4, selection=["graphs"], random_state=0, n_jobs=1
    )
    model.fit(np.where(seen, X, np.nan), row_graph=similar)
    tried = [verdict.tried for verdict in model.selection_.verdicts]
    assert "the 5 nearest in the graphs of the rows" in tried


def test_values_within_a_range_are_predicted_within_it():
    rng = np.random.default_rng(0)
    X = (rng.random((60, 40)) < 0.08).astype(float)
    seen = rng.random(X.shape) < 0.7
    model = BMCG(posterior="sampled", max_sweeps=40, random_state=0, n_jobs=1)
    filled = model.fit(np.where(seen, X, np.nan)).complete()
    error = np.sqrt(np.mean((filled - X)[~seen] ** 2))
    assert error < 1.02 * np.sqrt(np.mean((X[seen].mean() - X[~seen]) ** 2))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "dense"}, "engine='dense'"),
        ({"storage": "float32"}, "storage='float32'"),
        ({"n_draws": 0}, "n_draws=0"),
    ],
)
def test_options_that_do_not_apply_are_refused(options, words):
    _, X, seen = planted()
    with pytest.raises(ValueError, match=words):
        BMCG(posterior="sampled", **options).fit(np.where(seen, X, np.nan))


def test_the_imputer_samples_too():
    _, X, seen = planted(3)
    holed = np.where(seen, X, np.nan)
    filled = BMCGImputer(posterior="sampled", random_state=0, n_jobs=1).fit_transform(holed)
    assert np.isfinite(filled).all()
    assert np.array_equal(filled[seen], X[seen])


def test_a_solve_that_runs_out_of_steps_is_told(monkeypatch):
    X, seen, good, _ = useless_and_useful(0)
    monkeypatch.setattr("bmcg.inference.sampling.MAX_STEPS", 1)
    monkeypatch.setattr("bmcg.inference.sampling.factored_draw", lambda *system: None)
    model = BMCG(posterior="sampled", rank=2, max_sweeps=3, selection=False, random_state=0)
    with pytest.warns(ConvergenceWarning, match="ran out of steps"):
        model.fit(np.where(seen, X, np.nan), row_graph=good)
    assert model.solve_steps_[-1] > 0


@pytest.mark.parametrize(("better", "found"), [("drawn", "sampled"), ("variational", "column")])
def test_auto_is_what_predicts_left_out_entries_better(better, found, monkeypatch):
    _, X, seen = planted()

    def score(judge, form, settings, name):
        good = bool(settings.draws) == (better == "drawn")
        return Score(np.full(50, 1.0 if good else 2.0), False)

    monkeypatch.setattr(Judge, "score", score)
    model = BMCG(rank=4, max_sweeps=5, tol=1e-2, random_state=0, n_jobs=1)
    model.fit(np.where(seen, X, np.nan))
    assert model.posterior_ == found
    asked = [verdict for verdict in model.selection_.verdicts if verdict.question == "posterior"]
    assert [verdict.taken for verdict in asked] == [found != "sampled"]


def test_auto_with_too_few_entries_to_leave_any_out_is_variational():
    X = np.arange(12.0).reshape(4, 3)
    model = BMCG(random_state=0, n_jobs=1, max_sweeps=30).fit(X)
    assert model.posterior_ == "column"
    assert any("say nothing" in verdict.measure for verdict in model.selection_.verdicts)


def test_without_the_question_there_are_as_many_components_as_allowed():
    rng = np.random.default_rng(0)
    model = BMCG(posterior="sampled", rank=20, selection=(), max_sweeps=3, random_state=0, n_jobs=1)
    assert model.fit(rng.normal(size=(30, 25))).row_factors_.shape[1] == 20


def test_what_a_short_chain_is_off_by_is_not_held_against_it():
    """Independent draws of variance s² have a mean of variance s²/n, which is taken off."""
    rng = np.random.default_rng(0)
    n, entries = 30, 2000
    draws = Draws(
        rng.normal(size=(n, entries, 1)).astype(np.float32),
        np.ones((n, 1, 1), np.float32),
        np.ones(n),
    )
    fit = SimpleNamespace(draws=draws, scale=2.0, diagnostics=None)
    at = np.arange(entries), np.zeros(entries, np.intp)
    assert np.isclose(chain_error(fit, *at, 300).mean(), 4.0 / n * 0.9, rtol=0.1)
    assert not chain_error(fit, *at, 30).any()


def test_what_few_chains_are_off_by_is_not_held_against_a_fit_of_more():
    """Chains around means of variance s²: the mean of two has s²/2, that of four s²/4."""
    rng = np.random.default_rng(0)
    entries, each = 2000, 15
    means = np.repeat(rng.normal(size=(2, entries, 1)), each, axis=0)
    rows = (means + 1e-3 * rng.normal(size=means.shape)).astype(np.float32)
    draws = Draws(rows, np.ones((2 * each, 1, 1), np.float32), np.ones(2 * each))
    fit = SimpleNamespace(draws=draws, scale=2.0, diagnostics=SimpleNamespace(burn_in=(9, 9)))
    at = np.arange(entries), np.zeros(entries, np.intp)
    assert np.isclose(chain_error(fit, *at, 30, 4).mean(), 4.0 * (1 / 2 - 1 / 4), rtol=0.1)
    assert not chain_error(fit, *at, 30, 2).any()


def test_a_sampled_model_does_without_biases():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 20))
    X[rng.random(X.shape) < 0.3] = np.nan
    few = {"rank": 3, "n_draws": 5, "max_sweeps": 10, "random_state": 0, "selection": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BMCG(posterior="sampled", bias=False, **few).fit(X)
    assert model.rank_ == 3
    assert not model.row_bias_.any()


def test_a_chain_is_not_forgiven_more_than_draws_could_be_off():
    rng = np.random.default_rng(0)
    loss = rng.random(200)
    assert np.array_equal(believable(0.1 * loss, loss), 0.1 * loss)
    # −ln p may be negative, and nothing is forgiven there.
    assert np.array_equal(believable(0.0 * loss, -loss), 0.0 * loss)
    assert np.isclose(believable(50.0 * loss, loss).mean(), loss.mean() / (BATCHES + 1))


def test_a_level_far_from_zero_is_no_reason_to_do_without_biases():
    """In single precision draws of such entries hold nothing but their level."""
    _, X, seen = planted(2)
    i, j = np.nonzero(~seen)
    model = BMCG(posterior="sampled", max_sweeps=40, rank=4, random_state=0, n_jobs=1)
    model.fit(np.where(seen, X + 1e8, np.nan))
    assert model.row_bias_.any()
    error = np.sqrt(np.mean((model.predict(i, j) - 1e8 - X[i, j]) ** 2))
    assert error < 0.6


@pytest.mark.parametrize(("more", "found"), [(0.5, "sampled"), (0.95, "column")])
def test_a_chain_may_have_more_components_before_a_close_race_is_decided(more, found, monkeypatch):
    """The variational fit is a little ahead of the first chain; a longer one may overtake it."""
    _, X, seen = planted(m=60, n=40)

    def score(judge, form, settings, name):
        if not settings.draws:
            return Score(np.tile([0.7, 1.1], 25), False)
        return Score(np.full(50, more if settings.rank > 16 else 0.95), False)

    monkeypatch.setattr(Judge, "score", score)
    model = BMCG(max_sweeps=5, tol=1e-2, random_state=0, n_jobs=1)
    model.fit(np.where(seen, X, np.nan))
    assert model.posterior_ == found
    record = [v for v in model.selection_.verdicts if v.question == "posterior"]
    assert [v.taken for v in record] == [found != "sampled"]
    assert np.isclose(record[0].standing, np.sqrt(more))


def test_features_that_beat_a_chain_without_them_are_not_asked_again():
    far, near = np.full(50, 2.0), np.tile([0.0, 2.1], 25)
    drawn = Choice(Form(features=(False, False)), Settings(draws=3), Score(far, False))
    for losses, answered in ((np.ones(50), ("start", "features")), (near + 0.9, ("start",))):
        rival = Choice(Form(), Settings(), Score(losses, False))
        assert _after(rival, drawn).answered == answered
    bare = replace(drawn, form=Form())
    assert _after(Choice(Form(), Settings(), Score(np.ones(50), False)), bare).answered == (
        "start",
    )


def test_several_chains_are_averaged_and_their_components_are_not():
    """Zeros and few ones: every chain keeps to the explanation that it found first."""
    rng = np.random.default_rng(4)
    X = ((rng.random((60, 3)) < 0.15) @ (rng.random((3, 50)) < 0.12)).astype(float)
    seen = rng.random(X.shape) < 0.8
    options = {"rank": 6, "selection": (), "value_range": None, "n_jobs": 1, "n_draws": 40}
    model = BMCG(posterior="sampled", max_sweeps=100, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(np.where(seen, X, np.nan))
    assert len(model.diagnostics_.burn_in) == 4
    whole = model.row_factors_ @ model.col_factors_.T
    whole += model.row_bias_[:, None] + model.col_bias_ + model.offset_
    draws = model.fitted_.draws
    last = np.einsum("sir,sjr->ij", draws.rows[-10:], draws.cols[-10:]) / 10 * model.fitted_.scale
    last += model.offset_
    assert np.sqrt(np.mean((whole - last) ** 2)) < 0.2 * X.std()


def test_an_empty_row_is_no_reason_to_keep_a_graph_that_harms():
    X, seen, good, bad = useless_and_useful(0)
    seen[7] = False
    options = {"posterior": "sampled", "max_sweeps": 40, "random_state": 0, "n_jobs": 1}
    options |= {"rank": 6, "selection": ["graphs"], "bias": False}

    def used(graph, harm, monkeypatch):
        def score(judge, form, settings, name):
            loss = harm if form.graphs[0] is not None else 1.0
            return Score(loss + 0.2 * np.random.default_rng(0).random(400), False)

        monkeypatch.setattr(Judge, "score", score)
        model = BMCG(**options).fit(np.where(seen, X, np.nan), row_graph=graph)
        return model.selection_.verdicts[0].taken

    with pytest.MonkeyPatch.context() as patch:
        assert used(good, 1.0, patch)
        assert not used(bad, 2.0, patch)


@pytest.mark.parametrize(("later", "kept"), [(0.5, True), (1.0, False)])
def test_a_graph_is_asked_about_again_where_the_number_of_components_has_changed(later, kept):
    X, seen, good, _ = useless_and_useful(0)

    def score(judge, form, settings, name):
        loss = 2.0 if settings.rank == 16 else 0.8 if settings.rank == 20 else 3.0
        if form.graphs[0] is not None:
            loss *= 0.5 if settings.rank == 16 else later
        return Score(loss + 0.2 * np.random.default_rng(0).random(400), False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Judge, "score", score)
        model = BMCG(posterior="sampled", max_sweeps=5, rank=20, random_state=0, n_jobs=1)
        model.fit(np.where(seen, X, np.nan), row_graph=good)
    tried = {v.tried: v.taken for v in model.selection_.verdicts}
    assert tried["with the graphs of the rows"]
    assert tried["without the graphs of the rows"] != kept
    assert (model.graph_weights_["rows"]["graph"].sentence == "graph: not used") != kept


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("together", "taken"), [(0.5, True), (0.9, False)])
def test_many_components_get_a_second_chance_with_all_graphs(together, taken, bias):
    """Few are left without graphs, and graphs alone do not show: both together may."""
    X, seen, good, _ = useless_and_useful(0)

    def score(judge, form, settings, name):
        loss = 1.0 if settings.rank == 16 else 0.7
        if settings.rank == 16 and form.graphs[0] is not None:
            loss = together
        return Score(loss + 0.2 * np.random.default_rng(0).random(400), False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Judge, "score", score)
        model = BMCG(posterior="sampled", max_sweeps=5, rank=16, bias=bias, n_jobs=1)
        model.set_params(random_state=0)
        model.fit(np.where(seen, X, np.nan), row_graph=good)
    tried = {v.tried: v.taken for v in model.selection_.verdicts}
    assert tried["16 components with all graphs"] == taken
    assert (model.rank_ == 16) == taken
    assert model.biased_ == bias


@pytest.mark.parametrize(("gain", "taken"), [(0.5, True), (1e-4, False)])
def test_more_components_have_to_show_and_what_lost_is_not_tried_again(gain, taken):
    X, seen, _, _ = useless_and_useful(0)

    def score(judge, form, settings, name):
        noise = 0.2 * np.random.default_rng(settings.rank).random(400)
        less = gain if settings.rank == 20 else 0.0
        level = 1.0 if settings.rank >= 16 else 2.0
        return Score(level - less + noise - noise.mean(), False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Judge, "score", score)
        model = BMCG(posterior="sampled", max_sweeps=5, rank=20, bias=True, n_jobs=1)
        model.set_params(random_state=0).fit(np.where(seen, X, np.nan))
    tried = [v.tried for v in model.selection_.verdicts if v.question == "components"]
    assert (model.rank_ == 20) == taken
    assert len(tried) == len(set(tried))
