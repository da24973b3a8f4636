"""Tests of a tree with a fault, in a process forked from one where the libraries are imported."""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .choosing import dependents, is_compiled
from .faults import Fault

LIBRARIES = (
    "numpy", "scipy.sparse.linalg", "scipy.special", "scipy.linalg", "scipy.spatial", "numba",
    "sklearn.base", "sklearn.neighbors", "sklearn.utils.estimator_checks", "pandas", "polars",
    "pyarrow.parquet", "pyarrow.csv", "pyarrow.compute", "hypothesis.strategies", "pytest",
    "typer.testing", "rich.console", "narwhals", "threadpoolctl", "safetensors.numpy", "PIL.Image",
    "anndata", "networkx",
)  # fmt: skip
NO_END = "no end"


def prepare() -> None:
    """Import what every trial needs, and nothing of the package."""
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


@contextlib.contextmanager
def broken(tree: Path, fault: Fault) -> Iterator[None]:
    """The tree with a fault; afterwards all is as it was, compiled kernels and times too."""
    package = tree / "src" / "bmcg"
    path = package / fault.path
    files = [path]
    if is_compiled(package, fault.path):
        # Numba looks at the file of a kernel, not at those of the kernels that it calls.
        for name in dependents(package, fault.path):
            file = package / name
            files += (file.parent / "__pycache__").glob(f"{file.stem}.*.nb[ci]")
    kept = tree / "kept"
    kept.mkdir()
    (kept / "names").write_text("\n".join(str(file.relative_to(tree)) for file in files))
    for number, file in enumerate(files):
        shutil.copy2(file, kept / str(number))
    for file in files[1:]:
        file.unlink()
    path.write_text(fault.text, encoding="utf-8")
    try:
        yield
    finally:
        mend(tree)


def mend(tree: Path) -> None:
    """Take a fault out of a tree, where a run that was ended has left one."""
    kept = tree / "kept"
    if not kept.exists():
        return
    names = (kept / "names").read_text().splitlines()
    path = tree / names[0]
    for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*.nb[ci]"):
        stale.unlink()
    for number, name in enumerate(names):
        shutil.copy2(kept / str(number), tree / name)
    shutil.rmtree(kept)


def fails(tree: Path, tests: list[str], seconds: float) -> str:
    """The first test that fails, "" where none does.

    Parameters
    ----------
    tree : Path
        With `src` and `tests`.
    tests : list of str
        Files or names.
    seconds : float
        Of a processor; tests that take longer are `NO_END`.
    """
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "out"
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                code = _child(tree, tests, seconds, said)
            finally:
                os._exit(code)
        end = time.monotonic() + 40 * seconds
        while True:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                break
            if time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        code = os.waitstatus_to_exitcode(status)
        text = said.read_text(encoding="utf-8", errors="replace")
    if code == 0:
        return ""
    if code < 0 or code == 70:
        return NO_END if code in (-signal.SIGXCPU, -signal.SIGKILL) else f"ended {code}"
    lines = [line for line in text.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return lines[0].split(" - ")[0].split(" ", 1)[1] if lines else f"pytest ended {code}"


def _child(tree: Path, tests: list[str], seconds: float, said: Path) -> int:
    import pytest

    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 5, int(seconds) + 10))
    os.chdir(tree)
    sys.path[:0] = [str(tree / "src"), str(tree)]
    # This process knows the package from where it was started.
    for name in [name for name in sys.modules if name.partition(".")[0] in ("bmcg", "tests")]:
        del sys.modules[name]
    import bmcg

    assert Path(bmcg.__file__).is_relative_to(tree)
    with open(said, "w", encoding="utf-8") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        sys.dont_write_bytecode = True
        return int(pytest.main(["-x", "-q", "-rfE", "-p", "no:cacheprovider", *tests]))
