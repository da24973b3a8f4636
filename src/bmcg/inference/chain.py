"""Chains of draws: from a start, through a burn-in that the chain itself ends, to what is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..likelihoods import Drawn, Likelihood, Own
from .diagnostics import effective_size, has_settled, split_r_hat
from .sampling import Point, Sides, draw_strengths, ends, fit_strengths, step_sizes, sweep
from .side import Prior, Side

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Index = NDArray[np.integer[Any]]
_Kept = tuple[Single, Single, Drawn]

# split-R̂ of noise and density below which chains are taken to agree.
AGREE = 1.1
# Numbers gathered at once for pairs of rows and columns, 32 MiB in single precision.
BATCH = 1 << 23
# Sweeps before strengths are first moved: the factors must have left their start.
SETTLE = 3
# Strengths are moved in one of so many sweeps, because a step can cost more than a sweep.
STRENGTHS_EVERY = 3
# A burn-in is asked whether it is over once it has this many sweeps, then as often.
LEAST_BURN_IN = 24
ASK_EVERY = 4


@dataclass(frozen=True)
class Draws:
    """Kept draws of the factors, as they meet at an entry, in single precision.

    Attributes
    ----------
    rows : ndarray of shape (s, m, w)
        U, or (U, b, 1) where the model has biases; a one more where entries have a level.
    cols : ndarray of shape (s, n, w)
        V, or (V, 1, c), and that level.
    tau : ndarray of shape (s,)
    own : mapping of str to ndarray of shape (s, ...)
        What the likelihood has besides.
    """

    rows: Single
    cols: Single
    tau: Array
    own: Own = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.tau)

    def moments(self, rows: Index, cols: Index) -> tuple[Array, Array]:
        """Mean and variance over the draws of what meets at paired positions, (n_pairs,) each."""
        mean, variance = np.empty(len(rows)), np.empty(len(rows))
        step = max(1, BATCH // max(self.rows.shape[0] * self.rows.shape[2], 1))
        for start in range(0, len(rows), step):
            here = slice(start, start + step)
            U, V = self.rows[:, rows[here]], self.cols[:, cols[here]]
            products = np.einsum("spr,spr->sp", U, V).astype(np.float64)
            mean[here], variance[here] = products.mean(axis=0), products.var(axis=0, ddof=self.ddof)
        return mean, variance

    def parts(self, count: int) -> list[Draws]:
        """The draws in so many parts, one after the other."""
        cuts = np.array_split(np.arange(len(self)), count)
        return [Draws(self.rows[cut], self.cols[cut], self.tau[cut]) for cut in cuts]

    @property
    def ddof(self) -> int:
        """One degree of freedom goes to the mean, where there is more than one draw."""
        return int(len(self) > 1)


class Diagnostics(NamedTuple):
    """What the chains say of themselves.

    Attributes
    ----------
    burn_in : tuple of int
        Sweeps left out of each chain.
    settled : bool
        Whether every burn-in ended because the chain had settled.
    noise_size, density_size : float
        Effective sample sizes of the noise and of the log density.
    noise_r_hat, density_r_hat : float
    strengths_drawn : bool
        Whether strengths were drawn with the rest; else they stayed where the burn-in left them.
    """

    burn_in: tuple[int, ...]
    settled: bool
    noise_size: float
    density_size: float
    noise_r_hat: float
    density_r_hat: float
    strengths_drawn: bool

    @classmethod
    def from_plain(cls, parts: Any) -> Diagnostics:
        """From lists, as a model file has them."""
        return cls(tuple(parts[0]), *parts[1:])

    @property
    def sentence(self) -> str:
        """How far the chains can be believed, in words."""
        start = "the chains settled" if self.settled else "the chains had not settled"
        words = (
            f"{start} after {max(self.burn_in)} sweeps; of the noise they hold "
            f"{self.noise_size:.0f} independent draws (split-R̂ {self.noise_r_hat:.3f}), of the "
            f"density {self.density_size:.0f} ({self.density_r_hat:.3f})"
        )
        return words if self.agree else f"{words}: usable, but more sweeps would make it surer"

    @property
    def agree(self) -> bool:
        """Whether the chains had settled and tell the same."""
        return self.settled and max(self.noise_r_hat, self.density_r_hat) < AGREE


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
    rng : Generator
    plan : Plan
    number : int
        Sweeps made.
    burnt : int or None
        Sweeps of the burn-in, once it is over.
    settled : bool
    """

    sides: Sides
    prior: Prior
    point: Point
    rng: Any
    plan: Plan
    number: int = 0
    burnt: int | None = None
    settled: bool = False
    noise: list[float] = field(default_factory=list)
    density: list[float] = field(default_factory=list)
    steps: list[Array] = field(default_factory=list)

    def step(self) -> None:
        """One sweep, then the strengths, then whether the burn-in is over."""
        self.point = sweep(self.sides, self.prior, self.point, self.rng, self.plan.tol)
        self.number += 1
        self.noise.append(float(np.log(self.point.spread)))
        self.density.append(self.point.density)
        if self.plan.learn and self.number >= SETTLE and self.number % STRENGTHS_EVERY == 0:
            self.sides = self._moved(0), self._moved(1)
        if self.burnt is None:
            self._ask()

    def _moved(self, which: int) -> Side:
        side, point = self.sides[which], self.point
        if not side.can_learn:
            return side
        X, lam = (point.rows, point.cols)[which], point.side_lam(which)
        if self.burnt is None:
            return fit_strengths(side, X, lam)
        if not draws_strengths(side):
            return side
        return draw_strengths(side, X, lam, self.steps[which], self.rng)

    def _ask(self) -> None:
        over = self.number >= self.plan.burn_in
        if self.number >= LEAST_BURN_IN and self.number % ASK_EVERY == 0:
            self.settled = has_settled(np.asarray(self.noise)) and has_settled(
                np.asarray(self.density)
            )
        if self.settled or over:
            self.burnt = self.number
            self.steps = [step_sizes(side, self.point.rows.shape[1]) for side in self.sides]


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
    interrupted : bool
    """

    draws: Draws
    diagnostics: Diagnostics
    sides: Sides
    point: Point
    interrupted: bool = False


def sample(
    sides: Sides,
    prior: Prior,
    starts: Sequence[Point],
    seeds: Sequence[Sequence[int]],
    plan: Plan,
    callback: Callable[[Chain, Callable[[], Outcome]], bool] = lambda chain, so_far: False,
) -> Outcome:
    """Chains one after the other, and what is kept of them.

    Parameters
    ----------
    sides : tuple of Side
        Where strengths start; a later chain starts from the strengths of the one before.
    prior : Prior
    starts : sequence of Point
        One for each chain.
    seeds : sequence of sequence of int
    plan : Plan
    callback : callable, optional
        Hears of each sweep, with what there would be if it were the last; True ends all chains.
    """
    kept: list[_Kept] = []
    chains: list[Chain] = []

    def so_far() -> Outcome:
        last = chains[-1]
        draws = _draws(kept or [_keep(last)], prior.likelihood)
        return Outcome(draws, _diagnostics(chains), last.sides, last.point)

    try:
        for number, (start, seed) in enumerate(zip(starts, seeds, strict=True)):
            chains.append(Chain(sides, prior, start, sides[0].backend.random(seed), plan))
            if _follow(chains[-1], _wanted(plan, len(starts), number), kept, callback, so_far):
                break
            sides = chains[-1].sides
    except KeyboardInterrupt:
        if not kept:
            raise
        return replace(so_far(), interrupted=True)
    return so_far()


def _wanted(plan: Plan, n_chains: int, number: int) -> set[int]:
    """Sweeps after the burn-in whose draws are kept, spread evenly."""
    share = plan.draws // n_chains + (number < plan.draws % n_chains)
    return set(np.linspace(plan.sweeps, 0, share, endpoint=False).round().astype(int).tolist())


def _follow(
    chain: Chain,
    wanted: set[int],
    kept: list[_Kept],
    callback: Callable[[Chain, Callable[[], Outcome]], bool],
    so_far: Callable[[], Outcome],
) -> bool:
    """A chain to its end; whether the callback has ended it all."""
    while chain.burnt is None or chain.number < chain.burnt + chain.plan.sweeps:
        chain.step()
        if chain.burnt is not None and chain.number - chain.burnt in wanted:
            kept.append(_keep(chain))
        if callback(chain, so_far):
            return True
    return False


def _keep(chain: Chain) -> _Kept:
    U, V = ends(chain.sides, chain.point)
    # Kept on the host: many draws are more than a device may hold.
    rows, cols = (np.asarray(X).astype(np.float32, copy=False) for X in (U, V))
    return rows, cols, chain.point.noise


def _draws(kept: Sequence[_Kept], likelihood: Likelihood) -> Draws:
    U, V, noises = zip(*kept, strict=True)
    tau = np.array([noise.tau for noise in noises])
    own: Own = {name: np.stack([noise.own[name] for noise in noises]) for name in noises[0].own}
    rows, cols = np.stack(U), np.stack(V)
    level, own = likelihood.levelled(own)
    if level is not None:
        one = np.ones((*rows.shape[:2], 1), np.float32)
        every = np.broadcast_to(level.astype(np.float32)[:, None, None], (*cols.shape[:2], 1))
        rows, cols = np.concatenate((rows, one), axis=2), np.concatenate((cols, every), axis=2)
    return Draws(rows, cols, tau, own)


def _diagnostics(chains: Sequence[Chain]) -> Diagnostics:
    size = min(chain.number - (chain.burnt or 0) for chain in chains)
    noise = np.array([chain.noise[len(chain.noise) - size :] for chain in chains])
    density = np.array([chain.density[len(chain.density) - size :] for chain in chains])
    return Diagnostics(
        tuple(chain.burnt or chain.number for chain in chains),
        all(chain.settled for chain in chains),
        effective_size(noise),
        effective_size(density),
        split_r_hat(noise),
        split_r_hat(density),
        all(draws_strengths(side) for side in chains[-1].sides if side.can_learn),
    )


def draws_strengths(side: Side) -> bool:
    """Whether strengths of a side can be drawn: its log-determinant has to be exact."""
    return side.prior.log_det_error == 0.0
