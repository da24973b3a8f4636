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


def losses(state: State, genotypes: Genotypes, hidden: Bools) -> Array:
    """−log-probability of each hidden call, (m, n) `hidden`."""
    found = []
    for ploidy in (1, 2):
        s, i = np.nonzero(hidden & (genotypes.ploidy == ploidy))
        truth = (genotypes.copies[s, i] * ploidy / 2).astype(np.intp)
        p, q = (state.P[2 * i + row, s].astype(float) for row in (0, 1))
        copied = of_pairs(p, q) if ploidy == 2 else np.column_stack((1 - p, p))
        usual = frequencies(state.share[s].astype(float), ploidy)
        chances = (1.0 - DOUBT) * copied + DOUBT * usual
        found.append(-np.log(chances[np.arange(len(s)), truth]))
    return np.concatenate(found)


def choose(setting: Setting, genotypes: Genotypes, hidden: Bools, start: Course) -> Course:
    """The course under which hidden calls of a stretch are most probable, (m, n) `hidden`.

    One number after the other, each from where the passes stand.
    """
    longest = max(setting.groups, key=lambda group: group.stop - group.start)
    first = max(longest.start, (longest.start + longest.stop - ASKED_SITES) // 2)
    part = slice(first, min(longest.stop, first + ASKED_SITES))
    if not hidden[part].any():
        return start
    asked = genotypes.some(np.arange(part.start, part.stop))

    def loss(course: Course) -> Array:
        state = _part(setting.state, part)
        whole, free = [slice(0, part.stop - part.start)], setting.free[:, part]
        run_pass(state, free, whole, setting.distance[part], course, setting.workers)
        return losses(state, asked, hidden[part])

    best = (loss(start), start)
    for sites in SITES:
        best = _better(loss, best, Course(sites, best[1].rate, best[1].error))
    for rate in RATES:
        best = _better(loss, best, Course(best[1].sites, rate, best[1].error))
    for error in ERRORS:
        best = _better(loss, best, Course(best[1].sites, best[1].rate, error))
    return best[1]


def _better(
    loss: Callable[[Course], Array], best: tuple[Array, Course], course: Course
) -> tuple[Array, Course]:
    """A course that gains more than the standard error of its gain."""
    if course == best[1]:
        return best
    found = loss(course)
    gain = best[0] - found
    return (found, course) if gain.mean() > gain.std() / np.sqrt(len(gain)) else best


def _part(state: State, sites: slice) -> State:
    R, W, P = (part[:, sites].copy() for part in (state.R, state.W, state.P))
    return State(state.x[:, sites].copy(), R, W, P, state.share[sites], state.real)
