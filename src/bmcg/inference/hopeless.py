"""Whether a variational trial under way can still win; one that cannot is over."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .fit import Fit, Progress

Array = NDArray[np.float64]

# It is looked at after this many sweeps, then after twice as many, and so on.
FIRST_LOOK = 16


class Hopeless:
    """Says so of a trial that is behind, and no nearer than when last looked at.

    Parameters
    ----------
    losses : callable
        What a fit loses on each left-out entry, in one or more ways.
    is_behind : callable
        Whether such losses are larger than those they are up against by more than chance.
    """

    def __init__(
        self,
        losses: Callable[[Fit], Sequence[Array]],
        is_behind: Callable[[Sequence[Array]], bool],
    ) -> None:
        self.losses, self.is_behind = losses, is_behind
        self.look, self.least = FIRST_LOOK, np.inf

    def __call__(self, progress: Progress) -> bool:
        """Whether the trial may end here."""
        if progress.sweep < self.look:
            return False
        self.look *= 2
        found = self.losses(progress.fit())
        loss = min(float(one.mean()) for one in found)
        behind, self.least = loss >= self.least and self.is_behind(found), min(loss, self.least)
        return behind
