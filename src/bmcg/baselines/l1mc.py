"""L1MC: a sum of rank-one matrices with an L1 penalty on their weights (Shi, Lu, Cheung 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from ..base import MatrixCompleter
from ..kernels.passes import Side
from ..kernels.residuals import rank_one_moments, rank_one_shift
from ..kernels.threads import count_jobs, workers
from ..observations import Observations
from .alternating import sides
from .checks import check_number, check_whole
from .factor_model import FactorModel

Array = NDArray[np.float64]

# Components admitted at a time after the first sweeps have converged.
_ADMITTED = 10
# The penalty follows the noise level only where it falls by more than this factor.
_WORTH_LOWERING = 0.9
# Weights below this share of the largest are rounding left over by the orthogonal basis.
_NEGLIGIBLE = 1e-10


@dataclass(frozen=True)
class Components:
    """X = Σ_r σ_r u_r v_rᵀ with unit vectors, and its residual.

    Attributes
    ----------
    weights : ndarray of shape (k,)
        σ, none negative.
    U, V : ndarray of shape (k, m) and (k, n)
        One component a row, so that each is contiguous.
    E : ndarray of shape (n_observed,)
        P_Ω(M − X), by row.
    """

    weights: Array
    U: Array
    V: Array
    E: Array

    def objective(self, penalty: float) -> float:
        """½‖P_Ω(M − X)‖² + λ Σ_r σ_r."""
        return 0.5 * float(self.E @ self.E) + penalty * float(self.weights.sum())

    def active(self) -> Components:
        """Without the components of weight zero."""
        keep = self.weights > 0
        return Components(self.weights[keep], self.U[keep], self.V[keep], self.E)


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
        with workers(self.n_jobs) as pool, threadpool_limits(1):
            solver = _Solver(observations, sides(observations, 1.0, pool))
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

    def _select(self, solver: _Solver) -> Components:
        """Sweeps with the penalty, and admissions, until neither lowers the objective."""
        rng = np.random.default_rng(self.random_state)
        found = solver.admit(solver.nothing(), self.penalty_, self.rank, rng)
        trace = [found.objective(self.penalty_)]
        self.objective_trace_, self.refinement_trace_ = trace, []
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

    def _refine(self, solver: _Solver, found: Components) -> Components:
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


class _Solver:
    """The data in both orders, with the steps that need it."""

    def __init__(self, observations: Observations, views: tuple[Side, Side]) -> None:
        self._observations = observations
        self._views = views
        by_col = np.argsort(views[0].indices, kind="stable")
        self._orders = np.arange(len(by_col)), by_col

    def nothing(self) -> Components:
        """X = 0."""
        m, n = self._observations.shape
        values = self._observations.values
        return Components(np.empty(0), np.empty((0, m)), np.empty((0, n)), values.copy())

    def admit(
        self, found: Components, threshold: float, room: int, rng: np.random.Generator
    ) -> Components:
        """Add, with weight zero, singular vectors of the residual whose values pass a threshold."""
        room = min(room, *self._observations.shape)
        if room < 1:
            return found
        E = self._observations.with_values(found.E).to_csr()
        # At the optimum every active component has the penalty as its singular value of E: a
        # cluster that exact methods take long to resolve, and that need not be resolved.
        seed = int(rng.integers(2**31))
        U, s, Vt = randomized_svd(E, room, n_iter=8, random_state=seed)
        new = s > threshold
        return Components(
            np.concatenate((found.weights, np.zeros(int(new.sum())))),
            np.vstack((found.U, U[:, new].T)),
            np.vstack((found.V, Vt[new])),
            found.E,
        )

    def sweep(self, found: Components, penalty: float) -> Components:
        """Each vector of each component once; components whose weight falls to zero leave."""
        weights, U, V, E = (array.copy() for array in vars(found).values())
        for r in range(len(weights)):
            for side, order, own, other in zip(
                self._views, self._orders, (U, V), (V, U), strict=True
            ):
                old = weights[r] * own[r]
                c, d = rank_one_moments(side, E, order, old, other[r])
                new = minimiser(c, d, penalty)
                rank_one_shift(side, E, order, new - old, other[r])
                weights[r] = np.linalg.norm(new)
                if weights[r] == 0:
                    break
                own[r] = new / weights[r]
        return Components(weights, U, V, E).active()


def noise_norm(spread: float, n_observed: int, shape: tuple[int, int]) -> float:
    """s (√(N/m) + √(N/n)): the spectral norm expected of N scattered entries of std s."""
    m, n = shape
    return spread * float(np.sqrt(n_observed / m) + np.sqrt(n_observed / n))


def minimiser(c: Array, d: Array, penalty: float) -> Array:
    """The vector a that minimises ½ Σ d_i a_i² − Σ c_i a_i + λ‖a‖.

    a_i = c_i t / (d_i t + λ), where t = ‖a‖ solves Σ c_i² / (d_i t + λ)² = 1; zero when
    ‖c‖ ≤ λ.

    Parameters
    ----------
    c, d : ndarray of shape (n,)
        d is not negative, and c is zero where d is.
    penalty : float
        λ.
    """
    if penalty == 0:
        return np.divide(c, d, out=np.zeros_like(c), where=d > 0)
    if np.linalg.norm(c) <= penalty:
        return np.zeros_like(c)
    t = _norm_of_minimiser(c, d, penalty)
    return c * t / (d * t + penalty)


def _norm_of_minimiser(c: Array, d: Array, penalty: float) -> float:
    """Newton's method on g(t)^(−1/2) = 1, g(t) = Σ c_i²/(d_i t + λ)², which is nearly linear.

    The function is concave and increasing, so from t = 0 the iterates never pass the root.
    """
    t = 0.0
    for _ in range(100):
        scaled = c / (d * t + penalty)
        g = float(scaled @ scaled)
        slope = float((scaled * scaled) @ (d / (d * t + penalty))) / g**1.5
        step = (1.0 - g**-0.5) / slope
        t += step
        if abs(step) <= 1e-14 * t:
            break
    return t


def orthogonalise(found: Components) -> Components:
    """The same matrix by its singular vectors: no other weights have a smaller sum."""
    if len(found.weights) == 0:
        return found
    Q, R = np.linalg.qr(found.U.T)
    S, T = np.linalg.qr(found.V.T)
    left, weights, right = np.linalg.svd((R * found.weights) @ T.T)
    keep = weights > _NEGLIGIBLE * weights[0]
    U, V = (Q @ left[:, keep]).T.copy(), (S @ right[keep].T).T.copy()
    return Components(weights[keep], U, V, found.E)
