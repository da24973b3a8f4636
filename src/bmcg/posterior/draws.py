"""Draws of one side's factors from q, from the very precision that its covariance came from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..backends import default_backend
from ..inference.families import Family, posterior_of
from ..linalg.monte_carlo import MonteCarloEngine
from .side import SidePosterior

Array = NDArray[np.float64]

# Numbers drawn together: solves share their passes, and memory is bounded.
BATCH = 1 << 21
MOST = 64


class Draws:
    """A stream of draws of one side.

    Rows of the `row` family, and rows that nothing ties, are drawn by their own covariance; the
    others by a solve with the posterior precision, features and all.

    Parameters
    ----------
    family : {"column", "row", "joint"}
    side : SidePosterior
    seed : sequence of int
    """

    def __init__(self, family: Family, side: SidePosterior, seed: list[int]) -> None:
        self.posterior, self.side = posterior_of(family), side
        self.rng = np.random.default_rng(seed)
        self.backend = default_backend()
        self.root: Callable[[Array], Array] | None = None
        tied = side.precision.has_edges or side.features is not None
        self.prior = side.prior(self.backend) if tied and self.posterior.uses_engine else None

    def next(self, count: int) -> Array:
        """So many draws, shape (n, K, count)."""
        side, mean = self.side, self.side.factors.mean
        if self.prior is None:
            self.root = self.root or side.factors.covariance.root(self.backend)
            return mean[:, :, None] + self.root(self.rng.standard_normal((*mean.shape, count)))
        out = np.repeat(mean[:, :, None], count, axis=2)
        engine = MonteCarloEngine(self.backend, int(self.rng.integers(2**31)), count, tol=1e-6)
        shift = self.posterior.draw(engine, self.prior, side.data_precision, side.lam[side.free])
        out[:, side.free] += shift[: len(mean)]
        return out


def batches(n_draws: int, unknowns: int) -> list[int]:
    """Sizes of batches of draws of so many unknowns each."""
    step = int(np.clip(BATCH // max(unknowns, 1), 1, MOST))
    return [min(step, n_draws - start) for start in range(0, n_draws, step)]
