"""Missing calls filled by copying: passes, how haplotypes are copied, how far it is believed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ... import memory
from ...backends.numba.threads import Workers
from ..genotypes import Array, Bools, FilledGenotypes, Genotypes
from ..left_out import squared_correlation
from .chances import Trust, of_pairs
from .choosing import Setting, choose, losses
from .copying import Course, Single, State, run_pass
from .strands import Along, Strands

# Share of the calls that the copying is judged by.
HIDDEN = 0.05
# Passes in which heterozygotes without phase are turned at random, by their probabilities; most
# of those until what is missing has settled; those after what was hidden is known again.
DRAWN, SETTLING, LAST = 8, 12, 2
# Copies that a missing call moves in a pass on average, from which on no other follows.
LEAST_MOVE = 0.005
# How much more often haplotypes switch in the first pass with draws, and what is left of it in
# each that follows: guesses of the phase are worse at first.
HASTE, EASE = 6.0, 0.65


@dataclass(frozen=True)
class Copied:
    """What was learned about the copying.

    Attributes
    ----------
    course : Course
    n_haplotypes : int
        Of the cohort and the panel.
    pooled : str
        How probabilities were pooled with those of one low-rank matrix; empty where not.
    """

    course: Course
    n_haplotypes: int
    pooled: str = ""

    def __str__(self) -> str:
        text = f"from {self.n_haplotypes} haplotypes in windows of {self.course.sites} sites"
        return text + (self.pooled and f", {self.pooled}")


def is_possible(genotypes: Genotypes, along: Along) -> bool:
    """Whether calls can be copied: of one or two chromosomes, and more than a pair of them."""
    others = 0 if along.panel is None else along.panel.shape[1]
    enough = 2 * genotypes.copies.shape[1] + others > 4
    return enough and bool((genotypes.ploidy <= 2).all()) and len(genotypes.copies) > 1


def fill_along(
    genotypes: Genotypes,
    along: Along,
    wanted: Bools,
    *,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> tuple[FilledGenotypes, Copied]:
    """Fill calls from haplotypes that are alike nearby.

    Parameters
    ----------
    genotypes : Genotypes
        Of one or two chromosomes a call.
    along : Along
    wanted : ndarray of bool, shape (m, n)
        Calls to fill.
    n_jobs : int or None
        Threads; the result is the same for any number.
    random_state : int or None
    """
    m, n = genotypes.copies.shape
    memory.require(
        memory.copied(m * n, 0 if along.panel is None else along.panel.size),
        f"copying {n} genotypes at {m} sites",
        "fill a chromosome at a time, or parts of it",
    )
    names, group = np.unique(along.chromosome.astype(str), return_inverse=True)
    order = np.lexsort((along.centimorgans, group))
    genotypes, along, wanted = genotypes.some(order), along.some(order), wanted[order]
    ends = np.searchsorted(group[order], np.arange(len(names) + 1))
    groups = [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]
    rng = np.random.default_rng(random_state)
    workers = Workers(n_jobs)
    try:
        work = _Work(genotypes, along, groups, workers, rng)
        course, trusts = work.learn()
        state = work.finish(course)
    finally:
        workers.close()
    copied = Copied(course, int(state.real.sum()))
    return _filled(genotypes, wanted, order, state, trusts), copied


@dataclass
class _Work:
    """A fill in progress."""

    genotypes: Genotypes
    along: Along
    groups: list[slice]
    workers: Workers
    rng: np.random.Generator

    def __post_init__(self) -> None:
        known = np.isfinite(self.genotypes.copies)
        self.hidden = known & (self.rng.random(known.shape) < HIDDEN)
        strands = Strands.of(without(self.genotypes, self.hidden), self.along.panel)
        self.free, self.state = strands.free, State.start(strands)
        self.known = (known & ~self.hidden).T
        self.distance = _relative(self.along.centimorgans, self.groups)

    def learn(self) -> tuple[Course, dict[int, Trust]]:
        """How haplotypes are copied, and how far that is believed, by the hidden calls."""
        course = Course()
        if self.free.any():
            for number in range(DRAWN):
                haste = replace(course, rate=course.rate * max(1.0, HASTE * EASE**number))
                self._pass(haste, drawn=True)
        self._settle(course)
        setting = Setting(self.state, self.free, self.groups, self.distance, self.workers)
        return self._keep_better(course, choose(setting, self.genotypes, self.hidden, course))

    def _keep_better(self, start: Course, course: Course) -> tuple[Course, dict[int, Trust]]:
        """Go on as was chosen by one pass, and back where hidden calls lose by it in the end."""
        state, loss = self.state.copy(), losses(self.state, self.genotypes, self.hidden)
        self._settle(course)
        if losses(self.state, self.genotypes, self.hidden).sum() > loss.sum():
            self.state, course = state, start
        return course, self._trusts()

    def _settle(self, course: Course) -> None:
        """Passes until what is missing has settled: it is copied from what was missing."""
        moved = np.inf
        for _ in range(SETTLING):
            before, dosage = moved, self._dosage()
            self._pass(course)
            moved = float(np.abs(self._dosage() - dosage)[~self.known].mean())
            if not LEAST_MOVE < moved < before:
                return

    def _dosage(self) -> Single:
        return self.state.P[::2] + self.state.P[1::2]

    def finish(self, course: Course) -> State:
        """With the hidden calls as well."""
        strands = Strands.of(self.genotypes, self.along.panel)
        self.state.reveal(strands, self.hidden.T)
        self.free = strands.free
        for _ in range(LAST):
            self._pass(course)
        return self.state

    def _pass(self, course: Course, drawn: bool = False) -> None:
        rng = self.rng if drawn else None
        run_pass(self.state, self.free, self.groups, self.distance, course, self.workers, rng)

    def _trusts(self) -> dict[int, Trust]:
        """For haplotypes (1) and for genotypes without phase (2)."""
        genotypes, state = self.genotypes, self.state
        found = {}
        s, i = np.nonzero(self.hidden & (genotypes.split | (genotypes.ploidy == 1)))
        both = np.concatenate((2 * i, 2 * i + 1)), np.concatenate((s, s))
        truth = Strands.of(genotypes, None).alleles[both]
        p, share = state.P[both].astype(float), state.share[both[1]].astype(float)
        at = truth >= 0
        found[1] = Trust.of(np.column_stack((1 - p, p))[at], share[at], truth[at].astype(np.intp))
        s, i = np.nonzero(self.hidden & ~genotypes.split & (genotypes.ploidy == 2))
        pairs = of_pairs(state.P[2 * i, s].astype(float), state.P[2 * i + 1, s].astype(float))
        copies = genotypes.copies[s, i].astype(np.intp)
        found[2] = Trust.of(pairs, state.share[s].astype(float), copies)
        if not at.any():
            # None of one chromosome was hidden: as genotypes are.
            found[1] = found[2]
        return found


def without(genotypes: Genotypes, hidden: Bools) -> Genotypes:
    """With some calls made missing."""
    first, second = (
        None if part is None else np.where(hidden, -1, part).astype(np.int8)
        for part in (genotypes.first, genotypes.second)
    )
    copies = np.where(hidden, np.nan, genotypes.copies)
    return replace(genotypes, copies=copies, first=first, second=second)


def _relative(centimorgans: Array, groups: list[slice]) -> Array:
    """Positions in units of the mean distance of neighbours."""
    total = sum(float(np.ptp(centimorgans[group])) for group in groups)
    steps = max(1, len(centimorgans) - len(groups))
    if total <= 0.0:
        # No distances are known: sites follow each other evenly.
        return np.arange(len(centimorgans), dtype=float)
    return np.asarray(centimorgans / (total / steps))


def _filled(
    genotypes: Genotypes,
    wanted: Bools,
    order: NDArray[np.intp],
    state: State,
    trusts: dict[int, Trust],
) -> FilledGenotypes:
    """The wanted calls with their probabilities, sites in the order of the file."""
    s, j = np.nonzero(wanted)
    ploidy, phased = genotypes.ploidy[s, j], genotypes.split[j]
    share = state.share[s].astype(float)
    p, q = (state.P[2 * j + row, s].astype(float) for row in (0, 1))
    for part in (p, q):
        sure = trusts[1].chances(np.column_stack((1 - part, part)), share)[:, 1]
        part[:] = np.where(phased | (ploidy == 1), sure, part)
    chances = of_pairs(p, q)
    loose = ~phased & (ploidy == 2)
    chances[loose] = trusts[2].chances(chances[loose], share[loose])
    one = ploidy == 1
    chances[one] = np.column_stack((1 - p[one], p[one], np.zeros(one.sum())))
    mean = chances @ np.arange(3)
    std = np.sqrt(np.maximum(chances @ np.arange(3) ** 2 - mean**2, 0.0))
    accuracy = np.full(wanted.shape[0], np.nan)
    accuracy[order] = _accuracy(genotypes, state)
    rows = order[s]
    at = np.lexsort((j, rows))
    return FilledGenotypes(
        wanted.shape, rows[at], j[at], mean[at], std[at], chances[at], ploidy[at], phased[at],
        (p >= q)[at] & phased[at], accuracy,
    )  # fmt: skip


def _accuracy(genotypes: Genotypes, state: State) -> Array:
    """Squared correlation of dosages, each without its own call, with the calls, (m,)."""
    first, second = state.P[::2].T.astype(float), state.P[1::2].T.astype(float)
    dosage = first + np.where(genotypes.ploidy == 1, first, second)
    return squared_correlation(dosage, genotypes.copies)
