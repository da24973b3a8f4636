"""ADMM for nuclear norm, squared error on the observed entries and graph smoothness.

min ‖X‖_* + τ‖P_Ω(M − Y)‖² + γ_r tr(YᵀL_rY) + γ_c tr(YL_cYᵀ) subject to X = Y, with the scaled
dual W and penalty ρ: X thresholds the singular values of Y − W at 1/ρ, Y solves a linear
system, W gains X − Y.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

from ..linalg import cg

Array = NDArray[np.float64]

# Matrices with a shorter side up to this get their full decomposition: nothing is faster.
FULL_SVD = 300


class Weights(NamedTuple):
    """τ, γ_r and γ_c of the objective."""

    fit: float
    row: float
    col: float


@dataclass(frozen=True)
class Problem:
    """The data of the objective.

    Attributes
    ----------
    shape : (int, int)
    rows, cols : ndarray of int, shape (n_observed,)
    values : ndarray of shape (n_observed,)
    row_laplacian, col_laplacian : csr_array or None
    """

    shape: tuple[int, int]
    rows: NDArray[np.int32]
    cols: NDArray[np.int32]
    values: Array
    row_laplacian: sp.csr_array | None
    col_laplacian: sp.csr_array | None

    @cached_property
    def zero_weight(self) -> float:
        """The largest τ, without graphs, at which X = 0 is the solution: 1 / (2‖P_Ω M‖)."""
        if not self.values.any():
            return 0.5
        observed = sp.csr_array((self.values, (self.rows, self.cols)), shape=self.shape)
        if min(self.shape) < 3:
            return 0.5 / float(np.linalg.norm(observed.toarray(), 2))
        start = np.ones(min(self.shape))
        return 0.5 / float(svds(observed, k=1, v0=start, return_singular_vectors=False)[0])

    def objective(self, P: Array, s: Array, Q: Array, weights: Weights) -> float:
        """The objective of X = P diag(s) Qᵀ with orthonormal P and Q."""
        fitted = np.einsum("pr,pr->p", P[self.rows] * s, Q[self.cols])
        total = float(s.sum()) + weights.fit * float(np.sum((self.values - fitted) ** 2))
        # tr(XᵀLX) = Σ_r s_r² p_rᵀLp_r, because the columns of Q are orthonormal.
        if self.row_laplacian is not None:
            total += weights.row * float(np.einsum("r,ir,ir->", s**2, P, self.row_laplacian @ P))
        if self.col_laplacian is not None:
            total += weights.col * float(np.einsum("r,ir,ir->", s**2, Q, self.col_laplacian @ Q))
        return total


@dataclass(frozen=True)
class Solution:
    """Where ADMM ended.

    Attributes
    ----------
    left, values, right : ndarray of shape (m, r), (r,) and (n, r)
        Singular value decomposition of X.
    Y, W : ndarray of shape (m, n)
        The smooth copy of X, and the dual times its penalty.
    objective, residual : list of float
        After every iteration.
    converged : bool
    """

    left: Array
    values: Array
    right: Array
    Y: Array
    W: Array
    objective: list[float]
    residual: list[float]
    converged: bool

    def entries(self, rows: NDArray[np.int32], cols: NDArray[np.int32]) -> Array:
        """X at paired positions."""
        return np.einsum("pr,pr->p", self.left[rows] * self.values, self.right[cols])


def solve(
    problem: Problem,
    weights: Weights,
    penalty: float | None,
    start: Solution | None,
    *,
    max_iter: int,
    tol: float,
    cg_tol: float = 1e-4,
) -> Solution:
    """Run ADMM from zero, or from where another choice of weights ended.

    Parameters
    ----------
    problem : Problem
    weights : Weights
    penalty : float, optional
        ρ; by default half of τ, which needed the fewest iterations on ratings, but never so
        large that thresholding leaves the observed singular values nearly as they are.
    start : Solution, optional
    max_iter : int
    tol : float
        Stop when X − Y and the change of Y are below this share of Y.
    cg_tol : float
        Relative residual of the linear systems.
    """
    rho = min(0.5 * weights.fit, 4.0 * problem.zero_weight) if penalty is None else penalty
    Y = np.zeros(problem.shape) if start is None else start.Y
    W = np.zeros(problem.shape) if start is None else start.W / rho
    basis = None if start is None else start.right
    diagonal = _diagonal(problem, weights, rho)
    objective: list[float] = []
    residual: list[float] = []
    converged = False
    while len(objective) < max_iter and not converged:
        P, s, Q = shrink(Y - W, 1.0 / rho, basis)
        X, basis = (P * s) @ Q.T, Q
        smooth = _smooth(problem, weights, rho, diagonal, X + W, Y, cg_tol)
        Y_next = smooth.x
        gap = X - Y_next
        moved = float(np.linalg.norm(Y_next - Y))
        broken = float(np.linalg.norm(gap))
        W = W + gap
        Y = Y_next
        objective.append(problem.objective(P, s, Q, weights))
        residual.append(rho * (moved**2 + broken**2))
        converged = max(moved, broken) <= tol * float(np.linalg.norm(Y))
    # Earlier solves are only steps on the way here.
    smooth.told("the last linear system of ADMM", "lower the weights of the graphs, or penalty")
    return Solution(P, s, Q, Y, W * rho, objective, residual, converged)


def _diagonal(problem: Problem, weights: Weights, rho: float) -> Array:
    """Diagonal of the linear system, shape (m, n): its preconditioner."""
    out = np.full(problem.shape, rho)
    out[problem.rows, problem.cols] += 2.0 * weights.fit
    if problem.row_laplacian is not None:
        out += 2.0 * weights.row * problem.row_laplacian.diagonal()[:, None]
    if problem.col_laplacian is not None:
        out += 2.0 * weights.col * problem.col_laplacian.diagonal()
    return out


def _smooth(
    problem: Problem,
    weights: Weights,
    rho: float,
    diagonal: Array,
    target: Array,
    start: Array,
    tol: float,
) -> cg.Solution:
    """argmin_Y of fit, smoothness and ½ρ‖Y − target‖²."""
    rhs = rho * target
    rhs[problem.rows, problem.cols] += 2.0 * weights.fit * problem.values
    L_r, L_c = problem.row_laplacian, problem.col_laplacian
    if not (weights.row and L_r is not None) and not (weights.col and L_c is not None):
        return cg.Solution(rhs / diagonal, 1, 0.0, 0.0, True)

    def apply(Y: Array) -> Array:
        out = rho * Y
        out[problem.rows, problem.cols] += 2.0 * weights.fit * Y[problem.rows, problem.cols]
        if L_r is not None and weights.row:
            out += 2.0 * weights.row * (L_r @ Y)
        if L_c is not None and weights.col:
            out += 2.0 * weights.col * (Y @ L_c)
        return out

    return cg.conjugate_gradient(
        apply, rhs, start=start, precondition=lambda R: R / diagonal, residual_tol=tol
    )


def shrink(Y: Array, threshold: float, basis: Array | None = None) -> tuple[Array, Array, Array]:
    """Singular values above the threshold, lowered by it, with their vectors.

    Parameters
    ----------
    Y : ndarray of shape (m, n)
    threshold : float
    basis : ndarray of shape (n, r), optional
        Right singular vectors of a nearby matrix: where they are few, block power steps from
        there replace the full decomposition.

    Returns
    -------
    P, s, Q : ndarray of shape (m, r), (r,) and (n, r)
    """
    small = min(Y.shape)
    if small > FULL_SVD and basis is not None:
        width = basis.shape[1] + 10
        while 4 * width < small:
            P, s, Qt = _leading(Y, basis, width)
            if s[-1] < threshold:
                return _above(P, s, Qt, threshold)
            width, basis = 2 * width, Qt.T
    P, s, Qt = np.linalg.svd(Y, full_matrices=False)
    return _above(P, s, Qt, threshold)


def _leading(Y: Array, basis: Array, width: int) -> tuple[Array, Array, Array]:
    """Leading singular triples by block power steps from a basis widened to `width`."""
    rng = np.random.default_rng(0)
    extra = rng.standard_normal((Y.shape[1], width - basis.shape[1]))
    P = np.linalg.qr(Y @ np.hstack((basis, extra)))[0]
    for _ in range(2):
        P = np.linalg.qr(Y @ np.linalg.qr(Y.T @ P)[0])[0]
    inner, s, Qt = np.linalg.svd(P.T @ Y, full_matrices=False)
    return P @ inner, s, Qt


def _above(P: Array, s: Array, Qt: Array, threshold: float) -> tuple[Array, Array, Array]:
    kept = s > threshold
    return P[:, kept], s[kept] - threshold, np.ascontiguousarray(Qt[kept].T)
