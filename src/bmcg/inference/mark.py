"""A place in a fit between two sweeps: all that going on exactly needs, and its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .state import Factors, Gamma, State
from .strengths import Strengths

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SideMark:
    """What a side carries from one sweep to the next besides q.

    Attributes
    ----------
    strengths : Strengths
    draws : ndarray of shape (n_nodes, k, s) or None
        Latest Monte Carlo draws, from which the next solves start.
    """

    strengths: Strengths
    draws: Array | None


@dataclass(frozen=True)
class Mark:
    """Where a fit stands before its next sweep.

    Attributes
    ----------
    state : State
    rows, cols : SideMark
    trace : tuple of float
        The bound after every sweep so far.
    ranks : tuple of int
    may_grow : bool
        Whether columns may still be added.
    """

    state: State
    rows: SideMark
    cols: SideMark
    trace: tuple[float, ...]
    ranks: tuple[int, ...]
    may_grow: bool

    @property
    def n_sweeps(self) -> int:
        """Sweeps made so far."""
        return len(self.trace)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays for a checkpoint."""
        state = self.state
        arrays: dict[str, NDArray[Any]] = {
            "trace": np.asarray(self.trace),
            "ranks": np.asarray(self.ranks, dtype=np.int64),
            "may_grow": np.array([self.may_grow]),
            "squared_error": np.array([state.squared_error]),
        }
        gammas = {"lam": state.lam, "tau": state.tau}
        if state.row_bias is not None and state.col_bias is not None:
            gammas |= {"row_bias": state.row_bias, "col_bias": state.col_bias}
        for name, gamma in gammas.items():
            arrays[name] = np.stack((gamma.shape, gamma.rate))
        for name, factors, side in (
            ("row", state.rows, self.rows),
            ("col", state.cols, self.cols),
        ):
            strengths = side.strengths
            arrays |= {
                f"{name}_mean": factors.mean,
                f"{name}_cov": factors.cov,
                f"{name}_log_det": np.array([factors.log_det]),
                f"{name}_energy": factors.energy,
                f"{name}_graphs": strengths.graphs,
                f"{name}_scalars": np.array([strengths.ridge, strengths.beta]),
            }
            if side.draws is not None:
                arrays[f"{name}_draws"] = side.draws
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Mark:
        """The inverse of `to_arrays`."""
        gammas = {
            name: Gamma(*(np.asarray(part) for part in arrays[name]))
            for name in ("lam", "tau", "row_bias", "col_bias")
            if name in arrays
        }
        state = State(
            rows=_factors(arrays, "row"),
            cols=_factors(arrays, "col"),
            squared_error=float(arrays["squared_error"][0]),
            **gammas,
        )
        return cls(
            state,
            _side(arrays, "row"),
            _side(arrays, "col"),
            tuple(arrays["trace"].tolist()),
            tuple(arrays["ranks"].tolist()),
            bool(arrays["may_grow"][0]),
        )


def _factors(arrays: Mapping[str, NDArray[Any]], name: str) -> Factors:
    return Factors(
        arrays[f"{name}_mean"],
        arrays[f"{name}_cov"],
        float(arrays[f"{name}_log_det"][0]),
        arrays[f"{name}_energy"],
    )


def _side(arrays: Mapping[str, NDArray[Any]], name: str) -> SideMark:
    ridge, beta = arrays[f"{name}_scalars"].tolist()
    return SideMark(Strengths(arrays[f"{name}_graphs"], ridge, beta), arrays.get(f"{name}_draws"))
