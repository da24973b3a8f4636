"""The questions of selection: asked in order, judged by their measures, and recorded."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg import BMCG, Observations, load_model
from bmcg.backends import NumbaBackend
from bmcg.graphs import chain_graph
from bmcg.graphs.precision import stack_graphs
from bmcg.inference import questions, selection
from bmcg.inference import variational as running
from bmcg.inference.fit import Settings, SideInput, Start
from bmcg.inference.form import Form
from bmcg.inference.left_out import Judge
from bmcg.inference.questions import Standing, Trials
from bmcg.inference.score import Score
from bmcg.inference.selection import QUESTIONS, settle

POOL = NumbaBackend(1)


def silent(sweep, about=""):
    """Nobody watches."""


def settled(data, given, settings, fit, show=silent, asked=QUESTIONS):
    """The fit after all questions."""
    return settle(Trials(data, POOL, show), Standing(tuple(given), settings, fit), asked)[0]


def ratings(seed, rank=0, m=60, n=40):
    """Offsets, noise, and a low-rank part where asked for."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 1)) + rng.normal(size=n) + 0.5 * rng.normal(size=(m, n))
    X += 2 * rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    seen = np.nonzero(rng.random((m, n)) < 0.4)
    return Observations.from_triples(*seen, X[seen], shape=(m, n))


def sides(data):
    return [SideInput(stack_graphs([], n, []), 1.0, None) for n in data.shape]


SETTINGS = Settings(family="row", bias=True, max_sweeps=200)


def fitted(data, settings=SETTINGS):
    return running.run(data, *sides(data), settings, backend=POOL)


def _of(settings, error):
    """Errors of one for a model with components, of `error` for biases alone."""
    return Score(np.full(50, 1.0 if settings.rank else error**2), False)


@pytest.mark.parametrize(("error", "rank"), [(0.0, 0), (9.0, 2)])
def test_what_predicts_better_wins(error, rank, monkeypatch):
    """Whatever the two fits reach, and only after a fit that kept few columns."""
    data = ratings(0, rank=2)
    fit = fitted(data)
    assert (fit.converged, fit.state.rank) == (True, 2)
    monkeypatch.setattr(Judge, "score", lambda judge, change, asked, name: _of(asked, error))
    chosen = settled(data, sides(data), SETTINGS, fit)
    assert chosen.state.rank == rank
    for other, settings in (
        (replace(fit, converged=False), SETTINGS),
        (fit, replace(SETTINGS, rank=2)),
        (fit, replace(SETTINGS, bias=False)),
    ):
        assert settled(data, sides(data), settings, other) is other


def test_planted_columns_are_beyond_doubt():
    data = ratings(1, rank=2)
    fit = fitted(data)
    assert settled(data, sides(data), SETTINGS, fit) is fit


def test_the_user_hears_what_is_fitted_meanwhile():
    data, good, useless = smooth_ratings(2)
    stacks = [stack_graphs([good, useless], 80, ["good", "useless"]), stack_graphs([], 50)]
    given = tuple(SideInput(stack, 0.1) for stack in stacks)
    settings = Settings(family="column", learn=True, max_sweeps=300)
    fit, heard = running.run(data, *given, settings, backend=POOL), []
    settled(data, given, settings, fit, lambda sweep, about: heard.append(about))
    graphs = [f"without graph '{name}' of the rows: " for name in ("useless", "good")]
    assert [about.split(", graphs: ")[1] for about in dict.fromkeys(heard)] == graphs


def test_an_interrupt_of_the_question_leaves_the_finished_fit(monkeypatch):
    data = ratings(0, rank=2)
    fit = fitted(data)

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(questions, "run", interrupted)
    assert settled(data, sides(data), SETTINGS, fit) is fit


def test_the_estimator_asks(monkeypatch):
    data = ratings(0, rank=2)
    monkeypatch.setattr(Judge, "score", lambda judge, change, asked, name: _of(asked, 0.0))
    assert BMCG(posterior="variational", bias=True, random_state=0, n_jobs=1).fit(data).rank_ == 0


def test_a_single_graph_is_judged_too_unless_told_otherwise():
    data = ratings(0, rank=2)
    strengths = [
        BMCG(posterior="variational", learn_graphs=learn, random_state=0, n_jobs=1, max_sweeps=8)
        .fit(data, row_graph=chain_graph(60))
        .graph_weights_["rows"]["graph"]
        .strength
        for learn in ("auto", True, False)
    ]
    assert strengths[0] == strengths[1]
    assert strengths[2] == 1.0 != strengths[0]


def smooth_ratings(seed, m=80, n=50):
    """Rows that follow a chain, with the chain and the same one with its nodes renamed."""
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(size=(m, 2)), axis=0)
    walk = (walk - walk.mean(axis=0)) / walk.std(axis=0)
    X = walk @ rng.normal(size=(2, n)) + 0.5 * rng.normal(size=(m, n))
    seen = np.nonzero(rng.random((m, n)) < 0.15)
    data = Observations.from_triples(*seen, X[seen], shape=(m, n))
    chain, order = chain_graph(m), rng.permutation(m)
    return data, chain, chain[order][:, order]


@pytest.mark.parametrize("posterior", ["column", "joint"])
def test_a_useless_graph_is_left_out_and_a_good_one_kept(posterior):
    data, good, useless = smooth_ratings(0)
    model = BMCG(posterior=posterior, random_state=0, n_jobs=1)
    both = model.fit(data, row_graph={"good": good, "useless": useless})
    weights = both.graph_weights_["rows"]
    assert weights["useless"].sentence == "useless: not used"
    assert (weights["useless"].strength, weights["useless"].share) == (0.0, 0.0)
    assert weights["good"].share > 0.2
    alone = BMCG(posterior=posterior, random_state=0, n_jobs=1).fit(data, row_graph={"good": good})
    at = np.indices(data.shape).reshape(2, -1)
    np.testing.assert_allclose(both.predict(*at), alone.predict(*at), atol=0.05)


@pytest.mark.parametrize("posterior", ["column", "joint"])
def test_a_useless_graph_alone_leaves_the_fit_without_graphs(posterior):
    data, _, useless = smooth_ratings(1)
    model = BMCG(posterior=posterior, random_state=0, n_jobs=1)
    model.fit(data, row_graph={"useless": useless})
    assert model.graph_weights_["rows"]["useless"].sentence == "useless: not used"
    without = BMCG(posterior=posterior, random_state=0, n_jobs=1).fit(data)
    at = np.indices(data.shape).reshape(2, -1)
    np.testing.assert_allclose(model.predict(*at), without.predict(*at), atol=0.05)
    # What the graph said no longer counts, so neither do links of newcomers to it.
    links, entries = np.eye(1, 80), np.eye(1, 50)
    entries[entries == 0] = np.nan
    linked = model.fold_in(entries, row_edges=links).complete()
    np.testing.assert_array_equal(linked, model.fold_in(entries).complete())


def test_an_estimated_bound_that_fell_is_not_hopeless_where_it_has_arrived(monkeypatch):
    """And one that is short of its target is, once it gains too little or falls."""
    data, _, useless = smooth_ratings(1)
    given = (
        SideInput(stack_graphs([useless], 80, ["useless"]), 0.1),
        SideInput(stack_graphs([], 50), 1.0),
    )
    settings = Settings(family="column", learn=True, max_sweeps=200)
    fit = running.run(data, *given, settings, backend=POOL)
    asked = []

    def listening(*arguments, callback, **options):
        asked.append(callback)
        return fit

    monkeypatch.setattr(questions, "run", listening)
    standing, stacks = Standing(given, settings, fit), [side.stack for side in given]
    questions._without_graph(
        Trials(data, POOL, silent), standing, stacks, fit, 0, "useless", -100.0, "about"
    )
    answers = [
        asked[0](SimpleNamespace(sweep=sweep, elbo=elbo, gain=gain))
        for sweep, elbo, gain in (
            (9, -97, -2),
            (9, -103, -2),
            (9, -103, 1),
            (9, -130, 1),
            (2, -130, 1),
        )
    ]
    assert answers == [False, True, False, True, False]


def test_an_interrupt_within_a_question_ends_them_all(monkeypatch):
    """A fit hands back what it has; the next question must not begin."""
    data = ratings(0, rank=2)
    fit, begun = fitted(data), []

    def interrupted(*arguments, **options):
        begun.append(arguments)
        return replace(fit, converged=False, interrupted=True)

    monkeypatch.setattr(questions, "run", interrupted)
    given = [
        replace(side, features=sp.csr_array(np.ones((side.stack.n, 1)))) for side in sides(data)
    ]
    assert settled(data, given, SETTINGS, fit) is fit
    assert len(begun) == 1


def test_of_two_copies_one_is_enough():
    data, good, _ = smooth_ratings(0)
    model = BMCG(posterior="column", random_state=0, n_jobs=1)
    weights = model.fit(data, row_graph={"one": good, "two": good}).graph_weights_["rows"]
    assert sorted(w.strength > 0 for name, w in weights.items() if name != "ridge") == [False, True]


def test_graphs_of_the_row_family_and_beside_features_are_not_asked(monkeypatch):
    """Their bounds cannot tell."""
    data, _, useless = smooth_ratings(1)
    stacks = [stack_graphs([useless], 80, ["useless"]), stack_graphs([], 50)]
    monkeypatch.setattr(questions, "_without_graph", lambda *_: pytest.fail("asked"))
    for family, F in (("row", None), ("joint", sp.csr_array(np.ones((80, 1))))):
        given = SideInput(stacks[0], 0.1, F), SideInput(stacks[1], 1.0)
        settings = Settings(family=family, learn=True, max_sweeps=60)
        fit = replace(running.run(data, *given, settings, backend=POOL), converged=True)
        assert settled(data, given, settings, fit, asked=["graphs"]) is fit


def test_a_graph_is_worth_more_than_the_number_fitted_to_it():
    """Whatever is left out, the bound falls by no more than ½ log N."""
    data, good, useless = smooth_ratings(2)
    stacks = [stack_graphs([good, useless], 80, ["good", "useless"]), stack_graphs([], 50)]
    given = tuple(SideInput(stack, 0.1) for stack in stacks)
    settings = Settings(family="column", learn=True, max_sweeps=300)
    fit = running.run(data, *given, settings, backend=POOL)
    kept = settled(data, given, settings, fit)
    assert kept.rows.strengths.graphs[1] == 0 < kept.rows.strengths.graphs[0]
    assert kept.rows.stack is given[0].stack
    # The trace is that of the fit that is held: where its state came from is in the record.
    assert kept.trace != fit.trace
    assert kept.trace[-1] >= fit.trace[-1] - 0.5 * np.log(len(data))
    ridges = kept.rows.strengths, kept.cols.strengths
    start = Start(kept.state, kept.offset, kept.scale, ridges)
    again = running.run(data, *given, replace(settings, max_sweeps=1), backend=POOL, start=start)
    assert again.trace[-1] >= fit.trace[-1] - 0.5 * np.log(len(data))


@pytest.mark.parametrize(("error", "used"), [(0.0, False), (2.0, True)])
def test_features_answer_to_a_fit_without_them(error, used, monkeypatch):
    data = ratings(0, rank=2)
    monkeypatch.setattr(
        Judge,
        "score",
        lambda judge, form, asked, name: Score(
            np.full(50, error**2 if form.of(judge.sides)[0].features is None else 1.0), False
        ),
    )
    F = np.random.default_rng(0).normal(size=(60, 3))
    model = BMCG(posterior="variational", random_state=0, n_jobs=1, tol=1e-3).fit(
        data, row_features=F
    )
    sentence = model.graph_weights_["rows"]["features"].sentence
    assert (sentence != "features: not used") == used


def test_the_whole_model_is_tried_once_for_all_questions(monkeypatch):
    data, tried = ratings(0, rank=2), []

    def score(judge, form, asked, name):
        tried.append(form == Form() and asked.rank > 0)
        return Score(np.ones(50) if tried[-1] else np.full(50, 4.0), False)

    monkeypatch.setattr(Judge, "score", score)
    F = np.random.default_rng(0).normal(size=(60, 3))
    BMCG(posterior="variational", random_state=0, n_jobs=1, tol=1e-3).fit(data, row_features=F)
    assert tried == [True, False, False]


def test_features_that_are_all_one_knows_of_a_row_stay():
    data = Observations.from_triples([0, 1], [0, 1], [1.0, 2.0], shape=(3, 2))
    stacks = [stack_graphs([], n) for n in data.shape]
    silent, telling = (sp.csr_array(np.array([[1.0], [2.0], [last]])) for last in (0.0, 3.0))
    for F, expected in ((None, False), (silent, True), (telling, False)):
        given = SideInput(stacks[0], 1.0, F), SideInput(stacks[1], 1.0)
        assert questions.features_are_dispensable(data, given) is expected


def test_the_record_names_what_was_tried_with_its_figures():
    data, good, useless = smooth_ratings(0)
    model = BMCG(posterior="column", random_state=0, n_jobs=1)
    model.fit(data, row_graph={"good": good, "useless": useless})
    record = model.selection_
    assert [v.question for v in record.verdicts] == sorted(
        (v.question for v in record.verdicts), key=QUESTIONS.index
    )
    graphs = {v.tried: v for v in record.verdicts if v.question == "graphs"}
    dropped = graphs["without graph 'useless' of the rows"]
    assert dropped.taken
    assert dropped.measure == "bound"
    assert not graphs["without graph 'good' of the rows"].taken
    assert dropped.sweeps > 0
    assert dropped.seconds > 0
    assert record.holds == dropped.tried
    # The model's own trace ends where its own verdict says.
    assert model.elbo_trace_[-1] == dropped.trial
    assert model.n_sweeps_ == dropped.sweeps == len(model.rank_trace_) == len(model.solve_steps_)


def test_the_record_is_part_of_the_model_file(tmp_path):
    model = BMCG(posterior="variational", random_state=0, n_jobs=1).fit(ratings(0, rank=2))
    assert model.selection_.holds == questions.WHOLE
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    assert again.selection_ == model.selection_
    assert [v.sentence for v in again.selection_.verdicts]
    np.testing.assert_array_equal(again.solve_steps_, model.solve_steps_)


@pytest.mark.parametrize("asked", [False, True, ["biases"], ["components", "graphs"]])
def test_each_question_can_be_left_out(asked):
    data, _, useless = smooth_ratings(0)
    model = BMCG(selection=asked, posterior="column", random_state=0, n_jobs=1, tol=1e-3)
    found = {v.question for v in model.fit(data, row_graph={"g": useless}).selection_.verdicts}
    names = QUESTIONS if asked is True else asked or ()
    assert found <= set(names)
    assert ("graphs" in found) == ("graphs" in names)
    # Not asked, the fuller model stands.
    assert model.biased_ or "biases" in found
    with pytest.raises(ValueError, match="selection="):
        BMCG(posterior="variational", selection=["bias"]).fit(data)


def test_a_question_can_be_put_in_the_place_of_another(monkeypatch):
    """The sequence is a list of functions with one signature."""
    asked = []

    def mine(trials, standing):
        asked.append(standing.fit.state.rank)
        return standing, ()

    monkeypatch.setitem(selection.AFTER, "components", mine)
    BMCG(posterior="variational", random_state=0, n_jobs=1, max_sweeps=3).fit(ratings(0, rank=2))
    assert len(asked) == 1


def test_a_fit_that_is_interrupted_in_a_trial_leaves_the_old_model_whole(monkeypatch):
    """Old factors never stand under new labels."""
    model = BMCG(posterior="variational", random_state=0, n_jobs=1, max_sweeps=5).fit(
        ratings(0, rank=2)
    )
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(questions, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(ratings(1, m=30, n=20))
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    assert model.complete().shape == (60, 40)


def test_one_symbolic_analysis_for_each_graph_and_fit(monkeypatch):
    from bmcg.linalg import engines

    data, good, _ = smooth_ratings(0)
    count, analyse = [], engines.analyse

    def counted(*arguments):
        count.append(arguments)
        return analyse(*arguments)

    monkeypatch.setattr(engines, "analyse", counted)
    model = BMCG(posterior="column", engine="sparse", random_state=0, n_jobs=1, tol=1e-3)
    model.fit(data, row_graph=good, col_graph=chain_graph(50))
    assert len(model.selection_.verdicts) > 2
    assert len(count) == 2


def test_without_questions_a_chain_starts_at_once():
    X = np.random.default_rng(0).normal(size=(30, 20))
    options = {"posterior": "sampled", "rank": 2, "max_sweeps": 6, "bias": True, "random_state": 0}
    model = BMCG(selection=False, value_range=None, **options).fit(X)
    assert model.selection_.verdicts == ()
    assert model.selection_.holds == "the whole model"
