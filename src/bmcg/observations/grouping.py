"""A counting sort that groups triples by one position, in time and memory linear in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import exact

# Who else may do it, if anyone: a device that the triples are meant for.
_elsewhere: ContextVar[Callable[..., Any] | None] = ContextVar("elsewhere", default=None)

# Triples that a sort takes no time for; the kernel would have to be loaded.
FEW = 1 << 14
Grouped = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]


@contextmanager
def grouped_by(function: Callable[..., Any] | None) -> Iterator[None]:
    """Have `group` done by another function, which may give None to have it done here."""
    token = _elsewhere.set(function)
    try:
        yield
    finally:
        _elsewhere.reset(token)


def group(
    major: NDArray[np.int32], minor: NDArray[np.int32], values: NDArray[np.float64], n: int
) -> Grouped:
    """Triples grouped by `major`; within a group they keep their order.

    Parameters
    ----------
    major, minor : ndarray of int32, shape (n_triples,)
        `major` below n.
    values : ndarray of shape (n_triples,)
    n : int
        Number of groups.

    Returns
    -------
    indptr : ndarray of int64, shape (n + 1,)
    minor : ndarray of int32, shape (n_triples,)
    values : ndarray of shape (n_triples,)
    """
    elsewhere = _elsewhere.get()
    found: Grouped | None = None if elsewhere is None else elsewhere(major, minor, values, n)
    if found is not None:
        return found
    indptr = pointers(major, n)
    if len(values) <= FEW:
        order = np.argsort(major, kind="stable")
        return indptr, minor[order], values[order]
    out_minor, out_values = np.empty(len(values), np.int32), np.empty(len(values))
    _scatter(major, minor, values, indptr[:-1].copy(), out_minor, out_values)
    return indptr, out_minor, out_values


def transpose(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[np.float64], n: int
) -> Grouped:
    """Groups of one side turned into the `n` groups of the other, members ascending.

    Entries that share both positions keep their order.
    """
    return group(indices, members(indptr), values, n)


def pointers(major: NDArray[np.integer], n: int) -> NDArray[np.int64]:
    """Where each of n groups starts, and the end, shape (n + 1,)."""
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(major, minlength=n), out=indptr[1:])
    return indptr


def members(indptr: NDArray[np.int64]) -> NDArray[np.int32]:
    """The group of every entry, shape (n_entries,)."""
    return np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))


@exact
def _scatter(major, minor, values, cursor, out_minor, out_values):  # type: ignore[no-untyped-def]
    for p in range(len(values)):
        at = cursor[major[p]]
        cursor[major[p]] = at + 1
        out_minor[at] = minor[p]
        out_values[at] = values[p]
