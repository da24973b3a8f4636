"""What one side looks like to the other.

Without biases that is V itself. With them the model is u·v + b + c: U carries b as its last
column, V carries c, and the other's bias meets a constant. To the rows, column j is the vector
(v_j, 1, c_j): the rows' own unknowns (u_i, b_i) meet its first part, a constant one its last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels import passes
from ..kernels.grams import gram_and_sums
from ..kernels.moments import second_moments
from ..kernels.passes import Side
from ..kernels.reference import packed_diagonal
from .families import Family
from .state import Factors

Array = NDArray[np.float64]


class Sums(NamedTuple):
    """Sums over each row's observations that its update needs.

    Attributes
    ----------
    grams : ndarray of shape (n, k(k+1)/2)
        G_i = Σ_j ⟨v_j v_jᵀ⟩ over what meets the row's unknowns, packed.
    targets : ndarray of shape (n, k)
        Σ_j ⟨(x_ij − c_j) v_j⟩.
    squares : float
        Σ ⟨(x_ij − c_j)²⟩ over all observations.
    """

    grams: Array
    targets: Array
    squares: float


def partner_mean(factors: Factors, biased: bool) -> Array:
    """Means as the other side meets them: V, or (V, 1, c); shape (n, k) or (n, k + 1)."""
    V = factors.rows
    if not biased:
        return V
    return np.hstack((V[:, :-1], np.ones((len(V), 1)), V[:, -1:]))


def own_mean(factors: Factors, biased: bool) -> Array:
    """Means as they meet the other side's: U, or (U, b, 1)."""
    U = factors.rows
    return np.hstack((U, np.ones((len(U), 1)))) if biased else U


def with_constant(family: Family, factors: Factors, biased: bool, at: int) -> Factors:
    """The rows' posterior with a constant column of ones put in at position `at`.

    `at` is the last position for the side that plays U, the last but one for V.
    """
    if not biased:
        return Factors(factors.rows, factors.cov, factors.log_det, factors.energy)
    if at == factors.rank:
        mean = own_mean(factors, True)
        width = 1 if family == "column" else factors.rank + 1
        cov = np.hstack((factors.cov, np.zeros((len(mean), width))))
    else:
        mean, cov = partner_mean(factors, True), partner_cov(family, factors, True)
    free = np.flatnonzero(np.arange(mean.shape[1]) != at)
    energy = np.zeros((mean.shape[1], mean.shape[1]))
    energy[np.ix_(free, free)] = factors.energy
    return Factors(mean, cov, factors.log_det, energy)


def partner_cov(family: Family, factors: Factors, biased: bool) -> Array:
    """Covariances in the order of `partner_mean`; the constant has none.

    One column's variances and its packed blocks look alike, so the family has to say.
    """
    cov, k = factors.cov, factors.rank
    n = len(cov)
    if not biased:
        return cov
    if family == "column":
        return np.hstack((cov[:, :-1], np.zeros((n, 1)), cov[:, -1:]))
    # Rows of the triangle: the shared columns, a row of zeros, the bias with a zero put in.
    shared = (k - 1) * k // 2
    return np.hstack(
        (
            cov[:, :shared],
            np.zeros((n, k)),
            cov[:, shared : shared + k - 1],
            np.zeros((n, 1)),
            cov[:, -1:],
        )
    )


def sums(family: Family, side: Side, other: Factors, biased: bool) -> Sums:
    """All sums of one side's update from the other side's moments."""
    V, C = partner_mean(other, biased), partner_cov(family, other, biased)
    K = V.shape[1]
    if family == "column":
        G, h = gram_and_sums(side, V)
        G[:, packed_diagonal(K)] += passes.row_sums(side, C)
    else:
        G = passes.row_sums(side, second_moments(side.pool, V, C, side.storage))
        h = passes.weighted_sums(side, V)
    if not biased:
        return Sums(G, h, side.squares)
    free = K * (K - 1) // 2
    last = G[:, free:]
    squares = side.squares - 2.0 * float(h[:, -1].sum()) + float(last[:, -1].sum())
    return Sums(np.ascontiguousarray(G[:, :free]), h[:, :-1] - last[:, :-1], squares)
