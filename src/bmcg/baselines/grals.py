"""GRALS: matrix factorisation with graph penalties (Rao, Yu, Ravikumar, Dhillon 2015)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends import count_jobs, open_backend
from ..base import MatrixCompleter
from ..checks import check_number, check_whole
from ..graphs.precision import Precision, graph_precision
from ..observations import Observations
from .alternating import Factors, Penalty, alternate, precision_penalty, sides
from .factor_model import FactorModel

Array = NDArray[np.float64]
Graph: TypeAlias = sp.csr_array | None


class FactorCompleter(MatrixCompleter):
    """What GRALS, GPMF and KPMF share: scaling, start, the shape of the result."""

    _fitted_type: ClassVar[type[Any]] = FactorModel

    rank: int
    scale: float | None
    cg_steps: int
    max_iter: int
    tol: float
    random_state: Any
    n_jobs: int | None
    verbose: bool

    fitted_: FactorModel
    scale_: float
    objective_trace_: list[float]
    n_iter_: int
    converged_: bool

    def _check_parameters(self, observations: Observations) -> None:
        check_whole("rank", self.rank)
        check_whole("cg_steps", self.cg_steps)
        check_whole("max_iter", self.max_iter)
        check_number("tol", self.tol, allow_equal=True)
        if self.scale is not None:
            check_number("scale", self.scale)
        count_jobs(self.n_jobs)

    def _start(self, shape: tuple[int, int]) -> tuple[Array, Array]:
        """Uniform on [0, 1), as in the authors' code."""
        rng = np.random.default_rng(self.random_state)
        m, n = shape
        return rng.random((m, self.rank)), rng.random((n, self.rank))

    def _choose_scale(self, observations: Observations) -> float:
        largest = float(np.abs(observations.values).max())
        self.scale_ = float(self.scale) if self.scale is not None else largest or 1.0
        return self.scale_

    def _keep(self, factors: Factors) -> FactorModel:
        self.objective_trace_ = factors.objective
        self.n_iter_ = len(factors.objective) - 1
        self.converged_ = factors.converged
        return FactorModel(factors.rows, factors.cols, 0.0, self.scale_)

    def _report(self, stage: str) -> Callable[[int, float], None] | None:
        if not self.verbose:
            return None
        return lambda sweep, value: print(f"{stage} sweep {sweep}: objective {value:.8g}")


class GRALS(FactorCompleter):
    """Graph-regularised alternating least squares.

    Minimises ½‖P_Ω(M − UVᵀ)‖² + ½ tr(UᵀAU) + ½ tr(VᵀBV) with A = γL + ridge·I for the
    Laplacian L of the row graph, and B likewise for the columns, by alternating a few
    conjugate gradient steps on each factor. The defaults are those of the authors' code on
    MovieLens 100K.

    Parameters
    ----------
    rank : int
        Number of factors k.
    graph_weight : float or (float, float)
        γ, one for both sides or (rows, columns). A side without a graph has the identity in
        place of its Laplacian.
    ridge : float or (float, float)
        Multiple of the identity added to the penalty.
    scale : float, optional
        Values are divided by this before the fit; by default by the largest in absolute value.
    cg_steps : int
        Conjugate gradient steps for each side and sweep.
    max_iter : int
        Sweeps at most. Few sweeps act as a regulariser where the penalties are weak.
    tol : float
        Stop when a sweep lowers the objective by less than this share of it.
    random_state : int, Generator or None
    n_jobs : int or None
        Threads; None for all cores. The result does not depend on it.
    verbose : bool
        Print the objective after every sweep.

    Attributes
    ----------
    fitted_ : FactorModel
    objective_trace_ : list of float
        At the start and after every sweep, for the scaled values.
    n_iter_ : int
    converged_ : bool
    scale_ : float

    References
    ----------
    N. Rao, H.-F. Yu, P. Ravikumar, I. S. Dhillon, "Collaborative filtering with graph
    information: consistency and scalable methods", NIPS 2015.
    """

    _tuning_grid: ClassVar[dict[str, list[Any]]] = {
        # Powers of ten around the authors' setting, whatever the data.
        "graph_weight": [0.04, 0.4, 4.0],
        "ridge": [1e-4, 1e-2, 1.0],
    }

    def __init__(
        self,
        rank: int = 10,
        *,
        graph_weight: float | Sequence[float] = 0.4,
        ridge: float | Sequence[float] = 1e-4,
        scale: float | None = None,
        cg_steps: int = 2,
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.graph_weight = graph_weight
        self.ridge = ridge
        self.scale = scale
        self.cg_steps = cg_steps
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self, observations: Observations) -> None:
        super()._check_parameters(observations)
        both_sides("graph_weight", self.graph_weight)
        both_sides("ridge", self.ridge)

    def _fit(self, observations: Observations, A: Graph, B: Graph) -> FactorModel:
        scale = self._choose_scale(observations)
        with open_backend(self.n_jobs) as backend:
            factors = alternate(
                sides(observations, scale, backend),
                graph_penalties(observations.shape, (A, B), self.graph_weight, self.ridge),
                self._start(observations.shape),
                max_iter=self.max_iter,
                cg_steps=self.cg_steps,
                tol=self.tol,
                report=self._report("GRALS"),
            )
        return self._keep(factors)


def both_sides(argument: str, value: float | Sequence[float]) -> tuple[float, float]:
    """One non-negative number for both sides, or one for rows and one for columns."""
    pair = tuple(value) if isinstance(value, Sequence) else (value, value)
    if len(pair) != 2:
        raise ValueError(
            f"{argument}={value!r}: pass one number, or one for rows and one for columns"
        )
    for number in pair:
        check_number(argument, number, allow_equal=True)
    return float(pair[0]), float(pair[1])


def graph_penalties(
    shape: tuple[int, int],
    graphs: tuple[Graph, Graph],
    weight: float | Sequence[float],
    ridge: float | Sequence[float],
) -> tuple[Penalty, Penalty]:
    """γL + ridge·I for both sides; (γ + ridge)·I for a side without a graph."""
    weights, ridges = both_sides("graph_weight", weight), both_sides("ridge", ridge)
    rows, cols = (
        precision_penalty(weighted_precision(shape[i], graphs[i], weights[i], ridges[i]))
        for i in range(2)
    )
    return rows, cols


def weighted_precision(n: int, graph: Graph, weight: float, ridge: float) -> Precision:
    """γL + ridge·I, with L the identity where there is no graph."""
    if graph is None:
        return graph_precision(sp.csr_array((n, n)), weight + ridge)
    return graph_precision(sp.csr_array(weight * graph), ridge)
