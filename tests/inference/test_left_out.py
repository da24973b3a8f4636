"""Entries that judge a model are really left out of it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from bmcg import BMCG, Observations
from bmcg.backends import NumbaBackend
from bmcg.estimators.sides import side_spec
from bmcg.graphs import chain_graph
from bmcg.inference import folds as parts
from bmcg.inference import left_out
from bmcg.inference.fit import Settings
from bmcg.inference.folds import make_folds
from bmcg.inference.form import Form
from bmcg.inference.left_out import Choice, Judge, weigh
from bmcg.inference.sampled import run_sampled
from bmcg.inference.score import DEAR, LESS, MORE, OTHER, SURER, Early, Score
from bmcg.inference.variational import run


def some_data(m=30, n=20, seed=0, density=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 2)) @ rng.normal(size=(2, n)) + 0.3 * rng.normal(size=(m, n))
    seen = np.nonzero(rng.random((m, n)) < density)
    return Observations.from_triples(*seen, X[seen], shape=(m, n))


def places(rows, cols):
    return set(zip(np.asarray(rows).tolist(), np.asarray(cols).tolist(), strict=True))


def test_folds_are_disjoint_and_leave_out_what_they_name():
    data = some_data()
    folds, everything = make_folds(data, 0), places(data.row_indices, data.col_indices)
    assert len(folds) == parts.MOST_FOLDS
    out = [places(fold.rows, fold.cols) for fold in folds]
    assert sum(map(len, out)) == len(set.union(*out))
    for fold, gone in zip(folds, out, strict=True):
        kept = places(fold.kept.row_indices, fold.kept.col_indices)
        assert not kept & gone
        assert kept | gone == everything


def test_many_entries_are_judged_by_those_of_some_rows(monkeypatch):
    monkeypatch.setattr(parts, "MOST_ENTRIES", 100)
    (fold, *_) = make_folds(some_data(), 0)
    assert len(fold.kept.values) + len(fold.values) < 150
    assert fold.kept.shape == (30, 20)


def test_few_entries_say_nothing():
    assert make_folds(Observations.from_triples([0, 1], [0, 1], [1.0, 2.0]), 0) == []


@pytest.mark.parametrize(
    "given", [{"features": "pattern", "graph": None}, {"graph": "auto", "features": None}]
)
def test_what_is_made_of_the_observations_has_not_seen_those_left_out(given):
    data = some_data()
    side = side_spec(given["graph"], given["features"], data, "rows").to_input(30, None)
    (fold, *_) = make_folds(data, 0)
    seen = side_spec(given["graph"], given["features"], fold.kept, "rows").to_input(30, None)
    made = side.of(fold.kept)
    if given["features"]:
        assert (made.features != seen.features).nnz == 0
        assert (made.features != side.features).nnz > 0
    else:
        assert np.array_equal(made.stack.weights, seen.stack.weights)


def test_the_error_is_that_of_a_fit_without_the_entries():
    data, backend = some_data(), NumbaBackend(1)
    sides = tuple(
        side_spec(None, None, data, w).to_input(n, None)
        for w, n in zip(("rows", "cols"), data.shape, strict=True)
    )
    (fold, *_) = make_folds(data, 0)
    settings = Settings(family="row", rank=4, bias=True, seed=3)
    judge = Judge.of(data, sides, settings, backend, lambda sweep, about: None)
    judge.folds = [fold]
    found = judge.score(Form(), settings, "").error
    model = BMCG(rank=4, posterior="row", bias=True, selection=False, n_jobs=1)
    model._settings = lambda *rest: settings  # the seed itself, which a random_state hides
    missed = model.fit(fold.kept).predict(fold.rows, fold.cols) - fold.values
    assert np.isclose(found, np.sqrt(np.mean(missed**2)), rtol=1e-6)


def judge_of(data, settings):
    sides = tuple(
        side_spec(None, None, data, w).to_input(n, None)
        for w, n in zip(("rows", "cols"), data.shape, strict=True)
    )
    return Judge.of(data, sides, settings, NumbaBackend(1), lambda sweep, about: None)


def test_a_fit_of_all_entries_starts_where_that_of_nearly_all_has_ended(monkeypatch):
    data, settings = some_data(60, 40), Settings(family="row", rank=4, bias=True)
    judge = judge_of(data, settings)
    assert judge.start(data, settings) is None
    judge.score(Form(), settings, "")
    start = judge.start(data, settings)
    cold, warm = (
        run(data, *judge.sides, settings, backend=judge.backend, start=s) for s in (None, start)
    )
    assert (warm.offset, warm.scale) == (cold.offset, cold.scale)
    assert len(warm.trace) < len(cold.trace)
    assert warm.trace[-1] >= cold.trace[-1] - 1e-3 * abs(cold.trace[-1])
    monkeypatch.setattr(parts, "MOST_ENTRIES", 100)
    some = judge_of(data, settings)
    some.score(Form(), settings, "")
    assert some.start(data, settings) is None


def test_a_trial_that_is_clearly_behind_ends_after_the_first_fold(monkeypatch):
    data, settings = some_data(60, 40), Settings(family="row", rank=4, bias=True, max_sweeps=2)
    judge, size = judge_of(data, settings), int(0.1 * len(some_data(60, 40)))
    for each, folds, taken in ((9.0, 1, False), (1.01, 2, False), (0.5, 2, True)):
        monkeypatch.setattr(
            left_out, "losses", lambda fit, fold, *rest, each=each: np.full(size, each)
        )
        noise = np.random.default_rng(0).normal(size=2 * size)
        judge.folds, judge.sweeps = make_folds(data, 0)[:2], 0
        standing = Choice(Form(), settings, Score(1.0 + noise - noise.mean(), False))
        chosen, verdict = weigh(judge, standing, Choice(Form(), settings), "", "", OTHER)
        assert (verdict.taken, verdict.sweeps) == (taken, 2 * folds)
        assert (chosen is standing) != taken


@pytest.mark.parametrize("rule", [OTHER, MORE, LESS, SURER])
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_what_is_given_up_early_would_hardly_have_won(rule, share):
    """Gains around those that decide: of trials that are given up fewer than one in a hundred."""
    rng, n, given_up, wrong = np.random.default_rng(0), 500, 0, 0
    for _ in range(2000):
        noise = rng.normal(size=(2, n))
        shift = rng.uniform(-0.5, 0.2), rng.uniform(-0.2, 0.4)
        whole = Score(1.0 - noise[0] - shift[0], False, logs=-noise[1] - shift[1])
        standing = Score(np.ones(n), False, logs=np.zeros(n))
        early = whole.first(int(share * n)).cannot_replace(standing, rule)
        given_up += early
        wrong += early and whole.replaces(standing, rule)
    assert given_up > 200
    assert wrong <= 0.01 * given_up


def test_first_chains_are_compared_with_first_chains():
    rng = np.random.default_rng(0)
    loss, logs = rng.gamma(1.0, size=(2, 400))
    standing = Score(0.5 * loss, False, logs=0.5 * logs, early=Early((loss,), logs))
    near = Early((loss + 0.01 * rng.normal(size=400), loss + 1.0), logs)
    far = Early((loss + 0.5 + 0.1 * rng.normal(size=400), loss + 1.0), logs)
    surer = Early((loss,), logs - 0.1 - 0.1 * rng.normal(size=400))
    for rule in (OTHER, MORE, LESS, SURER):
        assert standing.is_out_of_reach(far, rule)
        assert not standing._replace(early=None).is_out_of_reach(far, rule)
    assert not standing.is_out_of_reach(near, OTHER)
    assert not standing.is_out_of_reach(surer, SURER)
    assert standing.is_out_of_reach(surer._replace(logs=logs + 0.1 * rng.random(400)), SURER)


def test_a_trial_of_several_chains_is_given_up_after_the_first(monkeypatch):
    data, backend = some_data(60, 40), NumbaBackend(1)
    settings = Settings(rank=2, bias=True, draws=8, max_sweeps=8, burn_in=24, chains=2)
    judge = judge_of(data, settings)
    judge.folds = judge.folds[:1]
    standing = judge.scored(Choice(Form(), settings), "")
    assert not judge.lost
    alone = run_sampled(judge.folds[0].kept, *judge.sides, settings, backend=backend)
    swept = judge.sweeps
    assert swept == len(alone.trace)
    worse = Choice(Form(), replace(settings, rank=0))
    chosen, verdict = weigh(judge, standing, worse, "", "", OTHER)
    assert chosen is standing
    assert judge.lost
    assert verdict.sweeps == 24 + 4


def test_of_what_is_known_in_full_nothing_is_given_up():
    lost = Score(np.ones(50) + np.arange(50), False)
    for rule in (OTHER, MORE, LESS, DEAR, SURER):
        assert not lost.cannot_replace(Score(np.arange(50.0), False), rule)


def test_chains_of_a_fit_begin_where_those_of_its_trial_ended():
    data, settings = some_data(60, 40), Settings(rank=2, bias=True, draws=8, max_sweeps=8, chains=1)
    judge = judge_of(data, settings)
    choice = judge.scored(Choice(Form(), settings), "")
    ends = judge.ends(choice)
    assert len(ends) == len(judge.folds) > 1
    cold, warm = (
        run_sampled(data, *judge.sides, settings, backend=judge.backend, origins=origins)
        for origins in ((), ends)
    )
    assert warm.diagnostics.burn_in[0] < cold.diagnostics.burn_in[0]
    assert warm.ends[0].age == ends[0].age + len(warm.trace)
    # It begins with noise that is as small as that of the trial.
    assert warm.trace[0] > cold.trace[0] + 10
    judge.n_entries *= 2
    assert judge.ends(choice) == ()


def test_what_is_made_anew_keeps_its_form():
    data = some_data()
    side = side_spec(chain_graph(30), "pattern", data, "rows").to_input(30, None)
    formed, _ = Form((None, None), (False, False)).of((side, side))
    for made in (formed, formed.of(data), formed.of(data).of(data)):
        assert made.stack.names == ()
        assert made.features is None


def sensors(seed):
    """Twenty sensors with daily patterns of their own and noise, a fifth of the steps known."""
    rng = np.random.default_rng(seed)
    day = np.arange(200) / 24
    waves = np.array([np.sin(2 * np.pi * k * day + p) for k in (1, 2, 3) for p in (0.0, 1.5)])
    X = rng.normal(size=(20, 6)) @ waves + 0.3 * rng.normal(size=(20, 200))
    return np.where(rng.random(X.shape) < 0.35, X, np.nan)


@pytest.mark.parametrize("seed", [1, 3])
def test_an_empty_row_does_not_cost_the_others_their_components(seed):
    X = sensors(seed)
    fits = [
        BMCG(posterior="variational", random_state=seed, bias=True, n_jobs=1).fit(data)
        for data in (X, np.vstack((X, np.full((1, 200), np.nan))))
    ]
    assert min(fit.rank_ for fit in fits) > 0


def test_less_is_as_good_unless_more_shows():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=400)
    plain = Score(noise**2, False)
    other = noise[::-1] ** 2  # as large on the whole, and nowhere the same
    assert Score(other, False).is_as_good_as(plain)
    assert Score((0.8 * noise) ** 2, False).is_as_good_as(plain)
    # Forty entries put this loss at about four standard errors.
    few = Score(noise[:40] ** 2, False)
    assert not Score((1.3 * noise[:40]) ** 2, False).is_as_good_as(few)


@pytest.mark.parametrize(("ones", "folds", "chains"), [(0.5, 1, 2), (0.01, 1, 3), (0.01, 2, 1)])
def test_few_telling_entries_are_asked_of_several_chains(ones, folds, chains):
    values = (np.random.default_rng(0).random(6000) < ones).astype(float)
    made = [SimpleNamespace(values=values)] * folds
    assert Judge(made, (), None, None, (), 0, fit_chains=4).chains == chains
    if ones == 0.5:
        assert Judge(made, (), None, None, (), 0, fit_chains=1).chains == 1


def test_errors_of_data_without_noise_are_ties():
    """A hundred-thousandth of the spread is arithmetic: less is as good, and nothing is better."""
    fold = make_folds(some_data(), 0)[0]
    small = 1e-5 * fold.kept.values.std()
    assert fold.nothing > small**2
    fit = SimpleNamespace(draws=SimpleNamespace(), state=SimpleNamespace(noise=None))
    fit.offset, fit.scale = 0.0, 1.0
    found = []
    for size in (small, 0.3 * small):
        fit.draws.moments = lambda rows, cols, size=size: (fold.values + size, None)
        plain = SimpleNamespace(
            is_plain=True, observed=lambda mean, *rest: SimpleNamespace(mean=mean)
        )
        found.append(Score(left_out.losses(fit, fold, plain, left_out.NO_LIMITS), False))
    assert found[0].error == found[1].error
    assert found[0].is_as_good_as(found[1])


@pytest.mark.parametrize(("ones", "count"), [(0.5, 1), (0.01, 5)])
def test_zeros_among_few_ones_are_left_out_in_several_folds(ones, count):
    rng = np.random.default_rng(0)
    i, j = np.nonzero(np.ones((250, 200)))
    x = (rng.random(len(i)) < ones).astype(float)
    assert len(make_folds(Observations.from_triples(i, j, x, shape=(250, 200)), 0)) == count


@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_the_noise_that_a_trial_is_judged_by_has_the_unit_of_the_values(unit, monkeypatch):
    found = []

    def told(confidence, predicted, values, noise):
        found.append(noise)
        return confidence

    monkeypatch.setattr(left_out.Confidence, "of", told)
    data, settings = some_data(), Settings(family="row", rank=2, bias=False)
    data = Observations.from_triples(
        data.row_indices, data.col_indices, unit * data.values, data.shape
    )
    judge_of(data, settings).score(Form(), settings, "")
    assert found
    np.testing.assert_allclose(np.sqrt(found), 0.3 * unit, rtol=0.3)
