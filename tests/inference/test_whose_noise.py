"""Whether rows, or columns, have noise of their own: asked of the sizes of left-out errors."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import BMCG
from bmcg.inference.fit import Settings
from bmcg.inference.form import Form
from bmcg.inference.left_out import Choice
from bmcg.inference.score import SURER, Score
from bmcg.likelihoods import Uneven


def measured(seed=0, m=150, n=12, sizes=(0.05, 1.5)):
    """Two things, measured by columns of which every other one is noisier; half of it seen."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(m, 2)) @ rng.normal(size=(2, n))
    noise = np.where(np.arange(n) % 2, sizes[0], sizes[1])
    return truth, truth + noise * rng.normal(size=truth.shape), rng.random(truth.shape) < 0.5


def fitted(X, seen, **options):
    options = {"max_sweeps": 60, "random_state": 0, "n_jobs": 1, **options}
    return BMCG(**options).fit(np.where(seen, X, np.nan))


def taken(model):
    return [v.tried for v in model.selection_.verdicts if v.question == "noise" and v.taken]


def error(model, truth, seen):
    i, j = np.nonzero(~seen)
    return np.sqrt(np.mean((model.predict(i, j) - truth[i, j]) ** 2))


@pytest.mark.parametrize("turned", [False, True])
def test_noise_of_each_column_or_row_is_found_and_predicts_better(turned):
    truth, X, seen = (a.T if turned else a for a in measured())
    model, shared = fitted(X, seen), fitted(X, seen, noise="shared")
    assert taken(model) == [f"noise of each {'row' if turned else 'column'}"]
    assert "noise of each" not in " ".join(taken(shared))
    assert error(model, truth, seen) < 0.9 * error(shared, truth, seen)


def test_sizes_of_noise_are_found_without_being_asked_for():
    _, X, seen = measured()
    model = fitted(X, seen)
    _, std = model.predict(np.zeros(12, int), np.arange(12), return_std=True)
    assert std[0::2].min() > 1.0
    assert np.median(std[1::2]) < 0.4


def test_noise_that_is_one_for_all_stays_so():
    _, X, seen = measured(sizes=(0.5, 0.5))
    assert not [words for words in taken(fitted(X, seen)) if "each" in words]


@pytest.mark.parametrize("options", [{"noise": "shared"}, {"selection": ("components",)}])
def test_what_is_not_in_question_is_not_asked(options):
    _, X, seen = measured(m=60)
    assert not [v for v in fitted(X, seen, **options).selection_.verdicts if "each" in v.tried]


def test_two_values_have_no_noise_to_share_out():
    _, X, seen = measured(m=60)
    model = fitted((X > 0).astype(float), seen)
    assert not [v for v in model.selection_.verdicts if "each" in v.tried]


def test_sizes_have_to_be_told_better_beyond_doubt_and_errors_be_as_small():
    rng = np.random.default_rng(0)
    logs, losses = rng.normal(size=1000), rng.random(1000)
    standing = Score(losses, False, logs=logs)
    gain = 0.1 * rng.normal(size=1000)
    told = Score(losses, False, logs=logs - 0.1 - gain)
    assert told.replaces(standing, SURER)
    assert not told._replace(logs=logs - 0.005 - gain).replaces(standing, SURER)
    assert not told._replace(losses=losses + 0.1).replaces(standing, SURER)
    assert not told._replace(logs=np.empty(0)).replaces(standing, SURER)


def test_a_checkpoint_keeps_whose_noise_it_is():
    settings = Settings(draws=10, open_noise=True)
    choice = Choice(
        Form(), settings.with_likelihood(Uneven(side="cols")), Score(np.empty(0), False)
    )
    again = Choice.from_plain(choice.to_plain(), settings)
    assert again.settings.prior.likelihood == Uneven(side="cols")


def test_an_update_keeps_noise_of_columns():
    _, X, seen = measured()
    model = fitted(X, seen, posterior="sampled")
    assert taken(model)
    rows, cols = (at[:40] for at in np.nonzero(~seen))
    more = np.full(X.shape, np.nan)
    more[rows, cols] = X[rows, cols]
    model.update(more)
    assert model.likelihood_.startswith("gaussian")
    _, std = model.predict([0, 0], [0, 1], return_std=True)
    assert std[0] > 2 * std[1]


@pytest.mark.parametrize("posterior", ["auto", "column", "row"])
@pytest.mark.parametrize("noise", ["rows", "cols"])
def test_columns_of_one_value_do_not_take_over(posterior, noise):
    truth, X, seen = measured(sizes=(0.3, 0.3))
    X[:, 3], X[:, 8] = 0.0, 7.0
    model = fitted(X, seen, posterior=posterior, noise=noise, max_sweeps=100)
    others = np.delete(np.arange(12), (3, 8))
    assert error(model, truth, seen | ~np.isin(np.arange(12), others)) < 0.6 * truth.std()
    mean, std = model.predict([0, 0], [3, 8], return_std=True)
    np.testing.assert_allclose(mean, [0.0, 7.0], atol=0.4)
    if noise == "cols":
        assert std.max() < 0.1
