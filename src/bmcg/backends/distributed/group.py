"""The processes of one fit, and what they say to each other.

Every process runs the same program on its own share. What they agree on is made of the same
numbers in the same order, so that all of them decide alike.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray

from ..torch.array import DeviceArray

# How long a process that says nothing is waited for.
PATIENCE = timedelta(minutes=30)


class LostProcess(ConnectionError):
    """Another process of the fit has ended, or cannot be reached any more."""


@dataclass
class Traffic:
    """Bytes that this process has sent, each counted once however many receive it.

    Attributes
    ----------
    factors, scalars, entries : int
        Gathered arrays, reduced numbers, and observations on their way to their owners.
    """

    factors: int = 0
    scalars: int = 0
    entries: int = 0


@contextmanager
def _told() -> Any:
    """What a back end of communication raises, as a `LostProcess`."""
    try:
        yield
    except RuntimeError as error:
        raise LostProcess(
            "another process of this fit has ended, or cannot be reached: the fit ends here "
            f"({str(error).strip().splitlines()[-1][:200]})"
        ) from error


class Group:
    """The processes of a fit, in the order of their ranks.

    Attributes
    ----------
    rank, size : int
    traffic : Traffic
    """

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.traffic = Traffic()

    @property
    def is_first(self) -> bool:
        """Whether this process writes and speaks for all."""
        return self.rank == 0

    def gather(self, local: Any, bounds: Sequence[int], dtype: Any) -> Any:
        """Rows of all processes, (n, ...), where `local` lies and as it lies there."""
        on_device = isinstance(local, DeviceArray)
        own = local.astype(dtype, copy=False)
        tensor = own.tensor if on_device else torch.from_numpy(np.ascontiguousarray(own))
        whole = tensor.new_empty((bounds[-1], *tensor.shape[1:]))
        start, stop = bounds[self.rank], bounds[self.rank + 1]
        whole[start:stop] = tensor
        self.traffic.factors += tensor.numel() * tensor.element_size()
        if whole.is_cuda and self.size > 1:
            # A GPU would wait for a process that has ended; the host hears of it.
            self.all(np.zeros(1))
        with _told():
            for rank in range(self.size):
                part = whole[bounds[rank] : bounds[rank + 1]]
                if part.numel() and self.size > 1:
                    dist.broadcast(part, src=rank)
        return DeviceArray(whole) if on_device else whole.numpy()

    def total(self, x: Any) -> Any:
        """Σ over the processes, in the order of their ranks: the same bits for each of them."""
        own = np.asarray(x, dtype=np.float64)
        found = np.stack(self.all(own)).sum(axis=0)
        return found if own.ndim else np.float64(found)

    def all(self, own: NDArray[Any]) -> list[NDArray[Any]]:
        """Arrays of one shape of all processes."""
        sent = torch.from_numpy(np.ascontiguousarray(own).reshape(own.shape))
        room = [torch.empty_like(sent) for _ in range(self.size)]
        self.traffic.scalars += own.nbytes
        with _told():
            dist.all_gather(room, sent)
        return [part.numpy() for part in room]

    def texts(self, own: bytes) -> list[bytes]:
        """Bytes of all processes, of any length."""
        lengths = [int(n) for n in np.ravel(self.all(np.array([len(own)], dtype=np.int64)))]
        bounds = np.concatenate(([0], np.cumsum(lengths))).tolist()
        whole = self.gather(np.frombuffer(bytearray(own), dtype=np.uint8), bounds, np.uint8)
        return [whole[start:stop].tobytes() for start, stop in pairwise(bounds)]

    def counts(self, own: NDArray[np.int64]) -> NDArray[np.int64]:
        """Whole numbers of all processes added up."""
        whole = torch.from_numpy(own.astype(np.int64))
        self.traffic.scalars += own.nbytes
        with _told():
            dist.all_reduce(whole)
        return whole.numpy()

    def exchange(self, array: NDArray[Any], owners: NDArray[Any]) -> NDArray[Any]:
        """Each number to the process that owns it; those for one owner stay in order."""
        order = np.argsort(owners, kind="stable")
        sizes = np.bincount(owners, minlength=self.size).astype(np.int64)
        coming = [int(row[self.rank]) for row in self.all(sizes)]
        sent = torch.from_numpy(np.ascontiguousarray(array[order]))
        out = sent.new_empty(sum(coming))
        self.traffic.entries += array.nbytes
        with _told():
            dist.all_to_all_single(out, sent, coming, sizes.tolist())
        return out.numpy()

    def agreed(self, do: Callable[[], Any]) -> Any:
        """What `do` gives, unless it fails in any process: then all of them fail with its words."""
        found, said = None, b""
        try:
            found = do()
        except Exception as error:
            mine, said = error, str(error).encode() or b"?"
        for text in self.texts(said):
            if text:
                if text == said:
                    raise mine
                raise ValueError(text.decode())
        return found


def is_one_of_many() -> bool:
    """Whether this process was started as one of several, by torchrun or the like."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ and "MASTER_ADDR" in os.environ


_group: Group | None = None


def connect() -> Group:
    """The group of this process; the first call meets the others."""
    global _group
    if _group is not None and dist.is_initialized():
        return _group
    if not dist.is_available():
        raise RuntimeError("this build of PyTorch has no torch.distributed")
    if not dist.is_initialized():
        if not is_one_of_many():
            raise RuntimeError(
                "no other processes to share a fit with: start them by "
                "torchrun --nproc-per-node N, or call torch.distributed.init_process_group first"
            )
        gpu = torch.cuda.is_available() and dist.is_nccl_available() and _one_gpu_each()
        kinds = "cpu:gloo,cuda:nccl" if gpu else "gloo"
        with _told():
            dist.init_process_group(kinds, timeout=PATIENCE)
    _group = Group()
    return _group


def speaks_first() -> bool:
    """Whether no other process has said yet what went wrong."""
    try:
        return int(dist.distributed_c10d._get_default_store().add("bmcg/said", 1)) == 1
    except (RuntimeError, ValueError):
        # Whoever kept the count has ended: the first process, or the one before all others.
        return _group is None or _group.rank <= 1


def local_rank() -> int:
    """Which of the processes on this machine this is."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def local_size() -> int:
    """How many processes this machine has."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def _one_gpu_each() -> bool:
    return torch.cuda.device_count() >= local_size()


def disconnect() -> None:
    """Leave the group; for the end of a program."""
    global _group
    _group = None
    if dist.is_initialized():
        dist.destroy_process_group()
