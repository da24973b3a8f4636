"""Where each of the processes of a machine does its work."""

from __future__ import annotations

import torch

from ..numba.threads import count_jobs
from .group import local_rank, local_size


def place_of(where: str) -> str:
    """The device of this process: with "cuda", one GPU each as long as there are any."""
    if where != "cuda":
        return where
    return f"cuda:{local_rank() % torch.cuda.device_count()}"


def jobs_of(n_jobs: int | None) -> int | None:
    """Threads of this process; by default the machine's cores are divided."""
    return n_jobs if n_jobs is not None else max(1, count_jobs(None) // local_size())
