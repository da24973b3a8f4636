"""Longer steps: a sweep starts beyond where the last one ended, in the direction it went.

Sweeps are alternating solves, which creep along a flat bound. Nesterov's momentum, begun anew
where the bound would fall, is known to help alternating least squares (Mitchell, Ye and
De Sterck 2018), and helps here alike. Only means are moved: any means are a valid start of a
sweep, and everything else follows from them in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .rotation import basis, in_basis
from .side import Prior, Side
from .state import Factors, State
from .updates import quadratic_form

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Momentum:
    """The direction of a fit.

    Attributes
    ----------
    steps : int
        Sweeps since it began.
    rows, cols : ndarray of shape (n + p, k), or None
        Means where the sweep before the last ended, in the basis of the last; none where a fit
        begins, or begins anew.
    """

    steps: int = 0
    rows: Array | None = None
    cols: Array | None = None

    @property
    def share(self) -> float:
        """How far beyond its end the last sweep's step is continued, as a share of that step.

        A direction that is kept gains 1 / (1 − share) times as much as a sweep of its own.
        """
        return 0.0 if self.rows is None else self.steps / (self.steps + 3.0)

    def moved(self, array: Callable[[Array], Array]) -> Momentum:
        """With its arrays where a back end keeps them, or on the host."""
        if self.rows is None or self.cols is None:
            return self
        return Momentum(self.steps, array(self.rows), array(self.cols))


REST = Momentum()


def onward(
    state: State, momentum: Momentum, rows: Side, cols: Side, prior: Prior
) -> tuple[State, Momentum]:
    """Where the next sweep starts, in its best basis, and the momentum after it.

    Parameters
    ----------
    state : State
        Where the last sweep ended.
    momentum : Momentum
        `REST` starts the next one where the last one ended.
    rows, cols : Side
    prior : Prior
    """
    ahead, share = state, momentum.share
    if momentum.rows is not None and momentum.cols is not None:
        ahead = replace(
            state,
            rows=_moved(state.rows, rows, momentum.rows, share),
            cols=_moved(state.cols, cols, momentum.cols, share),
            at_entries=None,
        )
    A = basis(ahead)
    means = state.rows.mean, state.cols.mean
    if A is not None:
        inverse: Array = np.linalg.inv(A).astype(np.float64, copy=False)
        means = _turned(means[0], A), _turned(means[1], inverse.T)
    return in_basis(ahead, prior, A), Momentum(momentum.steps + 1, *means)


def _moved(factors: Factors, side: Side, last: Array, share: float) -> Factors:
    mean = factors.mean + share * (factors.mean - last)
    change = quadratic_form(side.prior, mean) - quadratic_form(side.prior, factors.mean)
    return replace(factors, mean=mean, energy=factors.energy + change)


def _turned(mean: Array, A: Array) -> Array:
    """Means (n, k) of U A; components beyond A's stay."""
    full = np.eye(mean.shape[1])
    full[: len(A), : len(A)] = A
    turned: Array = mean @ full
    return turned
