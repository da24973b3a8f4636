"""BMC-GP-GAMP: columns with a common, learned precision (Yang, Fang, Duan, Li, Zeng 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..base import MEMORY_LIMIT, MatrixCompleter
from ..graphs.precision import graph_precision
from ..kernels.threads import count_jobs
from ..observations import Observations
from .checks import check_number, check_whole

Array = NDArray[np.float64]

# Dense arrays held at the same time, m×n and m×m, workspace of the eigensolver included.
_ARRAYS, _SQUARES = 17, 7
# Shape and rate of the noise precision's Gamma prior, and the W⁻¹ of a side without a graph.
_VAGUE = 1e-10
# The smallest share of a message-passing step that is still taken when steps grow.
_LEAST_DAMPING = 0.02
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class DenseGaussianModel:
    """Every entry with its variance, held in memory.

    Attributes
    ----------
    matrix, variances : ndarray of shape (m, n)
    noise_variance : float
    """

    matrix: Array
    variances: Array
    noise_variance: float

    def mean(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> Array:
        """Predicted entries at paired positions, shape (n_pairs,)."""
        return self.matrix[rows, cols]

    def variance(
        self, rows: NDArray[np.intp], cols: NDArray[np.intp], include_noise: bool = True
    ) -> Array:
        """Variance of a new observation, or of the entry itself, shape (n_pairs,)."""
        out = self.variances[rows, cols]
        return out + self.noise_variance if include_noise else out

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays for a model file."""
        return {
            "matrix": self.matrix,
            "variances": self.variances,
            "noise_variance": np.array([self.noise_variance]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `to_arrays`."""
        noise = float(arrays["noise_variance"][0])
        return cls(arrays["matrix"], arrays["variances"], noise)


@dataclass(frozen=True)
class Messages:
    """Approximate posterior of all columns in the eigenbasis of ⟨Σ⟩ = Q diag(s) Qᵀ.

    Attributes
    ----------
    Q : ndarray of shape (m, m)
    s : ndarray of shape (m, 1)
    Z, var : ndarray of shape (m, n)
        Means and variances of QᵀX.
    S : ndarray of shape (m, n)
        Scaled residuals of the message passing, zero where nothing is observed.
    damping : float
        Share of a step that is taken.
    step : float
        ‖change of Z‖ of the last step, before damping.
    """

    Q: Array
    s: Array
    Z: Array
    var: Array
    S: Array
    damping: float
    step: float = np.inf


class BMCGPGAMP(MatrixCompleter):
    """Bayesian matrix completion with a hierarchical Gaussian prior, by GAMP.

    The columns of X are Gaussian with a common precision Σ ~ Wishart(W, ν), where W is a
    multiple of the row graph's Laplacian plus a ridge; the noise precision has a vague Gamma prior.
    Variational Bayes alternates q(X), q(Σ) and the noise; the inverse that q(X) needs for each
    column is replaced by a few steps of generalised approximate message passing, shared by
    all columns. A column graph cannot be used.

    Works on dense arrays: the memory it needs is reported before it starts, and a matrix that
    does not fit is refused.

    Parameters
    ----------
    degrees_of_freedom : float
        ν. The expected prior precision is ν W.
    graph_weight : float
        Factor of the Laplacian in W, for values of unit mean square. The smaller, the more the
        prior weighs against the data.
    ridge : float
        Multiple of the identity added to it.
    gamp_steps : int
        Message-passing steps for each update of the columns.
    damping : float
        Largest share of a step that is taken; less where steps start to grow.
    memory_limit : int
        Refuse to start when more bytes than this are needed.
    max_iter : int
    tol : float
        Stop when the matrix moves by less than this share of its norm in an iteration.
    random_state : None
        Not used: the method draws nothing.
    n_jobs : int, optional
        Not used: the work is done by the linear algebra library and its threads.
    verbose : bool

    Attributes
    ----------
    error_trace_ : list of float
        ‖P_Ω(M − X)‖² of the means after every iteration; message passing has no objective.
    noise_std_ : float
    memory_ : int
        Bytes of dense arrays.
    n_iter_ : int
    converged_ : bool
    """

    _uses_col_graph = False
    _fitted_type = DenseGaussianModel
    _tuning_grid: ClassVar[dict[str, list[Any]]] = {"graph_weight": [0.05, 0.2, 1.0]}

    def __init__(
        self,
        *,
        degrees_of_freedom: float = 1.0,
        graph_weight: float = 0.2,
        ridge: float = 1e-2,
        gamp_steps: int = 3,
        damping: float = 0.5,
        memory_limit: int = MEMORY_LIMIT,
        max_iter: int = 100,
        tol: float = 1e-3,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.degrees_of_freedom = degrees_of_freedom
        self.graph_weight = graph_weight
        self.ridge = ridge
        self.gamp_steps = gamp_steps
        self.damping = damping
        self.memory_limit = memory_limit
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self, observations: Observations) -> None:
        check_number("degrees_of_freedom", self.degrees_of_freedom)
        check_number("graph_weight", self.graph_weight)
        check_number("ridge", self.ridge)
        check_number("damping", self.damping)
        if self.damping > 1:
            raise ValueError(f"damping={self.damping!r}: pass a share of a step, at most 1")
        check_whole("gamp_steps", self.gamp_steps)
        check_whole("max_iter", self.max_iter)
        check_number("tol", self.tol, allow_equal=True)
        count_jobs(self.n_jobs)
        self._check_memory(*observations.shape)

    def _check_memory(self, m: int, n: int) -> None:
        self.memory_ = 8 * (_ARRAYS * m * n + _SQUARES * m * m)
        if self.verbose:
            print(f"BMC-GP-GAMP: {m} x {n} needs {self.memory_ / 2**20:.0f} MiB of dense arrays")
        if self.memory_ > self.memory_limit:
            raise MemoryError(
                f"BMCGPGAMP on a {m} x {n} matrix needs {self.memory_ / 2**30:.1f} GiB, over "
                f"memory_limit={self.memory_limit / 2**30:.1f} GiB: use BMCG, which never forms "
                "the matrix, or raise memory_limit"
            )

    def _fit(
        self, observations: Observations, A: sp.csr_array | None, B: sp.csr_array | None
    ) -> DenseGaussianModel:
        values = observations.values
        scale = float(np.sqrt(values @ values / len(values))) or 1.0
        at = observations.row_indices, observations.col_indices
        Y, seen = np.zeros(observations.shape), np.zeros(observations.shape)
        Y[at], seen[at] = values / scale, 1.0
        X, variances, gamma = self._iterate(Y, seen, self._prior_scatter(len(Y), A), scale)
        self.noise_std_ = scale / gamma**0.5
        return DenseGaussianModel(scale * X, scale**2 * variances, self.noise_std_**2)

    def _prior_scatter(self, m: int, A: sp.csr_array | None) -> Array:
        """W⁻¹ (m, m): smooth columns are probable, or nearly nothing where there is no graph."""
        if A is None:
            return _VAGUE * np.eye(m)
        W = graph_precision(sp.csr_array(self.graph_weight * A), self.ridge)
        return np.asarray(np.linalg.inv(W.toarray()), dtype=np.float64)

    def _iterate(
        self, Y: Array, seen: Array, prior: Array, scale: float
    ) -> tuple[Array, Array, float]:
        weight, n_observed = self.degrees_of_freedom + Y.shape[1], float(seen.sum())
        gamma = 1.0 / (float(Y[seen > 0].var()) or 1.0)
        messages = start_messages(Y, prior, weight, self.damping)
        X = np.zeros(Y.shape)
        self.error_trace_: list[float] = []
        self.converged_ = False
        while len(self.error_trace_) < self.max_iter and not self.converged_:
            if self.error_trace_:
                messages = update_precision(messages, prior, X, weight)
            for _ in range(self.gamp_steps):
                messages = gamp_step(messages, Y, seen, gamma, self.damping)
            old, X = X, messages.Q @ messages.Z
            variances = entry_variances(messages, seen, gamma)
            error = float(np.sum(seen * (Y - X) ** 2))
            spread = float(np.sum(seen * variances))
            gamma = (_VAGUE + n_observed / 2) / (_VAGUE + (error + spread) / 2)
            self.error_trace_.append(scale**2 * error)
            change = float(np.linalg.norm(X - old))
            self.converged_ = change <= self.tol * float(np.linalg.norm(X))
            if self.verbose:
                print(f"BMC-GP-GAMP {len(self.error_trace_)}: squared error {scale**2 * error:.6g}")
        self.n_iter_ = len(self.error_trace_)
        return X, variances, gamma


def start_messages(Y: Array, prior: Array, weight: float, damping: float) -> Messages:
    """Zero means, and a first ⟨Σ⟩ from the zero-filled matrix with variance one everywhere."""
    m, n = Y.shape
    scales, Q = np.linalg.eigh(prior + Y @ Y.T + n * np.eye(m))
    s = weight / scales[:, None]
    return Messages(
        Q, s, np.zeros((m, n)), np.repeat(1.0 / s, n, axis=1), np.zeros((m, n)), damping
    )


def update_precision(messages: Messages, prior: Array, X: Array, weight: float) -> Messages:
    """q(Σ): ⟨Σ⟩ = (ν + n)(W⁻¹ + Σ_j ⟨x_j x_jᵀ⟩)⁻¹, and the messages in its eigenbasis.

    The covariances of the columns are taken diagonal in the old eigenbasis.
    """
    Q = messages.Q
    scales, basis = np.linalg.eigh(prior + X @ X.T + (Q * messages.var.sum(axis=1)) @ Q.T)
    turn = basis.T @ Q
    s = weight / np.maximum(scales, _TINY)[:, None]
    return replace(messages, Q=basis, s=s, Z=turn @ messages.Z, var=turn**2 @ messages.var)


def gamp_step(messages: Messages, Y: Array, seen: Array, gamma: float, damping: float) -> Messages:
    """One damped step for y = Qz + noise on the observed entries, z ~ N(0, 1/s).

    A fixed point has the exact posterior means; its variances are approximate.
    """
    Q, Z = messages.Q, messages.Z
    squares = Q**2
    spread = squares @ messages.var
    strength = seen / (spread + 1.0 / gamma)
    S = strength * (Y - Q @ Z + spread * messages.S)
    S = messages.S + messages.damping * (S - messages.S)
    fit = squares.T @ strength
    precision = fit + messages.s
    change = (fit * Z + Q.T @ S) / precision - Z
    step = float(np.linalg.norm(change))
    share = messages.damping
    # Message passing may diverge where the eigenvectors are localised; shorter steps do not.
    share = (
        max(share / 2, _LEAST_DAMPING) if step > 2 * messages.step else min(1.25 * share, damping)
    )
    return replace(
        messages,
        Z=Z + messages.damping * change,
        var=1.0 / precision,
        S=S,
        damping=share,
        step=step,
    )


def entry_variances(messages: Messages, seen: Array, gamma: float) -> Array:
    """Posterior variances of the entries of X, shape (m, n)."""
    spread = messages.Q**2 @ messages.var
    return spread / (1.0 + gamma * seen * spread)
