"""One cell: load, fit, score. Whatever goes wrong becomes the reason in the cell."""

from __future__ import annotations

import io
import json
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..base import MatrixCompleter
from ..datasets import Dataset, DatasetUnavailableError
from ..metrics import error_rate, psnr, rmse, ssim
from .experiments import Case
from .methods import QUICK_LIMITS, TUNING_GRIDS, Entry
from .sources import load

OK, FAILED, NOT_RUN = "ok", "failed", "not run"


@dataclass(frozen=True)
class Cell:
    """One fit of one method to one data set under one seed.

    Attributes
    ----------
    bench : str
    case : Case
    entry : Entry
    seed : int
    quick : bool
    """

    bench: str
    case: Case
    entry: Entry
    seed: int
    quick: bool

    @property
    def place(self) -> tuple[str, str, str, int]:
        """Where the result goes; at most one result has a place."""
        return (self.case.group, self.case.name, self.entry.label, self.seed)

    def described(self) -> dict[str, Any]:
        """What was asked for, as columns."""
        return {
            "bench": self.bench,
            "group": self.case.group,
            "case": self.case.name,
            "x": self.case.x,
            "label": self.entry.label,
            "method": self.entry.method,
            "tuned": self.entry.tuned,
            "settings": json.dumps(dict(self.entry.params), sort_keys=True),
            "options": json.dumps(dict(self.case.options), sort_keys=True),
            "seed": self.seed,
            "quick": self.quick,
            "metric": self.case.metric,
        }


def measure(cell: Cell) -> dict[str, Any]:
    """Fit and score; never raises for what a method or a data set may do.

    Parameters
    ----------
    cell : Cell

    Returns
    -------
    dict
        Columns of the result beside those of `Cell.described`, and perhaps ``picture``, the
        completed image as PNG bytes.
    """
    begin = time.perf_counter()
    try:
        data = _loaded(cell.case.source, json.dumps(dict(cell.case.options)), cell.seed, cell.quick)
    except DatasetUnavailableError as error:
        return unfinished(NOT_RUN, f"data not available: {_one_line(error)}")
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            pattern = cell.entry.pattern and cell.case.pattern
            model, details = fitted(cell.entry, data, cell.seed, cell.quick, pattern)
            seconds = time.perf_counter() - begin
            return {**_scored(cell, data, model), **details, "seconds": seconds}
    except MemoryError as error:
        return unfinished(FAILED, f"needs too much memory: {_one_line(error)}"[:120])
    except np.linalg.LinAlgError as error:
        return unfinished(FAILED, f"singular system: {_one_line(error)}")
    except (ValueError, ArithmeticError, NotImplementedError, RuntimeError, KeyError) as error:
        return unfinished(FAILED, _one_line(error)[:120])


def fitted(
    entry: Entry, data: Dataset, seed: int, quick: bool = False, pattern: bool = False
) -> tuple[MatrixCompleter, dict[str, Any]]:
    """The method of an entry, tuned where asked for, and what is worth keeping of the fit.

    Parameters
    ----------
    entry : Entry
    data : Dataset
    seed : int
        Of the method and of the folds it is tuned on.
    quick : bool
        A few iterations and two choices.
    pattern : bool
        Give it the observation pattern as features of both sides.
    """
    from ..baselines import METHODS, tune

    method = METHODS[entry.method]
    model = method(**{"random_state": seed, "n_jobs": 1, **entry.params})
    if quick:
        known = model.get_params()
        model.set_params(**{key: value for key, value in QUICK_LIMITS.items() if key in known})
    row_graph = data.row_graph if method._uses_row_graph else None
    col_graph = data.col_graph if method._uses_col_graph else None
    if not entry.tuned:
        features = ("pattern", "pattern") if pattern else ()
        model.fit(data.observations, row_graph, col_graph, *features)
        return model, {"n_fits": 1, "found_rank": _rank(model)}
    grid = TUNING_GRIDS[entry.method]
    if quick:
        grid = {
            key: values[:2] if k == 0 else values[:1]
            for k, (key, values) in enumerate(grid.items())
        }
    result = tune(model, data.observations, row_graph, col_graph, grid=grid, random_state=seed)
    best = json.dumps(result.best_params, sort_keys=True)
    details = {"n_fits": result.n_fits, "chosen": best, "found_rank": _rank(result.estimator)}
    return result.estimator, details


def unfinished(status: str, reason: str) -> dict[str, Any]:
    """The result of a cell without a figure."""
    return {"status": status, "reason": reason}


def stopped(seconds: float) -> dict[str, Any]:
    """The result of a cell that took longer than it was given."""
    return unfinished(FAILED, f"stopped after {seconds:.0f} s")


def _scored(cell: Cell, data: Dataset, model: MatrixCompleter) -> dict[str, Any]:
    predicted = model.fitted_.mean(data.test_rows, data.test_cols)
    if not np.isfinite(predicted).all():
        return unfinished(FAILED, "diverged: predictions are not finite")
    out: dict[str, Any] = {"status": OK, "provenance": data.provenance}
    out["rmse"] = rmse(data.test_values, predicted)
    if cell.case.metric == "error_rate":
        out["error_rate"] = error_rate(data.test_values, predicted)
    if cell.case.metric == "psnr" and data.truth is not None:
        image = np.asarray(model.complete())
        out["psnr"], out["ssim"] = psnr(data.truth, image), ssim(data.truth, image)
        if cell.case.picture and cell.seed == 0:
            out["picture"] = _png(image)
            out["truth"], out["masked"] = _png(data.truth), _png(_seen(data))
    return out


@lru_cache(maxsize=2)
def _loaded(source: str, options: str, seed: int, quick: bool) -> Dataset:
    return load(source, json.loads(options), seed, quick)


def _rank(model: BaseEstimator) -> int | None:
    found = getattr(model, "rank_", None)
    return None if found is None else int(found)


def _seen(data: Dataset) -> np.ndarray[Any, Any]:
    """Observed pixels on white."""
    entries = data.observations
    image = np.full(entries.shape, 255.0)
    image[entries.row_indices, entries.col_indices] = entries.values
    return image


def _png(image: Any) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.clip(np.round(image), 0, 255).astype(np.uint8)).save(file, "PNG")
    return file.getvalue()


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def same_settings(cell: Cell, row: Mapping[str, Any]) -> bool:
    """Whether a kept result is the answer to what the cell asks."""
    asked = cell.described()
    return all(row.get(key) == asked[key] for key in asked)
