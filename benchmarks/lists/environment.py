"""The environment of this benchmark: the package implicit, and nothing of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from bmcg.evaluation import Split

HERE = Path(__file__).resolve().parent
# Git ignores folders of this name.
FOLDER = HERE / ".venv"
PYTHON = FOLDER / "bin" / "python"
PACKAGES = ("numpy>=2", "scipy", "threadpoolctl", "implicit==0.7.2")


def prepare() -> None:
    """Create it where it is missing."""
    if PYTHON.exists():
        return
    subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True)
    command = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", *PACKAGES]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def run_other(method: str, setting: int, split: Split, folder: Path) -> tuple[np.ndarray, float]:
    """Lists of the rows that have something held out, (n_rows, 20), and the seconds of the fit."""
    source, target = folder / "in.npz", folder / "out.npz"
    indptr, indices, values = split.train.by_row
    np.savez(
        source,
        indptr=indptr,
        indices=indices,
        values=values,
        shape=np.asarray(split.train.shape),
        rows=np.unique(split.rows),
    )
    command = [str(PYTHON), str(HERE / "others.py"), method, str(setting), str(source), str(target)]
    limits = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **limits}
    )
    if done.returncode:
        raise RuntimeError(f"{method}: {done.stderr.strip().splitlines()[-1]}")
    with np.load(target) as found:
        return found["lists"], float(found["seconds"])
