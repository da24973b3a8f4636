"""Seconds before anything is computed: imports, help, and the kernels of the first fit.

Every figure is of a process of its own. A first fit has an empty folder for compiled kernels, as
after installation; the second is another process that finds them there.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks.reporting import table

ROUNDS = 3
ASKED_START, ASKED_COMPILING = 1.0, 5.0
STARTS = {
    "import bmcg": "import bmcg",
    "bmcg --help": "import sys; sys.argv = ['bmcg', '--help']; from bmcg.cli import main; main()",
    "from bmcg import BMCG": "from bmcg import BMCG",
    "of that, scikit-learn's base class": "import sklearn.base",
}
TABLE = """
import numpy as np
rng = np.random.default_rng(0)
X = rng.standard_normal(({m}, 3)) @ rng.standard_normal((3, {n}))
X += 0.3 * rng.standard_normal(X.shape)
X[rng.random(X.shape) > {observed}] = np.nan
given = dict({given})
"""
FITS = {
    "60 × 40, half observed": TABLE.format(m=60, n=40, observed=0.5, given=""),
    "60 × 40, with chains": "from bmcg.graphs import chain_graph"
    + TABLE.format(
        m=60, n=40, observed=0.5, given="row_graph=chain_graph(60), col_graph=chain_graph(40)"
    ),
    "943 × 1,682, 5 % observed (MovieLens 100K's size)": TABLE.format(
        m=943, n=1682, observed=0.05, given=""
    ),
    "the same, pattern graphs and features": TABLE.format(
        m=943,
        n=1682,
        observed=0.05,
        given="row_graph='auto', col_graph='auto', row_features='pattern', col_features='pattern'",
    ),
}
TIMED = """
import time, warnings
warnings.simplefilter("ignore")
from bmcg import BMCG
{data}
wall, processor = time.perf_counter(), time.process_time()
BMCG(max_sweeps=5, n_draws=5, random_state=0).fit(X, **given)
print(time.perf_counter() - wall, time.process_time() - processor)
"""


def section(jobs: int | None) -> str:
    """Imports and help, then first and second fits."""
    starts, fits = [], []
    for name, code in STARTS.items():
        seconds = statistics.median(_seconds(code) for _ in range(ROUNDS))
        starts.append([f"`{name}`" if "bmcg" in name else name, f"{seconds:.2f}"])
    for name, data in FITS.items():
        with tempfile.TemporaryDirectory() as folder:
            first, second = (_fit(TIMED.format(data=data), folder) for _ in range(2))
        more = first[1] - second[1]
        verdict = "met" if more <= ASKED_COMPILING else "missed"
        fits.append([name, *(f"{x:.1f}" for x in (*first, *second, more)), verdict])
        print(" | ".join(fits[-1]), flush=True)
    head = [
        "fit of 5 sweeps and its questions",
        "first, s",
        "CPU s",
        "second, s",
        "CPU s",
        "more, CPU s",
        "verdict",
    ]
    return (
        f"{table(['', 'seconds, median of ' + str(ROUNDS)], starts)}\n\n"
        f"`import bmcg` and `bmcg --help`: at most {ASKED_START:.0f} s asked. The first fit after "
        f"installation: at most {ASKED_COMPILING:.0f} s more than the second asked.\n\n"
        f"{table(head, fits)}"
    )


def _seconds(code: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def _fit(code: str, folder: str) -> tuple[float, float]:
    ended = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": folder},
    )
    wall, processor = ended.stdout.split()
    return float(wall), float(processor)
