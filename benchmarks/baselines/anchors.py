"""Each compared method against figures of its authors' code and of the paper.

    BMCG_DATA=/path/to/data python benchmarks/baselines/anchors.py
    python benchmarks/baselines/anchors.py --method GRALS --dataset douban
    python benchmarks/baselines/anchors.py --json results.json

One row for each entry of `ANCHORS`: method, data, settings, the reference figure and where it
comes from, ours, their ratio (below one is better than the reference) and wall seconds of a
fit. Add a method by adding rows.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bmcg import __version__, datasets
from bmcg.base import MatrixCompleter
from bmcg.baselines import METHODS, tune
from bmcg.datasets import Dataset
from bmcg.metrics import error_rate, rmse
from bmcg.storage import write_atomically

AUTHORS = "authors' code"
PAPER = "the paper"

# Masks of the genotypes are random and the references' are not known: ours are averaged.
MASKS = range(5)


def genotypes(observed: float) -> Callable[[], list[Dataset]]:
    """A loader of the genotypes under several masks."""
    return lambda: [datasets.load_chr22(observed, seed) for seed in MASKS]


# Loaders by name; genotypes are scored by error rate, all else by root mean squared error.
DATASETS: dict[str, Callable[[], list[Dataset]]] = {
    "ml-100k": lambda: [datasets.load_monti_movielens()],
    "flixster": lambda: [datasets.load_flixster()],
    "douban": lambda: [datasets.load_douban()],
    "ml-1m": lambda: [datasets.load_movielens_1m()],
    "netflix": lambda: [datasets.load_synthetic_netflix()],
    "chr22-10%": genotypes(0.1),
    "chr22-20%": genotypes(0.2),
    "chr22-50%": genotypes(0.5),
}


@dataclass(frozen=True)
class Anchor:
    """One comparison.

    Attributes
    ----------
    method : str
        Key of `bmcg.baselines.METHODS`.
    dataset : str
        Key of `DATASETS`.
    reference : float
        Error to match.
    source : str
        Where the reference comes from.
    label : str
        Settings in words.
    settings : dict
        Parameters of the estimator.
    grid : dict, optional
        Values to tune on held-out observed entries; the settings hold the rest.
    graphs : bool
        Whether the fit is given the graphs.
    drand48 : bool
        Start from the factors the authors' C++ code draws, so that the figures are comparable
        to all digits.
    factor : float
        The observed values are multiplied by it before the fit, and predictions divided.
    """

    method: str
    dataset: str
    reference: float
    source: str
    label: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, list[Any]] | None = None
    graphs: bool = True
    drand48: bool = False
    factor: float = 1.0


def rows(
    method: str, source: str, label: str, references: Mapping[str, float], **options: Any
) -> list[Anchor]:
    """The same settings on several data sets."""
    return [
        Anchor(method, dataset, reference, source, label, **options)
        for dataset, reference in references.items()
    ]


PMF = {"graph_weight": 0.0, "ridge": 1.2, "cg_steps": 3, "max_iter": 100, "tol": 0.0}
GRAPH_GRID = {"graph_weight": [0.1, 0.4, 1.6], "ridge": [1e-4, 0.1, 1.0]}
# Douban says little about a user beyond how generous he is: the rank matters most.
DOUBAN_GRID = {"rank": [1, 2, 10], "ridge": [0.1, 0.3, 1.0]}
# LMaFit has no penalty: its rank alone decides how far it overfits.
RANK_GRID = {"rank": [1, 2, 3, 5, 10], "estimate_rank": [False]}
# Errors on ratings in the paper's Table 1, on genotypes in its Table 2.
TABLE = {
    "MC on Graphs": (1.0371, 0.9011, 1.0869, 1.0460, 0.1567, 0.1048, 0.0517),
    "GRALS": (0.9152, 0.7504, 0.9211, 0.8588, 0.5140, 0.6324, 0.7200),
    "GPMF": (0.8857, 0.7497, 0.9336, 0.8657, 0.7483, 0.7479, 0.7490),
    "KPMF": (0.9218, 0.7328, 0.9606, 0.8618, 0.1600, 0.1087, 0.0439),
    "L1MC": (2.3334, 1.5867, 2.6197, 1.6400, 0.2517, 0.1311, 0.0391),
    "LMaFit": (1.0927, 0.7671, 0.9682, 0.9215, 0.2517, 0.1498, 0.2462),
    "BMC-GP-GAMP": (3.3250, 2.7076, 1.0104, 0.9527, 0.1516, 0.0574, 0.0216),
    "BPMF": (1.0866, 0.8404, 0.9469, 0.8754, 0.5241, 0.6659, 0.7370),
    "VBMC": (1.0789, 0.7372, 0.9295, 0.9295, 0.1250, 0.0588, 0.0226),
}
TABLE_DATASETS = ("flixster", "douban", "ml-100k", "ml-1m", "chr22-10%", "chr22-20%", "chr22-50%")


def table_row(method: str, *names: str) -> dict[str, float]:
    """The paper's figures of a method, by data set; all of them unless some are named."""
    figures = dict(zip(TABLE_DATASETS, TABLE[method], strict=True))
    return {name: figures[name] for name in names or TABLE_DATASETS}


ANCHORS: list[Anchor] = [
    *rows(
        "GRALS",
        AUTHORS,
        "demo settings",
        {
            "ml-100k": 0.9313,
            "flixster": 0.9184,
            "douban": 1.0347,
            "ml-1m": 0.8576,
            "netflix": 0.0140,
            "chr22-10%": 0.0360,
            "chr22-20%": 0.0292,
            "chr22-50%": 0.0282,
        },
        settings={"tol": 0.0},
        drand48=True,
    ),
    *rows(
        "GRALS",
        AUTHORS,
        "no graph (PMF)",
        {
            "ml-100k": 0.9720,
            "flixster": 1.4521,
            "douban": 0.7758,
            "ml-1m": 0.8623,
            "netflix": 0.3558,
            "chr22-10%": 0.0969,
            "chr22-20%": 0.0492,
            "chr22-50%": 0.0297,
        },
        settings=PMF,
        graphs=False,
        drand48=True,
    ),
    *rows(
        "GRALS",
        AUTHORS,
        "tuned on observed entries",
        {"ml-100k": 0.9313, "flixster": 0.9041, "douban": 0.7693, "netflix": 0.0486},
        grid=GRAPH_GRID,
    ),
    *rows(
        "GPMF",
        AUTHORS,
        "training positions only",
        {
            "ml-100k": 0.9174,
            "flixster": 0.9071,
            "douban": 1.0564,
            "ml-1m": 0.8593,
            "netflix": 0.0271,
            "chr22-10%": 0.0365,
            "chr22-20%": 0.0297,
            "chr22-50%": 0.0279,
        },
        settings={"tol": 0.0},
        drand48=True,
    ),
    *rows(
        "KPMF",
        AUTHORS,
        "demo settings",
        {
            "ml-100k": 0.9620,
            "netflix": 0.4387,
            "chr22-10%": 0.1793,
            "chr22-20%": 0.1286,
            "chr22-50%": 0.0405,
        },
    ),
    *rows("GRALS", PAPER, "defaults", table_row("GRALS", "flixster", "ml-100k", "ml-1m")),
    *rows("GRALS", PAPER, "tuned", table_row("GRALS", "douban"), grid=DOUBAN_GRID),
    *rows("GPMF", PAPER, "tuned", table_row("GPMF", "flixster"), grid=GRAPH_GRID),
    *rows("GPMF", PAPER, "tuned", table_row("GPMF", "douban"), grid=DOUBAN_GRID),
    *rows("GPMF", PAPER, "defaults", table_row("GPMF", "ml-100k", "ml-1m")),
    *rows("KPMF", PAPER, "defaults", table_row("KPMF", "flixster", "ml-100k", "ml-1m")),
    *rows(
        "KPMF",
        PAPER,
        "tuned",
        table_row("KPMF", "douban"),
        grid={"rank": [1, 2, 10], "noise_variance": [0.2, 0.5, 1.2]},
    ),
    *rows("MC on Graphs", PAPER, "weights by validation", table_row("MC on Graphs")),
    *rows(
        "LMaFit",
        AUTHORS,
        "initial rank 100",
        {
            "ml-100k": 1.1523,
            "flixster": 2.3606,
            "douban": 1.1872,
            "netflix": 3.15,
            "chr22-10%": 0.25,
            "chr22-20%": 0.25,
            "chr22-50%": 0.25,
        },
    ),
    *rows("LMaFit", AUTHORS, "initial rank 10", {"netflix": 0.2414}, settings={"rank": 10}),
    *rows(
        "VBMC",
        AUTHORS,
        "initial rank 20",
        {"ml-100k": 0.9236, "chr22-10%": 0.0879, "chr22-20%": 0.0510, "chr22-50%": 0.0234},
        settings={"rank": 20},
    ),
    *rows("VBMC", AUTHORS, "initial rank 100", {"netflix": 0.2415}),
    *rows(
        "BPMF",
        AUTHORS,
        "noise precision 2",
        {
            "ml-100k": 0.9195,
            "flixster": 0.8827,
            "douban": 0.7274,
            "ml-1m": 0.8410,
            "netflix": 0.2321,
        },
    ),
    *rows(
        "BPMF",
        AUTHORS,
        "values × 4",
        {"chr22-10%": 0.0797, "chr22-20%": 0.0487, "chr22-50%": 0.0306},
        factor=4.0,
    ),
    *rows("L1MC", PAPER, "defaults", table_row("L1MC")),
    *rows("LMaFit", PAPER, "rank tuned", table_row("LMaFit"), grid=RANK_GRID),
    *rows(
        "BMC-GP-GAMP",
        PAPER,
        "defaults",
        table_row("BMC-GP-GAMP", "ml-100k", "chr22-10%", "chr22-20%", "chr22-50%"),
    ),
    *rows("BPMF", PAPER, "defaults", table_row("BPMF", *TABLE_DATASETS[:4])),
    *rows(
        "BPMF",
        PAPER,
        "noise learned",
        table_row("BPMF", *TABLE_DATASETS[4:]),
        settings={"noise_precision": "learn"},
    ),
    *rows("VBMC", PAPER, "initial rank 20", table_row("VBMC"), settings={"rank": 20}),
]


def drand48(count: int) -> np.ndarray:
    """The first numbers of the POSIX generator seeded with 1: x ← ax + c mod 2⁴⁸."""
    x = (1 << 16) + 0x330E
    out = np.empty(count)
    for i in range(count):
        x = (0x5DEECE66D * x + 0xB) & ((1 << 48) - 1)
        out[i] = x / 2**48
    return out


def estimator(anchor: Anchor, n_jobs: int | None) -> MatrixCompleter:
    """The method of a row with its settings and, where asked for, the authors' start."""
    method = METHODS[anchor.method]
    if anchor.drand48:

        def start(self: Any, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
            m, n = shape
            U, V = np.split(drand48(self.rank * (m + n)).reshape(m + n, self.rank), [m])
            return U, V

        method = type(method.__name__, (method,), {"_start": start, "__init__": method.__init__})
    return method(**{"random_state": 0, "n_jobs": n_jobs, **anchor.settings})


def score(dataset: Dataset, model: MatrixCompleter, factor: float) -> float:
    """Error on the held-out entries: error rate on genotypes, else root mean squared error."""
    predicted = model.fitted_.mean(dataset.test_rows, dataset.test_cols) / factor
    metric = error_rate if dataset.name.startswith("chr22") else rmse
    return metric(dataset.test_values, predicted)


@cache
def load(name: str) -> list[Dataset]:
    """A data set, read once, under each of its masks."""
    return DATASETS[name]()


def fit(anchor: Anchor, data: Dataset, n_jobs: int | None) -> tuple[MatrixCompleter, Any]:
    """The fitted method of a row and, where it was tuned, the choice."""
    method, model = METHODS[anchor.method], estimator(anchor, n_jobs)
    row_graph = data.row_graph if anchor.graphs and method._uses_row_graph else None
    col_graph = data.col_graph if anchor.graphs and method._uses_col_graph else None
    observations = data.observations
    if anchor.factor != 1.0:
        observations = observations.with_values(anchor.factor * observations.values)
    if anchor.grid is None:
        return model.fit(observations, row_graph, col_graph), None
    result = tune(model, observations, row_graph, col_graph, grid=anchor.grid)
    return result.estimator, result.best_params


def measure(anchor: Anchor, n_jobs: int | None) -> dict[str, Any]:
    """Fit and score one row; errors and seconds are means over the masks."""
    errors, seconds = [], []
    for data in load(anchor.dataset):
        begin = time.perf_counter()
        model, chosen = fit(anchor, data, n_jobs)
        seconds.append(time.perf_counter() - begin)
        errors.append(score(data, model, anchor.factor))
    return {
        "ours": float(np.mean(errors)),
        "spread": float(np.std(errors, ddof=1)) if len(errors) > 1 else None,
        "seconds": float(np.mean(seconds)),
        "chosen": chosen,
    }


def run(anchor: Anchor, n_jobs: int | None, known: dict[str, Any]) -> dict[str, Any]:
    """One row of the table; rows that differ in their reference alone share a measurement."""
    key = repr(replace(anchor, reference=0.0, source="", label=""))
    if key not in known:
        known[key] = measure(anchor, n_jobs)
    return {
        "method": anchor.method,
        "dataset": anchor.dataset,
        "settings": anchor.label,
        "source": anchor.source,
        "reference": anchor.reference,
        **known[key],
        "ratio": known[key]["ours"] / anchor.reference,
    }


def print_row(row: dict[str, Any]) -> None:
    """One line of the table."""
    spread = "" if row["spread"] is None else f"  ± {row['spread']:.4f} between masks"
    chosen = "" if row["chosen"] is None else f"  {row['chosen']}"
    print(
        f"{row['method']:<13} {row['dataset']:<10} {row['settings']:<26} {row['source']:<14} "
        f"{row['reference']:>9.4f} {row['ours']:>9.4f} {row['ratio']:>7.3f} "
        f"{row['seconds']:>8.1f}{spread}{chosen}",
        flush=True,
    )


def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--method", action="append", choices=list(METHODS))
    parser.add_argument("--dataset", action="append", choices=list(DATASETS))
    parser.add_argument("--source", choices=(AUTHORS, PAPER))
    parser.add_argument("--untuned", action="store_true", help="leave out rows that tune")
    parser.add_argument("--jobs", type=int, default=None, help="threads; all cores by default")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    chosen = [
        anchor
        for anchor in ANCHORS
        if (options.method is None or anchor.method in options.method)
        and (options.dataset is None or anchor.dataset in options.dataset)
        and (options.source is None or anchor.source == options.source)
        and not (options.untuned and anchor.grid is not None)
    ]
    print(f"bmcg {__version__}, {platform.machine()}, {os.cpu_count()} cores")
    print(
        f"{'method':<13} {'data':<10} {'settings':<26} {'source':<14} "
        f"{'reference':>9} {'ours':>9} {'ratio':>7} {'seconds':>8}"
    )
    found, known = [], {}
    for anchor in chosen:
        found.append(run(anchor, options.jobs, known))
        print_row(found[-1])
    if options.json is not None:
        text = json.dumps(found, indent=1)
        write_atomically(options.json, lambda path: Path(path).write_text(text))


if __name__ == "__main__":
    main()
