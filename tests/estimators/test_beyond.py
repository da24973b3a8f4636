"""Predictions far beyond all values are told."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bmcg import BMCG, Observations
from bmcg.estimators import fitting
from bmcg.estimators.beyond import beyond_words


def counts(seed=0):
    """Low rank with a third unknown; as counts where that is asked."""
    rng = np.random.default_rng(seed)
    X = np.round(np.exp(rng.normal(size=(60, 1)) * 0.7 @ rng.normal(size=(1, 50)) + 1.0))
    X[rng.random(X.shape) < 0.3] = np.nan
    return np.minimum(X, 9.0)


@pytest.mark.parametrize(
    ("least", "most", "told"),
    [(1.0, 5.0, False), (-2.9, 8.9, False), (-3.1, 5.0, True), (1.0, 9.1, True)],
)
def test_only_cells_further_off_than_the_values_are_wide_are_told(least, most, told):
    seen = Observations.from_triples([0, 1, 2], [0, 1, 2], [1.0, 3.0, 5.0], shape=(30, 30))

    def predict(i, j):
        return np.where(i == 4, least, np.where(j == 7, most, 3.0))

    words = beyond_words(predict, seen)
    assert (words is not None) is told
    if told:
        assert "between 1 and 5" in words
        assert 'posterior="auto"' in words


def heard(**options):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model = BMCG(random_state=0, n_jobs=1, **options).fit(counts())
    return model, [str(one.message) for one in found if "predictions reach" in str(one.message)]


def test_a_fit_asks_its_own_predictions(monkeypatch):
    """As if they were all nine times as large: components that explain every entry are rare."""

    def larger(predict, observations):
        return beyond_words(lambda i, j: 9.0 * predict(i, j), observations)

    options = {"posterior": "row", "selection": False, "max_sweeps": 30}
    model, said = heard(**options)
    assert said == []
    assert model.complete().max() > 4.0
    monkeypatch.setattr(fitting, "beyond_words", larger)
    assert len(heard(**options)[1]) == 1
    # Counts have no range to go beyond.
    assert heard(likelihood="poisson", **options)[1] == []
