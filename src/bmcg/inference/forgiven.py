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


def chain_error(fit: Fit, rows: Index, cols: Index, longer: int, chains: int = 1) -> Array:
    """How much of the squared errors a fit of more draws, or of more chains, would be without.

    The variance of a mean over draws, shape (n_left_out,): from the means of chains, where the
    trial has several and the fit will have more; else from the means of parts of the chain.

    Parameters
    ----------
    fit : Fit
        The trial.
    rows, cols : ndarray of shape (n_left_out,)
    longer, chains : int
        Draws and chains of the fit.
    """
    draws, made = fit.draws, 1 if fit.diagnostics is None else len(fit.diagnostics.burn_in)
    if draws is None or len(draws) < 2 * BATCHES:
        return np.zeros(len(rows))
    if 1 < made < chains:
        parts, left = made, made / chains
    elif longer > len(draws):
        parts, left = BATCHES, len(draws) / longer
    else:
        return np.zeros(len(rows))
    means = np.stack([part.moments(rows, cols)[0] for part in draws.parts(parts)])
    found: Array = means.var(axis=0, ddof=1) / parts
    return fit.scale**2 * found * (1.0 - left)


def believable(less: Array, loss: Array, nothing: float = 0.0) -> Array:
    """What a longer chain would be without, as far as a chain that travels can tell, (n_left_out,).

    Means of B parts that are each worth one draw of variance v err by v(1 + 1/B) at least, and
    v/B of it goes: a share of 1/(B + 1). More is no spread of draws but a chain on its way, or
    numbers that single precision cannot hold. Of losses that are as good as nothing, none goes.
    """
    most, found = (float(loss.mean()) - nothing) / (BATCHES + 1), float(less.mean())
    return less * max(most / found, 0.0) if found > max(most, 0.0) else less
