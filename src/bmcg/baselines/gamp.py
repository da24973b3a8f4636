"""BMC-GP-GAMP: columns with a common, learned precision (Yang, Fang, Duan, Li, Zeng 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends import count_jobs, open_backend
from ..base import MEMORY_LIMIT, MatrixCompleter
from ..checks import check_number, check_whole
from ..graphs.precision import graph_precision
from ..observations import Observations
from .alternating import sides
from .message_passing import (
    Entries,
    Messages,
    entry_variances,
    gamp_step,
    is_sparse,
    start_messages,
    update_precision,
)

Array = NDArray[np.float64]

# Dense arrays held at the same time, m×n and m×m, workspace of the eigensolver included.
_SPARSE_ARRAYS, _ARRAYS, _SQUARES = 9, 12, 8
# Shape and rate of the noise precision's Gamma prior, and the W⁻¹ of a side without a graph.
_VAGUE = 1e-10


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
        Threads of the passes over the entries; dense products and eigenvectors are left to the
        linear algebra library and its own.
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
        self._check_memory(*observations.shape, len(observations.values))

    def _check_memory(self, m: int, n: int, n_observed: int) -> None:
        arrays = _SPARSE_ARRAYS if is_sparse(n_observed, m, n) else _ARRAYS
        self.memory_ = 8 * (arrays * m * n + _SQUARES * m * m)
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
        m = observations.shape[0]
        with open_backend(self.n_jobs) as backend:
            entries = Entries.of(sides(observations, scale, backend)[1], m)
            messages, gamma = self._iterate(entries, self._prior_scatter(m, A), scale)
        self.noise_std_ = scale / gamma**0.5
        X = messages.Q @ messages.Z.T
        X *= scale
        variances = entry_variances(messages, entries, gamma)
        variances *= scale**2
        return DenseGaussianModel(X, variances, self.noise_std_**2)

    def _prior_scatter(self, m: int, A: sp.csr_array | None) -> Array:
        """W⁻¹ (m, m): smooth columns are probable, or nearly nothing where there is no graph."""
        if A is None:
            return _VAGUE * np.eye(m)
        W = graph_precision(sp.csr_array(self.graph_weight * A), self.ridge)
        return np.asarray(np.linalg.inv(W.toarray()), dtype=np.float64)

    def _iterate(self, entries: Entries, prior: Array, scale: float) -> tuple[Messages, float]:
        y = entries.side.values
        weight = self.degrees_of_freedom + entries.side.n
        gamma = 1.0 / (float(y.var()) or 1.0)
        messages = start_messages(entries, prior, weight, self.damping)
        self.error_trace_: list[float] = []
        self.converged_ = False
        while len(self.error_trace_) < self.max_iter and not self.converged_:
            if self.error_trace_:
                messages = update_precision(messages, prior, weight)
            old, squares = messages.Z, messages.Q**2
            for _ in range(self.gamp_steps):
                messages = gamp_step(messages, squares, entries, gamma, self.damping)
            spread = entries.at(squares, messages.var)
            error = float(np.sum((y - entries.at(messages.Q, messages.Z)) ** 2))
            uncertain = float(np.sum(spread / (1.0 + gamma * spread)))
            gamma = (_VAGUE + len(y) / 2) / (_VAGUE + (error + uncertain) / 2)
            self.error_trace_.append(scale**2 * error)
            # The basis is orthogonal: norms of the means are those of the matrix.
            change = float(np.linalg.norm(messages.Z - old))
            self.converged_ = change <= self.tol * float(np.linalg.norm(messages.Z))
            if self.verbose:
                print(f"BMC-GP-GAMP {len(self.error_trace_)}: squared error {scale**2 * error:.6g}")
        self.n_iter_ = len(self.error_trace_)
        return messages, gamma
