"""Haplotypes copied from each other, window by window, until what they lack has settled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...backends.numba.threads import Workers
from ..genotypes import Array, Bools
from .kernels import fill_people
from .strands import Alleles, Strands

Single = NDArray[np.float32]

# States of a person: half of them near the one haplotype, half near the other.
STATES = 200
# Haplotypes that are looked at for states; of more, an even choice.
CANDIDATES = 4096
# People a thread takes at a time.
PEOPLE = 32


@dataclass(frozen=True)
class Course:
    """How haplotypes are copied.

    Attributes
    ----------
    sites : int
        That a window fills; it looks a quarter as many further to both sides.
    rate : float
        Switches a site, on average.
    error : float
        Probability that a copy differs.
    """

    sites: int = 400
    rate: float = 0.015
    error: float = 0.002


@dataclass
class State:
    """What the passes carry on.

    Attributes
    ----------
    x : ndarray of int8, shape (H, m)
        Alleles, -1 where not known; heterozygotes without phase turned as they are now.
    R, W : ndarray of float32, shape (H, m)
        Alleles, expected where not known, and what they count as states.
    P : ndarray of float32, shape (2n, m)
        Probability of the allele, each without its own call.
    share : ndarray of shape (m,)
    real : ndarray of bool, shape (H,)
        Haplotypes that there are.
    """

    x: Alleles
    R: Single
    W: Single
    P: Single
    share: Single
    real: Bools

    @classmethod
    def start(cls, strands: Strands) -> State:
        """Nothing is expected but what is usual at a site."""
        x = strands.alleles.copy()
        known = x >= 0
        count = known.sum(axis=0)
        share = ((np.where(known, x, 0).sum(axis=0) + 0.5) / (count + 1.0)).astype(np.float32)
        P = np.broadcast_to(share, (2 * len(strands.free), x.shape[1])).copy()
        R = np.where(known, x, share).astype(np.float32)
        return cls(x, R, known.astype(np.float32), P, share, strands.real)

    def copy(self) -> State:
        """One that passes on the other leave alone."""
        x, R, W, P = self.x.copy(), self.R.copy(), self.W.copy(), self.P.copy()
        return replace(self, x=x, R=R, W=W, P=P)

    def settle(self) -> None:
        """Take what was found for what is not known; it counts as far as it says something.

        The weight is the part of the allele's variance that is explained: zero where nothing
        more than the share is known, one where the allele is certain.
        """
        n = len(self.P)
        unknown = self.x[:n] < 0
        self.R[:n] = np.where(unknown, self.P, self.x[:n])
        said = (self.P - self.share) ** 2
        weight = said / (said + self.P * (1.0 - self.P) + 1e-6)
        # Short of one, which is the mark of what is known.
        self.W[:n] = np.where(unknown, np.minimum(weight, 0.999), 1.0)

    def reveal(self, strands: Strands, at: Bools) -> None:
        """Make calls known that had been hidden, (n, m); phase without a call is as copied."""
        i, s = np.nonzero(at)
        for row in (0, 1):
            self.x[2 * i + row, s] = strands.alleles[2 * i + row, s]
        loose = strands.free[i, s]
        i, s = i[loose], s[loose]
        self.x[2 * i, s] = self.P[2 * i, s] >= self.P[2 * i + 1, s]
        self.x[2 * i + 1, s] = 1 - self.x[2 * i, s]
        self.settle()


def run_pass(
    state: State,
    free: Bools,
    groups: list[slice],
    distance: Array,
    course: Course,
    workers: Workers,
    rng: np.random.Generator | None = None,
) -> None:
    """Go along every chromosome once.

    Parameters
    ----------
    state : State
        Its `x` and `P` are written.
    free : ndarray of bool, shape (n, m)
    groups : list of slice
        Sites of each chromosome.
    distance : ndarray of shape (m,)
        Positions, neighbours one apart on average.
    course : Course
    workers : Workers
    rng : Generator, optional
        Heterozygotes without phase are turned by draws; without it, as is most probable.
    """
    for group in groups:
        for a, first, last, b in _windows(group, course.sites):
            steps = np.diff(distance[a:b], prepend=distance[a])
            switch = (1.0 - np.exp(-course.rate * steps)).astype(np.float32)
            turned = _window(state, free, (a, first, last, b), switch, course.error, workers, rng)
            if turned.any() and last < group.stop:
                _exchange(state, np.flatnonzero(turned), slice(last, group.stop))
    state.settle()


def _windows(group: slice, sites: int) -> Iterator[tuple[int, int, int, int]]:
    """Start, first and last site that are wanted, end."""
    for first in range(group.start, group.stop, sites):
        last = min(first + sites, group.stop)
        if group.stop - last < sites // 2:
            last = group.stop
        yield (
            max(group.start, first - sites // 4), first, last, min(group.stop, last + sites // 4)
        )  # fmt: skip
        if last == group.stop:
            return


def _window(
    state: State,
    free: Bools,
    bounds: tuple[int, int, int, int],
    switch: Single,
    error: float,
    workers: Workers,
    rng: np.random.Generator | None,
) -> Bools:
    """Fill the people of one window; whose haplotypes are exchanged after it."""
    a, first, last, b = bounds
    n = len(free)
    R, W = (np.ascontiguousarray(part[:, a:b]) for part in (state.R, state.W))
    near = nearest(R, state.share[a:b], n, state.real)
    x, here = state.x[: 2 * n, a:b].copy(), np.ascontiguousarray(free[:, a:b])
    out = np.empty((2 * n, b - a), dtype=np.float32)

    bars = np.full(here.shape, -1.0, dtype=np.float32)
    if rng is not None:
        bars = rng.random(here.shape, dtype=np.float32)

    def some(start: int) -> Bools:
        i, rows = slice(start, start + PEOPLE), slice(2 * start, 2 * (start + PEOPLE))
        share, real = state.share[a:b], state.real[rows]
        found: Bools = fill_people(
            x[rows], here[i], real, R, W, near[i], share, switch, error, last - a, bars[i],
            out[rows],
        )  # fmt: skip
        return found

    turned = np.concatenate(workers.map(some, range(0, n, PEOPLE)))
    wanted = slice(first - a, last - a)
    state.x[: 2 * n, first:last] = x[:, wanted]
    state.P[:, first:last] = out[:, wanted]
    return turned


def _exchange(state: State, people: NDArray[np.intp], sites: slice) -> None:
    for part in (state.x, state.R, state.W, state.P):
        one, two = part[2 * people, sites].copy(), part[2 * people + 1, sites].copy()
        part[2 * people, sites], part[2 * people + 1, sites] = two, one


def nearest(R: Single, share: Single, n: int, real: Bools) -> NDArray[np.int64]:
    """States of n people: haplotypes nearest to either of theirs, (n, K).

    Sites count by their variance; what is not known lies at the share and says little. All
    states of a person with one haplotype are near that one.
    """
    candidates = np.flatnonzero(real)
    if len(candidates) > CANDIDATES:
        candidates = candidates[np.linspace(0, len(candidates) - 1, CANDIDATES).astype(np.intp)]
    lone = not real[1 : 2 * n : 2].all()
    most = (len(candidates) - 1) // 2 if lone else len(candidates) - 2
    k = min(STATES // 2, max(1, most))
    Z = (R - share) / np.sqrt(share * (1.0 - share) + 0.01)
    Y = Z[candidates]
    length = np.einsum("hs,hs->h", Y, Y)
    where = np.full(len(R), -1)
    where[candidates] = np.arange(len(candidates))
    found = np.empty((2 * n, k), dtype=np.int64)
    for start in range(0, 2 * n, 1024):
        rows = np.arange(start, min(start + 1024, 2 * n))
        score = 2.0 * (Z[rows] @ Y.T) - length
        for own in (where[rows], where[rows ^ 1]):
            score[(own >= 0).nonzero()[0], own[own >= 0]] = -np.inf
        found[rows] = candidates[np.argpartition(-score, k - 1, axis=1)[:, :k]]
        one = np.flatnonzero(~real[rows]) - 1
        if len(one):
            both = candidates[np.argpartition(-score[one], 2 * k - 1, axis=1)[:, : 2 * k]]
            found[rows[one]], found[rows[one] + 1] = both[:, :k], both[:, k:]
    return found.reshape(n, 2 * k)
