"""Second moments stored in float32 and summed in float64: what it saves and what it costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from benchmarks.reporting import table

from bmcg import datasets
from bmcg.inference.fit import Settings

from .time_to_accuracy import warm_up
from .traces import trace_fit

SWEEPS = 15


def section(n_jobs: int | None = None) -> str:
    """The table in Markdown."""
    warm_up()
    rows = []
    cases = (
        ("MovieLens 100K u1", datasets.load_monti_movielens(), False),
        ("MovieLens 1M 90/10", datasets.load_movielens_1m(), True),
    )
    for title, data, bias in cases:
        settings = Settings(family="row", rank=20, max_sweeps=SWEEPS, bias=bias, tol=0.0)
        for single in (False, True):
            found = trace_fit(data, replace(settings, single=single), ridge=1e-6, n_jobs=n_jobs)
            rows.append(
                [
                    title,
                    "float32" if single else "float64",
                    f"{1e3 * np.diff(found.seconds).min():.0f}",
                    f"{found.total:.2f}",
                    f"{found.errors[-1]:.6f}",
                ]
            )
    header = ("data", "moments stored in", "fastest sweep, ms", f"s for {SWEEPS} sweeps", "RMSE")
    return '`row`, rank 20; `BMCG(storage="float32")`.\n\n' + table(header, rows)
