"""LMaFit: low-rank fitting by successive over-relaxation (Wen, Yin and Zhang 2012)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..backends import SparseRows, count_jobs, open_backend
from ..base import MatrixCompleter
from ..checks import check_number, check_whole
from ..observations import Observations
from .alternating import sides
from .factor_model import FactorModel

Array = NDArray[np.float64]

# Settings of the authors' solver.
_SLOW, _PATIENCE, _LONGEST_WAIT, _LEAST_SHARE = 0.7, 5, 50, 0.1
# Pivots below this share of the first are zero up to rounding.
_ROUNDING = 1e-15


@dataclass(frozen=True)
class _State:
    """Iterate X Yᵀ with its residual.

    Attributes
    ----------
    X, Y : ndarray of shape (m, k) and (n, k)
    E : ndarray of shape (n_observed,)
        P_Ω(M − XYᵀ), in the order of the first side.
    norm : float
        ‖E‖.
    pivots : ndarray of shape (k,)
        |diagonal| of the pivoted QR factorisation of the unnormalised X.
    """

    X: Array
    Y: Array
    E: Array
    norm: float
    pivots: Array


class LMaFit(MatrixCompleter):
    """Low-rank matrix fitting with adaptive over-relaxation.

    Minimises ½‖XYᵀ − Z‖² over X, Y and Z with P_Ω(Z) = P_Ω(M), that is, the squared error on
    the observed entries at a given rank. Nothing regularises it, and it defines no standard
    deviation. Z is kept as the product XYᵀ plus a sparse residual.

    Parameters
    ----------
    rank : int
        Initial rank; at most the shorter side of the matrix is used.
    estimate_rank : bool
        Lower the rank once, to the largest drop in the diagonal of the QR factorisation.
    rank_jump : float
        How many times the mean of the other drops the largest one has to be.
    max_iter : int
    tol : float
        Stop when the relative residual falls below `tol`, or changes by less than half of it.
    random_state : None
        Not used: the method draws nothing.
    n_jobs : int, optional
    verbose : bool

    Attributes
    ----------
    objective_trace_ : list of float
        ½‖P_Ω(M − XYᵀ)‖² at the start and after each iteration; it rises at most once, where
        the rank is lowered.
    rank_ : int
    n_iter_ : int
    converged_ : bool
    """

    _uses_row_graph = False
    _uses_col_graph = False
    _fitted_type = FactorModel
    _tuning_grid: ClassVar[dict[str, list[Any]]] = {
        "rank": [1, 2, 3, 5, 10],
        "estimate_rank": [False],
    }

    def __init__(
        self,
        rank: int = 100,
        *,
        estimate_rank: bool = True,
        rank_jump: float = 10.0,
        max_iter: int = 500,
        tol: float = 1.25e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.estimate_rank = estimate_rank
        self.rank_jump = rank_jump
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self, observations: Observations) -> None:
        check_whole("rank", self.rank)
        check_whole("max_iter", self.max_iter)
        check_number("rank_jump", self.rank_jump, above=1.0)
        check_number("tol", self.tol, allow_equal=True)
        count_jobs(self.n_jobs)

    def _fit(
        self, observations: Observations, A: sp.csr_array | None, B: sp.csr_array | None
    ) -> FactorModel:
        # Thin dense products: threads of the linear algebra library would only get in the way.
        with open_backend(self.n_jobs) as backend, threadpool_limits(1):
            by_row, by_col = sides(observations, 1.0, backend)
            flipped = by_row.n > by_col.n
            views = (by_col, by_row) if flipped else (by_row, by_col)
            state = self._iterate(views)
        self.rank_ = state.X.shape[1]
        factors = (state.Y, state.X) if flipped else (state.X, state.Y)
        return FactorModel(*factors)

    def _iterate(self, views: tuple[SparseRows, SparseRows]) -> _State:
        first = views[0]
        order = np.argsort(first.indices, kind="stable")
        k = min(self.rank, first.n)
        state = _start(views, k)
        scale = max(1.0, state.norm)
        trace = [0.5 * state.norm**2]
        excess, increment, since, estimating = 0.0, 1.0, 0, self.estimate_rank and k > 1
        self.converged_ = False
        while len(trace) <= self.max_iter and not self.converged_:
            since += 1
            new = _step(views, order, state, 1.0 + excess)
            ratio = new.norm / state.norm if state.norm > 0 else 1.0
            lower = estimating and self._lower_rank(new.pivots, since)
            if lower:
                state, since, estimating = _truncate(views, new, lower), 0, False
            elif ratio < 1:
                state = new
            if ratio >= 1:
                # The extrapolation went too far: fall back to a plain least squares step.
                increment, excess = max(0.1 * excess, 0.1 * increment), 0.0
            elif ratio > _SLOW:
                increment = max(increment, 0.25 * excess)
                excess += increment
            trace.append(0.5 * state.norm**2)
            self.converged_ = state.norm <= self.tol * scale or (
                abs(1 - ratio) < 0.5 * self.tol and since > _PATIENCE
            )
            if self.verbose:
                print(f"LMaFit {len(trace) - 1}: rank {state.X.shape[1]}, {trace[-1]:.6g}")
        self.objective_trace_ = trace
        self.n_iter_ = len(trace) - 1
        return state

    def _lower_rank(self, pivots: Array, since: int) -> int:
        """The rank to go down to, or 0 to stay."""
        k = len(pivots)
        if k < 3 or since <= _PATIENCE or pivots[0] == 0:
            return 0
        drops = pivots[:-1] / np.maximum(pivots[1:], _ROUNDING * pivots[0])
        at = int(np.argmax(drops))
        others = float(np.delete(drops, at).mean())
        jump = drops[at] / others
        if jump <= self.rank_jump and since <= _LONGEST_WAIT:
            return 0
        return max(at + 1, int(_LEAST_SHARE * k), 1)


def _start(views: tuple[SparseRows, SparseRows], k: int) -> _State:
    """X = 0 and Y the leading columns of the identity, as in the authors' code."""
    E = views[0].values.copy()
    return _State(
        np.zeros((views[0].n, k)), np.eye(views[1].n, k), E, float(np.linalg.norm(E)), np.ones(k)
    )


def _step(
    views: tuple[SparseRows, SparseRows], order: NDArray[np.intp], state: _State, omega: float
) -> _State:
    """Least squares for X, then for Y, against Z = XYᵀ + ω P_Ω(M − XYᵀ)."""
    X, Y = state.X, state.Y
    sparse = omega * state.E
    ZY = X @ (Y.T @ Y) + views[0].backend.weighted_sums(views[0], Y, sparse)
    # An orthonormal basis serves as well as the least squares solution: the product is equal.
    Q, R, _ = scipy.linalg.qr(ZY, mode="economic", pivoting=True)
    Q = np.ascontiguousarray(Q)
    new_Y = Y @ (X.T @ Q) + views[1].backend.weighted_sums(views[1], Q, sparse[order])
    E = _residuals(views[0], Q, new_Y)
    return _State(Q, new_Y, E, float(np.linalg.norm(E)), np.abs(np.diag(R)))


def _residuals(rows: SparseRows, X: Array, Y: Array) -> Array:
    """P_Ω(M − XYᵀ), in the order of the rows."""
    return rows.values - rows.backend.entry_products(rows, X, Y)


def _truncate(views: tuple[SparseRows, SparseRows], state: _State, rank: int) -> _State:
    """The leading columns, in the order of the pivots."""
    X, Y = np.ascontiguousarray(state.X[:, :rank]), np.ascontiguousarray(state.Y[:, :rank])
    E = _residuals(views[0], X, Y)
    return replace(state, X=X, Y=Y, E=E, norm=float(np.linalg.norm(E)), pivots=state.pivots[:rank])
