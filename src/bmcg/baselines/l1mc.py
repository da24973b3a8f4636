"""L1MC: a sum of rank-one matrices with an L1 penalty on their weights (Shi, Lu, Cheung 2017)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from ..backends import count_jobs, open_backend
from ..base import MatrixCompleter
from ..checks import check_number, check_whole
from ..observations import Observations
from .alternating import sides
from .factor_model import FactorModel
from .rank_one import Components, Solver, orthogonalise

# Components admitted at a time after the first sweeps have converged.
_ADMITTED = 10
# The penalty follows the noise level only where it falls by more than this factor.
_WORTH_LOWERING = 0.9


class L1MC(MatrixCompleter):
    """Rank-one matrix completion with an L1 penalty that selects the rank.

    Minimises ½‖P_Ω(M − Σ σ_r u_r v_rᵀ)‖² + λ Σ |σ_r| over weights σ and unit vectors u, v, one
    vector of one component at a time, each exactly on the observed entries: where a row is
    fully observed that is soft-thresholding. When the sweeps stand still, singular vectors of
    the residual that would lower the objective are admitted as new components; where there
    are none left, the fit is the optimum over all matrices. Then, with `refine`, the penalty
    is removed and the components that survived are fitted to the data.

    Parameters
    ----------
    rank : int
        Components at most.
    penalty : float, optional
        λ, in the units of the data. By default the spectral norm that noise on the observed
        entries would have, so that components which noise could explain are not kept; its
        level starts at the spread of the data and follows the residual down.
    refine : bool or "auto"
        Remove the penalty once the rank is known. That recovers matrices with little noise
        almost exactly and overfits noisy ones; "auto" refines where the rank leaves fewer free
        parameters, k (m + n − k), than there are observations.
    max_iter : int
        Sweeps at most, in each of the two stages.
    tol : float
        Stop when a sweep lowers the objective by less than this share of it.
    random_state : int, Generator or None
        Start of the singular value decompositions; no influence beyond rounding.
    n_jobs : int, optional
    verbose : bool

    Attributes
    ----------
    objective_trace_ : list of float
        The penalised objective at the start and after every sweep; it never rises.
    refinement_trace_ : list of float
        ½‖P_Ω(M − X)‖² over the sweeps without penalty; it never rises. Empty where there was
        no refinement.
    penalty_ : float
    rank_, n_iter_ : int
    converged_ : bool
    """

    _uses_row_graph = False
    _uses_col_graph = False
    _fitted_type = FactorModel
    _tuning_grid: ClassVar[dict[str, list[Any]]] = {"rank": [1, 5, 100], "refine": [False, True]}

    def __init__(
        self,
        rank: int = 100,
        *,
        penalty: float | None = None,
        refine: bool | Literal["auto"] = "auto",
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.penalty = penalty
        self.refine = refine
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self, observations: Observations) -> None:
        check_whole("rank", self.rank)
        check_whole("max_iter", self.max_iter)
        check_number("tol", self.tol, allow_equal=True)
        if self.penalty is not None:
            check_number("penalty", self.penalty)
        if self.refine not in (True, False, "auto"):
            raise ValueError(f"refine={self.refine!r}: pass True, False or 'auto'")
        count_jobs(self.n_jobs)

    def _fit(
        self, observations: Observations, A: sp.csr_array | None, B: sp.csr_array | None
    ) -> FactorModel:
        self.penalty_ = self._first_penalty(observations)
        with open_backend(self.n_jobs) as backend, threadpool_limits(1):
            solver = Solver(observations, sides(observations, 1.0, backend))
            found = self._select(solver)
            if self._should_refine(found):
                found = self._refine(solver, found)
        self.rank_ = len(found.weights)
        self.n_iter_ = len(self.objective_trace_) - 1 + max(len(self.refinement_trace_) - 1, 0)
        root = np.sqrt(found.weights)
        return FactorModel((found.U.T * root).copy(), (found.V.T * root).copy())

    def _first_penalty(self, observations: Observations) -> float:
        if self.penalty is not None:
            return float(self.penalty)
        values = observations.values
        spread = float(values.std()) or abs(float(values[0])) or 1.0
        return noise_norm(spread, len(values), observations.shape)

    def _select(self, solver: Solver) -> Components:
        """Sweeps with the penalty, and admissions, until neither lowers the objective."""
        rng = np.random.default_rng(self.random_state)
        found = solver.admit(solver.nothing(), self.penalty_, self.rank, rng)
        trace = [found.objective(self.penalty_)]
        self.objective_trace_ = trace
        self.refinement_trace_: list[float] = []
        self.converged_ = False
        while len(trace) <= self.max_iter and not self.converged_:
            found = orthogonalise(solver.sweep(found, self.penalty_))
            trace.append(found.objective(self.penalty_))
            self._say("selects", trace, found)
            if trace[-2] - trace[-1] > self.tol * trace[-1]:
                continue
            lowered = self._lower_penalty(found)
            room = min(self.rank - len(found.weights), _ADMITTED)
            grown = solver.admit(found, (1 + self.tol) * self.penalty_, room, rng)
            self.converged_ = not lowered and len(grown.weights) == len(found.weights)
            found = grown
        return found.active()

    def _should_refine(self, found: Components) -> bool:
        k, m, n = len(found.weights), found.U.shape[1], found.V.shape[1]
        if self.refine != "auto":
            return self.refine and k > 0
        return 0 < k * (m + n - k) < len(found.E)

    def _lower_penalty(self, found: Components) -> bool:
        """Follow a noise level that the fit shows to be lower than was thought."""
        if self.penalty is not None:
            return False
        spread = float(found.E @ found.E / len(found.E)) ** 0.5
        lower = noise_norm(spread, len(found.E), (found.U.shape[1], found.V.shape[1]))
        if lower > _WORTH_LOWERING * self.penalty_:
            return False
        self.penalty_ = lower
        return True

    def _refine(self, solver: Solver, found: Components) -> Components:
        trace = [found.objective(0.0)]
        still = False
        while len(trace) <= self.max_iter and not still:
            found = solver.sweep(found, 0.0)
            trace.append(found.objective(0.0))
            self._say("refines", trace, found)
            still = trace[-2] - trace[-1] <= self.tol * trace[-1]
        self.refinement_trace_ = trace
        self.converged_ = self.converged_ and still
        return found

    def _say(self, stage: str, trace: list[float], found: Components) -> None:
        if self.verbose:
            rank = len(found.weights)
            print(f"L1MC {stage}, sweep {len(trace) - 1}: rank {rank}, objective {trace[-1]:.6g}")


def noise_norm(spread: float, n_observed: int, shape: tuple[int, int]) -> float:
    """s (√(N/m) + √(N/n)): the spectral norm expected of N scattered entries of std s."""
    m, n = shape
    return spread * float(np.sqrt(n_observed / m) + np.sqrt(n_observed / n))
