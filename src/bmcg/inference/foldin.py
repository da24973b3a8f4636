"""Rows that come after the fit: their factors, given what was learned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels import passes
from ..kernels.passes import Side
from ..kernels.reference import packed_diagonal
from . import design
from .families import Family
from .state import Factors

Array = NDArray[np.float64]


def fold_in_rows(
    family: Family,
    side: Side,
    other: Factors,
    tau: float,
    prior_precision: Array,
    pull: Array | None = None,
) -> Factors:
    """q(u_i) of new rows given q(V) and ⟨τ⟩: the update of a row, nothing else moved.

    u_i has precision P_i = τ Σ_{j∈Ω_i} ⟨v_j v_jᵀ⟩ + diag(prior_i) and mean
    P_i⁻¹ (τ Σ_{j∈Ω_i} x_ij ⟨v_j⟩ + pull_i). A row with edges to fitted rows has
    prior_i = (Σ_a w_ia + ridge)·λ and pull_i = λ Σ_a w_ia ⟨u_a⟩; given those rows, new rows are
    independent, so edges among new rows are not for this function.

    Parameters
    ----------
    family : {"column", "row", "joint"}
        `column` keeps variances along the components alone, 1 / diag(P_i), as its fit does.
    side : Side
        Observed entries of the new rows, n of them, in the units of the fit.
    other : Factors
        q(V).
    tau : float
    prior_precision : ndarray of shape (k,) or (n, k)
    pull : ndarray of shape (n, k), optional
        Prior precision times prior mean; zero by default.

    Returns
    -------
    Factors
        Of n rows. Their energy is NaN: these rows have no part in what drives λ.
    """
    k = other.rank
    diagonal = packed_diagonal(k)
    found = design.sums(family, side, other, False)
    P = tau * found.grams
    P[:, diagonal] += prior_precision
    rhs = tau * found.targets
    if pull is not None:
        rhs += pull
    inverse, logs = passes.invert_blocks(side.pool, P)
    if not np.isfinite(logs).all():
        raise FloatingPointError(
            "the precision of a new row is not positive definite; its values may lie too many "
            "orders of magnitude from those of the fit: rescale them"
        )
    mean = passes.block_product(side.pool, inverse, rhs)
    energy = np.full((k, k), np.nan)
    if family == "column":
        pivots = P[:, diagonal]
        return Factors(mean, 1.0 / pivots, float(np.log(pivots).sum()), energy)
    return Factors(mean, inverse, float(logs.sum()), energy)
