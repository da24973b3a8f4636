"""Chains of draws: from a start, through a burn-in that the chain itself ends, to what is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Random
from ..likelihoods import Gaussian
from .diagnostics import Diagnostics, effective_size, has_settled, own_r_hat, split_r_hat
from .draws import Draws, Kept, levelled, stack
from .enough import has_told
from .place import ChainPlace, Origin, Record
from .sampling import (
    Point,
    Sides,
    draw_strengths,
    ends,
    fit_strengths,
    moved,
    step_sizes,
    sweep,
)
from .side import Prior, Side, Strengths

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Index = NDArray[np.integer[Any]]

# Sweeps before strengths are first moved: the factors must have left their start.
SETTLE = 3
# Strengths are moved in one of so many sweeps, because a step can cost more than a sweep.
STRENGTHS_EVERY = 3
# A burn-in is asked whether it is over once it has this many sweeps, then as often.
LEAST_BURN_IN = 24
ASK_EVERY = 4
# So many of a chain that begins where another one of the same model was.
SHORT_BURN_IN = 12


@dataclass(frozen=True)
class Plan:
    """How long to go on.

    Attributes
    ----------
    sweeps : int
        Of each chain, after its burn-in.
    draws : int
        Kept of them all.
    burn_in : int
        Most sweeps of a burn-in.
    learn : bool
        Whether strengths are moved.
    tol : float
        Of the solves.
    """

    sweeps: int = 100
    draws: int = 100
    burn_in: int = 120
    learn: bool = True
    tol: float = 1e-3


@dataclass
class Chain:
    """A chain under way.

    Attributes
    ----------
    sides : tuple of Side
    prior : Prior
    point : Point
    seed : sequence of int
        What a sweep draws depends on this and its number alone.
    plan : Plan
    age : int
        Sweeps of another chain that led to where this one begins.
    number : int
        Sweeps made.
    burnt : int or None
        Sweeps of the burn-in, once it is over.
    settled : bool
    told : bool
        Whether it ended before its time, because more draws would not matter.
    anchors : tuple of Strengths
        Where what preconditions solves was made.
    """

    sides: Sides
    prior: Prior
    point: Point
    seed: Sequence[int]
    plan: Plan
    age: int = 0
    number: int = 0
    burnt: int | None = None
    settled: bool = False
    told: bool = False
    noise: list[float] = field(default_factory=list)
    density: list[float] = field(default_factory=list)
    steps: list[Array] = field(default_factory=list)
    anchors: tuple[Strengths, Strengths] | None = None

    def step(self) -> None:
        """One sweep, then the strengths, then whether the burn-in is over."""
        rng = self.sides[0].backend.random([*self.seed, self.age + self.number])
        point = sweep(self.sides, self.prior, self.point, rng, self.plan.tol)
        sides, number = self.sides, self.number + 1
        if self.plan.learn and number >= SETTLE and number % STRENGTHS_EVERY == 0:
            sides = self._moved(0, point, rng), self._moved(1, point, rng)
        # All at once: a chain that is interrupted stands where its last sweep ended.
        self.point, self.sides, self.number = point, sides, number
        self.noise.append(float(np.log(point.spread)))
        self.density.append(point.density)
        if self.burnt is None:
            self.anchors = sides[0].strengths, sides[1].strengths
            self._ask()

    def _moved(self, which: int, point: Point, rng: Random) -> Side:
        side = self.sides[which]
        if not side.can_learn:
            return side
        X, lam = (point.rows, point.cols)[which], point.side_lam(which)
        if self.burnt is None:
            return fit_strengths(side, X, lam)
        if not draws_strengths(side):
            return side
        return draw_strengths(side, X, lam, self.steps[which], rng)

    def _ask(self) -> None:
        least = SHORT_BURN_IN if self.age else LEAST_BURN_IN
        over = self.age + self.number >= self.plan.burn_in and self.number >= min(
            least, self.plan.burn_in
        )
        if self.number >= least and self.number % ASK_EVERY == 0:
            self.settled = has_settled(np.asarray(self.noise)) and has_settled(
                np.asarray(self.density)
            )
        if self.settled or over:
            self.burnt = self.number
            self.steps = [step_sizes(side, self.point.rows.shape[1]) for side in self.sides]

    @property
    def origin(self) -> Origin:
        """Where it stands, for another chain to begin there."""
        return Origin(self.point, self.age + self.number)

    @property
    def is_over(self) -> bool:
        """Whether it has made all its sweeps, or as many as matter."""
        if self.burnt is None:
            return False
        return self.told or self.number >= self.burnt + self.plan.sweeps

    def tell(self, record: Record) -> None:
        """Be where a record ends."""
        self.number, self.burnt, self.settled = record[:3]
        self.noise, self.density = list(record.noise), list(record.density)

    @property
    def record(self) -> Record:
        """What it has told so far."""
        return Record(self.number, self.burnt, self.settled, tuple(self.noise), tuple(self.density))


@dataclass(frozen=True)
class Outcome:
    """What chains leave behind.

    Attributes
    ----------
    draws : Draws
    diagnostics : Diagnostics
    sides : tuple of Side
        At the strengths where the last chain stands.
    point : Point
        Where it stands.
    place : ChainPlace
        Where to go on from.
    n_last : int
        Draws that are of the last chain.
    ends : tuple of Origin
        Where all chains stand.
    interrupted : bool
    """

    draws: Draws
    diagnostics: Diagnostics
    sides: Sides
    point: Point
    place: ChainPlace
    n_last: int
    ends: tuple[Origin, ...] = ()
    interrupted: bool = False


def sample(
    sides: Sides,
    prior: Prior,
    starts: Sequence[Point],
    seeds: Sequence[Sequence[int]],
    plan: Plan,
    ages: Sequence[int] = (),
    callback: Callable[[Chain, Callable[[], Outcome]], bool] = lambda chain, so_far: False,
    keep: Callable[[ChainPlace], None] = lambda place: None,
    resume: ChainPlace | None = None,
) -> Outcome:
    """Chains one after the other, and what is kept of them.

    Parameters
    ----------
    sides : tuple of Side
        Where strengths start; a later chain starts from the strengths of the one before.
    prior : Prior
    starts : sequence of Point
        One for each chain; of a chain that goes on from the one before it is not asked.
    seeds : sequence of sequence of int
    plan : Plan
    ages : sequence of int
        Sweeps that led to the first starts; none to the others.
    callback : callable, optional
        Hears of each sweep, with what there would be if it were the last; True ends all chains.
    keep : callable, optional
        Hears of every place that chains can be taken up from.
    resume : ChainPlace, optional
        Such a place.
    """
    kept: list[Kept] = [] if resume is None else list(resume.kept)
    chains: list[Chain] = [] if resume is None else _ended(resume, sides, prior, plan)

    def place() -> ChainPlace:
        last = chains[-1]
        now = last.sides[0].strengths, last.sides[1].strengths
        records = tuple(chain.record for chain in chains)
        return ChainPlace(last.point, now, last.anchors or now, records, tuple(kept))

    def so_far() -> Outcome:
        last = chains[-1]
        draws = levelled(stack(kept or [_keep(last)]), prior.likelihood)
        after = 0 if last.burnt is None else last.number - last.burnt
        wanted = _wanted(plan, len(starts), len(chains) - 1)
        own = sum(sweep <= after for sweep in wanted) or len(draws)
        told = draws, _diagnostics(chains), last.sides, last.point, place(), own
        return Outcome(*told, tuple(chain.origin for chain in chains))

    try:
        for number in range(len(chains), len(starts)):
            age = ages[number] if number < len(ages) else 0
            if resume is not None and number == len(resume.records) - 1:
                chains.append(_taken_up(resume, sides, prior, seeds[number], plan, age))
            else:
                begun = Chain(sides, prior, starts[number], seeds[number], plan, age)
                chains.append(_gone_on(chains[-1], begun) if chains and not age else begun)
            wanted = _wanted(plan, len(starts), number)
            gaussian = isinstance(prior.likelihood, Gaussian)
            told = partial(has_told, n_chains=len(starts)) if gaussian else None
            if _follow(chains[-1], wanted, kept, told, callback, so_far, lambda: keep(place())):
                break
            sides = chains[-1].sides
    except KeyboardInterrupt:
        if not kept:
            raise
        return replace(so_far(), interrupted=True)
    return so_far()


def _gone_on(before: Chain, begun: Chain) -> Chain:
    """A chain where the one before ended, if that still travelled and values have a link.

    An augmentation is many times as sure of an entry as such a likelihood: steps are small, and
    another burn-in from the start would run out of sweeps as far from the posterior as the last.
    """
    if before.settled or before.prior.likelihood.is_linear:
        return begun
    own = {"point": before.point, "steps": before.steps, "anchors": before.anchors}
    return replace(begun, burnt=0, **own)  # type: ignore[arg-type]


def _ended(place: ChainPlace, sides: Sides, prior: Prior, plan: Plan) -> list[Chain]:
    """Chains that had ended, with what they told."""
    found = []
    for record in place.records[:-1]:
        chain = Chain(sides, prior, place.point, (), plan)
        chain.tell(record)
        found.append(chain)
    return found


def _taken_up(
    place: ChainPlace, sides: Sides, prior: Prior, seed: Sequence[int], plan: Plan, age: int
) -> Chain:
    """The chain that was under way, as it was."""
    chain = Chain(sides, prior, place.point, seed, plan, age, anchors=place.anchors)
    chain.tell(place.records[-1])
    learned = [side.can_learn for side in sides]
    at = [
        side.at(anchor) if learns else side
        for side, anchor, learns in zip(sides, place.anchors, learned, strict=True)
    ]
    if chain.burnt is not None:
        chain.steps = [step_sizes(side, place.point.rows.shape[1]) for side in at]
    rows, cols = (
        moved(side, strengths) if learns else side
        for side, strengths, learns in zip(at, place.strengths, learned, strict=True)
    )
    chain.sides = rows, cols
    return chain


def _wanted(plan: Plan, n_chains: int, number: int) -> set[int]:
    """Sweeps after the burn-in whose draws are kept, spread evenly."""
    share = plan.draws // n_chains + (number < plan.draws % n_chains)
    return set(np.linspace(plan.sweeps, 0, share, endpoint=False).round().astype(int).tolist())


def _follow(
    chain: Chain,
    wanted: set[int],
    kept: list[Kept],
    has_told: Callable[[Sequence[Kept]], bool] | None,
    callback: Callable[[Chain, Callable[[], Outcome]], bool],
    so_far: Callable[[], Outcome],
    leave: Callable[[], None],
) -> bool:
    """A chain to its end; whether the callback has ended it all."""
    after = 0 if chain.burnt is None else chain.number - chain.burnt
    # Draws of the chains before it.
    first = len(kept) - sum(sweep <= after for sweep in wanted)
    while not chain.is_over:
        chain.step()
        if chain.burnt is not None and chain.number - chain.burnt in wanted:
            kept.append(_keep(chain))
            # Of a chain that is over in any case nothing is asked.
            chain.told = not chain.is_over and has_told is not None and has_told(kept[first:])
        if callback(chain, so_far):
            return True
        if not chain.is_over:
            leave()
    return False


def _keep(chain: Chain) -> Kept:
    keep, count = chain.sides[0].backend.keep, chain.plan.draws
    U, V = ends(chain.sides, chain.point)
    return keep(U, count), keep(V, count), chain.point.noise


def _diagnostics(chains: Sequence[Chain]) -> Diagnostics:
    size = min(chain.number - (chain.burnt or 0) for chain in chains)
    noise = np.array([chain.noise[len(chain.noise) - size :] for chain in chains])
    density = np.array([chain.density[len(chain.density) - size :] for chain in chains])
    return Diagnostics(
        tuple(chain.number if chain.burnt is None else chain.burnt for chain in chains),
        all(chain.settled for chain in chains),
        effective_size(noise),
        effective_size(density),
        split_r_hat(noise),
        split_r_hat(density),
        all(draws_strengths(side) for side in chains[-1].sides if side.can_learn),
        max(own_r_hat(noise), own_r_hat(density)),
    )


def draws_strengths(side: Side) -> bool:
    """Whether strengths of a side can be drawn: its log-determinant has to be exact."""
    return side.prior.log_det_error == 0.0
