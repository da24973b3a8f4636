"""When a chain has told enough: more draws would change predictions less than noise hides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .draws import Kept, stack
from .forgiven import BATCHES

# Draws that deviations need in any case, and how often the question is asked.
LEAST_DRAWS = 24
ASK_EVERY = 6
# Pairs of rows and columns that are watched.
WATCHED = 1000
# Share of the noise's variance that a mean over draws may be off by: half of it in the error.
ENOUGH = 1e-3


def has_told(kept: Sequence[Kept], n_chains: int) -> bool:
    """Whether the mean over all chains will be near enough to that of endless ones.

    Parameters
    ----------
    kept : sequence of Kept
        Draws of one chain.
    n_chains : int
        That the mean is over: each is off by itself.
    """
    if len(kept) < LEAST_DRAWS or len(kept) % ASK_EVERY or not isinstance(kept[0][0], np.ndarray):
        return False
    rng, (m, n) = np.random.default_rng(0), (len(kept[0][0]), len(kept[0][1]))
    i, j = rng.integers(m, size=WATCHED), rng.integers(n, size=WATCHED)
    draws = stack([(U[i], V[j], noise) for U, V, noise in kept])
    at = np.arange(WATCHED)
    means = np.stack([part.moments(at, at)[0] for part in draws.parts(BATCHES)])
    off = float(means.var(axis=0, ddof=1).mean()) / (BATCHES * n_chains)
    return off < ENOUGH * float((1.0 / draws.tau).mean())
