"""Fits on a device, timed sweep by sweep, from arrays of the host to a model file."""

from __future__ import annotations

import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bmcg import BMCG


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


class Clock:
    """When each sweep had ended, work on the device included."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def __call__(self, *args: Any) -> None:
        _wait()
        self.times.append(time.perf_counter())


class Short(BMCG):
    """With a burn-in of so many sweeps."""

    burn_in = 2

    def _settings(self, *given: Any) -> Any:
        return replace(super()._settings(*given), burn_in=self.burn_in)


def timed_fit(
    X: Any, *, save: bool = True, keep: bool = False, burn_in: int = 0, **options: Any
) -> dict[str, Any]:
    """A fit with the times of its parts.

    Parameters
    ----------
    X : coo_array
    save : bool
        Whether its model is written, to a folder that goes afterwards.
    keep : bool
        Whether the model is handed back, under "model".
    burn_in : int
        Sweeps of the burn-in, where it is not to end by itself.
    **options
        Of `BMCG`.
    """
    from bmcg.inference import chain, variational

    clock = Clock()
    step, sweep = chain.Chain.step, variational._Loop._step

    def after_draw(self: Any) -> None:
        step(self)
        clock()

    def after_sweep(self: Any, *given: Any) -> Any:
        found = sweep(self, *given)
        clock()
        return found

    chain.Chain.step, variational._Loop._step = after_draw, after_sweep  # type: ignore[method-assign]
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    _wait()
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graphs = {name: options.pop(name, None) for name in ("row_graph", "col_graph")}
            kind = BMCG
            if burn_in:
                kind, Short.burn_in = Short, burn_in
            model = kind(random_state=0, **options).fit(X, **graphs)
    finally:
        chain.Chain.step, variational._Loop._step = step, sweep  # type: ignore[method-assign]
    fitted = time.perf_counter()
    size, ended = 0, fitted
    if save:
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model.safetensors")
            ended = time.perf_counter()
            size = (Path(folder) / "model.safetensors").stat().st_size
    out = _parts(clock.times, began, fitted, ended) | {
        "file_gb": size / 1e9,
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9,
        "reserved_gb": torch.cuda.max_memory_reserved() / 1e9,
        "noise": model.noise_std_,
        "bound": float(model.elbo_trace_[-1]),
    }
    return out | ({"model": model} if keep else {})


def _parts(times: list[float], began: float, fitted: float, ended: float) -> dict[str, Any]:
    """Seconds of the parts of a fit whose sweeps ended at `times`."""
    gaps = np.diff(times)
    return {
        "sweeps": len(times),
        "seconds_a_sweep": float(np.median(gaps)) if len(gaps) else np.nan,
        "slowest": float(gaps.max()) if len(gaps) else np.nan,
        "before_first_sweep": times[0] - began,
        "sweeping": times[-1] - times[0],
        "after_last_sweep": fitted - times[-1],
        "saving": ended - fitted,
        "whole": ended - began,
    }
