"""What the process may still take: of the machine, of its control group, of its limits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

GIB = float(2**30)
# Gigabytes that this package may count on, in the place of what is found here.
VARIABLE = "BMCG_MEMORY"

_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")


class Left(NamedTuple):
    """Bytes that are left, and of what.

    Attributes
    ----------
    bytes : float
        Infinite where nothing is known.
    of : str
    """

    bytes: float
    of: str


def left() -> Left:
    """The least of all that bounds this process."""
    given = os.environ.get(VARIABLE, "")
    if given:
        return _given(given)
    found = [*_machine(), *_limits(), *_groups()]
    return min(found, default=Left(float("inf"), "nothing that is known"))


def _given(text: str) -> Left:
    try:
        size = float(text) * GIB
    except ValueError:
        size = -1.0
    if not size > 0.0:
        raise ValueError(f"{VARIABLE}={text}: pass gigabytes, such as 8, or leave it unset")
    return Left(max(size - _held(1), 0.0), f"{VARIABLE}={text}")


def _held(which: int) -> float:
    """Bytes of the process: its address space (0), what is resident (1), its data (5)."""
    try:
        pages = (_PROC / "self" / "statm").read_text().split()
        return float(pages[which]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0.0


def _machine() -> Iterator[Left]:
    """What the machine can give without the killer: free, cached and swap."""
    try:
        lines = (_PROC / "meminfo").read_text().splitlines()
        sizes = {
            name: float(rest.split()[0]) for name, _, rest in (s.partition(":") for s in lines)
        }
        free = 1024.0 * (sizes["MemAvailable"] + sizes.get("SwapFree", 0.0))
    except (OSError, ValueError, IndexError, KeyError):
        return
    yield Left(free, "the memory of this machine")


def _limits() -> Iterator[Left]:
    """What limits of the process leave, such as those of ulimit."""
    try:
        import resource
    except ImportError:
        return
    for name, which, of in (
        ("RLIMIT_AS", 0, "the limit on its address space (ulimit -v)"),
        ("RLIMIT_DATA", 5, "the limit on its data (ulimit -d)"),
    ):
        limit = resource.getrlimit(getattr(resource, name))[0] if hasattr(resource, name) else -1
        if limit not in (-1, resource.RLIM_INFINITY):
            yield Left(max(limit - _held(which), 0.0), of)


def _groups() -> Iterator[Left]:
    """What control groups leave, those of containers and batch systems, with all above them."""
    try:
        lines = (_PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        kinds, own = line.split(":", 2)[1:]
        if kinds == "":
            top, names = _GROUPS, ("memory.max", "memory.current", "inactive_file")
        elif kinds == "memory":
            top = _GROUPS / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        place = top / own.lstrip("/")
        for folder in (place, *place.parents):
            if folder == top.parent:
                break
            yield from _group(folder, *names)


def _group(folder: Path, most: str, used: str, cached: str) -> Iterator[Left]:
    try:
        limit, now = (float((folder / name).read_text()) for name in (most, used))
        stat = (folder / "memory.stat").read_text().split()
    except (OSError, ValueError):  # no such file, or "max"
        return
    # Files that were read and may be dropped count as used.
    again = float(stat[stat.index(cached) + 1]) if cached in stat else 0.0
    yield Left(max(limit - now + again, 0.0), "the memory of its control group")
