"""Draws that a chain keeps, and what they say of entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..likelihoods import Drawn, Likelihood, Own

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Index = NDArray[np.integer[Any]]
# Factors of both sides as they meet at an entry, and what the likelihood has drawn.
Kept = tuple[Single, Single, Drawn]

# Numbers gathered at once for pairs of rows and columns, 32 MiB in single precision.
BATCH = 1 << 23


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
            # Sums are double, so that every route to an entry says the same.
            products = np.einsum("spr,spr->sp", U, V, dtype=np.float64)
            mean[here], variance[here] = products.mean(axis=0), products.var(axis=0, ddof=self.ddof)
        return mean, variance

    def on_host(self) -> Draws:
        """The same, wherever they were kept."""
        return replace(self, rows=np.asarray(self.rows), cols=np.asarray(self.cols))

    def parts(self, count: int) -> list[Draws]:
        """The draws in so many parts, one after the other."""
        cuts = np.array_split(np.arange(len(self)), count)
        return [
            Draws(
                self.rows[cut],
                self.cols[cut],
                self.tau[cut],
                {name: part[cut] for name, part in self.own.items()},
            )
            for cut in cuts
        ]

    @property
    def ddof(self) -> int:
        """One degree of freedom goes to the mean, where there is more than one draw."""
        return int(len(self) > 1)


def stack(kept: Sequence[Kept]) -> Draws:
    """Kept draws as one."""
    U, V, noises = zip(*kept, strict=True)
    tau = np.array([noise.tau for noise in noises])
    own = {name: np.stack([noise.own[name] for noise in noises]) for name in noises[0].own}
    return Draws(np.stack(U), np.stack(V), tau, own)


def levelled(draws: Draws, likelihood: Likelihood) -> Draws:
    """The draws with the level that entries have, where the likelihood has one."""
    level, own = likelihood.levelled(draws.own)
    if level is None:
        return draws
    rows, cols = draws.rows, draws.cols
    one = np.ones_like(rows, shape=(*rows.shape[:2], 1))
    every = np.broadcast_to(level.astype(np.float32)[:, None, None], (*cols.shape[:2], 1))
    rows, cols = np.concatenate((rows, one), axis=2), np.concatenate((cols, every), axis=2)
    return Draws(rows, cols, draws.tau, own)


def unstack(draws: Draws) -> list[Kept]:
    """The draws one by one."""
    return [
        (
            draws.rows[s],
            draws.cols[s],
            Drawn(float(draws.tau[s]), {name: part[s] for name, part in draws.own.items()}),
        )
        for s in range(len(draws))
    ]
