"""What the authors' codes do and ours do not, so that figures can be compared."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bmcg.backends import SparseRows
from bmcg.base import MatrixCompleter
from bmcg.baselines import GPMF, METHODS, VBMC
from bmcg.datasets import Dataset
from bmcg.inference.state import Gamma
from bmcg.observations import Observations


def drand48(count: int) -> NDArray[np.float64]:
    """The first numbers of the POSIX generator seeded with 1: x ← ax + c mod 2⁴⁸."""
    x = (1 << 16) + 0x330E
    out = np.empty(count)
    for i in range(count):
        x = (0x5DEECE66D * x + 0xB) & ((1 << 48) - 1)
        out[i] = x / 2**48
    return out


def _authors_factors(self: Any, shape: tuple[int, int]) -> tuple[Any, Any]:
    """The factors that the authors' C++ code draws."""
    m, n = shape
    U, V = np.split(drand48(self.rank * (m + n)).reshape(m + n, self.rank), [m])
    return U, V


def _all_positions(data: Dataset) -> Observations:
    """Training and test positions; values do not matter."""
    observations = data.observations
    rows = np.concatenate((observations.row_indices, data.test_rows))
    cols = np.concatenate((observations.col_indices, data.test_cols))
    return Observations.from_triples(rows, cols, np.ones(len(rows)), shape=observations.shape)


def _reading_test_positions(data: Dataset) -> type[MatrixCompleter]:
    """GPMF whose scores count test positions as observed, as the published script does."""
    everything = _all_positions(data)
    views = cycle((everything.by_row, everything.by_col))

    class TestPositions(GPMF):
        def _score(self, side: SparseRows, U: Any, V: Any, graph: Any) -> Any:
            view = next(views)
            wider = SparseRows(view.indptr, view.indices, view.values, side.backend)
            return super()._score(wider, U, V, graph)

    TestPositions.__init__ = GPMF.__init__  # type: ignore[method-assign]
    TestPositions._start = _authors_factors  # type: ignore[method-assign]
    return TestPositions


class AuthorsStart(VBMC):
    """VBMC started in the units of the data: λ at the size s of the data, which is s² in ours."""

    __init__ = VBMC.__init__

    def _start(self, observations: Observations, scale: float) -> Any:
        start = super()._start(observations, scale)
        return replace(start, lam=Gamma(scale**2 * start.lam.shape, start.lam.rate))


def method_class(name: str, variant: str, data: Dataset) -> type[MatrixCompleter]:
    """The class of a method, with what the authors' code does differently."""
    method = METHODS[name]
    if variant == "test positions":
        return _reading_test_positions(data)
    if variant == "authors' start":
        return AuthorsStart
    if variant == "drand48":
        own = {"_start": _authors_factors, "__init__": method.__init__}
        return type(method.__name__, (method,), own)
    return method
