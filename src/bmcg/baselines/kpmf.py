"""KPMF: factors with Gaussian-process priors from graph kernels (Zhou et al. 2012)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, svds
from scipy.special import ive

from ..backends import open_backend
from ..checks import check_number
from ..graphs.precision import graph_precision, identity_precision
from ..observations import Observations
from .alternating import Penalty, alternate, precision_penalty, sides
from .factor_model import FactorModel
from .grals import Array, FactorCompleter, Graph

KERNELS = ("regularized_laplacian", "diffusion", "commute_time")


class KPMF(FactorCompleter):
    """Kernelised probabilistic matrix factorisation.

    The columns of U are Gaussian with a covariance K built from the row graph, those of V
    likewise from the column graph, the noise has variance σ². The fit is the maximum of the
    posterior: it minimises ½‖P_Ω(M − UVᵀ)‖² + ½σ² tr(UᵀK_r⁻¹U) + ½σ² tr(VᵀK_c⁻¹V). No kernel
    is ever formed: K⁻¹ is sparse for two of them, and the third is applied as a polynomial.

    Parameters
    ----------
    rank : int
        Number of factors k.
    kernel : {"regularized_laplacian", "diffusion", "commute_time"}
        (I + γL)⁻¹, exp(−γL), or the pseudo-inverse of L; L is the graph's Laplacian. A side
        without a graph has the identity.
    kernel_weight : float
        γ; the commute-time kernel has none.
    noise_variance : float
        σ² of the scaled values.
    scale, cg_steps, max_iter, tol, random_state, n_jobs, verbose
        As in `GRALS`.

    Attributes
    ----------
    fitted_ : FactorModel
    objective_trace_ : list of float
        σ² times the negative log posterior, at the start and after every sweep.
    n_iter_ : int
    converged_ : bool
    scale_ : float

    References
    ----------
    T. Zhou, H. Shan, A. Banerjee, G. Sapiro, "Kernelized probabilistic matrix factorization:
    exploiting graphs and side information", SDM 2012.
    """

    _tuning_grid: ClassVar[dict[str, list[Any]]] = {
        # Powers of ten around the authors' setting, whatever the data.
        "kernel_weight": [0.11, 1.1, 11.0],
        "noise_variance": [0.02, 0.2, 2.0],
    }

    def __init__(
        self,
        rank: int = 10,
        *,
        kernel: str = "regularized_laplacian",
        kernel_weight: float = 1.1,
        noise_variance: float = 0.2,
        scale: float | None = None,
        cg_steps: int = 5,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.kernel = kernel
        self.kernel_weight = kernel_weight
        self.noise_variance = noise_variance
        self.scale = scale
        self.cg_steps = cg_steps
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self, observations: Observations) -> None:
        super()._check_parameters(observations)
        if self.kernel not in KERNELS:
            raise ValueError(
                f"kernel={self.kernel!r}: choose one of {', '.join(map(repr, KERNELS))}"
            )
        check_number("kernel_weight", self.kernel_weight)
        check_number("noise_variance", self.noise_variance)

    def _fit(self, observations: Observations, A: Graph, B: Graph) -> FactorModel:
        m, n = observations.shape
        penalties = (self._penalty(m, A), self._penalty(n, B))
        with open_backend(self.n_jobs) as backend:
            factors = alternate(
                sides(observations, self._choose_scale(observations), backend),
                penalties,
                self._spectral_start(observations),
                max_iter=self.max_iter,
                cg_steps=self.cg_steps,
                tol=self.tol,
                report=self._report("KPMF"),
            )
        return self._keep(factors)

    def _penalty(self, n: int, graph: Graph) -> Penalty:
        return kernel_penalty(n, graph, self.kernel, self.kernel_weight, self.noise_variance)

    def _spectral_start(self, observations: Observations) -> tuple[Array, Array]:
        rng = np.random.default_rng(self.random_state)
        U, V = mean_filled_factors(observations, self.rank, rng)
        root = np.sqrt(self.scale_)
        return U / root, V / root


def kernel_penalty(
    n: int, graph: Graph, kernel: str, kernel_weight: float, noise_variance: float
) -> Penalty:
    """½σ² tr(UᵀK⁻¹U) for the kernel of a graph on n nodes; K = I without one."""
    if graph is None:
        A = noise_variance * identity_precision(n).to_csr()
        return Penalty(lambda Y: A @ Y)
    if kernel == "diffusion":
        # U = exp(−γL/2) Y has covariance exp(−γL) when Y is white: its inverse, which grows
        # exponentially, is never needed.
        root = HeatKernel(graph, 0.5 * kernel_weight)
        return Penalty(lambda Y: noise_variance * Y, root)
    if kernel == "commute_time":
        return precision_penalty(graph_precision(sp.csr_array(noise_variance * graph), 0.0))
    weight = noise_variance * kernel_weight
    return precision_penalty(graph_precision(sp.csr_array(weight * graph), noise_variance))


class HeatKernel:
    """exp(−tL) as a Chebyshev polynomial in the sparse Laplacian L.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Adjacency matrix.
    t : float
    """

    def __init__(self, graph: sp.csr_array, t: float) -> None:
        precision = graph_precision(graph, 0.0)
        # Gershgorin: the spectrum of L lies between 0 and twice the largest degree.
        half = max(float(precision.diagonal.max()), np.finfo(float).tiny)
        self._shifted = precision.to_csr() / half - sp.eye_array(precision.n, format="csr")
        # exp(−t·half·(1 + x)) = Σ c_q T_q(x), c_q = 2(−1)^q I_q(t·half) exp(−t·half), c_0 halved.
        z = t * half
        degree = int(z + 12.0 * max(z, 1.0) ** (1.0 / 3.0)) + 12
        signs = np.where(np.arange(degree + 1) % 2 == 0, 2.0, -2.0)
        coefficients = signs * ive(np.arange(degree + 1), z)
        coefficients[0] *= 0.5
        used = np.flatnonzero(np.abs(coefficients) > 1e-16)
        self._coefficients = coefficients[: max(int(used[-1]) + 1, 2)]

    def __call__(self, X: Array) -> Array:
        """exp(−tL) X for X of shape (n, k)."""
        c = self._coefficients
        before, now = X, self._shifted @ X
        out = c[0] * before + c[1] * now
        for q in range(2, len(c)):
            before, now = now, 2.0 * (self._shifted @ now) - before
            out += c[q] * now
        return out


def mean_filled_factors(
    observations: Observations, rank: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Leading singular vectors, times the root of their values, of the mean-filled matrix.

    Returns
    -------
    U : ndarray of shape (m, rank)
    V : ndarray of shape (n, rank)
        Where the matrix has fewer than `rank` singular vectors the rest is small noise.
    """
    m, n = observations.shape
    mean = float(observations.values.mean())
    centred = observations.with_values(observations.values - mean).to_csr()
    found = min(rank, m, n)
    if found < min(m, n) - 1 and min(m, n) > 50:
        product = LinearOperator(
            (m, n),
            matvec=lambda x: centred @ x + mean * x.sum(),
            rmatvec=lambda y: centred.T @ y + mean * y.sum(),
            dtype=np.float64,
        )
        P, s, Qt = svds(product, k=found, v0=rng.standard_normal(min(m, n)))
    else:
        P, s, Qt = np.linalg.svd(centred.toarray() + mean, full_matrices=False)
        P, s, Qt = P[:, :found], s[:found], Qt[:found]
    root = np.sqrt(s)
    U, V = 1e-3 * rng.standard_normal((m, rank)), 1e-3 * rng.standard_normal((n, rank))
    U[:, :found], V[:, :found] = P * root, Qt.T * root
    return U, V
