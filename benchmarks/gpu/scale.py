"""What sizes take that nobody has measured: computed from what one GPU, and one core, do."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

# Entries, rows, columns: one that fits a GPU, and one that does not.
SHAPES = {"1e9": (10**9, 2_000_000, 200_000), "1e11": (10**11, 20_000_000, 2_000_000)}
# Components and the bias.
K = 33
# Bytes a second that are the makers', not measured here: NVLink one way, a network of 400 Gbit/s.
NVLINK, NETWORK = 450e9, 50e9
# Memory of a GPU that may be counted on, and GPUs of one machine.
GPU, IN_ONE = 0.95 * 139 * 2**30, 8


def bandwidths() -> dict[str, float]:
    """Bytes a second of copies of 2 GiB: within the GPU (read and written), to it and from it."""
    import torch

    n = 1 << 31
    here = torch.empty(n, dtype=torch.uint8, device="cuda")
    there, pinned = torch.empty_like(here), torch.empty(n, dtype=torch.uint8, pin_memory=True)
    pinned.zero_()
    out = {}
    for name, goal, source, times in (
        ("within", there, here, 2),
        ("to", here, pinned, 1),
        ("from", pinned, here, 1),
    ):
        seconds = []
        for _ in range(6):
            torch.cuda.synchronize()
            began = time.perf_counter()
            goal.copy_(source, non_blocking=True)
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - began)
        out[name] = times * n / float(np.median(seconds[1:]))
    return out


def sent(shape: tuple[int, int, int]) -> float:
    """Bytes of the factors that all processes together send in a draw."""
    _, m, n = shape
    return 4.0 * (m * K + n * (2 * K + 1))


def needed(shape: tuple[int, int, int], size: int) -> float:
    """Bytes on each of `size` GPUs: entries and blocks in shares, factors whole."""
    entries, m, n = shape
    block = 4.0 * (K + 1) * (K + 2) / 2
    return (16.0 * entries + 3.0 * block * m) / size + 40.0 * (K + 1) * (m + n)


def draw_seconds(shape: tuple[int, int, int], size: int, an_entry: float) -> float:
    """A draw on several GPUs: entries in shares, factors of the others received."""
    wire = NVLINK if size <= IN_ONE else NETWORK
    return an_entry * shape[0] / size + sent(shape) * (size - 1) / size / wire


def fewest(shape: tuple[int, int, int]) -> int:
    """GPUs that hold it, a power of two."""
    size = 1
    while needed(shape, size) > GPU:
        size *= 2
    return size


def table(found: dict[str, dict[str, Any]]) -> list[tuple[str, ...]]:
    """Machines, and what a draw of each size takes there; empty where lines are missing."""
    if not {"1e8", "1e9", "core", "host", "bandwidth"} <= set(found):
        return []
    gpu = found["1e9"]["sampled"]["seconds_a_sweep"] / 1e9
    cores = {"one core": found["core"], "16 cores": found["host"]}
    rows = []
    for name, one in cores.items():
        times = [one["seconds_a_sweep"] / one["entries"] * SHAPES[s][0] for s in SHAPES]
        held = [_size(24.0 * SHAPES[s][0]) for s in SHAPES]
        cells = [f"{_time(t)}, {h}" for t, h in zip(times, held, strict=True)]
        rows.append((name, *cells, "linear from 1e7 entries" if name == "one core" else "from 1e8"))
    peak = found["1e9"]["sampled"]["peak_gb"]
    # Pieces pass while others are worked on: the slower of the two counts.
    streamed = max(gpu * 1e11, 16.0 * SHAPES["1e11"][0] / found["bandwidth"]["to"])
    rows.append(
        ("one GPU", f"{_time(gpu * 1e9)}, {peak:.0f} GB",
         f"{_time(streamed)}, {_size(24.0 * 1e11)} on the host", "1e9 measured; 1e11 streamed")
    )  # fmt: skip
    for size in (IN_ONE, fewest(SHAPES["1e11"]), 64):
        cells = []
        for shape in SHAPES.values():
            seconds, need = draw_seconds(shape, size, gpu), needed(shape, size)
            if need > GPU:
                seconds = max(seconds, 16.0 * shape[0] / size / found["bandwidth"]["to"])
                cells.append(f"{_time(seconds)}, {_size(24.0 * shape[0])} on the host")
            else:
                cells.append(f"{_time(seconds)}, {_size(need)} each")
        rows.append((f"{size} GPUs", *cells, "computed"))
    return rows


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _size(n: float) -> str:
    return f"{n / 1e12:.1f} TB" if n >= 1e12 else f"{n / 1e9:.0f} GB"
