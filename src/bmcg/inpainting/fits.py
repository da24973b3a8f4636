"""Fits that are parts of a whole: Ctrl-C ends the whole, not the fit it happens to meet.

A fit by itself ends at Ctrl-C with what it has. Of many fits in turn, that would be one of them,
and the others would go on.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ..estimators import BMCG

_heard = False


@contextmanager
def interrupts_heard() -> Iterator[None]:
    """Note every SIGINT, also one that some fit keeps to itself, until the block ends."""
    global _heard
    before = signal.getsignal(signal.SIGINT)
    # Signals come to the main thread, and a handler that is not Python's cannot be called.
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        global _heard
        _heard = True
        before(number, frame)

    _heard = False
    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _heard = False


def fit_whole(parameters: dict[str, Any], *data: Any) -> BMCG:
    """A variational fit, and KeyboardInterrupt if it was interrupted."""
    model = BMCG(**{"posterior": "variational", **parameters}).fit(*data)
    if _heard or model.stop_reason_ == "interrupted":
        raise KeyboardInterrupt
    return model
