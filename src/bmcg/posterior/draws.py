"""Draws of one side's factors from q, from the very precision that its covariance came from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..backends import default_backend
from ..inference.covariance import Diagonal
from ..inference.families import Family
from ..linalg.monte_carlo import MonteCarloEngine
from ..linalg.system import mean_system
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
        self.family, self.side = family, side
        self.rng = np.random.default_rng(seed)
        self.backend = default_backend()
        self.roots: Array | None = None
        self.tied = family != "row" and (side.precision.has_edges or side.features is not None)
        if not self.tied:
            return
        self.lam, self.prior = side.lam[side.free], side.prior(self.backend)
        if family == "joint":
            self.system = mean_system(side.data_precision, 1.0, self.lam, self.prior)

    def next(self, count: int) -> Array:
        """So many draws, shape (n, K, count)."""
        mean = self.side.factors.mean
        out = np.repeat(mean[:, :, None], count, axis=2)
        if not self.tied:
            out += self._independent(out.shape)
            return out
        engine = MonteCarloEngine(self.backend, int(self.rng.integers(2**31)), count, tol=1e-6)
        data = self.side.data_precision
        if self.family == "column":
            shift = engine.draw_columns(self.prior, data, self.lam, independent=True)
        else:
            shift = engine.draw_blocks(self.prior, self.system, data)
        out[:, self.side.free] += shift[: len(mean)]
        return out

    def _independent(self, shape: tuple[int, ...]) -> Array:
        noise = self.rng.standard_normal(shape)
        cov = self.side.factors.cov
        if isinstance(self.side.factors.covariance, Diagonal):
            noise *= np.sqrt(cov)[:, :, None]
            return noise
        if self.roots is None:
            self.roots = self.backend.cholesky_blocks(cov)
        return self.backend.lower_products(self.roots, noise)


def batches(n_draws: int, unknowns: int) -> list[int]:
    """Sizes of batches of draws of so many unknowns each."""
    step = int(np.clip(BATCH // max(unknowns, 1), 1, MOST))
    return [min(step, n_draws - start) for start in range(0, n_draws, step)]
