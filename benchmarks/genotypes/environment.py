"""What this benchmark needs beside bmcg: msprime in an environment of its own, and Beagle."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
# Git ignores folders of this name.
FOLDER = HERE / ".venv"
PYTHON = FOLDER / "bin" / "python"


class Panel(NamedTuple):
    """Alleles (m, n) and base-pair positions (m,)."""

    alleles: np.ndarray
    positions: np.ndarray


class Cost(NamedTuple):
    """Seconds of a command."""

    seconds: float
    cpu: float


def simulated(n_sites: int, n_haplotypes: int, folder: Path, seed: int = 1) -> Panel:
    """A panel, the same for the same numbers."""
    path = folder / f"panel-{n_sites}-{n_haplotypes}-{seed}.npz"
    if not path.exists():
        if not PYTHON.exists():
            subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True)
            install = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check"]
            subprocess.run([*install, "msprime==1.4.4"], check=True, stdout=subprocess.DEVNULL)
        given = [str(number) for number in (n_sites, n_haplotypes, seed)]
        command = [str(PYTHON), str(HERE / "simulate.py"), *given, str(path)]
        subprocess.run(command, check=True)
    with np.load(path) as found:
        return Panel(found["alleles"], found["positions"])


def timed(command: list[str]) -> Cost:
    """Run a command, one thread where it has a choice; its seconds and CPU seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.perf_counter() - start, cpu)


def beagle(given: Path, stem: Path, panel: Path | None = None) -> tuple[Path, Cost]:
    """Fill a file with Beagle; the file it wrote."""
    program = shutil.which("beagle")
    if program is None:
        raise SystemExit("there is no command beagle (Debian: apt-get install beagle)")
    words = [program, f"gt={given}", f"out={stem}", "nthreads=1", "gp=true", "seed=1"]
    cost = timed([*words, f"ref={panel}"] if panel is not None else words)
    return stem.with_name(stem.name + ".vcf.gz"), cost
