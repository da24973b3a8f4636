"""Whether a variational trial under way can still win; one that cannot is over."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .fit import Fit, Progress

Array = NDArray[np.float64]

# It is looked at after this many sweeps, then after twice as many, and so on.
FIRST_LOOK = 16
# Share of what is missing that it must have gained since.
NEARER = 0.5


class Hopeless:
    """Says so of a trial that is behind, and has hardly come nearer since it was last looked at.

    Twice as many sweeps gain less each time: one that did not gain half of what is missing would
    need several times as many as it has had.

    Parameters
    ----------
    losses : callable
        What a fit loses on each left-out entry, in one or more ways.
    missing : callable
        By how much such losses are larger on average than those they are up against; nought where
        that may be chance.
    """

    def __init__(
        self,
        losses: Callable[[Fit], Sequence[Array]],
        missing: Callable[[Sequence[Array]], float],
    ) -> None:
        self.losses, self.missing = losses, missing
        self.look, self.least = FIRST_LOOK, np.inf

    def __call__(self, progress: Progress) -> bool:
        """Whether the trial may end here."""
        if progress.sweep < self.look:
            return False
        self.look *= 2
        found = self.losses(progress.fit())
        loss = min(float(one.mean()) for one in found)
        gained, self.least = self.least - loss, min(loss, self.least)
        missing = self.missing(found)
        return missing > 0.0 and gained < NEARER * missing
