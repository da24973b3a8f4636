"""MC on Graphs: nuclear norm and graph smoothness, by ADMM (Kalofolias et al. 2014)."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..backends import count_jobs
from ..base import MEMORY_LIMIT, MatrixCompleter
from ..checks import check_number, check_whole
from ..graphs.precision import graph_precision
from ..observations import Observations
from .admm import Problem, Solution, Weights, solve
from .factor_model import FactorModel
from .grals import Graph

# Dense m×n arrays alive at the peak, as measured (tests/baselines/test_dense_methods.py): those
# of ADMM, of the conjugate gradients in it, and of the two solutions a choice of weights keeps.
ARRAYS = 26

# What is tried, in this order and until the error rises: fit weights, as multiples of the
# largest one whose solution is zero, then graph weights, as shares of the fit weight.
FIT_GRID = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
GRAPH_GRID = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)

logger = logging.getLogger(__name__)


class MCOnGraphs(MatrixCompleter):
    """Matrix completion on graphs.

    Minimises the convex ‖X‖_* + τ‖P_Ω(M − X)‖² + γ_r tr(XᵀL_rX) + γ_c tr(XL_cXᵀ) by ADMM:
    singular values are thresholded, then a linear system is solved by conjugate gradients.
    Works on dense arrays: the memory it needs is reported before it starts, and a matrix that
    does not fit is refused.

    Parameters
    ----------
    fit_weight : float, optional
        τ. Weights that are not given are chosen on held-out observed entries from a small grid.
    row_weight, col_weight : float, optional
        γ_r and γ_c; a side without a graph has weight 0.
    center : bool
        Subtract the mean of the observed entries, so that it is not shrunk.
    penalty : float, optional
        ρ of the augmented Lagrangian; changes the path, not the solution.
    validation_share : float
        Share of the observed entries held out to choose weights.
    memory_limit : int
        Refuse to start when the arrays need more bytes than this.
    max_iter : int
    tol : float
        Stop when the change of both variables is below this share of their size.
    random_state : int, Generator or None
        Of the held-out entries.
    n_jobs : int or None
        Accepted for uniformity: the time goes into the linear algebra library, whose threads
        are its own.
    verbose : bool
        Print the memory needed, the choice of weights and the residuals.

    Attributes
    ----------
    fitted_ : FactorModel
    weights_ : Weights
        τ, γ_r and γ_c used, given or chosen.
    validation_ : list of (Weights, float)
        Each choice tried with its root mean squared error on the held-out entries.
    memory_ : int
        Bytes of the arrays.
    objective_trace_ : list of float
        Of the low-rank variable, after every iteration.
    residual_trace_ : list of float
        ρ‖Y − Y'‖² + ρ‖W − W'‖² after every iteration; never rises.
    n_iter_ : int
    converged_ : bool
    rank_ : int

    References
    ----------
    V. Kalofolias, X. Bresson, M. Bronstein, P. Vandergheynst, "Matrix completion on graphs",
    arXiv:1408.1717, 2014.
    """

    _fitted_type: ClassVar[type[Any]] = FactorModel
    _tuning_grid: ClassVar[dict[str, list[Any]]] = {}

    def __init__(
        self,
        *,
        fit_weight: float | None = None,
        row_weight: float | None = None,
        col_weight: float | None = None,
        center: bool = True,
        penalty: float | None = None,
        validation_share: float = 0.1,
        memory_limit: int = MEMORY_LIMIT,
        max_iter: int = 200,
        tol: float = 3e-3,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.fit_weight = fit_weight
        self.row_weight = row_weight
        self.col_weight = col_weight
        self.center = center
        self.penalty = penalty
        self.validation_share = validation_share
        self.memory_limit = memory_limit
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self, observations: Observations) -> None:
        for name in ("fit_weight", "penalty"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name))
        for name in ("row_weight", "col_weight"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), allow_equal=True)
        check_number("validation_share", self.validation_share)
        if self.validation_share >= 1.0:
            raise ValueError(f"validation_share={self.validation_share!r}: pass a share below 1")
        check_whole("max_iter", self.max_iter)
        check_number("tol", self.tol, allow_equal=True)
        count_jobs(self.n_jobs)
        self._check_memory(observations.shape)

    def _check_memory(self, shape: tuple[int, int]) -> None:
        m, n = shape
        self.memory_ = ARRAYS * 8 * m * n
        self._say(f"a {m} x {n} matrix needs {self.memory_ / 2**20:.0f} MiB of dense arrays")
        if self.memory_ > self.memory_limit:
            raise MemoryError(
                f"MCOnGraphs on a {m} x {n} matrix needs {self.memory_ / 2**30:.1f} GiB, over "
                f"memory_limit={self.memory_limit / 2**30:.1f} GiB: use GRALS, which never forms "
                "the matrix, or raise memory_limit"
            )

    def _fit(self, observations: Observations, A: Graph, B: Graph) -> FactorModel:
        self._offset = float(observations.values.mean()) if self.center else 0.0
        self.validation_: list[tuple[Weights, float]] = []
        given = (self.fit_weight, self.row_weight, self.col_weight)
        laplacians = tuple(None if G is None else graph_precision(G, 0.0).to_csr() for G in (A, B))
        everything = np.ones(len(observations), dtype=bool)
        if None in (given[0], given[1] if A is not None else 0, given[2] if B is not None else 0):
            self.weights_ = self._choose(observations, laplacians)
        else:
            self.weights_ = Weights(*(0.0 if w is None else float(w) for w in given))
        problem = self._problem(observations, laplacians, everything)
        found = self._solve(problem, self.weights_, None, self.max_iter)
        return self._keep(found)

    def _problem(
        self, observations: Observations, laplacians: tuple[Any, ...], used: NDArray[np.bool_]
    ) -> Problem:
        return Problem(
            observations.shape,
            observations.row_indices[used],
            observations.col_indices[used],
            observations.values[used] - self._offset,
            *laplacians,
        )

    def _choose(self, observations: Observations, laplacians: tuple[Any, ...]) -> Weights:
        """The weights of the grid with the smallest error on held-out observed entries."""
        rng = np.random.default_rng(self.random_state)
        held = rng.random(len(observations)) < self.validation_share
        if not held.any() or held.all():
            held = np.arange(len(observations)) == 0
            held &= len(observations) > 1
        problem = self._problem(observations, laplacians, ~held)
        rows, cols = observations.row_indices[held], observations.col_indices[held]
        truth = observations.values[held] - self._offset

        def follow(candidates: list[Weights], last: Solution | None) -> Solution | None:
            """Try weights in order, each from where the last one ended, until one is worse."""
            best, best_error = last, min((e for _, e in self.validation_), default=np.inf)
            for weights in candidates:
                last = self._solve(problem, weights, last, max(10, self.max_iter // 4))
                error = float(np.sqrt(np.mean((last.entries(rows, cols) - truth) ** 2)))
                self.validation_.append((weights, error))
                self._say(f"{weights}: held-out error {error:.5g}")
                if error >= best_error:
                    break
                best, best_error = last, error
            return best

        zero = problem.zero_weight
        fits = [self.fit_weight] if self.fit_weight else [c * zero for c in FIT_GRID]
        best = follow([self._weights(problem, fit, 0.0) for fit in fits], None)
        fit = self._best().fit
        graphs = {self._weights(problem, fit, share): share for share in GRAPH_GRID}
        if len(graphs) > 1:
            best = follow(list(graphs), best)
        share = graphs.get(self._best(), 0.0) if len(graphs) > 1 else 0.0
        if share and self.fit_weight is None:
            # With graphs to hold the unobserved entries, the data may weigh more.
            follow([self._weights(problem, c * fit, share) for c in (4.0, 16.0)], best)
        return self._best()

    def _best(self) -> Weights:
        return min(self.validation_, key=lambda tried: tried[1])[0]

    def _weights(self, problem: Problem, fit: float, share: float) -> Weights:
        row = share * fit if self.row_weight is None else self.row_weight
        col = share * fit if self.col_weight is None else self.col_weight
        return Weights(
            float(fit),
            0.0 if problem.row_laplacian is None else float(row),
            0.0 if problem.col_laplacian is None else float(col),
        )

    def _solve(
        self, problem: Problem, weights: Weights, start: Solution | None, max_iter: int
    ) -> Solution:
        return solve(problem, weights, self.penalty, start, max_iter=max_iter, tol=self.tol)

    def _keep(self, found: Solution) -> FactorModel:
        self.objective_trace_ = found.objective
        self.residual_trace_ = found.residual
        self.n_iter_ = len(found.objective)
        self.converged_ = found.converged
        self.rank_ = len(found.values)
        self._say(f"{self.n_iter_} iterations, rank {self.rank_}")
        return FactorModel(found.left * found.values, found.right, self._offset, 1.0)

    def _say(self, message: str) -> None:
        logger.info("MCOnGraphs: %s", message)
        if self.verbose:
            print(f"MCOnGraphs: {message}")
