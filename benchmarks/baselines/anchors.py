"""Each compared method against figures of its authors' code and of the paper.

    BMCG_DATA=/path/to/data python -m benchmarks.baselines.anchors
    python -m benchmarks.baselines.anchors --method GRALS --dataset douban
    python -m benchmarks.baselines.anchors --again VBMC
    python -m benchmarks.baselines.anchors --page

Run from the root of the repository. Every cell is kept in docs/results/anchors.json as soon as it
is measured, so an interrupted run goes on where it stopped; docs/results/anchors.md is written
from there. The comparison with the paper's Tables 1 and 2 on that page is drawn from what
`bmcg bench recommendation` and `bmcg bench genotype` left in docs/results.
"""

from __future__ import annotations

import argparse
import json
import signal
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.baselines.anchors_page import ratio, render
from benchmarks.baselines.explanations import EXPLANATIONS
from benchmarks.baselines.rows import (
    ALLOWED,
    DATASETS,
    GENOTYPES,
    OF_AUTHORS,
    OF_PICTURES,
    PICTURES,
    Anchor,
)
from benchmarks.baselines.variants import method_class
from benchmarks.reporting import COMMIT, ROOT, write_page
from sklearn.model_selection import ParameterGrid

from bmcg.base import MatrixCompleter
from bmcg.baselines import METHODS, tune
from bmcg.datasets import Dataset
from bmcg.files.storage import write_atomically
from bmcg.metrics import error_rate, psnr, rmse

CELLS = ROOT / "docs" / "results" / "anchors.json"
PAGE = ROOT / "docs" / "results" / "anchors.md"
Cell = dict[str, Any]


@lru_cache(maxsize=24)
def load(name: str, mask: int) -> Dataset:
    """A data set under one mask."""
    return DATASETS[name](mask)


def score(data: Dataset, name: str, model: MatrixCompleter, factor: float) -> float:
    """Root mean squared error; error rate on genotypes; decibels of the whole image."""
    if name in PICTURES:
        assert data.truth is not None
        return psnr(data.truth, model.complete() / factor)
    found = model.fitted_.mean(data.test_rows, data.test_cols) / factor
    return (error_rate if name in GENOTYPES else rmse)(data.test_values, found)


def measure_mask(anchor: Anchor, data: Dataset, n_jobs: int | None) -> tuple[float, Any]:
    """The error under one mask and, where something was chosen, the choice."""
    method = METHODS[anchor.method]
    estimator = method_class(anchor.method, anchor.variant, data)(
        **{"random_state": 0, "n_jobs": n_jobs, **anchor.settings}
    )
    graphs = (
        data.row_graph if anchor.graphs and method._uses_row_graph else None,
        data.col_graph if anchor.graphs and method._uses_col_graph else None,
    )
    observations = data.observations
    if anchor.factor != 1.0:
        observations = observations.with_values(anchor.factor * observations.values)

    def error(model: MatrixCompleter) -> float:
        return score(data, anchor.dataset, model, anchor.factor)

    if anchor.best_of is not None:
        tried = [
            (error(estimator.set_params(**choice).fit(observations, *graphs)), choice)
            for choice in ParameterGrid(dict(anchor.best_of))
        ]
        return min(tried, key=lambda one: one[0])
    if anchor.tuned:
        found = tune(estimator, observations, *graphs)
        return error(found.estimator), found.best_params
    return error(estimator.fit(observations, *graphs)), None


def measure(anchor: Anchor, n_jobs: int | None, limit: int) -> Cell:
    """One cell: mean over masks, extremes, seconds of CPU a fit, or why there is none."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"stopped after {limit} s of CPU")

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    errors, chosen, begin = [], None, time.process_time()
    try:
        for mask in anchor.masks:
            error, chosen = measure_mask(anchor, load(anchor.dataset, mask), n_jobs)
            errors.append(error)
    except (TimeoutError, MemoryError) as trouble:
        if not errors:
            return {"not_run": str(trouble), "commit": COMMIT}
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return {
        "ours": float(np.mean(errors)),
        "errors": errors,
        "seconds": (time.process_time() - begin) / len(errors),
        "chosen": chosen,
        "commit": COMMIT,
    }


ALL = [*OF_AUTHORS, *OF_PICTURES, *EXPLANATIONS]


def read_cells() -> dict[str, Cell]:
    """What was measured so far."""
    kept = json.loads(CELLS.read_text(encoding="utf-8")) if CELLS.exists() else {}
    known = {anchor.key for anchor in ALL}
    return {key: cell for key, cell in kept.items() if key in known}


def keep(cells: dict[str, Cell]) -> None:
    """Write all cells in one step."""
    text = json.dumps(cells, indent=1, ensure_ascii=False, default=str) + "\n"
    write_atomically(CELLS, lambda path: Path(path).write_text(text, encoding="utf-8"))


def line(anchor: Anchor, cell: Cell) -> str:
    """What is printed when a cell is done."""
    head = f"{anchor.method:<13} {anchor.dataset:<10} {anchor.label:<36} {anchor.source:<18}"
    if "ours" not in cell:
        return f"{head} {anchor.reference:>9.4f} {cell['not_run']}"
    chosen = "" if cell["chosen"] is None else f" {cell['chosen']}"
    return (
        f"{head} {anchor.reference:>9.4f} {cell['ours']:>9.4f} {ratio(anchor, cell):>7.3f} "
        f"{cell['seconds']:>8.1f} s{chosen}"
    )


def main() -> None:
    """Measure what is missing, cell by cell, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--method", action="append", choices=list(METHODS))
    parser.add_argument("--dataset", action="append", choices=list(DATASETS))
    parser.add_argument("--source", action="append", choices=list(ALLOWED))
    parser.add_argument("--jobs", type=int, default=None, help="threads; all cores by default")
    parser.add_argument("--limit", type=int, default=600, help="seconds of CPU for a cell")
    parser.add_argument("--again", action="append", default=[], help="measure this method anew")
    parser.add_argument("--page", action="store_true", help="write the page, measure nothing")
    options = parser.parse_args()
    cells, fresh = read_cells(), set(options.again)
    if not options.page:
        wanted = [
            anchor
            for anchor in ALL
            if (anchor.key not in cells or anchor.method in fresh)
            and (options.method is None or anchor.method in options.method)
            and (options.dataset is None or anchor.dataset in options.dataset)
            and (options.source is None or anchor.source in options.source)
        ]
        for anchor in wanted:
            if anchor.key not in cells or anchor.method in fresh:
                cells[anchor.key] = measure(anchor, options.jobs, options.limit)
                keep(cells)
            print(line(anchor, cells[anchor.key]), flush=True)
    write_page(PAGE, render(ALL, cells, CELLS.parent))


if __name__ == "__main__":
    main()
