"""scikit-learn's callbacks hear of a fit's sweeps, see the model grow, and can end the fit."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bmcg import BMCG, BMCGImputer
from bmcg.graphs import chain_graph

protocol = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9: no callbacks")


class Listener:
    """Notes what it hears; ends the fit after some sweeps; may ask for the fitted estimator."""

    def __init__(self, stop_after=None, raise_after=None):
        self.heard, self.models, self.data = [], [], None
        self.stop_after, self.raise_after = stop_after, raise_after

    def setup(self, estimator, context):
        self.heard.append("setup")

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.heard.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.heard.append(f"end {context.task_name}")
        if context.task_name == "sweep" and context.task_id + 1 == self.raise_after:
            raise RuntimeError("enough")
        return context.task_name == "sweep" and context.task_id + 1 == self.stop_after


class Watcher(Listener):
    max_propagation_depth = None

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.models.append(fitted_estimator)
        self.data = X, y
        return super().on_fit_task_end(estimator, context)


def data(m=24, n=18):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, 2)) @ rng.standard_normal((2, n))
    X += 0.2 * rng.standard_normal((m, n))
    X[rng.random((m, n)) < 0.4] = np.nan
    return X


def model(**parameters):
    return BMCG(
        **{"posterior": "variational", "random_state": 0, "n_jobs": 1, "bias": False, **parameters}
    )


def fit(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(data(), row_graph=chain_graph(24))


@pytest.mark.parametrize("most", [6, 200])
def test_every_sweep_begins_and_ends_once(most):
    listener = Listener()
    # Questions may put another fit in its place, whose sweeps are not heard.
    fitted = fit(model(max_sweeps=most, selection=False).set_callbacks(listener))
    assert fitted.n_sweeps_ == 6 if most == 6 else fitted.converged_
    sweeps = ["begin sweep", "end sweep"] * fitted.n_sweeps_
    assert listener.heard == ["setup", "begin fit", *sweeps, "end fit", "teardown"]


@pytest.mark.parametrize(
    "kind",
    [
        {"posterior": "row", "bias": True},
        {"posterior": "column", "learn_graphs": True},
        {"posterior": "joint", "engine": "monte_carlo", "learn_graphs": True},
    ],
)
def test_being_watched_does_not_change_a_fit(kind):
    alone, watcher = fit(model(max_sweeps=12, **kind)), Watcher()
    watched = fit(model(max_sweeps=12, **kind).set_callbacks(watcher))
    np.testing.assert_array_equal(watched.elbo_trace_, alone.elbo_trace_)
    np.testing.assert_array_equal(watched.complete(), alone.complete())
    # Those of the sweeps, then that of the whole fit.
    assert len(watcher.models) == 13
    for sweep, seen in enumerate(watcher.models[:-1], start=1):
        np.testing.assert_array_equal(seen.elbo_trace_, alone.elbo_trace_[:sweep])
    np.testing.assert_array_equal(watcher.models[-2].complete(), alone.complete())


def test_a_watched_model_is_that_of_a_fit_which_ended_there():
    watcher = Watcher()
    fit(model(max_sweeps=8, learn_graphs=True).set_callbacks(watcher))
    short = fit(model(max_sweeps=4, learn_graphs=True))
    seen = watcher.models[3]
    np.testing.assert_array_equal(seen.complete(), short.complete())
    assert seen.graph_weights_ == short.graph_weights_
    mean, std = seen.predict([0, 1], [2, 3], return_std=True)
    np.testing.assert_array_equal((mean, std), short.predict([0, 1], [2, 3], return_std=True))


def test_a_callback_can_end_a_fit_which_then_goes_on_from_its_checkpoint(tmp_path):
    whole, path = fit(model(max_sweeps=9, tol=0.0)), tmp_path / "c"
    stopped = model(max_sweeps=9, tol=0.0, checkpoint=path).set_callbacks(Listener(stop_after=4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stopped.fit(data(), row_graph=chain_graph(24))
    assert (stopped.stop_reason_, stopped.converged_, stopped.n_sweeps_) == ("stopped", False, 4)
    np.testing.assert_array_equal(stopped.elbo_trace_, whole.elbo_trace_[:4])
    again = fit(model(max_sweeps=9, tol=0.0, checkpoint=path, resume=True))
    np.testing.assert_allclose(again.elbo_trace_, whole.elbo_trace_, rtol=1e-12)


def test_an_error_of_a_callback_reaches_the_user_and_tears_down():
    listener = Listener(raise_after=2)
    with pytest.raises(RuntimeError, match="enough"):
        fit(model().set_callbacks(listener))
    assert listener.heard[-1] == "teardown"


def test_bad_input_is_refused_before_any_callback():
    listener = Listener()
    with pytest.raises(ValueError, match="ridge"):
        fit(model(ridge=-1).set_callbacks(listener))
    assert listener.heard == []


def test_scores_are_monitored_sweep_by_sweep():
    held_out = np.random.default_rng(1).integers(0, 18, 50) % 18
    rows = np.arange(50) % 24

    def spread(fitted, X, y):
        assert X.shape == (24, 18)
        assert len(y) == np.isfinite(X).sum()
        return {"spread": float(np.std(fitted.predict(rows, held_out)))}

    monitor = protocol.ScoringMonitor(scoring=spread)
    fitted = fit(model(max_sweeps=5).set_callbacks(monitor))
    log = monitor.get_logs(select="most_recent").data
    scores = [line["spread"] for line in log if line["task_name"] == "sweep"]
    assert len(scores) == 5
    assert scores[-1] == pytest.approx(np.std(fitted.predict(rows, held_out)))


def test_a_pipeline_hands_its_callbacks_to_the_imputer():
    watcher = Watcher()
    imputer = BMCGImputer(
        posterior="variational", random_state=0, n_jobs=1, bias=False, max_sweeps=5, tol=0.0
    )
    pipeline = make_pipeline(StandardScaler(), imputer).set_callbacks(watcher)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        filled = pipeline.fit_transform(data())
    assert watcher.heard.count("end sweep") == 5
    seen = [one for one in watcher.models if isinstance(one, BMCGImputer)][4]
    assert seen.model_.n_sweeps_ == 5
    assert np.isfinite(filled).all()


def test_scikit_learns_bar_is_the_only_one(monkeypatch, capsys):
    monkeypatch.setattr("bmcg.callbacks.fit_progress", None)
    fit(model(max_sweeps=3, verbose=True).set_callbacks(protocol.ProgressBar()))
    assert "sweep" not in capsys.readouterr().err


WITHOUT = """
import sys
import sklearn.callback, sklearn.neighbors, sklearn.pipeline
sys.modules["sklearn.callback"] = None
del sklearn.callback
import numpy as np
from bmcg import callbacks, BMCG, BMCGImputer
assert callbacks.protocol is None
assert not hasattr(BMCG, "set_callbacks")
X = np.outer(np.arange(1.0, 9.0), [1.0, 2.0, 3.0]); X[2, 1] = np.nan
assert BMCG(random_state=0, n_jobs=1).fit(X).n_sweeps_ > 1
assert np.isfinite(BMCGImputer(random_state=0, n_jobs=1).fit_transform(X)).all()
"""


def test_an_older_scikit_learn_fits_without_them():
    """As if the module were missing; estimators of scikit-learn itself are not touched."""
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def test_warnings_show_the_line_of_the_user():
    with pytest.warns(ConvergenceWarning) as caught:
        model(max_sweeps=2).fit(data())
    assert caught[0].filename == __file__
