"""One cell of the field: a method on a set under a seed, and what is kept of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reporting import ROOT
from sklearn.metrics import average_precision_score

from bmcg.datasets import Dataset
from bmcg.metrics import coverage, rmse

from . import sets
from .methods import HERE, LEVELS, PACKAGES, Predicted, Unsuited

OK, FAILED, UNSUITED, ABSENT = "ok", "failed", "not for this set", "not installed"
GIB = 2**30


def scores(data: Dataset, found: Predicted, kind: str = "") -> dict[str, Any]:
    """RMSE, AUPR on sets of zeros and ones, and the share of entries inside intervals.

    Parameters
    ----------
    data : Dataset
    found : Predicted
    kind : str
        Of the set, see `sets`.
    """
    out: dict[str, Any] = {"rmse": rmse(data.test_values, found.mean), "rank": found.rank}
    if kind == sets.BINARY:
        out["aupr"] = float(average_precision_score(data.test_values, found.mean))
    if found.intervals is not None:
        for level, (low, high) in zip(LEVELS, found.intervals, strict=True):
            out[f"inside_{100 * level:.0f}"] = coverage(data.test_values, low, high)
    return out


def measure(name: str, method: str, seed: int = 0, threads: int = 1) -> dict[str, Any]:
    """Run a method on a set in this process.

    Parameters
    ----------
    name : str
        A key of `sets.SETS`.
    method : str
        A key of `methods.HERE`, or one of `methods.PACKAGES`.
    seed : int
    threads : int

    Returns
    -------
    dict
        ``status``, and where it is "ok" ``rmse``, ``aupr``, ``inside_50``, ..., ``seconds``.
    """
    data = sets.load(name, seed)
    if method in PACKAGES:
        return _package(data, method, seed, threads)
    begin, busy = time.perf_counter(), time.process_time()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = HERE[method](name, data, seed, threads)
    except Unsuited as error:
        return {"status": UNSUITED, "reason": str(error)}
    seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    if not np.isfinite(found.mean).all():
        return {"status": FAILED, "reason": "diverged: predictions are not finite"}
    scored = scores(data, found, sets.SETS[name].kind)
    return {"status": OK, **scored, "seconds": seconds, "processor_seconds": busy}


def _package(data: Dataset, method: str, seed: int, threads: int) -> dict[str, Any]:
    """Another package in the environment of `benchmarks.peers`; its error alone is known."""
    from benchmarks.peers.environment import INSTALLED, export, run_peer

    package = method.partition("-")[0]
    state = json.loads(INSTALLED.read_text("utf-8")) if INSTALLED.exists() else {}
    if state.get(package, "missing"):
        return {"status": ABSENT, "reason": f"python -m benchmarks.peers install, for {package}"}
    with tempfile.TemporaryDirectory() as folder:
        export(data, Path(folder) / "set.npz")
        found = run_peer(method, Path(folder) / "set.npz", threads, seed)
    if isinstance(found, str):
        return {"status": FAILED, "reason": found}
    return {"status": OK, "rmse": found.errors[-1], "seconds": found.total}


def measure_apart(
    name: str, method: str, seed: int, threads: int, limit: float, memory: float
) -> dict[str, Any]:
    """`measure` in a process of its own, which is ended when it takes too long or too much.

    Parameters
    ----------
    name, method, seed, threads
        As of `measure`.
    limit : float
        Seconds.
    memory : float
        GiB.
    """
    command = [sys.executable, "-m", "benchmarks.field", "cell", name, method]
    command += ["--seed", str(seed), "--threads", str(threads), "--memory", str(memory)]
    pools = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(pools, str(threads))}
    try:
        ended = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"status": FAILED, "reason": f"stopped after {limit:.0f} s", "limit": limit}
    if ended.returncode:
        lines = ended.stderr.strip().splitlines() or [f"ended with {ended.returncode}"]
        return {"status": FAILED, "reason": lines[-1].replace(str(ROOT), "…")[:160]}
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def limit_memory(memory: float) -> None:
    """Let this process have so many GiB of data, where the system can say so."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    size = int(memory * GIB)
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
