"""A plugin of pytest that notes which functions of the package every test calls.

    MUTATION_PACKAGE=…/src/bmcg MUTATION_MAP=… python -m pytest -p benchmarks.mutation.watching …

Compiled kernels are not seen; `choosing` finds them through what calls them. A test that takes
more than MUTATION_CAP seconds of a processor is ended, and not noted: it would not be chosen. Nor
is one that fails without any fault.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from types import CodeType, FrameType
from typing import Any

import pytest

PACKAGE = os.environ.get("MUTATION_PACKAGE", "") + "/"
CAP = float(os.environ.get("MUTATION_CAP", "10"))
seen: set[CodeType] = set()
failed: set[str] = set()


class TooSlow(BaseException):
    """Ends a test."""


def _end(*_: Any) -> None:
    raise TooSlow


def _watch(frame: FrameType, event: str, arg: Any) -> None:
    seen.add(frame.f_code)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any) -> Any:
    """Watch one test, and write a line: its name, its seconds, files and functions."""
    seen.clear()
    failed.clear()
    threading.settrace(_watch)
    sys.settrace(_watch)
    began, clock = time.process_time(), time.perf_counter()
    yield
    sys.settrace(None)
    threading.settrace(None)
    took = time.process_time() - began, time.perf_counter() - clock
    called = sorted(
        {(code.co_filename.removeprefix(PACKAGE), code.co_qualname) for code in seen
         if code.co_filename.startswith(PACKAGE)}
    )  # fmt: skip
    if failed:
        return
    with open(os.environ["MUTATION_MAP"], "a", encoding="utf-8") as file:
        file.write(json.dumps([item.nodeid, *took, called]) + "\n")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Any:
    """End a test that is too slow; what it shares with others is made in peace."""
    before = signal.signal(signal.SIGVTALRM, _end)
    signal.setitimer(signal.ITIMER_VIRTUAL, CAP)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def pytest_runtest_logreport(report: Any) -> None:
    """Note what fails."""
    if report.failed:
        failed.add(report.nodeid)
