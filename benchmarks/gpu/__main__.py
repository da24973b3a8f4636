"""`python -m benchmarks.gpu PART ...`: what a GPU does and takes, as lines of JSON.

check     a small fit of every kind beside the host's
ratings   MovieLens 1M, from a file that `pack` made
sets      the four rating sets on both back ends, from a file that `pack` made
1e8, 1e9  power-law data of that size: draws, row sweeps and a finished fit
graphs    1e8 with 10 neighbours on both sides
als       1e8, plain PyTorch
host      1e8, a few draws of the Numba back end on all cores
core      1e7, the same on one of them
bandwidth copies within the GPU, to it and from it
profile   where fits of both sizes spend their time
page      docs/results/gpu.md from the lines beside it
pack      write the rating sets to one file, where their data are
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SAMPLED = {
    "posterior": "sampled",
    "rank": 32,
    "bias": True,
    "selection": False,
    "max_sweeps": 200,
    "n_draws": 20,
    "value_range": None,
}
# Fits of the same ratings that are timed.
FITS = 5
SIZES = {"1e8": (10**8, 480_000, 18_000), "1e9": (10**9, 2_000_000, 200_000)}


def check(options: argparse.Namespace) -> dict[str, Any]:
    """Bounds after each sweep on a GPU beside the host's."""
    from bmcg import BMCG, Observations

    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4)) @ rng.normal(size=(4, 300)) + rng.normal(size=(900, 300))
    data = Observations.from_any(np.where(rng.random(X.shape) < 0.2, X, np.nan))
    out: dict[str, Any] = {}
    for family in ("row", "joint", "column"):
        traces = [
            BMCG(rank=8, posterior=family, bias=True, selection=False, max_sweeps=15, tol=0.0,
                 random_state=0, device=device).fit(data).elbo_trace_
            for device in (options.device, "cpu")
        ]  # fmt: skip
        out[family] = float(np.abs(traces[0] / traces[1] - 1).max())
    return out


def ratings(options: argparse.Namespace) -> dict[str, Any]:
    """MovieLens 1M: the error of sampled fits and the time they take once compiled."""
    from .fits import timed_fit
    from .sets import read

    held = read(options.sets, "movielens-1m")
    out: dict[str, Any] = {}
    for rank, sweeps in ((16, 100), (16, 200), (32, 100), (32, 200)):
        given = SAMPLED | {"rank": rank, "max_sweeps": sweeps, "n_draws": sweeps}
        given |= {"value_range": (1.0, 5.0), "device": options.device}
        timed_fit(held.data, save=False, **given)
        runs = [timed_fit(held.data, save=False, keep=True, **given) for _ in range(FITS)]
        model = [run.pop("model") for run in runs][-1]
        # The host's speed differs from run to run: the fit in the middle speaks.
        found = sorted(runs, key=lambda run: run["whole"])[FITS // 2]
        found["all"] = [run["whole"] for run in runs]
        for name, noise in (("rmse", False), ("rmse_rating", True)):
            error = model.predict(held.rows, held.cols, include_noise=noise) - held.values
            found[name] = float(np.sqrt(np.mean(error**2)))
        out[f"rank {rank}, {sweeps} draws"] = found
    return out


def sets(options: argparse.Namespace) -> dict[str, Any]:
    """Test errors of the rating sets: row fits with their graphs, here and on the host."""
    from bmcg import BMCG

    from .sets import LOADERS, read

    out: dict[str, Any] = {}
    for name in LOADERS:
        held = read(options.sets, name)
        for device in (options.device, "cpu"):
            began = time.perf_counter()
            model = BMCG(posterior="row", random_state=0, device=device)
            model.fit(held.data, **held.graphs)
            error = model.predict(held.rows, held.cols) - held.values
            rmse, seconds = float(np.sqrt(np.mean(error**2))), time.perf_counter() - began
            bound, rank = float(model.elbo_trace_[-1]), model.rank_
            out[f"{name}, {device}"] = {
                "rmse": rmse, "seconds": seconds, "bound": bound, "rank": rank
            }  # fmt: skip
            print(name, device, out[f"{name}, {device}"], flush=True)
    return out


def large(options: argparse.Namespace, name: str) -> dict[str, Any]:
    """Draws, sweeps of the row family, and a finished fit."""
    from .data import power_law
    from .fits import timed_fit

    row = {"posterior": "row", "rank": 32, "bias": True, "selection": False, "max_sweeps": 30}
    row |= {"tol": 1e-4, "device": options.device}
    given = SAMPLED | {"device": options.device}
    # Kernels are compiled by small fits with as many components.
    small = power_law(10**6, 20_000, 2_000)
    out: dict[str, Any] = {"compiling": timed_fit(small, **(given | {"max_sweeps": 5}))}
    if name == "1e8":
        out["compiling, row"] = timed_fit(small, save=False, **row)
    X = power_law(*SIZES[name])
    if name == "1e8":
        out["row"] = timed_fit(X, save=False, **row)
    out["sampled"] = timed_fit(X, **given)
    print(json.dumps(out), flush=True)
    return out


def graphs(options: argparse.Namespace) -> dict[str, Any]:
    """The same with graphs on both sides."""
    from .data import power_law, ring_neighbours
    from .fits import timed_fit

    n_entries, m, n = SIZES["1e8"]
    X = power_law(n_entries // options.part, m // options.part, n)
    ties = {"row_graph": ring_neighbours(X.shape[0]), "col_graph": ring_neighbours(X.shape[1])}
    given = SAMPLED | {"max_sweeps": 30, "n_draws": 5, "device": options.device}
    return timed_fit(X, save=False, **given, **ties, learn_graphs=options.learn, burn_in=15)


def als(options: argparse.Namespace) -> dict[str, Any]:
    """Plain PyTorch."""
    from .als import seconds_a_sweep
    from .data import power_law

    return seconds_a_sweep(power_law(*SIZES["1e8"]))


def host(options: argparse.Namespace) -> dict[str, Any]:
    """The cores of this machine."""
    from .data import power_law
    from .fits import timed_fit

    given = SAMPLED | {"max_sweeps": 2, "n_draws": 1, "device": "cpu"}
    X = power_law(*SIZES["1e8"])
    return timed_fit(X, save=False, burn_in=2, **given) | {"entries": X.nnz}


def core(options: argparse.Namespace) -> dict[str, Any]:
    """One core."""
    from .data import power_law
    from .fits import timed_fit

    given = SAMPLED | {"max_sweeps": 2, "n_draws": 1, "device": "cpu", "n_jobs": 1}
    X = power_law(10**7, 48_000, 18_000)
    return timed_fit(X, save=False, burn_in=2, **given) | {"entries": X.nnz}


def bandwidth(options: argparse.Namespace) -> dict[str, Any]:
    """Of this machine."""
    from .scale import bandwidths

    return dict(bandwidths())


def profile(options: argparse.Namespace) -> dict[str, Any]:
    """Functions of the host and kernels of the device, of a small and a large fit."""
    from .data import power_law
    from .profiling import profiled
    from .sets import read

    given = SAMPLED | {"max_sweeps": 20, "n_draws": 10, "device": options.device}
    ratings = read(options.sets, "movielens-1m").data
    out = {"ratings": profiled(ratings, save=False, **given | {"value_range": (1.0, 5.0)})}
    out["1e8"] = profiled(power_law(*SIZES["1e8"]), **given)
    for size, parts in out.items():
        for kind, rows in parts.items():
            print(size, kind, *(f"{t:10.3f} {n:7d} {name}" for name, n, t in rows), sep="\n")
    return out


def pack(options: argparse.Namespace) -> dict[str, Any]:
    """The rating sets as one file of arrays."""
    from .sets import write

    return write(options.sets)


def page(options: argparse.Namespace) -> dict[str, Any]:
    """The page of results."""
    from .page import write

    return {"page": str(write(Path("docs/results/gpu.jsonl")))}


PARTS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "check": check,
    "ratings": ratings,
    "sets": sets,
    "1e8": lambda options: large(options, "1e8"),
    "1e9": lambda options: large(options, "1e9"),
    "graphs": graphs,
    "als": als,
    "host": host,
    "core": core,
    "bandwidth": bandwidth,
    "profile": profile,
    "page": page,
    "pack": pack,
}


def main() -> None:
    """Measure the parts in turn; one that fails leaves its error and the others."""
    parser = argparse.ArgumentParser(prog="benchmarks.gpu", description=__doc__)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sets", type=Path, default=Path("gpu-sets.npz"))
    parser.add_argument("--learn", action="store_true", help="graphs: learn their strengths")
    parser.add_argument("--part", type=int, default=1, help="graphs: of so many rows one")
    parser.add_argument("--out", type=Path, help="also append the lines to this file")
    options = parser.parse_args()
    for part in options.parts:
        began = time.perf_counter()
        try:
            found = PARTS[part](options)
        except Exception as error:
            import traceback

            traceback.print_exc()
            found = {"error": repr(error)}
        line = json.dumps({"part": part, "seconds": time.perf_counter() - began, **found})
        print(line, flush=True)
        if options.out is not None:
            with options.out.open("a") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main()
