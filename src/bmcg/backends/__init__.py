"""Where the arithmetic is done: the operations, and the machines that do them."""

from functools import cache

from .base import Backend, SparseRows, host
from .numba.backend import NumbaBackend, open_backend
from .numba.threads import count_jobs

__all__ = [
    "Backend",
    "NumbaBackend",
    "SparseRows",
    "count_jobs",
    "default_backend",
    "host",
    "open_backend",
]


@cache
def default_backend() -> Backend:
    """For callers that were given none: this thread alone."""
    return NumbaBackend(1)
