"""A plugin of pytest that notes which functions of the package every test calls.

    MUTATION_PACKAGE=…/src/bmcg MUTATION_MAP=… python -m pytest -p benchmarks.mutation.watching …

Compiled kernels are not seen; `choosing` finds them through what calls them.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from types import CodeType, FrameType
from typing import Any

import pytest

PACKAGE = os.environ.get("MUTATION_PACKAGE", "") + "/"
seen: set[CodeType] = set()


def _watch(frame: FrameType, event: str, arg: Any) -> None:
    seen.add(frame.f_code)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any) -> Any:
    """Watch one test, and write a line: its name, its seconds, files and functions."""
    seen.clear()
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
    with open(os.environ["MUTATION_MAP"], "a", encoding="utf-8") as file:
        file.write(json.dumps([item.nodeid, *took, called]) + "\n")
