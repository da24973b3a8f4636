"""What an engine tells of a posterior's covariance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .cg import Solution

Array = NDArray[np.float64]


class Spread(NamedTuple):
    """Covariance of one side, as far as the updates need it.

    Attributes
    ----------
    cov : ndarray of shape (n, k) or (n, k(k+1)/2)
        Variances of each component, or packed diagonal blocks.
    log_det : ndarray of shape (k,) or ()
        Log-determinants of the precisions, or of the one joint precision.
    nodes : ndarray of shape (n, k) or None
        Variances of the rows; None where rows are independent, so that the blocks have them.
    edges : ndarray of shape (n_edges, k) or None
        Variance of the difference u_a − u_b over each edge; None where rows are independent,
        so that it is the sum of their variances.
    draws : ndarray of shape (n_nodes, k, s) or None
        Draws of the posterior, zero mean, where the engine made them.
    solution : Solution or None
        How their solve ended.
    """

    cov: Array
    log_det: Array
    nodes: Array | None
    edges: Array | None
    draws: Array | None = None
    solution: Solution | None = None
