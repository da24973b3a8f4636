"""Means and variances of all pairs of some rows and some columns: products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..backends.packed import multiplicity
from ..inference.covariance import Blocks
from .kept import kept_means, kept_variances

if TYPE_CHECKING:
    from .posterior import Posterior

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def mean_products(posterior: Posterior, rows: Index, cols: Index) -> Array:
    """⟨u_i·v_j⟩, shape (n_rows, n_cols)."""
    if posterior.draws is not None:
        return kept_means(posterior.draws, rows, cols)
    return posterior.rows.factors.mean[rows] @ posterior.cols.factors.mean[cols].T


def variance_products(posterior: Posterior, rows: Index, cols: Index) -> Array:
    """Var(u_i·v_j), shape (n_rows, n_cols)."""
    u, v = posterior.rows.factors, posterior.cols.factors
    if posterior.draws is not None:
        return kept_variances(posterior.draws, rows, cols)
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
