"""`torchrun --nproc-per-node N -m benchmarks.gpu.many`: one fit on N processes, as a line of JSON.

Each process makes its own part of a planted matrix, entries spread evenly. The line says how the
bound or density ran, seconds a sweep, bytes a process sent, and what its entries take.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np

ROWS, COLS, RANK = 20_000, 4_000, 16


def part(entries: int, rank: int, size: int) -> tuple[Any, Any, Any]:
    """Entries of one process: rows, columns, values."""
    rng = np.random.default_rng([0, entries])
    at = np.sort(rng.choice(ROWS * COLS, entries, replace=False))[rank::size]
    i, j = at // COLS, at % COLS
    U, V = rng.normal(size=(ROWS, 4)), rng.normal(size=(COLS, 4))
    noise = np.random.default_rng([1, entries]).normal(size=entries)[rank::size]
    return i, j, np.einsum("pr,pr->p", U[i], V[j]) + noise


def main() -> None:
    """Fit, and print the line in the first process."""
    from bmcg import BMCG, Observations
    from bmcg.backends.distributed.group import connect, disconnect
    from bmcg.backends.distributed.observations import shared

    parser = argparse.ArgumentParser()
    parser.add_argument("--entries", type=float, default=1e6)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--sweeps", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    group = connect()
    i, j, x = part(int(options.entries), group.rank, group.size)
    began = time.perf_counter()
    data = shared(Observations.from_triples(i, j, x, shape=(ROWS, COLS)))
    out: dict[str, Any] = {
        "processes": group.size,
        "entries": int(options.entries),
        "device": options.device,
        "sharing": time.perf_counter() - began,
        "entry_bytes": [int(n) for n in np.ravel(group.all(np.array([data.own_bytes])))],
    }
    for kind in ("row", "sampled"):
        given: dict[str, Any] = {"posterior": kind, "rank": RANK, "bias": True, "selection": False}
        given |= {"max_sweeps": options.sweeps, "random_state": 0, "device": options.device}
        if kind == "sampled":
            given |= {"value_range": None, "n_draws": 5}
        for _ in ("compiling", "compiled"):
            before, began = group.traffic.factors, time.perf_counter()
            model = BMCG(tol=0.0, n_jobs=1, **given).fit(data)
            seconds = time.perf_counter() - began
        out[kind] = {
            "trace": model.elbo_trace_.tolist(),
            "a_sweep": seconds / model.n_sweeps_,
            "sent": group.traffic.factors - before,
        }
    if group.is_first:
        print(json.dumps(out), flush=True)
    disconnect()


if __name__ == "__main__":
    main()
