"""VBMC: variational Bayes with rows that are Gaussian (Babacan et al. 2012)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import digamma
from threadpoolctl import threadpool_limits

from ..backends import SparseRows, count_jobs, open_backend
from ..backends.packed import outer_packed, packed_diagonal
from ..base import MatrixCompleter
from ..checks import check_number, check_whole
from ..likelihoods.gamma import Gamma
from ..observations import Observations
from .alternating import sides
from .gaussian_model import GaussianFactorModel
from .svd import truncated_svd

Array = NDArray[np.float64]

# The stopping rule is not asked before this many iterations, as in the authors' code.
_LEAST_ITER = 6


class VBMC(MatrixCompleter):
    """Variational Bayesian matrix completion with automatic rank.

    M = UVᵀ + noise on the observed entries; the columns of U and V share Gamma precisions λ,
    the noise has precision τ, and q(U)q(V) is a product of Gaussians over rows. The updates
    are those of `bmcg.BMCG` with ``posterior="row"`` and no graphs.

    Parameters
    ----------
    rank : int
        Initial rank; at most the shorter side of the matrix is used.
    hyperprior : float
        Shape and rate of the Gamma priors on the column precisions and the noise precision.
    prune_ratio : float
        Drop a column once its precision exceeds this many times the smallest one.
    max_iter : int
    tol : float
        Stop when the completed matrix moves by less than this in an iteration, mean squared and
        as a share of the mean square of the zero-filled matrix. Columns that contribute less
        than it are dropped at the end.
    random_state : int, Generator or None
        Start of the iterative singular value decomposition; no influence beyond rounding.
    n_jobs : int, optional
    verbose : bool

    Attributes
    ----------
    elbo_trace_ : list of float
        Evidence lower bound for the scaled values after each iteration; it falls only where
        columns are dropped.
    rank_trace_ : list of int
    noise_std_ : float
    precisions_ : ndarray of shape (rank_,)
        ⟨λ⟩.
    scale_ : float
        The values are divided by it before the fit: their root mean square in the zero-filled
        matrix.
    rank_, n_iter_ : int
    converged_ : bool
    """

    _uses_row_graph = False
    _uses_col_graph = False
    _fitted_type = GaussianFactorModel

    def __init__(
        self,
        rank: int = 100,
        *,
        hyperprior: float = 1e-6,
        prune_ratio: float = 1e4,
        max_iter: int = 100,
        tol: float = 1e-7,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.hyperprior = hyperprior
        self.prune_ratio = prune_ratio
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self, observations: Observations) -> None:
        check_whole("rank", self.rank)
        check_whole("max_iter", self.max_iter)
        check_number("hyperprior", self.hyperprior)
        check_number("prune_ratio", self.prune_ratio, above=1.0)
        check_number("tol", self.tol, allow_equal=True)
        count_jobs(self.n_jobs)

    def _fit(
        self, observations: Observations, A: sp.csr_array | None, B: sp.csr_array | None
    ) -> GaussianFactorModel:
        self.scale_ = zero_filled_size(observations)
        # Tiny dense products: threads of the linear algebra library would only get in the way.
        with open_backend(self.n_jobs) as backend, threadpool_limits(1):
            views = sides(observations, self.scale_, backend)
            state = self._iterate(views, self._start(observations, self.scale_))
            state = keep_columns(state, contributions(state) >= self.tol)
        self.rank_ = len(state.lam.shape)
        self.precisions_ = state.lam.mean / self.scale_
        self.noise_std_ = self.scale_ * float(state.tau.mean) ** -0.5
        U, V, root = state.rows, state.cols, self.scale_**0.5
        return GaussianFactorModel(
            root * U.mean, root * V.mean, root**2 * U.cov, root**2 * V.cov, self.noise_std_**-2
        )

    def _start(self, observations: Observations, scale: float) -> _State:
        """The singular value decomposition of the scaled zero-filled matrix, split evenly."""
        k = min(self.rank, *observations.shape)
        U, s, V = truncated_svd(observations.to_csr(), k, self.random_state)
        flat = np.zeros(k * (k + 1) // 2)
        flat[packed_diagonal(k)] = 1.0
        rows, cols = (
            _Rows(F * np.sqrt(s / scale), np.broadcast_to(flat, (len(F), len(flat))), 0.0)
            for F in (U, V)
        )
        lam = Gamma(np.ones(k), np.ones(k))
        return _State(rows, cols, lam, Gamma(np.asarray(1.0), np.asarray(1.0)), 0.0)

    def _iterate(self, views: tuple[SparseRows, SparseRows], state: _State) -> _State:
        bounds: list[float] = []
        ranks: list[int] = []
        self.converged_ = False
        while len(bounds) < self.max_iter and not self.converged_:
            new = update(views, state, self.hyperprior)
            bounds.append(lower_bound(new, len(views[0].values), self.hyperprior))
            change = mean_squared_change(state, new)
            lam = new.lam.mean
            state = keep_columns(new, lam <= self.prune_ratio * lam.min())
            ranks.append(len(state.lam.shape))
            self.converged_ = len(bounds) >= _LEAST_ITER and change < self.tol
            if self.verbose:
                print(f"VBMC {len(bounds)}: bound {bounds[-1]:.6g}, rank {ranks[-1]}")
        self.elbo_trace_, self.rank_trace_ = bounds, ranks
        self.n_iter_ = len(bounds)
        return state


def zero_filled_size(observations: Observations) -> float:
    """Root mean square of all entries, those that are not observed counted as zero.

    The authors start λ and the covariances at this number and τ at its inverse square, which
    fits one unit of measurement alone: with grey levels up to 255 the first update shrinks
    everything to nothing. Dividing the data by it is the same where it is one, as it nearly
    is for ratings, and makes the fit independent of units.
    """
    m, n = observations.shape
    return float(observations.values @ observations.values / (m * n)) ** 0.5 or 1.0


@dataclass(frozen=True)
class _Rows:
    """q of one side: means (n, k), packed covariances (n, k(k+1)/2), Σ log|precision|."""

    mean: Array
    cov: Array
    log_det: float

    @property
    def energy(self) -> Array:
        """Σ_i ⟨u_ir²⟩, shape (k,)."""
        diagonal = packed_diagonal(self.mean.shape[1])
        return np.einsum("ir,ir->r", self.mean, self.mean) + self.cov[:, diagonal].sum(axis=0)


@dataclass(frozen=True)
class _State:
    """All of q, with ⟨‖P_Ω(M − UVᵀ)‖²⟩."""

    rows: _Rows
    cols: _Rows
    lam: Gamma
    tau: Gamma
    squared_error: float


def update(views: tuple[SparseRows, SparseRows], state: _State, hyperprior: float) -> _State:
    """q(U), q(V), q(λ) and q(τ), each once."""
    tau, lam = float(state.tau.mean), state.lam.mean
    rows, _ = _update_rows(views[0], state.cols, tau, lam)
    cols, G = _update_rows(views[1], rows, tau, lam)
    size = len(rows.mean) + len(cols.mean)
    shape = np.full(len(lam), hyperprior + size / 2)
    rate = hyperprior + (rows.energy + cols.energy) / 2
    error = _expected_error(views[1], cols, rows, G)
    n_observed = len(views[0].values)
    noise = Gamma(np.asarray(hyperprior + n_observed / 2), np.asarray(hyperprior + error / 2))
    return _State(rows, cols, Gamma(shape, rate), noise, error)


def _update_rows(side: SparseRows, other: _Rows, tau: float, lam: Array) -> tuple[_Rows, Array]:
    """u_i ~ N(τ C_i Σ_j x_ij ⟨v_j⟩, C_i), C_i = (τ Σ_j ⟨v_j v_jᵀ⟩ + Λ)⁻¹; also those sums."""
    G = side.backend.row_sums(side, outer_packed(other.mean) + other.cov)
    P = tau * G
    P[:, packed_diagonal(len(lam))] += lam
    cov, log_dets = side.backend.invert_blocks(P)
    if not np.isfinite(log_dets).all():
        raise FloatingPointError(
            "VBMC: a row's posterior precision is not positive definite; "
            "rescale the data towards unit variance"
        )
    mean = side.backend.block_product(cov, tau * side.backend.weighted_sums(side, other.mean))
    return _Rows(mean, cov, float(log_dets.sum())), G


def _expected_error(side: SparseRows, own: _Rows, other: _Rows, G: Array) -> float:
    """⟨‖P_Ω(M − UVᵀ)‖²⟩ from the side updated last, G its sums Σ_i ⟨u_i u_iᵀ⟩.

    The residual of the means is summed directly: the expanded square would cancel. What the
    covariances add is Σ ⟨(u·v)²⟩ − (ū·v̄)², which spares a pass over the other side's blocks.
    """
    r, s = np.tril_indices(own.mean.shape[1])
    twice = np.where(r == s, 1.0, 2.0)
    squares = float(np.einsum("it,it->t", G, outer_packed(own.mean) + own.cov) @ twice)
    silent = replace(side, values=np.zeros(len(side.values)))
    spread = max(squares - silent.backend.squared_error(silent, own.mean, other.mean), 0.0)
    return side.backend.squared_error(side, own.mean, other.mean) + spread


def lower_bound(state: _State, n_observed: int, hyperprior: float) -> float:
    """The evidence lower bound, every constant included."""
    lam, tau = state.lam, state.tau
    log_tau = float(digamma(tau.shape) - np.log(tau.rate))
    bound = 0.5 * n_observed * (log_tau - np.log(2 * np.pi))
    bound -= 0.5 * float(tau.mean) * state.squared_error
    log_lam = float(np.sum(digamma(lam.shape) - np.log(lam.rate)))
    for side in (state.rows, state.cols):
        n, k = side.mean.shape
        bound += 0.5 * (n * log_lam - float(lam.mean @ side.energy) + n * k - side.log_det)
    divergence = sum(float(g.divergence(hyperprior, hyperprior).sum()) for g in (lam, tau))
    return bound - divergence


def mean_squared_change(old: _State, new: _State) -> float:
    """‖ŪV̄ᵀ − Ū'V̄'ᵀ‖² / (m n), from k×k products alone."""
    U = np.hstack((new.rows.mean, -old.rows.mean))
    V = np.hstack((new.cols.mean, old.cols.mean))
    total = np.einsum("rs,rs->", U.T @ U, V.T @ V)
    return max(float(total), 0.0) / (len(U) * len(V))


def contributions(state: _State) -> Array:
    """Mean square of each column's share ū_r v̄_rᵀ of the matrix, shape (k,)."""
    squares = [
        np.einsum("ir,ir->r", S.mean, S.mean) / len(S.mean) for S in (state.rows, state.cols)
    ]
    return squares[0] * squares[1]


def keep_columns(state: _State, keep: NDArray[np.bool_]) -> _State:
    """The state without the columns where `keep`, shape (k,), is False; never without any."""
    if keep.all():
        return state
    keep = keep | (state.lam.mean == state.lam.mean.min())
    r, s = np.tril_indices(len(keep))
    packed = keep[r] & keep[s]

    def kept(side: _Rows) -> _Rows:
        mean, cov = side.mean[:, keep], side.cov[:, packed]
        return replace(side, mean=np.ascontiguousarray(mean), cov=np.ascontiguousarray(cov))

    lam = Gamma(state.lam.shape[keep], state.lam.rate[keep])
    return replace(state, rows=kept(state.rows), cols=kept(state.cols), lam=lam)
