"""BPMF: Bayesian matrix factorisation by Gibbs sampling (Salakhutdinov and Mnih 2008)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..backends import SparseRows, count_jobs, open_backend
from ..backends.packed import pack
from ..base import MatrixCompleter
from ..checks import check_number, check_whole
from ..observations import Observations
from .alternating import sides
from .factor_model import FactorModel

Array = NDArray[np.float64]

# Sweeps of conditional means that turn random factors into the PMF solution to start from.
_START_SWEEPS = 10
# Shape and rate of the Gamma prior of a learned noise precision.
_NOISE_PRIOR = 1e-6


@dataclass(frozen=True)
class DrawModel:
    """Predictions averaged over draws of the factors.

    Attributes
    ----------
    row_draws, col_draws : ndarray of float32, shape (n_draws, m, k) and (n_draws, n, k)
    noise_precisions : ndarray of shape (n_draws,)
    offset : float
        Mean of the observed values, added to every prediction.
    """

    row_draws: NDArray[np.float32]
    col_draws: NDArray[np.float32]
    noise_precisions: Array
    offset: float = 0.0

    def mean(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> Array:
        """Predicted entries at paired positions, shape (n_pairs,)."""
        total = np.zeros(len(rows))
        for U, V in zip(self.row_draws, self.col_draws, strict=True):
            total += FactorModel(U, V).mean(rows, cols)
        return self.offset + total / len(self.row_draws)

    def variance(
        self, rows: NDArray[np.intp], cols: NDArray[np.intp], include_noise: bool = True
    ) -> Array:
        """Variance over the draws, with the mean noise variance where wanted: (n_pairs,)."""
        centre = self.mean(rows, cols) - self.offset
        total = np.zeros(len(rows))
        for U, V in zip(self.row_draws, self.col_draws, strict=True):
            total += (FactorModel(U, V).mean(rows, cols) - centre) ** 2
        spread = total / max(len(self.row_draws) - 1, 1)
        return spread + float(np.mean(1.0 / self.noise_precisions)) if include_noise else spread

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays for a model file."""
        return {
            "row_draws": self.row_draws,
            "col_draws": self.col_draws,
            "noise_precisions": self.noise_precisions,
            "offset": np.array([self.offset]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `to_arrays`."""
        draws = arrays["row_draws"], arrays["col_draws"]
        return cls(*draws, arrays["noise_precisions"], float(arrays["offset"][0]))


@dataclass(frozen=True)
class Hyperprior:
    """Gaussian-Wishart prior of a side's mean μ and precision Λ, centred at zero with W₀ = I.

    Λ ~ Wishart(W₀, ν₀), μ | Λ ~ N(0, (β₀Λ)⁻¹).
    """

    beta: float
    nu: float


class BPMF(MatrixCompleter):
    """Bayesian probabilistic matrix factorisation.

    x_ij ~ N(u_i·v_j, 1/α) around the mean of the observed values; rows u_i ~ N(μ, Λ⁻¹) with a
    Gaussian-Wishart hyperprior, and likewise for the columns. A Gibbs sweep draws (μ, Λ) and
    then all rows of each side. Predictions average over thinned draws, which the model keeps
    in single precision, so that any entry, with its standard deviation, can be asked for
    later.

    Parameters
    ----------
    rank : int
        Number of factors k.
    noise_precision : float or "learn"
        α: fixed, in the units of the data, or drawn with everything else.
    prior_strength : float
        β₀, how many rows the prior mean of zero is worth.
    degrees_of_freedom : int, optional
        ν₀ of the Wishart prior, at least the rank; the rank by default.
    burn_in : int
        Sweeps before the first kept draw.
    max_iter : int
        Sweeps after that.
    max_draws : int
        Draws kept at most, evenly spaced; each costs 4 (m + n) k bytes.
    random_state : int, Generator or None
        The draws depend on it alone, not on the number of threads.
    n_jobs : int, optional
    verbose : bool

    Attributes
    ----------
    noise_precision_trace_ : list of float
        α after every sweep.
    error_trace_ : list of float
        ‖P_Ω(M − UVᵀ)‖² of the draw after every sweep; the sampler has no objective.
    noise_std_ : float
    n_draws_, n_iter_, rank_ : int
    """

    _uses_row_graph = False
    _uses_col_graph = False
    _fitted_type = DrawModel
    _tuning_grid: ClassVar[dict[str, list[Any]]] = {"rank": [5, 10, 20]}

    def __init__(
        self,
        rank: int = 10,
        *,
        noise_precision: float | Literal["learn"] = 2.0,
        prior_strength: float = 2.0,
        degrees_of_freedom: int | None = None,
        burn_in: int = 10,
        max_iter: int = 100,
        max_draws: int = 50,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.noise_precision = noise_precision
        self.prior_strength = prior_strength
        self.degrees_of_freedom = degrees_of_freedom
        self.burn_in = burn_in
        self.max_iter = max_iter
        self.max_draws = max_draws
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self, observations: Observations) -> None:
        check_whole("rank", self.rank)
        check_whole("max_iter", self.max_iter)
        check_whole("max_draws", self.max_draws)
        check_whole("burn_in", self.burn_in, 0)
        check_number("prior_strength", self.prior_strength)
        if self.degrees_of_freedom is not None:
            check_whole("degrees_of_freedom", self.degrees_of_freedom, self.rank)
        if isinstance(self.noise_precision, str):
            if self.noise_precision != "learn":
                raise ValueError(
                    f"noise_precision={self.noise_precision!r}: pass a number above 0 or 'learn'"
                )
        else:
            check_number("noise_precision", self.noise_precision)
        count_jobs(self.n_jobs)

    def _fit(
        self, observations: Observations, A: sp.csr_array | None, B: sp.csr_array | None
    ) -> DrawModel:
        offset = float(observations.values.mean())
        centred = observations.with_values(observations.values - offset)
        rng = np.random.default_rng(self.random_state)
        # Tiny dense products: threads of the linear algebra library would only get in the way.
        with open_backend(self.n_jobs) as backend, threadpool_limits(1):
            model = self._sample(sides(centred, 1.0, backend), rng, offset)
        self.rank_, self.n_draws_ = self.rank, len(model.row_draws)
        self.noise_std_ = float(np.mean(1.0 / model.noise_precisions)) ** 0.5
        return model

    def _sample(
        self, views: tuple[SparseRows, SparseRows], rng: np.random.Generator, offset: float
    ) -> DrawModel:
        hyperprior = Hyperprior(self.prior_strength, self.degrees_of_freedom or self.rank)
        alpha = self._start_precision(views[0].values)
        U, V = pmf_start(views, self.rank, alpha, rng)
        spacing = -(-self.max_iter // self.max_draws)
        shape = (self.max_iter // spacing,)
        rows = np.empty((*shape, *U.shape), dtype=np.float32)
        cols = np.empty((*shape, *V.shape), dtype=np.float32)
        kept = np.empty(shape)
        self.noise_precision_trace_, self.error_trace_ = [], []
        for sweep in range(1, self.burn_in + self.max_iter + 1):
            U = draw_side(views[0], V, draw_hyperparameters(U, hyperprior, rng), alpha, rng)
            V = draw_side(views[1], U, draw_hyperparameters(V, hyperprior, rng), alpha, rng)
            error = views[0].backend.squared_error(views[0], U, V)
            if self.noise_precision == "learn":
                alpha = draw_noise_precision(error, len(views[0].values), rng)
            self.noise_precision_trace_.append(alpha)
            self.error_trace_.append(error)
            at, between = divmod(sweep - self.burn_in, spacing)
            if at > 0 and between == 0:
                rows[at - 1], cols[at - 1], kept[at - 1] = U, V, alpha
            if self.verbose:
                print(f"BPMF sweep {sweep}: squared error {error:.6g}, noise precision {alpha:.4g}")
        self.n_iter_ = self.burn_in + self.max_iter
        return DrawModel(rows, cols, kept, offset)

    def _start_precision(self, values: Array) -> float:
        if not isinstance(self.noise_precision, str):
            return float(self.noise_precision)
        return 1.0 / (float(values @ values) / len(values) or 1.0)


def pmf_start(
    views: tuple[SparseRows, SparseRows], k: int, alpha: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """PMF's estimate, U (m, k) and V (n, k): conditional means in turn, under N(0, I) priors."""
    prior = np.zeros(k), np.eye(k)
    V = rng.standard_normal((views[1].n, k)) / np.sqrt(k)
    for _ in range(_START_SWEEPS):
        U = draw_side(views[0], V, prior, alpha, None)
        V = draw_side(views[1], U, prior, alpha, None)
    return U, V


def draw_side(
    side: SparseRows,
    F: Array,
    hyperparameters: tuple[Array, Array],
    alpha: float,
    rng: np.random.Generator | None,
) -> Array:
    """All rows of a side, given the other side's factors F (n_other, k).

    u_i ~ N(P_i⁻¹ (α Σ_j x_ij f_j + Λμ), P_i⁻¹), P_i = Λ + α Σ_j f_j f_jᵀ; the means where
    there is no generator. Normal numbers are drawn in one go, before any thread starts.
    """
    mu, Lam = hyperparameters
    P, h = side.backend.gram_and_sums(side, F)
    P *= alpha
    P += pack(Lam)
    h = alpha * h + Lam @ mu
    z = np.zeros(h.shape) if rng is None else rng.standard_normal(h.shape)
    return side.backend.draw_rows(P, h, z)


def draw_hyperparameters(
    F: Array, prior: Hyperprior, rng: np.random.Generator
) -> tuple[Array, Array]:
    """(μ, Λ) given a side's factors F (n, k): μ (k,), Λ (k, k)."""
    n, k = F.shape
    centre = F.mean(axis=0)
    scatter = (F - centre).T @ (F - centre)
    shrunk = prior.beta * n / (prior.beta + n) * np.outer(centre, centre)
    Lam = draw_wishart(np.eye(k) + scatter + shrunk, prior.nu + n, rng)
    strength = prior.beta + n
    root = np.linalg.cholesky(Lam)
    noise = scipy.linalg.solve_triangular(root, rng.standard_normal(k), lower=True, trans="T")
    return n * centre / strength + noise / np.sqrt(strength), Lam


def draw_wishart(inverse_scale: Array, nu: float, rng: np.random.Generator) -> Array:
    """A Wishart draw of mean ν W, by Bartlett's decomposition, given W⁻¹ (k, k)."""
    k = len(inverse_scale)
    T = np.tril(rng.standard_normal((k, k)), -1)
    T[np.diag_indices(k)] = np.sqrt(rng.chisquare(nu - np.arange(k)))
    # W⁻¹ = C Cᵀ gives W = C⁻ᵀ C⁻¹, so the draw is (C⁻ᵀ T)(C⁻ᵀ T)ᵀ.
    C = np.linalg.cholesky(inverse_scale)
    root = scipy.linalg.solve_triangular(C, T, lower=True, trans="T")
    return root @ root.T


def draw_noise_precision(error: float, n_observed: int, rng: np.random.Generator) -> float:
    """α given the squared error on the observed entries."""
    return float(rng.gamma(_NOISE_PRIOR + n_observed / 2, 1.0 / (_NOISE_PRIOR + error / 2)))
