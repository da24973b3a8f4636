"""Lists of what somebody chose, against methods that are made for them.

    BMCG_DATA=/path/to/data python -m benchmarks.lists
    BMCG_DATA=/path/to/data python -m benchmarks.lists --data lastfm2k --method bmcg
    BMCG_DATA=/path/to/data python -m benchmarks.lists --data ml-1m --training 1

Run from the root of the repository. Creates benchmarks/lists/.venv, with the package implicit,
where it is missing. For the other methods six settings are tried on a validation split (a fifth of
what each row has to learn from) and the best by NDCG@10 is fitted on all of it; for us nothing is
chosen. What was measured is kept in docs/results/lists.json after each method and not measured
again unless `--fresh` is given; docs/results/lists.md is written from it. All on one thread.
`--training N` holds out a fifth of the training entries instead, by seed N, and prints what EASE
and ours are worth there: rules are drawn up on such splits. Nothing of that is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from benchmarks.reporting import ROOT, machine, write_page

from bmcg import BMCG
from bmcg.evaluation import Split, leave_out, list_measures
from bmcg.evaluation.lists import lists_of
from bmcg.files.storage import write_atomically
from bmcg.serving.ranking import Seen

from .environment import prepare, run_other
from .others import SETTINGS, best, ease
from .page import page
from .sets import SETS, SHARE

PAGE = ROOT / "docs" / "results" / "lists.md"
STORE = PAGE.with_suffix(".json")
OURS, KNOWING = "bmcg", "bmcg, knowing"


def figures(lists: np.ndarray, split: Split) -> dict[str, float]:
    """NDCG@10 and recall@20 of lists of 20."""
    m, n = split.train.shape
    held = Seen.of_pairs(split.rows, split.cols, m)
    rows = np.unique(split.rows)
    ten, twenty = (list_measures(lists[:, :k], rows, held, n) for k in (10, 20))
    return {"ndcg": ten.ndcg, "recall": twenty.recall}


def measure_other(method: str, split: Split, folder: Path) -> dict[str, Any]:
    """The best of six settings on a validation split, fitted on all."""
    settings, total, number = SETTINGS[method], 0.0, 0
    if len(settings) > 1:
        (inner,) = leave_out(split.train, SHARE, random_state=1)
        found = []
        for at in range(len(settings)):
            lists, seconds = run_other(method, at, inner, folder)
            found.append(figures(lists, inner)["ndcg"])
            total += seconds
            print(f"  {method} {settings[at]}: {found[-1]:.4f} ({seconds:.1f} s)", flush=True)
        number = int(np.argmax(found))
    lists, seconds = run_other(method, number, split, folder)
    told = {"setting": settings[number], "seconds": seconds, "all_seconds": total + seconds}
    return {**figures(lists, split), **told}


def measure_ours(split: Split, known: dict[str, Any]) -> dict[str, Any]:
    """Our defaults for implicit feedback."""
    model = BMCG(missing="weak-zero", random_state=0, n_jobs=1)
    # One thread: what others do on the machine meanwhile is not to count.
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(split.train, **known)
    seconds = time.process_time() - began
    seen = Seen(split.train.by_row.indptr, split.train.by_row.indices)
    lists = lists_of(model, np.unique(split.rows), 20, seen)
    learned = {"noise": model.fitted_.likelihood.words(model.fitted_.noise, 1.0)}
    learned["components"] = str(model.rank_)
    learned["sweeps"] = str(model.n_sweeps_)
    told = {"setting": learned, "seconds": seconds, "all_seconds": seconds}
    return {**figures(lists, split), **told}


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", action="append", choices=list(SETS))
    parser.add_argument("--method", action="append", choices=[*SETTINGS, OURS, KNOWING])
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    parser.add_argument("--training", type=int, help="seed of a split of the training entries")
    given = parser.parse_args()
    source = Path(os.environ["BMCG_DATA"])
    if given.training is not None:
        for name in given.data or SETS:
            inside(name, given.training, source)
        return
    kept = _kept()
    with tempfile.TemporaryDirectory() as folder:
        for name in given.data or SETS:
            split = SETS[name].read(source)
            for method in given.method or [*SETTINGS, OURS, KNOWING]:
                key = f"{name}/{method}"
                if (key in kept and not given.fresh) or (
                    method == KNOWING and not SETS[name].known
                ):
                    continue
                cell = _cell(name, method, split, source, Path(folder))
                # Another run may have kept figures meanwhile.
                kept = _kept() | {key: {**cell, "machine": machine()}}
                text = json.dumps(kept, indent=1, sort_keys=True) + "\n"
                write_atomically(STORE, lambda path, text=text: Path(path).write_text(text))
                print(f"{key}: {kept[key]['ndcg']:.4f} {kept[key]['recall']:.4f}", flush=True)
    write_page(PAGE, page(kept))


def inside(name: str, seed: int, source: Path) -> None:
    """Print EASE, with the setting of the page, and ours on a split of the training entries."""
    (split,) = leave_out(SETS[name].read(source).train, SHARE, random_state=seed)
    indptr, indices, _ = split.train.by_row
    X = sp.csr_matrix((np.ones(len(indices)), indices, indptr), shape=split.train.shape)
    scores = ease(X, **_kept()[f"{name}/EASE"]["setting"])
    cells = {"EASE": figures(best(scores, X, np.unique(split.rows)), split)}
    cells[OURS] = measure_ours(split, {})
    for method, cell in cells.items():
        told = f"{cell['ndcg']:.4f} {cell['recall']:.4f} {cell.get('setting', '')}"
        print(f"{name}, split {seed} of training entries, {method}: {told}", flush=True)


def _kept() -> dict[str, Any]:
    return json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}


def _cell(name: str, method: str, split: Split, source: Path, folder: Path) -> dict[str, Any]:
    if method == OURS:
        return measure_ours(split, {})
    if method == KNOWING:
        known = SETS[name].known
        assert known is not None
        words, arguments = known(source)
        return {**measure_ours(split, arguments), "known": words}
    prepare()
    return measure_other(method, split, folder)


if __name__ == "__main__":
    main()
