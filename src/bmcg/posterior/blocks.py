"""Means and variances of all pairs of some rows and some columns: products of matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..backends.packed import multiplicity
from ..inference.covariance import Blocks
from ..inference.draws import Draws
from ..inference.state import Factors
from .kept import kept_means, kept_variances

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def mean_products(u: Factors, v: Factors, draws: Draws | None, rows: Index, cols: Index) -> Array:
    """⟨u_i·v_j⟩, shape (n_rows, n_cols)."""
    if draws is not None:
        return kept_means(draws, rows, cols)
    return u.mean[rows] @ v.mean[cols].T


def variance_products(
    u: Factors, v: Factors, draws: Draws | None, rows: Index, cols: Index
) -> Array:
    """Var(u_i·v_j), shape (n_rows, n_cols)."""
    if draws is not None:
        return kept_variances(draws, rows, cols)
    if not isinstance(u.covariance, Blocks):
        left, _ = u.covariance.factors_of_variance(u.mean, rows)
        _, right = v.covariance.factors_of_variance(v.mean, cols)
        return left @ right.T
    # Half the work for all pairs: ⟨uuᵀ⟩ : ⟨vvᵀ⟩ is ⟨(u·v)²⟩.
    left, right = (
        Blocks(side.cov[at]).moments(side.mean[at]) for side, at in ((u, rows), (v, cols))
    )
    out = (left * multiplicity(u.rank)) @ right.T
    out -= (u.mean[rows] @ v.mean[cols].T) ** 2
    return np.maximum(out, 0.0)
