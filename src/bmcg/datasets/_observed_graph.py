"""Neighbours judged by the observed values alone, for matrices small enough to hold densely."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..graphs import knn_graph
from ..observations import Observations

# The number of factors the paper gives every method that cannot find its own.
_N_COMPONENTS = 10
# Entries at the overall mean that each row is given before its own mean is taken.
_DAMPING = 2.0


def observed_value_graph(observations: Observations, n_neighbors: int = 10) -> sp.csr_array:
    """Nearest-neighbour graph of the rows that no unobserved value has touched.

    Two rows share few observed columns, so distances between them are taken in a summary: the
    damped row mean, and the ten leading left singular vectors of the centred, zero-filled
    matrix, scaled by their singular values over the share of observed entries.

    Parameters
    ----------
    observations : Observations
        On an m×n matrix; it is made dense.
    n_neighbors : int

    Returns
    -------
    csr_array of shape (m, m)
    """
    m, n = observations.shape
    row_of, values = observations.row_indices, observations.values
    count = np.bincount(row_of, minlength=m)
    total = np.bincount(row_of, weights=values, minlength=m)
    mean = (total + _DAMPING * values.mean()) / (count + _DAMPING)
    centred = np.zeros((m, n))
    centred[row_of, observations.col_indices] = values - mean[row_of]
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    share = len(values) / (m * n)
    leading = U[:, :_N_COMPONENTS] * s[:_N_COMPONENTS] / share
    summary = np.column_stack([leading, np.sqrt(n) * mean])
    return knn_graph(summary, n_neighbors=n_neighbors)


def transposed(observations: Observations) -> Observations:
    """The observations of the transposed matrix, without labels."""
    return Observations(observations.shape[::-1], observations.by_col, observations.by_row)
