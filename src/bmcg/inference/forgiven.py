"""What a short chain is off by, for being short: not held against the model it tries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .fit import Fit

Array = NDArray[np.float64]
Index = NDArray[np.integer[Any]]

# Parts of a chain whose means tell how far its mean is off.
BATCHES = 6


def chain_error(fit: Fit, rows: Index, cols: Index, longer: int) -> Array:
    """How much of the squared errors a chain that keeps more draws would be without.

    The variance of a mean over draws, from the means of parts of the chain, shape (n_left_out,).
    """
    draws = fit.draws
    if draws is None or len(draws) < 2 * BATCHES or longer <= len(draws):
        return np.zeros(len(rows))
    means = np.stack([part.moments(rows, cols)[0] for part in draws.parts(BATCHES)])
    found: Array = means.var(axis=0, ddof=1) / BATCHES
    return fit.scale**2 * found * (1.0 - len(draws) / longer)


def believable(less: Array, loss: Array) -> Array:
    """What a longer chain would be without, as far as a chain that travels can tell, (n_left_out,).

    Means of B parts that are each worth one draw of variance v err by v(1 + 1/B) at least, and
    v/B of it goes: a share of 1/(B + 1). More is no spread of draws but a chain on its way, or
    numbers that single precision cannot hold.
    """
    most, found = float(loss.mean()) / (BATCHES + 1), float(less.mean())
    return less * (most / found) if found > max(most, 0.0) else less
