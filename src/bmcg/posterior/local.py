"""What low rank leaves over, at every cell of the table that was fitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..inference.local import Local

Array = NDArray[np.float64]


class LocalTerm(NamedTuple):
    """Moments of the local term, in the units of the fit.

    Attributes
    ----------
    mean, variance : ndarray of shape (m, n)
    """

    mean: Array
    variance: Array

    @classmethod
    def from_fit(cls, local: Local | None) -> LocalTerm | None:
        """What a fit leaves of it."""
        return None if local is None else cls(local.mean, local.variance)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> LocalTerm | None:
        """Of a model file, where it has one."""
        if "local_mean" not in arrays:
            return None
        return cls(arrays["local_mean"], arrays["local_variance"])


def refuse_local(local: LocalTerm | None, why: str) -> None:
    """Raise where there is a local term, which what is asked has no place for."""
    if local is not None:
        raise ValueError(
            f"{why}: this model has a local term, known at the cells of its own table alone; fit "
            "the whole table again, or fit with local=None"
        )
