"""Batches of attacks, each in a process of its own with a limit on memory."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

# Bytes that an attacked process may take.
MEMORY = 4 << 30
# Seconds of a processor, and of the clock, after which an input that compiled code does not let go
# of is ended: where it does, verdicts end it sooner.
BUSY, PATIENCE = 45, 330.0
KINDS = ("answered", "refused", "findings")


def attack_many(name: str, seed: int, last: int, state: Any, found: Any, folder: str) -> None:
    """Attack one reader, or the public calls, with the inputs of a seed up to one.

    `state` holds the number of the next input, and how many ended as `KINDS` says.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    at = Path(folder)
    while state[0] < last:
        number = state[0]
        used = int(time.process_time())
        resource.setrlimit(resource.RLIMIT_CPU, (used + BUSY, resource.RLIM_INFINITY))
        try:
            outcome: str = _attack(name, Random(f"{seed} {name} {number}"), at)
        except BaseException as error:
            outcome = "findings"
            found.put((number, f"{type(error).__name__}: {error}"[:500]))
        state[1 + KINDS.index(outcome)] += 1
        state[0] = number + 1
        for left in at.iterdir():
            left.unlink()


def _attack(name: str, r: Random, at: Path) -> str:
    from .calls import call_at_random
    from .readers import READERS
    from .strangers import edited_file

    if name == "calls":
        return call_at_random(r)
    if name.startswith("edited "):
        return edited_file(name.partition(" ")[2], r, at)
    return READERS[name].attack(READERS[name].drawn(r), at)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def run(name: str, seed: int, first: int, n: int) -> tuple[Counter[str], list[str]]:
    """A batch in a process of its own; one that ends, or does not, is a finding, and goes on."""
    context = multiprocessing.get_context("forkserver")
    # Processes begin where all is imported and the first files are made.
    context.set_forkserver_preload(["tests.fuzz.warm"])
    state: Any = context.Array("q", [first, 0, 0, 0])
    findings: list[str] = []
    base = "/dev/shm" if os.path.isdir("/dev/shm") else None
    while state[0] < first + n:
        with TemporaryDirectory(dir=base) as folder:
            found: Any = context.SimpleQueue()
            arguments = (name, seed, first + n, state, found, folder)
            process = context.Process(target=attack_many, args=arguments)
            process.start()
            said = _watch(process, state, found)
            if process.exitcode:
                said.append((state[0], f"ended {process.exitcode}"))
                state[3] += 1
                state[0] += 1
            findings += [f"{name}, seed {seed}, input {number}: {what}" for number, what in said]
    return Counter(dict(zip(KINDS, state[1:], strict=True))), findings


def _watch(process: Any, state: Any, found: Any) -> list[tuple[int, str]]:
    """What a process finds, until it ends or is ended."""
    said, at, since = [], state[0], time.monotonic()
    while process.is_alive() or not found.empty():
        if not found.empty():
            said.append(found.get())
            continue
        if state[0] != at:
            at, since = state[0], time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            process.kill()
        time.sleep(0.05)
    process.join()
    return said
