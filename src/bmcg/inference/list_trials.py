"""Short fits of lists, by chains or with columns as parameters, and where the fit goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..backends import Backend
from ..graphs.precision import stack_graphs
from ..likelihoods import WeakZero
from .covariance import Diagonal
from .fit import Fit, Progress, Settings, SideInput, Start
from .form import Form, Sides
from .lists import Lists
from .marginal import run_marginal
from .sampled import run_sampled
from .side import Prior
from .state import Factors

CHAINS, MARGINAL = "chains", "marginal"

# Sweeps of a chain whose draws count, and those before: from a small start, with components that
# are new, and under other weights.
TRIAL_SWEEPS = 16
FROM_NOTHING = 60
WITH_MORE = 32
ONWARD = 8
# Most sweeps of a fit without chance, from nothing and under other weights.
FIRST_SWEEPS = 30
NEXT_SWEEPS = 12


class Known(NamedTuple):
    """What is used of the graphs and features of both sides.

    Attributes
    ----------
    name : str
    sides : tuple of SideInput
        As they were given.
    form : Form
    strengths : tuple of (float or None)
        Of the graphs of the rows and of the columns, with every node tied about alike. None leaves
        graphs as they were given.
    """

    name: str
    sides: Sides
    form: Form
    strengths: tuple[float | None, float | None]

    @property
    def learns(self) -> bool:
        """Whether strengths are learned from the bound: those of features are."""
        return any(side.features is not None for side in self.form.of(self.sides))

    def of(self, lists: Lists) -> Sides:
        """For the rows of some lists; what is made of observations, made of what they keep."""
        return self._even(lists.part_of(self.form.of(self.sides)))

    @property
    def whole(self) -> Sides:
        """For all rows."""
        return self._even(self.form.of(self.sides))

    def _even(self, sides: Sides) -> Sides:
        rows, cols = (
            side
            if strength is None or not side.stack.names
            else replace(side, stack=side.stack.even(strength), ridge=1.0)
            for side, strength in zip(sides, self.strengths, strict=True)
        )
        return rows, cols


@dataclass
class Trials:
    """Makes them.

    Attributes
    ----------
    lists : Lists
    settings : Settings
    backend : Backend
    show : callable
    kind : {"chains", "marginal"}
    made : int
        Fits so far.
    """

    lists: Lists
    settings: Settings
    backend: Backend
    show: Callable[[Progress, str], None]
    kind: str = CHAINS
    made: int = 0

    def fit(
        self,
        likelihood: WeakZero,
        rank: int,
        name: str,
        best: Fit | None,
        known: Known | None = None,
    ) -> Fit:
        """A short fit of what is kept, from where the best so far has ended."""
        if self.kind == MARGINAL:
            return self._marginal(likelihood, rank, name, best, known)
        if best is None:
            # Judged like all others: from a chain that has settled, not from a small start.
            best = self._chain(likelihood, rank, name, None, FROM_NOTHING)
        burn_in = WITH_MORE if best.state.rank < rank else ONWARD
        return self._chain(likelihood, rank, name, best, burn_in)

    def start_of(self, best: Fit, n_rows: int) -> Start:
        """Where a fit of all rows is to go on: it begins with the rows, given columns."""
        state = best.state
        rows = np.zeros((n_rows, state.rows.rank))
        rest = Diagonal.zeros(n_rows, state.rows.rank), np.nan, state.rows.energy
        return Start(replace(state, rows=Factors(rows, *rest)), best.offset, best.scale)

    def _bare(self) -> Sides:
        # As the fit has them where nothing ties rows: λ is to be in the same units.
        rows, cols = (SideInput(stack_graphs([], n), 1.0) for n in self.lists.kept.shape)
        return rows, cols

    def _marginal(
        self,
        likelihood: WeakZero,
        rank: int,
        name: str,
        best: Fit | None,
        known: Known | None,
    ) -> Fit:
        fresh = best is None or best.state.rank != rank
        settings = replace(
            self.settings,
            rank=rank,
            max_sweeps=FIRST_SWEEPS if fresh else NEXT_SWEEPS,
            learn=known is not None and known.learns,
            prior=Prior(likelihood=likelihood.of(self.lists.kept)),
        )
        start = None if fresh or best is None else Start(best.state, 0.0, 1.0)
        return self._whole(
            run_marginal(
                self.lists.kept,
                *(self._bare() if known is None else known.of(self.lists)),
                settings,
                backend=self.backend,
                callback=lambda sweep: self.show(sweep, f"{name}: "),
                start=start,
            )
        )

    def _chain(
        self, likelihood: WeakZero, rank: int, name: str, best: Fit | None, burn_in: int
    ) -> Fit:
        kept = self.lists.kept
        self.made += 1
        settings = replace(
            self.settings,
            # A chain that goes on must not meet the numbers again that have led to its start.
            seed=self.settings.seed + self.made,
            rank=rank,
            max_sweeps=TRIAL_SWEEPS,
            draws=TRIAL_SWEEPS,
            burn_in=burn_in,
            learn=False,
            prior=Prior(likelihood=likelihood.of(kept)),
        )
        return self._whole(
            run_sampled(
                kept,
                *self._bare(),
                settings,
                backend=self.backend,
                callback=lambda sweep: self.show(sweep, f"{name}: "),
                start=None if best is None else Start(best.state, best.offset, best.scale),
            )
        )

    @staticmethod
    def _whole(fit: Fit) -> Fit:
        if fit.interrupted:
            # A trial has nothing to save: the interrupt is the caller's.
            raise KeyboardInterrupt
        return fit
