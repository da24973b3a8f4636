"""Variances and log-determinants from solves alone: perturb, solve, average.

A draw z ~ N(0, Q⁻¹) is one solve Q z = η with η ~ N(0, Q). Given a draw, the conditional
distribution of a row given all others is known, so the estimate of a diagonal block is
P_i⁻¹ + mean of m mᵀ, m = −P_i⁻¹ Q_{i,−i} z (Rao-Blackwell; Sidén et al. 2018): only the part
that comes from the neighbours is random. Components condition on a node's neighbours as well
(`Backend.local_estimate`). The noise is the same every time, so the estimate is a smooth function
of Q and a fit converges as it would with exact variances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend, host
from ..backends.base import Normals
from ..graphs.precision import Precision
from .cg import Operator, Solution, conjugate_gradient
from .lanczos import LANCZOS_STEPS, lanczos_log
from .prior import GraphPrior, SidePrior, graph_prior
from .spread import Spread
from .system import MeanSystem

Array = NDArray[np.float64]

# Entries of one batch of right-hand sides: bounds the memory of the solves.
BATCH = 4_000_000
# Numbers of the noise of draws that are kept from one solve for the next, 64 MB.
MOST_RECALLED = 8_000_000
# Most steps of a draw's solve.
MAX_STEPS = 1000
# Engines that solve no better than this do so in single precision: half the memory to pass over.
SINGLE_TOL = 1e-3
# Of a solve whose draws go to a user.
FOR_USERS = "draws along a graph", "raise ridge for a better condition"


@dataclass(frozen=True)
class Estimate:
    """A log-determinant estimated by probes and its own standard error, of the same shape."""

    value: Array
    error: Array


class Recalled:
    """Normal numbers that are the same from every beginning: kept where they are not too many.

    Parameters
    ----------
    begin : callable
        Gives the stream from its beginning.
    most : int
        Numbers that are kept at most.
    """

    def __init__(self, begin: Callable[[], Normals], most: int = MOST_RECALLED) -> None:
        self._begin, self._most, self._rng = begin, most, begin()
        self._known: list[Array] = []
        self._at = self._size = 0

    def again(self) -> Recalled:
        """This, from its beginning."""
        self._at = 0
        if self._size > self._most:
            self._rng = self._begin()
        return self

    def standard_normal(self, shape: Any) -> Array:
        """Standard normal numbers, which nobody may write to."""
        if self._at < len(self._known):
            found = self._known[self._at]
        else:
            found = self._rng.standard_normal(shape)
            self._size += found.size
            # All or none: what is left out is made anew, with all that came before it.
            self._known = [*self._known, found] if self._size <= self._most else []
        self._at += 1
        return found


class MonteCarloEngine:
    """Variances by perturb-and-solve, log-determinants by stochastic Lanczos quadrature.

    Parameters
    ----------
    backend : Backend
    seed : int
    n_samples : int
        Draws averaged; their spread gives the error estimate.
    tol : float
        Relative residual of a draw's solve.
    exact : engine, optional
        An exact engine for the prior alone, where its factor is affordable.
    n_probes : int, optional
        Probes of log-determinants; half as many as draws by default.
    """

    name = "monte_carlo"

    def __init__(
        self,
        backend: Backend,
        seed: int,
        n_samples: int = 16,
        tol: float = 1e-5,
        exact: Any = None,
        n_probes: int | None = None,
    ) -> None:
        self.backend, self.seed, self.n_samples, self.tol = backend, seed, n_samples, tol
        self.n_probes = n_probes or max(2, n_samples // 2)
        self.exact = exact
        self._heard: tuple[tuple[int, ...], Recalled] | None = None

    def prepare(self, precision: Precision) -> GraphPrior:
        """The prior with log|L|: from its own factor where there is one, else estimated."""
        if self.exact is not None:
            return self.exact.prepare(precision)
        bare = graph_prior(precision, 0.0, self.backend)
        # The ridge alone holds the constant vector: many steps for an ill-conditioned matrix.
        found = self.log_det_columns(bare, np.zeros((precision.n, 1)), np.ones(1), steps=150)
        return replace(bare, log_det=float(found.value[0]), log_det_error=float(found.error[0]))

    def prior_spread(self, prior: SidePrior) -> tuple[Array, Array]:
        """Variances under N(0, L⁻¹) of nodes (n,) and of the edges' differences (n_edges,)."""
        if self.exact is not None:
            return self.exact.prior_spread(prior)
        L = prior.precision
        bare = prior if isinstance(prior, GraphPrior) else prior.graph
        z = self.draw_columns(bare, np.zeros((L.n, 1)), np.ones(1), 4 * self.n_samples)[:, 0]
        return host((z**2).mean(axis=1)), host(((z[L.heads] - z[L.tails]) ** 2).mean(axis=1))

    def prior_traces(self, prior: SidePrior, weights: Array) -> tuple[Array, float]:
        """tr(L⁻¹L_g) of graphs of these weights (n_graphs, n_edges), and tr L⁻¹."""
        if self.exact is not None:
            found: tuple[Array, float] = self.exact.prior_traces(prior, weights)
            return found
        nodes, edges = self.prior_spread(prior)
        return weights @ edges, float(nodes.sum())

    def columns(self, prior: SidePrior, D: Array, lam: Array, draws: Array | None = None) -> Spread:
        """diag (diag(D_r) + λ_r L)⁻¹ (n, k), the log-determinants (k,), the edges' spread."""
        L = prior.precision
        var, log_det = np.empty_like(D), np.empty(len(lam))
        edges = np.empty_like(D, shape=(len(L.weights), len(lam)))
        step = max(1, BATCH // (len(D) * self.n_samples))
        shape = (len(D), len(lam), self.n_samples)
        warm = draws if draws is not None and draws.shape == shape else None
        kept, ends = None, []
        for r in range(0, D.shape[1], step):
            batch = slice(r, r + step)
            ends.append(self._solve_columns(prior, D[:, batch], lam[batch], start=warm))
            z = ends[-1].x
            # Kept where they are one batch: more would be memory without a bound.
            kept = z if z.shape == shape else None
            var[:, batch] = _column_estimate(prior, D[:, batch], lam[batch], z)
            edges[:, batch] = self.backend.edge_spread(L.heads, L.tails, z)
            log_det[batch] = self.log_det_columns(prior, D[:, batch], lam[batch]).value
        return Spread(var, log_det, var, edges, kept, _worst(ends))

    def estimate_columns(self, prior: SidePrior, D: Array, lam: Array) -> Array:
        """Variances of each component alone, (n, k)."""
        return _column_estimate(prior, D, lam, self.draw_columns(prior, D, lam))

    def draw_columns(
        self,
        prior: SidePrior,
        D: Array,
        lam: Array,
        n_samples: int | None = None,
        independent: bool = False,
    ) -> Array:
        """Draws of N(0, (diag(D_r) + λ_r L)⁻¹) for every component, (n, k, s).

        Estimates of variances may share the noise between components; draws of all of them
        together must be `independent`. The noise is the same in every call.
        """
        return self._solve_columns(prior, D, lam, n_samples, independent).told(*FOR_USERS).x

    def _solve_columns(
        self,
        prior: SidePrior,
        D: Array,
        lam: Array,
        n_samples: int | None = None,
        independent: bool = False,
        start: Array | None = None,
    ) -> Solution:
        """Those draws with how their solve ended; earlier draws are a warm start."""
        count, k = n_samples or self.n_samples, len(lam)
        rng = self.backend.random([self.seed, 1])
        width = count * k if independent else count
        own = rng.standard_normal((len(D), width))
        graph = prior.noise(rng, width)
        shape = (len(D), k if independent else 1, count)
        rhs = np.sqrt(D)[:, :, None] * own.reshape(shape) + np.sqrt(lam)[
            None, :, None
        ] * graph.reshape(shape)
        apply, precondition = _column_operators(prior, D, lam, rhs.shape[2])
        flat = rhs.reshape(len(D), -1)
        found = conjugate_gradient(
            apply,
            flat,
            start=None if start is None else start.reshape(flat.shape),
            precondition=precondition,
            systems=flat.shape[1],
            backend=self.backend,
            residual_tol=self.tol,
            max_steps=MAX_STEPS,
        )
        return replace(found, x=found.x.reshape(rhs.shape))

    def log_det_columns(
        self, prior: SidePrior, D: Array, lam: Array, steps: int = LANCZOS_STEPS
    ) -> Estimate:
        """log|diag(D_r) + λ_r L| of each component, (k,), with standard errors."""
        s = self.n_probes
        probes = np.sign(self.backend.random([self.seed, 2]).random((len(D), s)) - 0.5)
        pivot = D + prior.rows_diagonal[:, None] * lam
        rhs = (np.sqrt(pivot)[:, :, None] * probes[:, None, :]).reshape(len(D), -1)
        apply, precondition = _column_operators(prior, D, lam, s)
        found = lanczos_log(apply, precondition, rhs, rhs.shape[1], steps, backend=self.backend)
        terms = found.reshape(-1, s)
        return Estimate(
            np.log(pivot).sum(axis=0) + terms.mean(axis=1), terms.std(axis=1, ddof=1) / np.sqrt(s)
        )

    def blocks(self, system: MeanSystem, draws: Array | None = None) -> Spread:
        """Diagonal blocks of the system's inverse, its log-determinant, and the edges' spread."""
        log_det = system.preconditioner_log_det + float(self.log_det_blocks(system).value)
        found = self._solve_blocks(system, draws)
        z, L = found.x, system.prior.precision
        edges = self.backend.edge_spread(L.heads, L.tails, z)
        nodes = (z[: len(system.blocks)] ** 2).mean(axis=2)
        return Spread(_block_estimate(system, z), np.asarray(log_det), nodes, edges, z, found)

    def estimate_blocks(self, system: MeanSystem) -> Array:
        """Diagonal blocks alone, packed (n, k(k+1)/2)."""
        return _block_estimate(system, self.draw_blocks(system))

    def draw_blocks(self, system: MeanSystem) -> Array:
        """Draws of N(0, Q⁻¹) over all nodes, shape (n + p, k, s); the same noise in every call."""
        return self._solve_blocks(system).told(*FOR_USERS).x

    def _solve_blocks(self, system: MeanSystem, start: Array | None = None) -> Solution:
        """Those draws with how their solve ended; earlier draws are a warm start."""
        prior, n, k, count = system.prior, len(system.blocks), len(system.lam), self.n_samples
        rng = self._recalled((k, count))
        own = rng.standard_normal((n, k, count))
        shape = (prior.n_nodes, k, count)
        root = self.backend.cholesky_blocks(system.data_blocks)
        rhs = np.sqrt(system.lam)[:, None] * prior.noise(rng, k * count).reshape(shape)
        rhs[:n] += self.backend.lower_products(root, own)
        return conjugate_gradient(
            system.apply,
            self._kept(rhs),
            # In the precision of this solve, whatever a checkpoint kept them in.
            start=self._kept(start) if start is not None and start.shape == shape else None,
            precondition=system.precondition,
            remainder=system.remainder,
            systems=count,
            backend=self.backend,
            residual_tol=self.tol,
            max_steps=MAX_STEPS,
        )

    def _recalled(self, shape: tuple[int, ...]) -> Recalled:
        """The noise of draws, from its beginning: what solves of this shape had before."""
        if self._heard is None or self._heard[0] != shape:
            self._heard = shape, Recalled(lambda: self.backend.random([self.seed, 1]))
        return self._heard[1].again()

    def _kept(self, rhs: Array) -> Array:
        return rhs.astype(np.float32) if self.tol >= SINGLE_TOL else rhs

    def log_det_blocks(self, system: MeanSystem) -> Estimate:
        """log|P^{-½} Q P^{-½}|, what the preconditioner leaves of the log-determinant."""
        rng = self.backend.random([self.seed, 2])
        rhs = self._kept(system.preconditioner_noise(rng, self.n_probes))
        terms = lanczos_log(
            system.apply, system.precondition, rhs, self.n_probes, backend=self.backend
        )
        return Estimate(terms.mean(), terms.std(ddof=1) / np.sqrt(len(terms)))


def _worst(ends: list[Solution]) -> Solution | None:
    """Of several solves the one that did worst."""
    return max(ends, key=lambda end: (not end.converged, end.steps)) if ends else None


def _column_estimate(prior: SidePrior, D: Array, lam: Array, z: Array) -> Array:
    """Variances (n, k) from draws (n, k, s)."""
    pivot = D + prior.rows_diagonal[:, None] * lam
    coupled = prior.neighbours(z.reshape(len(D), -1)).reshape(z.shape) * lam[:, None]
    Qz = pivot[:, :, None] * z + coupled
    return prior.backend.local_estimate(prior.precision, D, lam, z, Qz)


def _block_estimate(system: MeanSystem, z: Array) -> Array:
    """Diagonal blocks (n, k(k+1)/2) of the rows from draws (n + p, k, s)."""
    shift = system.precondition(system.neighbours(z))[: len(system.blocks)]
    out = system.inverse.copy()
    for t, (r, s) in enumerate(zip(*np.tril_indices(len(system.lam)), strict=True)):
        out[:, t] += (shift[:, r] * shift[:, s]).mean(axis=1)
    return out


def _column_operators(prior: SidePrior, D: Array, lam: Array, s: int) -> tuple[Operator, Operator]:
    """Q_r x and the inverse of its diagonal, s systems for each column side by side."""
    wide = np.repeat(lam, s)
    pivot = np.repeat(D + prior.rows_diagonal[:, None] * lam, s, axis=1)

    def apply(X: Array) -> Array:
        return pivot * X + wide * prior.neighbours(X)

    return apply, lambda R: R / pivot
