"""Alternating minimisation of a factor model: the solver GRALS, GPMF and KPMF share.

Minimises ½‖P_Ω(M − UVᵀ)‖² + ½ tr(YᵀAY) + ½ tr(ZᵀBZ), U = S Y, V = T Z, by a few conjugate
gradient steps on all of Y, then on all of Z, in turn. S and T are the identity unless a prior
covariance, and not its inverse, is what can be applied cheaply.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend, SparseRows
from ..graphs.precision import Precision
from ..linalg.cg import conjugate_gradient
from ..observations import Observations, View

Array = NDArray[np.float64]
Operator = Callable[[Array], Array]

# Entries of a row from which on its Gram block is summed fast.
LONG_ROW = 24


def unchanged(X: Array) -> Array:
    """The identity."""
    return X


@dataclass(frozen=True)
class Penalty:
    """½ tr(YᵀAY) on coordinates Y of a factor U = S Y.

    Attributes
    ----------
    apply : callable
        Y to A Y, arrays of shape (n, k).
    lift : callable
        Y to S Y; S is symmetric.
    """

    apply: Operator
    lift: Operator = unchanged

    def value(self, Y: Array) -> float:
        """½ tr(YᵀAY)."""
        return 0.5 * float(np.einsum("ij,ij->", Y, self.apply(Y)))


@dataclass(frozen=True)
class Factors:
    """Where alternating minimisation ended.

    Attributes
    ----------
    rows, cols : ndarray of shape (m, k) and (n, k)
        U and V.
    objective : list of float
        The objective at the start and after every sweep.
    converged : bool
    """

    rows: Array
    cols: Array
    objective: list[float] = field(default_factory=list)
    converged: bool = False


def precision_penalty(precision: Precision) -> Penalty:
    """The penalty of a sparse precision."""
    A = precision.to_csr()
    return Penalty(lambda Y: A @ Y)


def sides(
    observations: Observations, scale: float, backend: Backend
) -> tuple[SparseRows, SparseRows]:
    """Both views for the kernels, values divided by `scale`."""

    def side(view: View) -> SparseRows:
        return SparseRows(view.indptr, view.indices, view.values / scale, backend)

    return side(observations.by_row), side(observations.by_col)


def alternate(
    views: tuple[SparseRows, SparseRows],
    penalties: tuple[Penalty, Penalty],
    start: tuple[Array, Array],
    *,
    max_iter: int,
    cg_steps: int,
    tol: float,
    report: Callable[[int, float], None] | None = None,
) -> Factors:
    """Sweep over rows and columns until the objective stops falling.

    Parameters
    ----------
    views : (SparseRows, SparseRows)
        Observations by row and by column.
    penalties : (Penalty, Penalty)
    start : (ndarray of shape (m, k), ndarray of shape (n, k))
        Coordinates Y and Z.
    max_iter : int
        Sweeps at most.
    cg_steps : int
        Conjugate gradient steps for each side and sweep.
    tol : float
        Stop when a sweep lowers the objective by less than this share of it.
    report : callable, optional
        Called with the sweep and the objective.

    Returns
    -------
    Factors
    """
    by_row, by_col = views
    row_penalty, col_penalty = penalties
    Y, Z = start
    U, V = row_penalty.lift(Y), col_penalty.lift(Z)
    AY, BZ = row_penalty.apply(Y), col_penalty.apply(Z)
    trace: list[float] = []
    size = float(np.einsum("i,i->", by_row.values, by_row.values))
    while True:
        fit = least_squares(by_row, V, cg_steps, size)
        # What the next step needs gives the objective where the last one ended.
        pull, error = fit.pull(U)
        trace.append(0.5 * (error + _inner(Y, AY) + _inner(Z, BZ)))
        if report is not None and len(trace) > 1:
            report(len(trace) - 1, trace[-1])
        converged = len(trace) > 1 and trace[-2] - trace[-1] <= tol * trace[-2]
        if converged or len(trace) > max_iter:
            return Factors(U, V, trace, converged)
        Y = Y + correction(fit, row_penalty, row_penalty.lift(pull) - AY, cg_steps)
        U, AY = row_penalty.lift(Y), row_penalty.apply(Y)
        fit = least_squares(by_col, U, cg_steps, size)
        pull, _ = fit.pull(V)
        Z = Z + correction(fit, col_penalty, col_penalty.lift(pull) - BZ, cg_steps)
        V, BZ = col_penalty.lift(Z), col_penalty.apply(Z)


@dataclass(frozen=True)
class MatrixFree:
    """½‖P_Ω(M − UFᵀ)‖² as a function of U, F (n_other, k) fixed: a pass for each question."""

    side: SparseRows
    F: Array

    def pull(self, U: Array) -> tuple[Array, float]:
        """Its negative gradient at U (n, k), and ‖P_Ω(M − UFᵀ)‖²."""
        return self.side.backend.residual_sums(self.side, U, self.F)

    def product(self, X: Array) -> Array:
        """Its Hessian times X (n, k)."""
        return self.side.backend.gram_product(self.side, self.F, X)


@dataclass(frozen=True)
class Grams(MatrixFree):
    """The same from Gram blocks G (n, k(k+1)/2) and sums h (n, k), which one pass gives.

    `size` is ‖P_Ω(M)‖².
    """

    G: Array
    h: Array
    size: float

    def pull(self, U: Array) -> tuple[Array, float]:
        """Negative gradient and squared error, the latter by a pass where it would cancel."""
        pull = self.h - self.product(U)
        error = self.size - _inner(self.h, U) - _inner(pull, U)
        if error <= 1e-6 * self.size:
            error = self.side.backend.squared_error(self.side, U, self.F)
        return pull, error

    def product(self, X: Array) -> Array:
        """Its Hessian times X (n, k)."""
        return self.side.backend.block_product(self.G, X)


def least_squares(side: SparseRows, F: Array, cg_steps: int, size: float) -> MatrixFree:
    """The fit of one side, by whichever way costs less for so many steps; size is ‖P_Ω(M)‖²."""
    k = F.shape[1]
    # Gram blocks cost k/9 matrix-free passes where rows are long, k/3 where they are short.
    dense = len(side.values) >= LONG_ROW * side.n
    if k < (9 if dense else 3) * (cg_steps + 1):
        return Grams(side, F, *side.backend.gram_and_sums(side, F), size)
    return MatrixFree(side, F)


def correction(fit: MatrixFree, penalty: Penalty, descent: Array, cg_steps: int) -> Array:
    """Conjugate gradient steps towards the best coordinates of one side.

    Parameters
    ----------
    fit : MatrixFree
    penalty : Penalty
    descent : ndarray of shape (n, k)
        Negative gradient of the objective at the current coordinates Y.
    cg_steps : int

    Returns
    -------
    ndarray of shape (n, k), to be added to Y
    """

    def apply(X: Array) -> Array:
        return penalty.lift(fit.product(penalty.lift(X))) + penalty.apply(X)

    return conjugate_gradient(apply, descent, max_steps=cg_steps).x


def _inner(X: Array, Y: Array) -> float:
    return float(np.einsum("ij,ij->", X, Y))
