"""Where a fit spends its time: functions of the host, and kernels of the device."""

from __future__ import annotations

import cProfile
import pstats
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from bmcg import BMCG

MOST = 25


def by_kernel(work: Callable[[], Any]) -> list[tuple[str, int, float]]:
    """Name, calls and milliseconds of what takes longest on the device."""
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as found:
        work()
        torch.cuda.synchronize()
    rows = [(e.key[:70], e.count, e.self_device_time_total / 1e3) for e in found.key_averages()]
    return sorted(rows, key=lambda row: -row[2])[:MOST]


def by_function(work: Callable[[], Any]) -> list[tuple[str, int, float]]:
    """Name, calls and seconds, callees included, of what takes longest on the host."""
    profiler = cProfile.Profile()
    profiler.runcall(work)
    stats: Any = pstats.Stats(profiler)
    rows = [
        (f"{Path(name).name}:{line} {function}", calls, total)
        for (name, line, function), (calls, _, _, total, _) in stats.stats.items()
    ]
    return sorted(rows, key=lambda row: -row[2])[: 3 * MOST]


def profiled(X: Any, save: bool = True, **options: Any) -> dict[str, Any]:
    """Both of a fit with these options, functions first."""

    def work() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = BMCG(random_state=0, **options).fit(X)
        if save:
            with tempfile.TemporaryDirectory() as folder:
                model.save(Path(folder) / "model.safetensors")

    return {"functions": by_function(work), "kernels": by_kernel(work)}
