"""Counts with exposures: the same as without, at entries that the exposures are added to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bmcg import BMCG, load_model
from bmcg.likelihoods import Noise, likelihood_of
from bmcg.likelihoods.base import Places
from bmcg.likelihoods.exposed import turned

from .cases import low_rank, match_at, values_of
from .test_sampling import entries_of

COUNTS = ("poisson", "negative_binomial")
M, N = 6, 5


def both(title):
    """Entries, a likelihood, its noise with and without exposures, and what these add."""
    rng = np.random.default_rng(0)
    rows, cols = rng.normal(size=M), rng.normal(size=N)
    entries = entries_of(values_of(title, low_rank(rng, M, N), rng))
    likelihood = replace(
        likelihood_of(title), exposures={"row_exposure": rows, "col_exposure": cols}
    )
    known = likelihood.start(entries, N)
    bare = {name: part for name, part in known.own.items() if "exposure" not in name}
    assert len(bare) == len(known.own) - 2
    shift = np.add.outer(rows, cols).ravel()
    return entries, likelihood, known, Noise(known.tau, bare), shift, rng.normal(size=M * N)


@pytest.mark.parametrize("title", COUNTS)
def test_exposures_are_added_to_the_entries(title):
    entries, likelihood, known, bare, shift, y = both(title)
    s = np.full_like(y, 0.2)
    at, there = match_at(entries, y, s), match_at(entries, y + shift, s)
    assert likelihood.bound(known, at) == pytest.approx(likelihood.bound(bare, there), rel=1e-10)
    seen, other = likelihood.weighting(known, at), likelihood.weighting(bare, there)
    np.testing.assert_allclose(seen.targets + shift, other.targets, atol=1e-9)
    if seen.weights is not None:
        np.testing.assert_allclose(seen.weights, other.weights)
    new, old = likelihood.update(known, at), likelihood.update(bare, there)
    for name, part in old.own.items():
        np.testing.assert_allclose(new.own[name], part, rtol=1e-9)
    np.testing.assert_array_equal(new.own["row_exposure"], known.own["row_exposure"])


@pytest.mark.parametrize("title", COUNTS)
def test_draws_with_exposures_are_those_of_shifted_entries(title):
    entries, likelihood, known, bare, shift, y = both(title)
    found = []
    for noise, entry in ((known, y), (bare, y + shift)):
        rng, match = np.random.default_rng(1), match_at(entries, entry, np.zeros_like(y))
        drawn = likelihood.first_draw(noise)
        seen = likelihood.draw_weighting(drawn, match, rng)
        after = likelihood.draw(drawn, match, seen, rng)
        assert set(after.own) == set(drawn.own)
        found.append((seen.targets, after.own["intercept"], likelihood.log_density(after, match)))
    np.testing.assert_allclose(found[0][0] + shift, found[1][0], atol=1e-9)
    np.testing.assert_allclose(found[0][1:], found[1][1:], rtol=1e-9)


@pytest.mark.parametrize("title", COUNTS)
def test_predictions_are_for_what_a_place_was_exposed_to(title):
    _, likelihood, known, bare, shift, y = both(title)
    i, j = np.divmod(np.arange(M * N), N)
    at, s = Places(i, j), np.full_like(y, 0.1)
    for ask in (likelihood.observed, likelihood.entry):
        np.testing.assert_allclose(ask(y, s, known, at).mean, ask(y + shift, s, bare, at).mean)
    drawn = likelihood.first_draw(known), likelihood.first_draw(bare)
    entries = [likelihood.entries_of(*part, at) for part in zip((y, y + shift), drawn, strict=True)]
    np.testing.assert_allclose(*entries)
    counts = [
        likelihood.simulate(*part, at, np.random.default_rng(0))
        for part in zip((y, y + shift), drawn, strict=True)
    ]
    np.testing.assert_array_equal(*counts)
    back = turned(turned(known.own))
    assert all(back[name] is part for name, part in known.own.items())


def exposed_counts(seed=0, m=40, n=30):
    rng = np.random.default_rng(seed)
    e, f = np.exp(rng.normal(size=m)), np.exp(0.7 * rng.normal(size=n))
    X = rng.poisson(3.0 * e[:, None] * f * np.exp(0.5 * low_rank(rng, m, n))).astype(float)
    seen = X.copy()
    seen[rng.random(X.shape) < 0.4] = np.nan
    return X, seen, e, f


def model(likelihood, posterior="row", **more):
    return BMCG(
        likelihood=likelihood, posterior=posterior, bias=False, selection=False, rank=3,
        random_state=0, n_jobs=1, max_sweeps=40, n_draws=20, **more,
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("posterior", ["row", "sampled"])
def test_exposures_that_are_known_help_and_have_no_unit(posterior):
    X, seen, e, f = exposed_counts()
    i, j = np.nonzero(np.isnan(seen))
    told = model("poisson", posterior).fit(seen, row_exposure=e, col_exposure=f)
    units = model("poisson", posterior).fit(seen, row_exposure=60.0 * e, col_exposure=f)
    alone = model("poisson", posterior).fit(seen)
    score = [fit.predictive(i, j).log_density(X[i, j]).mean() for fit in (told, alone)]
    assert score[0] > score[1] + 0.05
    np.testing.assert_allclose(told.predict(i, j), units.predict(i, j), rtol=1e-5)
    turned_over = told.fitted_.transposed().predictive(j, i)
    np.testing.assert_allclose(turned_over.mean, told.predict(i, j))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_newcomers_bring_their_exposures(tmp_path):
    _, seen, e, f = exposed_counts(1)
    fitted = model("negative_binomial").fit(seen, row_exposure=e, col_exposure=f)
    fitted.save(tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    new = loaded.fold_in(seen[:4], row_exposure=e[:4])
    known = fitted.predict(np.repeat(np.arange(4), 30), np.tile(np.arange(30), 4))
    again = new.predict(np.repeat(np.arange(4), 30), np.tile(np.arange(30), 4))
    assert np.corrcoef(np.log(known), np.log(again))[0, 1] > 0.98
    # Of whom nothing else is known: twice the time, twice the count.
    nobody = [loaded.fold_in(row_edges=np.zeros((1, 40)), row_exposure=[t]) for t in (1.0, 2.0)]
    once, twice = (part.predict([0, 0], [1, 2]) for part in nobody)
    np.testing.assert_allclose(twice, 2.0 * once)
    columns = loaded.fold_in(seen[:, :3], side="cols", col_exposure=f[:3])
    assert columns.predict([0, 1], [0, 2]).shape == (2,)
    # As many as the fit had rows: its exposures are not theirs.
    for newcomers in (seen, seen[:4]):
        with pytest.raises(ValueError, match="row_exposure"):
            fitted.fold_in(newcomers)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("posterior", ["row", "sampled"])
def test_an_update_keeps_exposures_and_adds_no_rows_without_one(posterior, tmp_path):
    X, seen, e, f = exposed_counts(3, 20, 15)
    fitted = model("poisson", posterior).fit(seen, row_exposure=e, col_exposure=f)
    fitted.save(tmp_path / "m")
    i, j = np.nonzero(np.isnan(seen))
    more = np.full(X.shape, np.nan)
    more[i[:5], j[:5]] = X[i[:5], j[:5]]
    updated = load_model(tmp_path / "m").update(more, observations=seen)
    np.testing.assert_allclose(updated.fitted_.own["row_exposure"], np.log(e))
    np.testing.assert_allclose(updated.fitted_.own["col_exposure"], np.log(f))
    with pytest.raises(ValueError, match="an update adds"):
        fitted.update(np.vstack((more, X[:1])))


def test_exposures_go_by_label_and_what_is_wrong_is_named():
    pd = pytest.importorskip("pandas")
    _, seen, e, f = exposed_counts(2, 6, 5)
    names = [f"cell{i}" for i in range(6)]
    frame = pd.DataFrame(seen, index=names, columns=list("abcde"))
    by_label = pd.Series(e[::-1], index=names[::-1])
    quick = model("poisson")
    given = [by_label, dict(zip(names, e, strict=True)), e]
    found = [quick.fit(frame, row_exposure=part).predict(["cell1"], ["b"]) for part in given]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    for part, words in (
        (by_label.drop("cell3"), "no number for row 'cell3'"),
        (pd.concat((by_label, by_label[["cell3"]])), "several numbers for row 'cell3'"),
        (e[:3], "3 numbers, expected 6"),
        (np.where(np.arange(6) == 2, 0.0, e), "0 for row cell2"),
        (["x"] * 6, "must be numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            quick.fit(frame, row_exposure=part)
    with pytest.raises(ValueError, match="belongs to counts"):
        BMCG().fit(frame, col_exposure=f)
    with pytest.raises(ValueError, match="by label need data with labels"):
        quick.fit(seen, row_exposure={"cell1": 1.0})
