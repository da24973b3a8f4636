"""What all tests share."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_blas_thread():
    """Small matrices gain nothing from BLAS threads, which only fight over busy cores."""
    with threadpool_limits(1):
        yield
