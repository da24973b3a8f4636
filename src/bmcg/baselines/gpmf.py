"""GPMF (GRAEM): GRALS on a graph without its contested edges (Strahl et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends import SparseRows, open_backend
from ..checks import check_number, check_whole
from ..graphs.precision import Precision, graph_precision
from ..linalg.monte_carlo import MonteCarloEngine
from ..linalg.prior import graph_prior
from ..observations import Observations
from .alternating import Factors, alternate, sides
from .factor_model import FactorModel
from .grals import Array, FactorCompleter, Graph, both_sides, graph_penalties


@dataclass(frozen=True)
class ScoredEdges:
    """The given edges of one side, and which of them the data contests.

    Attributes
    ----------
    heads, tails : ndarray of int32, shape (n_edges,)
    weights : ndarray of shape (n_edges,)
    scores : ndarray of shape (n_edges,)
        Expected covariance of the two factor vectors, posterior covariance included.
    kept : ndarray of bool, shape (n_edges,)
    """

    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    weights: Array
    scores: Array
    kept: NDArray[np.bool_]

    def graph(self, n: int) -> sp.csr_array:
        """Adjacency matrix of the edges that were kept, shape (n, n)."""
        a, b, w = self.heads[self.kept], self.tails[self.kept], self.weights[self.kept]
        upper = sp.coo_array((w, (a, b)), shape=(n, n))
        return sp.csr_array(upper + upper.T)


class GPMF(FactorCompleter):
    """Probabilistic matrix factorisation with graph priors whose contested edges are removed.

    Expectation-maximisation around GRALS: from a fit without graphs, score every given edge by
    the expected covariance of the two factor vectors it joins, remove the edges that the data
    contests (negative scores), and fit with the graphs that remain. Scores use the positions
    of the training entries alone. The defaults are those of the authors' code on MovieLens 100K.

    Parameters
    ----------
    rank : int
        Number of factors k.
    graph_weight, ridge : float or (float, float)
        As in `GRALS`, for the fits with graphs.
    noise_variance : float
        σ² of the scaled values; weighs data against graph in the posterior covariance.
    threshold : float
        Remove edges whose score is at most this share of the largest one. 0 removes the
        contested edges alone.
    pmf_ridge : float
        Ridge of the fit without graphs that the first scores come from.
    pmf_iter : int
        Sweeps of that fit.
    n_rounds : int
        Rounds of scoring and fitting.
    n_samples : int
        Draws of each factor's posterior behind a score.
    scale, cg_steps, max_iter, tol, random_state, n_jobs, verbose
        As in `GRALS`.

    Attributes
    ----------
    fitted_ : FactorModel
    row_edges_, col_edges_ : ScoredEdges or None
        The given edges with their last scores.
    objective_trace_ : list of float
        Of the last fit, for the scaled values.
    n_iter_ : int
    converged_ : bool
    scale_ : float

    References
    ----------
    J. Strahl, J. Peltonen, H. Mamitsuka, S. Kaski, "Scalable probabilistic matrix factorization
    with graph-based priors", AAAI 2020.
    """

    _tuning_grid: ClassVar[dict[str, list[Any]]] = {
        # Powers of ten around the authors' setting, whatever the data.
        "graph_weight": [0.04, 0.4, 4.0],
        "ridge": [1e-4, 1e-2, 1.0],
    }

    row_edges_: ScoredEdges | None
    col_edges_: ScoredEdges | None

    def __init__(
        self,
        rank: int = 10,
        *,
        graph_weight: float | Sequence[float] = 0.4,
        ridge: float | Sequence[float] = 1e-4,
        noise_variance: float = 0.05,
        threshold: float = 0.0,
        pmf_ridge: float = 1.2,
        pmf_iter: int = 35,
        n_rounds: int = 1,
        n_samples: int = 20,
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
        self.noise_variance = noise_variance
        self.threshold = threshold
        self.pmf_ridge = pmf_ridge
        self.pmf_iter = pmf_iter
        self.n_rounds = n_rounds
        self.n_samples = n_samples
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
        check_number("noise_variance", self.noise_variance)
        check_number("threshold", self.threshold, allow_equal=True)
        check_number("pmf_ridge", self.pmf_ridge, allow_equal=True)
        check_whole("pmf_iter", self.pmf_iter)
        check_whole("n_rounds", self.n_rounds)
        check_whole("n_samples", self.n_samples, least=2)

    def _fit(self, observations: Observations, A: Graph, B: Graph) -> FactorModel:
        shape = observations.shape
        start = self._start(shape)
        with open_backend(self.n_jobs) as backend:
            views = sides(observations, self._choose_scale(observations), backend)
            without = graph_penalties(shape, (None, None), self.pmf_ridge, 0.0)
            factors = alternate(
                views, without, start, max_iter=self.pmf_iter, cg_steps=3, tol=self.tol
            )
            for _ in range(self.n_rounds):
                self.row_edges_ = self._score(views[0], factors.rows, factors.cols, A)
                self.col_edges_ = self._score(views[1], factors.cols, factors.rows, B)
                A = A if self.row_edges_ is None else self.row_edges_.graph(shape[0])
                B = B if self.col_edges_ is None else self.col_edges_.graph(shape[1])
                factors = self._fit_graphs(views, start, (A, B), shape)
        return self._keep(factors)

    def _fit_graphs(
        self,
        views: tuple[SparseRows, SparseRows],
        start: tuple[Array, Array],
        graphs: tuple[Graph, Graph],
        shape: tuple[int, int],
    ) -> Factors:
        return alternate(
            views,
            graph_penalties(shape, graphs, self.graph_weight, self.ridge),
            start,
            max_iter=self.max_iter,
            cg_steps=self.cg_steps,
            tol=self.tol,
            report=self._report("GPMF"),
        )

    def _score(self, side: SparseRows, U: Array, V: Array, graph: Graph) -> ScoredEdges | None:
        if graph is None or graph.nnz == 0:
            return None
        # A node in a component without observations needs some precision of its own.
        precision = graph_precision(graph, ridge=1e-4)
        D = side.backend.row_sums(side, V**2) / self.noise_variance
        seed = int(np.random.default_rng(self.random_state).integers(2**31))
        scores = factor_covariance(U, precision.heads, precision.tails)
        scores += posterior_covariance(precision, D, side, seed, self.n_samples)
        kept = scores > self.threshold * max(float(scores.max()), 0.0)
        if self.verbose:
            print(f"GPMF removes {int((~kept).sum())} of {len(kept)} edges")
        return ScoredEdges(precision.heads, precision.tails, precision.weights, scores, kept)


def factor_covariance(U: Array, heads: NDArray[np.int32], tails: NDArray[np.int32]) -> Array:
    """Covariance over the factors of the two vectors each edge joins, shape (n_edges,)."""
    centred = U - U.mean(axis=1, keepdims=True)
    return np.einsum("ek,ek->e", centred[heads], centred[tails]) / U.shape[1]


def posterior_covariance(
    precision: Precision, D: Array, side: SparseRows, seed: int, n_samples: int
) -> Array:
    """Covariance along each edge of (L + diag(D_r))⁻¹, averaged over the factors r.

    Given the rest of a draw, the pair of an edge is Gaussian with a 2×2 precision that is
    known, so only its conditional mean is averaged over draws.

    Parameters
    ----------
    precision : Precision
        L.
    D : ndarray of shape (n, k)
        Precision that the observations add.
    side : SparseRows
        For its threads.
    seed, n_samples : int

    Returns
    -------
    ndarray of shape (n_edges,)
    """
    prior = graph_prior(precision, 0.0, side.backend)
    assert prior.coupling is not None
    total = np.zeros(len(precision.weights))
    for r in range(D.shape[1]):
        # A seed for each factor: errors of the draws average out over the factors.
        engine = MonteCarloEngine(side.backend, seed + r, n_samples)
        z = engine.draw_columns(prior, D[:, [r]], np.ones(1))[:, 0]
        total += _edge_covariance(precision, prior.coupling, D[:, r], z)
    return total / D.shape[1]


def _edge_covariance(precision: Precision, coupling: SparseRows, d: Array, z: Array) -> Array:
    """Rao-Blackwellised covariance along each edge from draws z (n, s)."""
    a, b, w = precision.heads, precision.tails, precision.weights[:, None]
    pull = -coupling.backend.weighted_sums(coupling, np.ascontiguousarray(z))
    pivot = (precision.diagonal + d)[:, None]
    at_a, at_b = pull[a] - w * z[b], pull[b] - w * z[a]
    det = pivot[a] * pivot[b] - w**2
    mean_a = (pivot[b] * at_a + w * at_b) / det
    mean_b = (w * at_a + pivot[a] * at_b) / det
    return (w / det)[:, 0] + (mean_a * mean_b).mean(axis=1)
