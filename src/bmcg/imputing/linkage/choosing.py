"""How haplotypes are copied, by calls that were hidden."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...backends.numba.threads import Workers
from ..genotypes import Array, Bools, Genotypes
from .chances import frequencies, of_pairs
from .copying import Course, State, run_pass

# Sites that are asked, in the middle of the longest chromosome.
ASKED_SITES = 400
SITES = (50, 100, 200, 400)
RATES = (0.0005, 0.001, 0.002, 0.005, 0.015, 0.045)
ERRORS = (0.0005, 0.002, 0.01)
# A copy that says nothing, as part of all: no call is impossible.
DOUBT = 1e-3


@dataclass(frozen=True)
class Setting:
    """Where the passes stand.

    Attributes
    ----------
    state : State
    free : ndarray of bool, shape (n, m)
    groups : list of slice
    distance : ndarray of shape (m,)
    workers : Workers
    """

    state: State
    free: Bools
    groups: list[slice]
    distance: Array
    workers: Workers


def choose(setting: Setting, genotypes: Genotypes, hidden: Bools, start: Course) -> Course:
    """The course under which hidden calls of a stretch are most probable, (m, n) `hidden`.

    One number after the other, each from where the passes stand.
    """
    longest = max(setting.groups, key=lambda group: group.stop - group.start)
    first = max(longest.start, (longest.start + longest.stop - ASKED_SITES) // 2)
    part = slice(first, min(longest.stop, first + ASKED_SITES))
    s, i = np.nonzero(hidden[part] & (genotypes.ploidy[part] == 2))
    if len(s) == 0:
        return start
    truth = genotypes.copies[part][s, i].astype(np.intp)

    def loss(course: Course) -> float:
        state = _part(setting.state, part)
        whole, free = [slice(0, part.stop - part.start)], setting.free[:, part]
        run_pass(state, free, whole, setting.distance[part], course, setting.workers)
        p, q = (state.P[2 * i + row, s].astype(float) for row in (0, 1))
        usual = frequencies(state.share[s].astype(float), 2)
        chances = (1.0 - DOUBT) * of_pairs(p, q) + DOUBT * usual
        return float(-np.log(chances[np.arange(len(s)), truth]).mean())

    best = (loss(start), start)
    for sites in SITES:
        best = _better(loss, best, Course(sites, best[1].rate, best[1].error))
    for rate in RATES:
        best = _better(loss, best, Course(best[1].sites, rate, best[1].error))
    for error in ERRORS:
        best = _better(loss, best, Course(best[1].sites, best[1].rate, error))
    return best[1]


def _better(
    loss: Callable[[Course], float], best: tuple[float, Course], course: Course
) -> tuple[float, Course]:
    if course == best[1]:
        return best
    found = loss(course)
    return (found, course) if found < best[0] else best


def _part(state: State, sites: slice) -> State:
    R, W, P = (part[:, sites].copy() for part in (state.R, state.W, state.P))
    return State(state.x[:, sites].copy(), R, W, P, state.share[sites])
