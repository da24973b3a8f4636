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


def attack_many(name: str, seed: int, first: int, n: int, found: Any, folder: str) -> None:
    """Attack one reader, or the public calls, with some of the inputs of a seed."""
    import resource

    from .calls import call_at_random
    from .readers import READERS
    from .strangers import edited_file

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    outcomes: Counter[str] = Counter()
    at = Path(folder)
    for number in range(first, first + n):
        r = Random(f"{seed} {name} {number}")
        try:
            if name == "calls":
                outcomes[call_at_random(r)] += 1
            elif name.startswith("edited "):
                outcomes[edited_file(name.partition(" ")[2], r, at)] += 1
            else:
                data = READERS[name].drawn(r)
                (at.parent / f"{name}.last").write_bytes(data)
                outcomes[READERS[name].attack(data, at)] += 1
        except BaseException as error:
            outcomes["findings"] += 1
            found.put(("finding", name, number, f"{type(error).__name__}: {error}"[:500]))
        for left in at.iterdir():
            left.unlink()
    found.put(("done", name, n, dict(outcomes)))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def run(name: str, seed: int, first: int, n: int) -> tuple[Counter[str], list[str]]:
    """A batch in a process of its own; one that ends by itself is a finding."""
    context = multiprocessing.get_context("forkserver")
    # Processes begin where all is imported and the first files are made.
    context.set_forkserver_preload(["tests.fuzz.warm"])
    found: Any = context.SimpleQueue()
    outcomes: Counter[str] = Counter()
    findings: list[str] = []
    base = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with TemporaryDirectory(dir=base) as folder:
        (Path(folder) / "work").mkdir()
        arguments = (name, seed, first, n, found, str(Path(folder) / "work"))
        process = context.Process(target=attack_many, args=arguments)
        process.start()
        while process.is_alive() or not found.empty():
            if found.empty():
                time.sleep(0.05)
                continue
            kind, _, number, what = found.get()
            if kind == "done":
                outcomes.update(what)
            else:
                findings.append(f"{name}, seed {seed}, input {number}: {what}")
        process.join()
        if process.exitcode:
            findings.append(f"{name}, seed {seed}, inputs from {first}: ended {process.exitcode}")
    return outcomes, findings
