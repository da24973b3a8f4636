"""Which machine a fit is done on: the cores here, or a GPU by way of PyTorch.

PyTorch is an extra, and slow to import: nothing here does so unless a GPU may be used.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..memory import Work
from .base import Backend
from .numba.backend import open_backend

__all__ = ["Work", "check_device", "chosen", "grouping_on", "open_device"]

# Entries from which a GPU is worth waking up for.
LARGE = 5_000_000


def check_device(device: Any) -> None:
    """Raise where a device is not there, with the way out."""
    if device in ("auto", "cpu"):
        return
    if not isinstance(device, str) or not re.fullmatch(r"torch|cuda(:\d+)?", device):
        raise ValueError(
            f'device={device!r}: choose "auto", "cpu", "cuda" or one GPU, such as "cuda:1"'
        )
    if importlib.util.find_spec("torch") is None:
        raise ImportError(
            f"device={device!r} needs PyTorch, which is not installed: "
            'pip install "bmcg[gpu]", or use device="cpu"'
        )
    if device != "torch":
        _check_gpu(device)


def _check_gpu(device: str) -> None:
    import torch

    if not torch.cuda.is_available():
        built = torch.version.cuda is not None
        why = "finds no GPU or no driver for it" if built else "was built without CUDA"
        raise ValueError(
            f"device={device!r}: PyTorch {torch.__version__} {why}; install a build for CUDA (see "
            'pytorch.org) on a machine with a GPU, or use device="cpu"'
        )
    number, count = int(device.partition(":")[2] or 0), torch.cuda.device_count()
    if number >= count:
        raise ValueError(f"device={device!r}: there are {count} GPUs, numbered from 0")


def chosen(device: str, work: Work | None) -> str:
    """What "auto" means: a GPU where one is there and there is enough to do."""
    if device != "auto":
        return device
    if work is None or work.entries < LARGE or work.kind == "column":
        return "cpu"
    if importlib.util.find_spec("torch") is None:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def grouping_on(device: str, entries: int) -> Any:
    """Who sorts so many entries: a function for `observations.grouped_by`, or None for the host."""
    where = chosen(device, Work(0, 0, entries, 0, "row"))
    if entries < LARGE or not where.startswith("cuda"):
        return None
    from .torch.grouping import DeviceGrouping

    return DeviceGrouping(where)


@contextmanager
def open_device(
    device: str, n_jobs: int | None, work: Work | None = None, group: Any = None
) -> Iterator[Backend]:
    """The back end of a device; threads and memory are given back with the block.

    Parameters
    ----------
    device : str
        As `check_device` has it.
    n_jobs : int or None
        Threads of the host.
    work : Work, optional
        What it is for: entries that do not fit stay on the host, and what does not fit even so is
        refused before anything is done.
    group : Group, optional
        Processes that share the work, each on cores, or on a GPU, of its own.
    """
    if group is not None:
        from .distributed.backend import DistributedBackend
        from .distributed.places import jobs_of, place_of

        device, n_jobs = place_of(chosen(device, work)), jobs_of(n_jobs)
        with open_device(device, n_jobs, None if work is None else work.share(group.size)) as own:
            yield DistributedBackend(own, group)
        return
    where = chosen(device, work)
    if where == "cpu":
        with open_backend(n_jobs) as backend:
            yield backend
        return
    from .torch.backend import TorchBackend
    from .torch.memory import streams

    target = "cpu" if where == "torch" else where
    on_device = TorchBackend(
        target, n_jobs=n_jobs, stream=work is not None and streams(target, work)
    )
    try:
        yield on_device
    finally:
        on_device.close()
