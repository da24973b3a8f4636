"""What a fit leaves of each side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..backends import host
from ..backends.packed import contiguous
from ..linalg.prior import SidePrior
from .fit import FittedSide
from .side import Side
from .strengths import shares

Array = NDArray[np.float64]


def finished(
    side: Side, mean: Array, data_precision: Array, used: SidePrior, lam: Array
) -> FittedSide:
    """What a fit leaves of a side; mean (n_nodes, k) are its means."""
    assert side.stack is not None
    graphs, ridge = shares(side)
    share, weights, prior = float("nan"), np.empty((0, mean.shape[1])), side.prior
    if prior.features is not None:
        own = contiguous(prior.feature_weights(mean))
        weights, explained = host(own), prior.features.forward(own)
        share = float((explained**2).sum() / max((mean[: len(explained)] ** 2).sum(), 1e-300))
    return FittedSide(
        side,
        side.stack,
        side.strengths,
        mean.shape[1],
        graphs,
        ridge,
        share,
        weights,
        host(data_precision),
        used,
        lam,
    )
