"""What an engine tells of a posterior's covariance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Spread(NamedTuple):
    """Covariance of one side, as far as the updates need it.

    Attributes
    ----------
    cov : ndarray of shape (n, k) or (n, k(k+1)/2)
        Variances of each column, or packed diagonal blocks.
    log_det : ndarray of shape (k,) or ()
        Log-determinants of the precisions, or of the one joint precision.
    nodes : ndarray of shape (n, k)
        Variance of each node's P.
    edges : ndarray of shape (n_edges, k)
        Variance of the difference P_a − P_b over each edge, P = U − FB.
    features : ndarray of shape (p, k) or None
        Variances of the features' weights.
    """

    cov: Array
    log_det: Array
    nodes: Array
    edges: Array
    features: Array | None
