"""One setting on data of many kinds, beside other methods: writes docs/results/field.md.

    BMCG_DATA=... python -m benchmarks.field [--sets SET ...] [--methods METHOD ...] [--seeds 3]
    python -m benchmarks.field page

Run from the root of the repository. Every set with every method and seed is a cell, measured in a
process of its own under limits of time and memory, and kept in docs/results/field.json; the same
command goes on where it was stopped. Cells of BMCG are measured again when the package changed,
others with --fresh. smurff and myFM run in the environment of `benchmarks.peers`.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ThreadPoolExecutor, as_completed

from benchmarks.reporting import ROOT, write_page

from .measure import OK, limit_memory, measure, measure_apart
from .methods import NAMES
from .page import page
from .sets import SETS
from .store import Place, Store

PAGE = ROOT / "docs" / "results" / "field.md"


def main() -> None:
    """Measure what is missing and write the page, or one of both."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.field")
    parts = parser.add_subparsers(dest="part")
    parts.add_parser("page", help="write the page from what is kept")
    one = parts.add_parser("cell", help="measure one cell and print it")
    one.add_argument("set", choices=list(SETS))
    one.add_argument("method", choices=NAMES)
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--threads", type=int, default=1)
    one.add_argument("--memory", type=float, default=8.0)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="cells at a time")
    parser.add_argument("--threads", type=int, default=1, help="of each cell")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds of a cell")
    parser.add_argument("--memory", type=float, default=8.0, help="GiB of a cell")
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    given = parser.parse_args()
    if given.part == "cell":
        limit_memory(given.memory)
        print(json.dumps(measure(given.set, given.method, given.seed, given.threads)))
        return
    store = Store()
    if given.part is None:
        fill(store, given)
    write_page(PAGE, page(store.cells))


def fill(store: Store, given: argparse.Namespace) -> None:
    """Measure the cells that do not stand, all methods of a seed and set in turn."""
    places: list[Place] = [
        (name, method, seed)
        for name in given.sets
        for seed in range(given.seeds)
        for method in given.methods
    ]
    todo = [place for place in places if given.fresh or not store.stands(place, given.limit)]
    print(f"{len(todo)} of {len(places)} cells to measure", flush=True)
    with ThreadPoolExecutor(given.jobs) as pool:
        limits = given.threads, given.limit, given.memory
        running = {pool.submit(measure_apart, *place, *limits): place for place in todo}
        try:
            for done, future in enumerate(as_completed(running), start=1):
                place, found = running[future], future.result()
                store.add(place, found, given.threads)
                said = (
                    f"{found['rmse']:.4f} in {found['seconds']:.1f} s"
                    if found["status"] == OK
                    else f"{found['status']}: {found['reason']}"
                )
                print(f"{done}/{len(todo)}", *place, said, flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            print("interrupted: finished cells are kept, the same command goes on from there")
            raise SystemExit(130) from None


if __name__ == "__main__":
    main()
