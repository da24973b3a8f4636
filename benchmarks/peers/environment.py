"""The peers' own environment: what is installed there, and running a package in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from benchmarks.reporting import ROOT

from bmcg.datasets import Dataset
from bmcg.files.storage import write_atomically

from .outcomes import Outcome

HERE = Path(__file__).resolve().parent
# Git ignores folders of this name.
FOLDER = HERE / ".venv"
PYTHON = FOLDER / "bin" / "python"
INSTALLED = FOLDER / "installed.json"
BASE = ("numpy>=2", "scipy", "pandas", "h5py", "setuptools<81", "wheel", "cython", "findblas")
# All have wheels except cmfrec. Its build asks for the oldest numpy, which yields a module that
# numpy 2 cannot load: it is compiled against the numpy of this environment instead.
PACKAGES = {
    "smurff": ("smurff==1.1",),
    "myfm": ("myfm==0.4.0",),
    "cmfrec": ("--no-build-isolation", "cmfrec==3.5.1"),
    "implicit": ("implicit==0.7.2",),
    "surprise": ("scikit-surprise==1.1.5",),
}
# cmfrec's link-time optimisation takes longer than all else here: it is left out, and the code that
# Cython writes around its solvers is compiled with -O1; the solvers themselves keep -O3.
COMPILER = """#!/bin/sh
lean=-O3
for one do case $one in *cfuns_*.c) lean=-O1 ;; esac; done
for one do shift; case $one in -flto | -O[23]) ;; *) set -- "$@" "$one" ;; esac; done
exec cc "$@" $lean
"""
TIMEOUT = 1200


def environment(again: bool = False, only: Collection[str] = PACKAGES) -> dict[str, str]:
    """Install what is missing; a package that cannot be installed gets its reason.

    Parameters
    ----------
    again : bool
        Also retry what failed before.
    only : collection of str
        Packages that are wanted.

    Returns
    -------
    dict
        For each package of `PACKAGES` the reason why it is not there, "" if it is.
    """
    state: dict[str, str] = {}
    if INSTALLED.exists():
        state = json.loads(INSTALLED.read_text(encoding="utf-8"))
    wanted = [name for name in only if name not in state or (again and state[name])]
    if not wanted:
        return state
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True)
    base = _install(BASE)
    for name in wanted:
        print(f"installing {PACKAGES[name][-1]}", flush=True)
        state[name] = base or _install(PACKAGES[name]) or _importable(name)
        text = json.dumps(state, indent=1) + "\n"
        write_atomically(INSTALLED, lambda path, text=text: Path(path).write_text(text))
    return state


def _install(arguments: tuple[str, ...]) -> str:
    """The reason why it failed, or nothing."""
    command = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", *arguments]
    compiler = FOLDER / "bin" / "lean-cc"
    compiler.write_text(COMPILER, encoding="utf-8")
    compiler.chmod(0o755)
    found = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CC": str(compiler)},
    )
    if not found.returncode:
        return ""
    errors = [line for line in found.stderr.splitlines() if line.lower().startswith("error")]
    return _plain(errors[-1] if errors else f"pip ended with {found.returncode}")


def _importable(name: str) -> str:
    found = subprocess.run(
        [str(PYTHON), "-c", f"import {name}"], capture_output=True, text=True, check=False
    )
    return _last_line(found.stderr, found.returncode) if found.returncode else ""


def _last_line(text: str, code: int) -> str:
    lines = text.strip().splitlines()
    return _plain(lines[-1] if lines else f"ended with {code}")


def _plain(text: str) -> str:
    """Fit for a cell of a table: no bars, no folders of this machine."""
    for folder in (ROOT, Path.home(), Path(os.environ.get("TMPDIR", "/tmp"))):
        text = text.replace(str(folder), "…")
    return text.replace("|", "/")[:160]


def export(data: Dataset, path: Path) -> None:
    """The split and its graphs as plain arrays."""
    observations = data.observations
    arrays = {
        "shape": np.asarray(observations.shape),
        "rows": observations.row_indices,
        "cols": observations.col_indices,
        "values": observations.values,
        "test_rows": data.test_rows,
        "test_cols": data.test_cols,
        "test_values": data.test_values,
    }
    for name, graph in (("row_graph", data.row_graph), ("col_graph", data.col_graph)):
        if graph is not None:
            edges = sp.coo_array(graph)
            arrays[name] = np.stack((edges.row, edges.col))
    np.savez(path, **arrays)


def run_peer(method: str, path: Path, threads: int, seed: int = 0) -> Outcome | str:
    """One package in its own process; a message where it failed."""
    script, numbers = str(HERE / "methods.py"), (str(threads), str(seed))
    command = [str(PYTHON), script, method, str(path), *numbers]
    # The packages thread by themselves; a threaded BLAS below them would only get in their way.
    limits = {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"}
    try:
        found = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
            env={**os.environ, **limits},
        )
    except subprocess.TimeoutExpired:
        return f"stopped after {TIMEOUT} s"
    if found.returncode:
        return _last_line(found.stderr, found.returncode)
    return Outcome(**json.loads(found.stdout.splitlines()[-1]))
