"""Means and variances of all pairs of some rows and some columns: products of matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..backends.packed import multiplicity
from ..inference.covariance import Blocks
from ..inference.draws import Draws
from ..inference.state import Factors
from .kept import kept_means, kept_variances
from .local import LocalTerm

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def mean_products(
    u: Factors,
    v: Factors,
    draws: Draws | None,
    local: LocalTerm | None,
    rows: Index,
    cols: Index,
) -> Array:
    """⟨u_i·v_j⟩, and the local term where there is one, shape (n_rows, n_cols)."""
    if draws is not None:
        return kept_means(draws, rows, cols)
    y = u.mean[rows] @ v.mean[cols].T
    return y if local is None else y + local.mean[np.ix_(rows, cols)]


def variance_products(
    u: Factors,
    v: Factors,
    draws: Draws | None,
    local: LocalTerm | None,
    rows: Index,
    cols: Index,
) -> Array:
    """Var(u_i·v_j), and the local term's where there is one, shape (n_rows, n_cols)."""
    if draws is not None:
        return kept_variances(draws, rows, cols)
    y = _factor_variances(u, v, rows, cols)
    return y if local is None else y + local.variance[np.ix_(rows, cols)]


def _factor_variances(u: Factors, v: Factors, rows: Index, cols: Index) -> Array:
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
