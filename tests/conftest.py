"""What all tests share."""

from __future__ import annotations

import signal

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_blas_thread():
    """Small matrices gain nothing from BLAS threads, which only fight over busy cores."""
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True, scope="session")
def interrupts_are_heard():
    """What a shell starts in the background ignores Ctrl-C, and tests of it would wait for ever."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
