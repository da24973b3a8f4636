"""A fit that was stopped goes on as if it had not been; nothing is restarted in silence."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
import warnings
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from bmcg import BMCG, load_model
from bmcg.files import checkpoints
from bmcg.files.chains import chain_arrays, chain_place
from bmcg.files.schema import check_checkpoint
from bmcg.files.storage import CHECKPOINT, CheckpointError, read_tensors
from bmcg.graphs import chain_graph, knn_graph
from bmcg.inference import chain as chains
from bmcg.inference import variational as loop
from bmcg.inference.fit import Settings
from bmcg.inference.left_out import Judge
from bmcg.inference.place import ChainPlace, Origin, Record
from bmcg.inference.sampling import Point
from bmcg.inference.side import Strengths

M, N = 24, 18
KINDS = {
    "column": {"posterior": "column", "engine": "dense"},
    "row": {"posterior": "row", "engine": "dense", "bias": True},
    "joint": {"posterior": "joint", "engine": "dense"},
    "draws": {"posterior": "joint", "engine": "monte_carlo", "bias": False},
    "features": {"posterior": "joint", "bias": False},
}
CHAINS = {
    "features": {"posterior": "sampled", "selection": ()},
    "auto": {"posterior": "auto", "selection": ["posterior"]},
    "noise of columns": {"posterior": "sampled", "noise": "cols", "selection": ["components"]},
}


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((M, 2)) @ rng.standard_normal((2, N)) + 1.0
    X += 0.2 * rng.standard_normal((M, N))
    X[rng.random((M, N)) < 0.5] = np.nan
    return X


def sides(kind):
    rng = np.random.default_rng(5)
    given = {
        "row_graph": {"chain": chain_graph(M), "noise": knn_graph(rng.standard_normal((M, 2)))},
        "col_graph": chain_graph(N),
    }
    if kind == "features":
        given["col_features"] = rng.standard_normal((N, 3))
    return given


def model(kind="column", **parameters):
    settled = {"max_sweeps": 10, "tol": 0.0, "random_state": 0, "n_jobs": 1, "bias": False}
    return BMCG(**{**settled, **KINDS[kind], **parameters})


def fit(kind="column", X=None, given=None, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model(kind, **parameters).fit(
            data() if X is None else X, **(sides(kind) if given is None else given)
        )


@pytest.fixture
def every_sweep(monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", np.inf)


def stop_after(monkeypatch, sweeps, what=KeyboardInterrupt):
    """Raise in the middle of a later sweep, once."""
    steps = iter(range(10_000))
    inner = loop.sweep

    def sweep(*args, **more):
        if next(steps) == sweeps:
            raise what
        return inner(*args, **more)

    monkeypatch.setattr(loop, "sweep", sweep)


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_fit_goes_on_exactly(kind, tmp_path, monkeypatch):
    whole, path = fit(kind), tmp_path / "c.safetensors"
    with monkeypatch.context() as patch:
        stop_after(patch, 6)
        part = fit(kind, checkpoint=path)
    assert part.stop_reason_ == "interrupted"
    again = fit(kind, checkpoint=path, resume=True)
    assert again.n_sweeps_ == whole.n_sweeps_ > part.n_sweeps_
    np.testing.assert_allclose(again.elbo_trace_, whole.elbo_trace_, rtol=1e-10)
    np.testing.assert_array_equal(again.rank_trace_, whole.rank_trace_)
    np.testing.assert_allclose(again.complete(), whole.complete(), rtol=1e-8, atol=1e-10)


def test_a_fit_that_died_goes_on_from_its_latest_checkpoint(tmp_path, monkeypatch, every_sweep):
    whole, path = fit(), tmp_path / "c.safetensors"
    with monkeypatch.context() as patch:
        stop_after(patch, 7, MemoryError)
        with pytest.raises(MemoryError):
            fit(checkpoint=path)
    arrays, _ = read_tensors(path, CHECKPOINT)
    assert len(arrays["trace"]) == 7
    again = fit(checkpoint=path, resume=True)
    np.testing.assert_allclose(again.elbo_trace_, whole.elbo_trace_, rtol=1e-10)


def test_a_fit_that_used_up_its_sweeps_goes_on_with_more(tmp_path):
    path = tmp_path / "c"
    with pytest.warns(UserWarning, match="to go on from .*resume=True"):
        model(checkpoint=path, max_sweeps=5).fit(data(), **sides("column"))
    again = fit(checkpoint=path, resume=True)
    np.testing.assert_allclose(again.elbo_trace_, fit().elbo_trace_, rtol=1e-10)


def test_the_choice_of_biases_is_not_made_again(tmp_path):
    path = tmp_path / "c"
    part = fit(checkpoint=path, bias="auto", max_sweeps=4)
    assert part.selection_.verdicts[0].question == "biases"
    again = fit(checkpoint=path, bias="auto", resume=True)
    assert again.biased_ == part.biased_
    assert "biases" not in {verdict.question for verdict in again.selection_.verdicts}


def test_a_seed_left_open_is_that_of_the_checkpoint(tmp_path):
    path = tmp_path / "c"
    first = fit("draws", checkpoint=path, max_sweeps=4, random_state=None)
    again = fit("draws", checkpoint=path, resume=True, random_state=None)
    np.testing.assert_array_equal(again.elbo_trace_[:3], first.elbo_trace_[:3])


def test_ctrl_c_while_biases_are_tried_ends_the_fit(monkeypatch):
    stop_after(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        fit(bias="auto")


def shifted(given, **more):
    return {**given, **more}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"X": data(1)}, "other data"),
        ({"given": shifted(sides("column"), row_graph=chain_graph(M))}, "row graph"),
        ({"given": shifted(sides("column"), col_graph=None)}, "column graph"),
        ({"posterior": "row"}, "posterior='column', not 'row'"),
        ({"rank": 3}, "rank=18, not 3"),
        ({"ridge": 1e-3}, "ridge=None, not 0.001"),
        ({"bias": True}, "bias=False, not True"),
        ({"posterior": "row", "storage": "float32"}, "storage='float64', not 'float32'"),
        ({"random_state": 1}, "another random_state"),
        ({"max_sweeps": 3}, "raise max_sweeps=3"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused_and_kept(change, reason, tmp_path):
    path = tmp_path / "c"
    fit(checkpoint=path, max_sweeps=5)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=reason):
        fit(checkpoint=path, resume=True, **change)
    assert path.read_bytes() == before


def rewrite(path, **changes):
    with safe_open(path, framework="numpy") as file:
        metadata = {**file.metadata(), **changes}
    save_file(load_file(path), path, metadata=metadata)


def test_a_checkpoint_of_another_version_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "c"
    fit(checkpoint=path, max_sweeps=5)
    with monkeypatch.context() as patch:
        patch.setattr("bmcg.__version__", "99.0")
        with pytest.raises(CheckpointError, match=r"bmcg 0\.\S+ wrote it, this is 99\.0"):
            fit(checkpoint=path, resume=True)
    rewrite(path, version="2")
    with pytest.raises(CheckpointError, match="checkpoint format '2'"):
        fit(checkpoint=path, resume=True)
    rewrite(path, format="bmcg-model")
    with pytest.raises(CheckpointError, match="not a bmcg checkpoint"):
        fit(checkpoint=path, resume=True)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.99])
def test_a_truncated_checkpoint_is_refused(share, tmp_path):
    path = tmp_path / "c"
    fit(checkpoint=path, max_sweeps=5)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(CheckpointError, match="not a complete checkpoint"):
        fit(checkpoint=path, resume=True)


def test_a_file_in_the_way_is_not_replaced(tmp_path):
    path = tmp_path / "thesis.txt"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="pass resume=True"):
        fit(checkpoint=path)
    with pytest.raises(CheckpointError, match="not a complete checkpoint"):
        fit(checkpoint=path, resume=True)
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"resume": True}, "needs the file"),
        ({"checkpoint": 3}, "name of a file"),
        ({"checkpoint": "c", "resume": "yes"}, "pass True or False"),
    ],
)
def test_what_makes_no_sense_is_refused(parameters, reason):
    with pytest.raises(ValueError, match=reason):
        fit(**parameters)


def test_nothing_to_go_on_from_is_said(tmp_path):
    with pytest.warns(UserWarning, match="no checkpoint at .* starts from the beginning"):
        model(checkpoint=tmp_path / "c", resume=True).fit(data())


def test_a_folder_that_is_not_there_is_a_warning_and_the_fit_goes_on(tmp_path, every_sweep):
    path = tmp_path / "absent" / "c"
    with pytest.warns(RuntimeWarning, match="no checkpoint was written.*fit goes on") as caught:
        fitted = model(checkpoint=path).fit(data(), **sides("column"))
    assert sum("no checkpoint" in str(w.message) for w in caught) == 1
    assert fitted.elbo_trace_[-1] == fit().elbo_trace_[-1]


def test_a_full_disk_is_a_warning_and_leaves_no_stray_file(tmp_path, monkeypatch, every_sweep):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bmcg.files.storage.save_file", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        model(checkpoint=tmp_path / "c").fit(data())
    assert list(tmp_path.iterdir()) == []


def test_checkpoints_are_rare_where_they_are_slow(tmp_path, monkeypatch):
    kept = checkpoints.Checkpoint(tmp_path / "c", checkpoints.Identity("", "", "", {}, 0))
    assert kept.pause == checkpoints.SECONDS

    def slow(place):
        time.sleep(0.05)
        return {"x": np.zeros(1)}

    monkeypatch.setattr(checkpoints, "chain_arrays", slow)
    monkeypatch.setattr(checkpoints, "SHARE", 1e-4)
    assert kept.write(SimpleNamespace(answers=None))
    assert kept.pause >= 500.0


def test_a_model_does_not_remember_where_its_fit_was_kept(tmp_path):
    fit(checkpoint=tmp_path / "c").save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.checkpoint is None
    assert loaded.resume is False


def killed_fit(path, seconds):
    """Start a fit in a process of its own and end it with SIGKILL after some time."""
    process = multiprocessing.get_context("fork").Process(
        target=fit, kwargs={"checkpoint": path, "resume": True}
    )
    process.start()
    time.sleep(seconds)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    return process.exitcode


def test_a_fit_killed_at_random_moments_ends_with_the_same_bound(tmp_path, every_sweep):
    started = time.perf_counter()
    whole = fit()
    length = time.perf_counter() - started
    path, rng, reached = tmp_path / "c.safetensors", random.Random(0), [0]
    for _ in range(6):
        killed_fit(path, rng.uniform(0.0, 0.5 * length))
        if path.exists():
            # Under the final name there is a whole file, always.
            reached.append(len(read_tensors(path, CHECKPOINT)[0]["trace"]))
    assert reached == sorted(reached)
    assert len(list(tmp_path.iterdir())) <= 2
    again = fit(checkpoint=path, resume=True)
    assert again.n_sweeps_ == whole.n_sweeps_
    assert again.elbo_trace_[-1] == pytest.approx(whole.elbo_trace_[-1], rel=1e-8)


def chain(kind, **parameters):
    options = {"rank": 3, "n_draws": 8, "max_sweeps": 12, "random_state": 0, "n_jobs": 1}
    options |= {**CHAINS[kind], **parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BMCG(**options).fit(data(), **sides(kind))


@cache
def unbroken(kind):
    """What a chain comes to that is left alone."""
    return chain(kind)


def breaking(after, path):
    """`Chain.step` that fails at this step of the chain that is kept."""
    inner, steps = chains.Chain.step, []

    def step(self):
        # Trials are shorter, and come before the chain that is kept.
        if path.exists() or self.plan.burn_in == Settings.burn_in:
            steps.append(0)
            if len(steps) == after:
                raise MemoryError
        inner(self)

    return step


# Chains begin where those of trials ended, and burn in for half as long as others.
@pytest.mark.parametrize("after", [10, 20])
@pytest.mark.parametrize("kind", CHAINS)
def test_a_chain_that_died_goes_on_exactly(kind, after, tmp_path, monkeypatch, every_sweep):
    """In its burn-in, and among its draws; and what had been answered is not asked again."""
    whole, path = unbroken(kind), tmp_path / "c.safetensors"
    assert whole.posterior_ == "sampled"
    with monkeypatch.context() as patch:
        patch.setattr(chains.Chain, "step", breaking(after, path))
        with pytest.raises(MemoryError):
            chain(kind, checkpoint=path)
    with monkeypatch.context() as patch:
        patch.setattr(Judge, "score", None)
        again = chain(kind, checkpoint=path, resume=True)
    np.testing.assert_array_equal(again.complete(), whole.complete())
    np.testing.assert_array_equal(again.elbo_trace_, whole.elbo_trace_)
    assert [v.tried for v in again.selection_.verdicts] == [
        v.tried for v in whole.selection_.verdicts
    ]


def test_places_where_chains_begin_are_kept_and_checked(tmp_path):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(4, 2)), rng.normal(size=(3, 2)), np.ones(2), np.empty(0)]
    points = [Point(*parts, tau=t, squared_error=1.0, density=0.5, spread=2.0) for t in (1.0, 2.0)]
    points[1] = replace(points[1], own={"precisions": np.arange(3.0)})
    strengths = (Strengths(np.ones(1), 0.1, 1.0),) * 2
    origins = Origin(points[0], 90), Origin(points[1], 54)
    records = (Record(3, None, False, (0.1, 0.2, 0.3), (1.0, 2.0, 3.0)),)
    place = ChainPlace(points[0], strengths, strengths, records, (), origins=origins)
    arrays = chain_arrays(place)
    check_checkpoint(arrays, (4, 3))
    for found, wanted in zip(chain_place(arrays).origins, origins, strict=True):
        assert found.age == wanted.age
        for name, value in vars(wanted.point).items():
            np.testing.assert_equal(getattr(found.point, name), value)
    with pytest.raises(ValueError, match="rows has shape"):
        check_checkpoint(arrays | {"origin_1_rows": np.ones((5, 2))}, (4, 3))
    with pytest.raises(ValueError, match="age of a place is negative"):
        check_checkpoint(arrays | {"origin_0_age": np.array([-1])}, (4, 3))
    with pytest.raises(ValueError, match="lam must be positive"):
        check_checkpoint(arrays | {"origin_1_lam": np.zeros(2)}, (4, 3))


def test_a_chain_whose_settings_are_others_is_refused(tmp_path, monkeypatch, every_sweep):
    path = tmp_path / "c"
    with monkeypatch.context() as patch:
        patch.setattr(chains.Chain, "step", breaking(10, path))
        with pytest.raises(MemoryError):
            chain("features", checkpoint=path)
    with pytest.raises(CheckpointError, match="n_draws=8, not 9"):
        chain("features", checkpoint=path, resume=True, n_draws=9)
