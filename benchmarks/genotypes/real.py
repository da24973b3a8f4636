"""Haplotypes and mice in the order of the map: `bmcg impute` beside one low-rank matrix.

    BMCG_DATA=... python -m benchmarks.genotypes.real [--sets chr22 mice] [--fresh]

Run from the root of the repository. Cells are kept in docs/results/genotypes-real.json, and
docs/results/genotypes-real.md is written from them.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reporting import ROOT, machine, table, write_page

from bmcg.datasets import load_chr22, load_mice
from bmcg.files.storage import write_atomically
from bmcg.imputing.genotype_fill import fill_genotypes
from bmcg.imputing.genotypes import FilledGenotypes, Genotypes
from bmcg.imputing.linkage import Along, fill_along

PAGE = ROOT / "docs" / "results" / "genotypes-real.md"
STORE = PAGE.with_suffix(".json")
SETS = ("chr22", "mice-450", "mice")
Array = np.ndarray
Fill = Callable[[Genotypes, Along], tuple[FilledGenotypes, Any]]
HEAD = """# Genotypes by position, without a graph

Sites in the order of the map, their distances not used; nothing has seen a held-out call. chr22:
haplotypes of HapMap, masks of the paper's experiment (`bmcg bench genotype`), mean of the seeds.
mice: genotypes of 1,814 mice, the set's own fifth held out, or all but a share at random;
mice-450: of 450 of them. Errors are shares of held-out calls that are wrong. "bmcg impute" chooses
between copying along the chromosome, one low-rank matrix and a pool of both. Seconds are of the
processor, one thread.

With a graph of the sites made from the complete matrix, held-out calls included, our factorisation
has 0.0345, 0.0257 and 0.0159 on chr22 with 10, 20 and 50 % observed
([Table 2](genotype.md)).

"""


def main() -> None:
    """Measure what the store lacks and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.genotypes.real")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS[:2])
    parser.add_argument("--shares", nargs="+", default=["10", "20", "50", "hidden20"])
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="of chr22 alone")
    parser.add_argument("--fresh", action="store_true")
    given = parser.parse_args()
    for name in given.sets:
        for share in given.shares:
            if name == "chr22" and share == "hidden20":
                continue
            for seed in given.seeds if name == "chr22" else (0,):
                for method in given.methods:
                    key = f"{name}|{share}|{method}|{seed}"
                    if given.fresh or key not in stored():
                        keep(key, measure(name, share, method, seed))
    write_page(PAGE, page(stored()))


def measure(name: str, share: str, method: str, seed: int) -> dict[str, Any]:
    """Error and log-loss of the held-out calls."""
    genotypes, truth = (
        _chr22(share, seed) if name == "chr22" else _mice(share, seed, name == "mice-450")
    )
    m = len(truth)
    along = Along(np.full(m, "1", dtype=object), np.arange(m, dtype=float))
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        filled, model = METHODS[method](genotypes, along)
    seconds = time.process_time() - began
    wanted = truth[filled.rows, filled.cols].astype(np.intp)
    right = filled.chances.argmax(axis=1) == wanted
    # Calls that nothing is known of stay missing: they count as wrong.
    missed = genotypes.missing.sum() - len(wanted)
    given = np.maximum(filled.chances[np.arange(len(wanted)), wanted], 1e-4)
    error = float((~right).sum() + missed) / (len(wanted) + missed)
    note = str(model) if hasattr(model, "course") else "low rank"
    return {"error": error, "log_loss": float(-np.log(given).mean()), "seconds": seconds,
            "note": note, "made": machine()}  # fmt: skip


def _low_rank(genotypes: Genotypes, along: Along) -> tuple[FilledGenotypes, Any]:
    return fill_genotypes(genotypes, linkage=False, n_jobs=1, random_state=0)


def _copying(genotypes: Genotypes, along: Along) -> tuple[FilledGenotypes, Any]:
    return fill_along(genotypes, along, genotypes.missing, n_jobs=1)


def _impute(genotypes: Genotypes, along: Along) -> tuple[FilledGenotypes, Any]:
    return fill_genotypes(genotypes, along=along, n_jobs=1, random_state=0)


METHODS: dict[str, Fill] = {
    "bmcg impute": _impute,
    "copying": _copying,
    "low rank": _low_rank,
}


def _chr22(share: str, seed: int) -> tuple[Genotypes, Array]:
    data = load_chr22(int(share) / 100, seed=seed, graph="observed")
    seen = data.observations
    values = np.full(seen.shape, np.nan)
    values[seen.row_indices, seen.col_indices] = seen.values
    truth = values.copy()
    truth[data.test_rows, data.test_cols] = data.test_values
    one = np.ones(values.shape, dtype=np.uint8)
    whole = np.zeros(values.shape[1], dtype=bool)
    return Genotypes(2.0 * values, one, None, None, whole), truth


def _mice(share: str, seed: int, few: bool) -> tuple[Genotypes, Array]:
    data = load_mice()
    seen = data.observations
    values = np.full(seen.shape, np.nan)
    values[seen.row_indices, seen.col_indices] = seen.values
    truth = values.copy()
    truth[data.test_rows, data.test_cols] = data.test_values
    if share != "hidden20":
        left = np.random.default_rng(seed).random(values.shape) < int(share) / 100
        values = np.where(left, truth, np.nan)
    if few:
        some = np.sort(np.random.default_rng(0).permutation(len(values))[:450])
        values, truth = values[some], truth[some]
    values, truth = np.ascontiguousarray(values.T), np.ascontiguousarray(truth.T)
    two = np.full(values.shape, 2, dtype=np.uint8)
    return Genotypes(values, two, None, None, np.zeros(values.shape[1], dtype=bool)), truth


def stored() -> dict[str, Any]:
    """What was measured."""
    return json.loads(STORE.read_text()) if STORE.exists() else {}


def keep(key: str, found: dict[str, Any]) -> None:
    """Add one cell to the store."""
    cells = stored() | {key: found}
    text = json.dumps(cells, indent=1, sort_keys=True) + "\n"
    write_atomically(STORE, lambda name: Path(name).write_text(text))
    print(key, json.dumps(found), flush=True)


def page(cells: dict[str, Any]) -> str:
    """The page: one row for each set, share and method."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for key, cell in cells.items():
        name, share, method, _ = key.split("|")
        groups.setdefault((name, share, method), []).append(cell)
    rows = []
    for (name, share, method), parts in sorted(groups.items()):
        error, loss, seconds = (
            float(np.mean([part[what] for part in parts]))
            for what in ("error", "log_loss", "seconds")
        )
        seen = "80 % (hidden20)" if share == "hidden20" else f"{share} %"
        figures = [f"{error:.4f}", f"{loss:.4f}", f"{seconds:.1f}", str(len(parts))]
        rows.append([name, seen, method, *figures, parts[0]["note"]])
    head = [
        "set",
        "observed",
        "method",
        "wrong",
        "log-loss",
        "CPU s",
        "seeds",
        "found (first seed)",
    ]
    made = "; ".join(sorted({cell["made"] for cell in cells.values()}))
    return (
        HEAD + table(head, rows) + f"\n\nMade by `python -m benchmarks.genotypes.real`; {made}.\n"
    )


if __name__ == "__main__":
    main()
