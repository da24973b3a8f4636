"""Components of one precision: what a fit that has them says, and what an update keeps."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import BMCG
from bmcg.inference import sampled_questions


@pytest.fixture
def only_one_precision_shows(monkeypatch):
    real = sampled_questions.weigh

    def weigh(judge, standing, other, *rest):
        _, verdict = real(judge, standing, other, *rest)
        if other.settings.prior.pooled:
            return judge.scored(other, ""), verdict._replace(taken=True)
        return standing, verdict._replace(taken=False)

    monkeypatch.setattr(sampled_questions, "weigh", weigh)


def test_a_model_of_one_precision_keeps_it_in_an_update(only_one_precision_shows):
    rng = np.random.default_rng(0)
    X, seen = (rng.random((40, 30)) < 0.05).astype(float), rng.random((40, 30)) < 0.7
    options = {"posterior": "sampled", "selection": ["components"], "bias": True}
    model = BMCG(rank=18, max_sweeps=12, n_draws=12, random_state=0, n_jobs=1, **options)
    model.fit(np.where(seen, X, np.nan))
    taken = [v.tried for v in model.selection_.verdicts if v.taken and v.question == "components"]
    assert taken == ["18 components of one precision"]
    assert (model.rank_, np.ptp(model.component_precisions_)) == (18, 0.0)
    before = model.component_precisions_[0]
    rows, cols = (at[:20] for at in np.nonzero(~seen))
    more = np.full(X.shape, np.nan)
    more[rows, cols] = X[rows, cols]
    model.update(more)
    assert model.rank_ == 18
    assert np.ptp(model.component_precisions_) == 0.0
    assert model.component_precisions_[0] != before
