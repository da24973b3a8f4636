"""A place in chains between two sweeps: all that going on exactly needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from .draws import Kept
from .sampling import Point
from .side import Strengths


class Record(NamedTuple):
    """What a chain has told of itself: sweeps made and of its burn-in, noise and density."""

    number: int
    burnt: int | None
    settled: bool
    noise: tuple[float, ...]
    density: tuple[float, ...]


class Origin(NamedTuple):
    """Where a chain begins that another one has led to, and how many sweeps that had made."""

    point: Point
    age: int


@dataclass(frozen=True)
class ChainPlace:
    """Where chains stand between two sweeps: all that going on exactly needs.

    Attributes
    ----------
    point : Point
    strengths, anchors : tuple of Strengths
        Of both sides, now and where what preconditions solves was made.
    records : tuple of Record
        Of all chains so far, the one under way last.
    kept : tuple
        Draws so far.
    trace : tuple of float
    steps : tuple of int
    answers : dict or None
        Of the questions that led to this model, as plain values.
    origins : tuple of Origin
        Where the first chains begin, if not anew.
    """

    point: Point
    strengths: tuple[Strengths, Strengths]
    anchors: tuple[Strengths, Strengths]
    records: tuple[Record, ...]
    kept: tuple[Kept, ...]
    trace: tuple[float, ...] = ()
    steps: tuple[int, ...] = ()
    answers: dict[str, Any] | None = None
    origins: tuple[Origin, ...] = ()

    @property
    def n_sweeps(self) -> int:
        """Sweeps made after burn-ins."""
        return sum(r.number - (r.number if r.burnt is None else r.burnt) for r in self.records)
