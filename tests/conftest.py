"""What all tests share."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import bmcg
from bmcg.estimators.fitting import FittingModel
from bmcg.inference import chain, sampled_questions


@pytest.fixture(autouse=True, scope="session")
def one_blas_thread():
    """Small matrices gain nothing from BLAS threads, which only fight over busy cores."""
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True, scope="session")
def interrupts_are_heard():
    """What a shell starts in the background ignores Ctrl-C, and tests of it would wait for ever."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def short_fits(monkeypatch):
    """Few sweeps, in fits as in the trials of their questions.

    For tests of what is done with a model, not of what it has learned: files, calls, words.
    """
    whole = FittingModel._settings

    def few(self, *given):
        found = whole(self, *given)
        return replace(found, max_sweeps=min(found.max_sweeps, 20), burn_in=6)

    monkeypatch.setattr(FittingModel, "_settings", few)
    monkeypatch.setattr(sampled_questions, "TRIAL_DRAWS", 4)
    monkeypatch.setattr(sampled_questions, "TRIAL_BURN_IN", 4)
    monkeypatch.setattr(chain, "LEAST_BURN_IN", 4)


def _fit(**parameters: object) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 40))
    graph = bmcg.graphs.knn_graph(rng.standard_normal((60, 3)), 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bmcg.BMCG(bias=False, max_sweeps=2, n_draws=2, n_jobs=1, **parameters).fit(X, graph)


def _sparse() -> None:
    _fit(posterior="column", engine="sparse")


def _draws() -> None:
    _fit(posterior="sampled")
    _fit(posterior="column", engine="monte_carlo")
    bmcg.graphs.pattern_graph(bmcg.Observations.from_any(np.eye(30)))


# What takes longest to compile, in shares of about the same time.
COMPILED: tuple[Callable[[], None], ...] = (_sparse, _draws)


@pytest.fixture(autouse=True, scope="session")
def kernels_are_compiled_once(tmp_path_factory):
    """Workers that begin together share out what they would all compile: half a minute and more."""
    package = Path(bmcg.__file__).parent
    known = any((package / "linalg" / "sparse" / "__pycache__").glob("multifrontal.*.nbi"))
    if known or "PYTEST_XDIST_WORKER" not in os.environ:
        return
    shared = tmp_path_factory.getbasetemp().parent
    for number, compile_ in enumerate(COMPILED):
        try:
            (shared / f"compiling-{number}").touch(exist_ok=False)
        except FileExistsError:
            continue
        try:
            compile_()
        finally:
            (shared / f"compiled-{number}").touch()
    end = time.monotonic() + 120
    while time.monotonic() < end and len(list(shared.glob("compiled-*"))) < len(COMPILED):
        time.sleep(0.2)
