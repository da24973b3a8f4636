"""Say so when the first fit compiles kernels, which takes a while and happens once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

from .outcome import say


class _Announcer(event.Listener):
    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        if not self.said:
            self.said = True
            say("compiling kernels: only the first fit after installation does this")

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def announced_compilation(verbose: bool) -> Iterator[None]:
    """Tell a person at a terminal, or one who asked, that kernels are being compiled."""
    if not (verbose or sys.stderr.isatty()):
        yield
        return
    with event.install_listener("numba:compile", _Announcer()):
        yield
