"""A place in a fit between two sweeps: all that going on exactly needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .acceleration import REST, Momentum
from .side import Strengths
from .state import State


@dataclass(frozen=True)
class Snapshot:
    """Where a fit stands before its next sweep.

    Attributes
    ----------
    state : State
    rows, cols : Strengths
    trace : tuple of float
        The bound after every sweep so far.
    ranks : tuple of int
    may_grow : bool
        Whether components may still be added.
    momentum : Momentum
    answers : dict or None
        Of the questions that led to this model, as plain values.
    """

    state: State
    rows: Strengths
    cols: Strengths
    trace: tuple[float, ...]
    ranks: tuple[int, ...]
    may_grow: bool
    momentum: Momentum = REST
    answers: dict[str, Any] | None = None

    @property
    def n_sweeps(self) -> int:
        """Sweeps made so far."""
        return len(self.trace)
