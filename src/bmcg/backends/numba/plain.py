"""Few numbers, in NumPy: a kernel would take longer to load than they take to compute."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ..base import Array, Backend, Pair
from ..packed import pack, unpack

P = ParamSpec("P")
R = TypeVar("R")

# Numbers of the largest array of a call: some milliseconds of LAPACK.
SMALL = 1 << 15


class PlainBackend(Backend):
    """The reference, with blocks taken all at once where it takes one after the other."""

    def invert_blocks(self, P: Array) -> Pair:
        """P_i⁻¹ and log|P_i|, NaN where a block is not positive definite."""
        try:
            L = np.linalg.cholesky(unpack(P))
        except np.linalg.LinAlgError:
            return super().invert_blocks(P)
        roots = np.linalg.inv(L)
        logs = 2.0 * np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
        return pack(roots.transpose(0, 2, 1) @ roots), logs

    def draw_rows(self, P: Array, h: Array, z: Array) -> Array:
        """P_i⁻¹ h_i + L_i⁻ᵀ z_i with P_i = L_i L_iᵀ, NaN where a block is not positive definite."""
        try:
            L = np.linalg.cholesky(unpack(P))
        except np.linalg.LinAlgError:
            return super().draw_rows(P, h, z)
        y = np.linalg.solve(L, h[:, :, None]) + z[:, :, None]
        return np.linalg.solve(L.transpose(0, 2, 1), y)[:, :, 0]


PLAIN = PlainBackend()


def plain_if_small(method: Callable[P, R]) -> Callable[P, R]:
    """The operation as `PlainBackend` does it where no array is large."""
    name = method.__name__

    @wraps(method)
    def call(*given: P.args, **options: P.kwargs) -> R:
        arrays: Any = (x.size for x in given if isinstance(x, np.ndarray))
        if max(arrays) > SMALL:
            return method(*given, **options)
        plain: R = getattr(PLAIN, name)(*given[1:], **options)
        return plain

    return call
