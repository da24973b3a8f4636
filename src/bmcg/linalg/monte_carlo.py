"""Variances and log-determinants from solves alone: perturb, solve, average.

A draw z ~ N(0, Q⁻¹) is one solve Q z = η with η ~ N(0, Q). Given a draw, the conditional
distribution of a row given all others is known, so the estimate of a diagonal block is
P_i⁻¹ + mean of m mᵀ, m = −P_i⁻¹ Q_{i,−i} z (Rao-Blackwell; Sidén et al. 2018): only the part
that comes from the neighbours is random. Columns condition on a node's neighbours as well, see
`bmcg.kernels.local`. The noise is drawn once and kept, so the estimate is a smooth function of Q
and a fit converges as it would with exact variances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graphs.precision import Precision
from ..kernels import passes
from ..kernels.local import edge_spread, local_estimate
from ..kernels.threads import Workers
from ..kernels.vectors import inner, redirect
from .cg import Operator, conjugate_gradient
from .spread import Spread
from .system import MeanSystem, SidePrior, off_diagonal

Array = NDArray[np.float64]

# Entries of one batch of right-hand sides: bounds the memory of the solves.
BATCH = 4_000_000
LANCZOS_STEPS = 25
# Where the squared residual has fallen by this much, more steps change nothing that probes leave.
QUADRATURE_TOL = 1e-8
# Engines that solve no better than this do so in single precision: half the memory to pass over.
SINGLE_TOL = 1e-3


@dataclass(frozen=True)
class Estimate:
    """A Monte Carlo estimate and its own standard error, both of the same shape."""

    value: Array
    error: Array


class MonteCarloEngine:
    """Variances by perturb-and-solve, log-determinants by stochastic Lanczos quadrature.

    Parameters
    ----------
    pool : Workers
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
        pool: Workers,
        seed: int,
        n_samples: int = 16,
        tol: float = 1e-5,
        exact: Any = None,
        n_probes: int | None = None,
    ) -> None:
        self.pool, self.seed, self.n_samples, self.tol = pool, seed, n_samples, tol
        self.n_probes = n_probes or max(2, n_samples // 2)
        self.exact = exact
        self.draws: Array | None = None

    def prepare(self, precision: Precision) -> SidePrior:
        """The prior with log|L|: from its own factor where there is one, else estimated."""
        if self.exact is not None:
            return self.exact.prepare(precision)
        bare = SidePrior(precision, off_diagonal(precision, self.pool), 0.0)
        # The ridge alone holds the constant vector: many steps for an ill-conditioned matrix.
        found = self.log_det_columns(bare, np.zeros((precision.n, 1)), np.ones(1), steps=150)
        return replace(bare, log_det=float(found.value[0]), log_det_error=float(found.error[0]))

    def prior_spread(self, prior: SidePrior) -> tuple[Array, Array]:
        """Variances under N(0, L⁻¹) of nodes (n,) and of the edges' differences (n_edges,)."""
        if self.exact is not None:
            return self.exact.prior_spread(prior)
        L = prior.precision
        bare = SidePrior(L, prior.coupling, 0.0)
        z = self.draw_columns(bare, np.zeros((L.n, 1)), np.ones(1), 4 * self.n_samples)[:, 0]
        return (z**2).mean(axis=1), ((z[L.heads] - z[L.tails]) ** 2).mean(axis=1)

    def columns(self, prior: SidePrior, D: Array, lam: Array) -> Spread:
        """diag (diag(D_r) + λ_r L)⁻¹ (n, k), the log-determinants (k,), the edges' spread."""
        L = prior.precision
        var, log_det = np.empty(D.shape), np.empty(len(lam))
        edges = np.empty((len(L.weights), len(lam)))
        step = max(1, BATCH // (len(D) * self.n_samples))
        shape = (len(D), len(lam), self.n_samples)
        warm = self.draws if self.draws is not None and self.draws.shape == shape else None
        for r in range(0, D.shape[1], step):
            batch = slice(r, r + step)
            z = self.draw_columns(prior, D[:, batch], lam[batch], start=warm)
            # Kept where they are one batch: more would be memory without a bound.
            self.draws = z if z.shape == shape else None
            var[:, batch] = _column_estimate(prior, D[:, batch], lam[batch], z, self.pool).value
            edges[:, batch] = edge_spread(self.pool, L.heads, L.tails, z)
            log_det[batch] = self.log_det_columns(prior, D[:, batch], lam[batch]).value
        return Spread(var, log_det, var, edges)

    def estimate_columns(self, prior: SidePrior, D: Array, lam: Array) -> Estimate:
        """Variances of each column with their standard errors, (n, k)."""
        return _column_estimate(prior, D, lam, self.draw_columns(prior, D, lam), self.pool)

    def draw_columns(
        self,
        prior: SidePrior,
        D: Array,
        lam: Array,
        n_samples: int | None = None,
        independent: bool = False,
        start: Array | None = None,
    ) -> Array:
        """Draws of N(0, (diag(D_r) + λ_r L)⁻¹) for every column, (n, k, s).

        Estimates of variances may share the noise between columns; draws of all of them
        together must be `independent`. The noise is the same in every call, so earlier draws
        are a warm start.
        """
        count, k = n_samples or self.n_samples, len(lam)
        rng = np.random.default_rng([self.seed, 1])
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
            pool=self.pool,
            residual_tol=self.tol,
            max_steps=1000,
        )
        return found.x.reshape(rhs.shape)

    def log_det_columns(
        self, prior: SidePrior, D: Array, lam: Array, steps: int = LANCZOS_STEPS
    ) -> Estimate:
        """log|diag(D_r) + λ_r L| of each column, (k,), with standard errors."""
        s = self.n_probes
        probes = np.sign(np.random.default_rng([self.seed, 2]).random((len(D), s)) - 0.5)
        pivot = D + prior.rows_diagonal[:, None] * lam
        rhs = (np.sqrt(pivot)[:, :, None] * probes[:, None, :]).reshape(len(D), -1)
        apply, precondition = _column_operators(prior, D, lam, s)
        terms = lanczos_log(apply, precondition, rhs, rhs.shape[1], steps).reshape(-1, s)
        return Estimate(
            np.log(pivot).sum(axis=0) + terms.mean(axis=1), terms.std(axis=1, ddof=1) / np.sqrt(s)
        )

    def blocks(self, prior: SidePrior, system: MeanSystem, B: Array) -> Spread:
        """Diagonal blocks of the system's inverse, its log-determinant, and the edges' spread."""
        log_det = system.preconditioner_log_det + float(self.log_det_blocks(system).value)
        z = self.draw_blocks(prior, system, B)
        L = prior.precision
        edges = edge_spread(self.pool, L.heads, L.tails, z)
        nodes = (z[: len(B)] ** 2).mean(axis=2)
        return Spread(_block_estimate(system, z).value, np.asarray(log_det), nodes, edges)

    def estimate_blocks(self, prior: SidePrior, system: MeanSystem, B: Array) -> Estimate:
        """Diagonal blocks with their standard errors, packed (n, k(k+1)/2)."""
        return _block_estimate(system, self.draw_blocks(prior, system, B))

    def draw_blocks(
        self, prior: SidePrior, system: MeanSystem, B: Array, n_samples: int | None = None
    ) -> Array:
        """Draws of N(0, Q⁻¹) over all nodes, shape (n + p, k, s).

        The noise is the same in every call, so the last draws are a warm start for the next.
        """
        count, k = n_samples or self.n_samples, len(system.lam)
        rng = np.random.default_rng([self.seed, 1])
        own = rng.standard_normal((len(B), k, count))
        shape = (prior.n_nodes, k, count)
        root = passes.cholesky_blocks(self.pool, B)
        rhs = np.sqrt(system.lam)[:, None] * prior.noise(rng, k * count).reshape(shape)
        rhs[: len(B)] += passes.lower_products(self.pool, root, own)
        rhs = self._kept(rhs)
        warm = self.draws if self.draws is not None and self.draws.shape == shape else None
        found = conjugate_gradient(
            system.apply,
            rhs,
            start=warm,
            precondition=system.precondition,
            remainder=system.remainder,
            systems=count,
            pool=self.pool,
            residual_tol=self.tol,
            max_steps=1000,
        )
        self.draws = found.x
        return found.x

    def _kept(self, rhs: Array) -> Array:
        return rhs.astype(np.float32) if self.tol >= SINGLE_TOL else rhs

    def log_det_blocks(self, system: MeanSystem) -> Estimate:
        """log|P^{-½} Q P^{-½}|, what the preconditioner leaves of the log-determinant."""
        rng = np.random.default_rng([self.seed, 2])
        rhs = self._kept(system.preconditioner_noise(rng, self.n_probes))
        terms = lanczos_log(system.apply, system.precondition, rhs, self.n_probes, pool=self.pool)
        return Estimate(terms.mean(), terms.std(ddof=1) / np.sqrt(len(terms)))


def _column_estimate(prior: SidePrior, D: Array, lam: Array, z: Array, pool: Workers) -> Estimate:
    """Variances (n, k) from draws (n, k, s)."""
    pivot = D + prior.rows_diagonal[:, None] * lam
    coupled = prior.neighbours(z.reshape(len(D), -1)).reshape(z.shape) * lam[:, None]
    if prior.features is None:
        L = prior.precision
        Qz = pivot[:, :, None] * z + coupled
        return Estimate(*local_estimate(pool, L.indptr, L.indices, L.data, D, lam, z, Qz))
    shifts = (coupled / pivot[:, :, None]) ** 2
    error = shifts.std(axis=-1, ddof=1) / np.sqrt(z.shape[2])
    return Estimate(1.0 / pivot + shifts.mean(axis=-1), error)


def _block_estimate(system: MeanSystem, z: Array) -> Estimate:
    """Diagonal blocks (n, k(k+1)/2) of the rows from draws (n + p, k, s)."""
    n, k, count = len(system.blocks), len(system.lam), z.shape[2]
    shift = system.precondition(system.neighbours(z))[:n]
    mean, squares = np.empty(system.blocks.shape), np.empty(system.blocks.shape)
    for t, (r, s) in enumerate(zip(*np.tril_indices(k), strict=True)):
        product = shift[:, r] * shift[:, s]
        mean[:, t] = product.mean(axis=1)
        squares[:, t] = np.einsum("is,is->i", product, product) / count
    error = np.sqrt(np.maximum(squares - mean**2, 0.0) / (count - 1))
    return Estimate(system.inverse + mean, error)


def _column_operators(prior: SidePrior, D: Array, lam: Array, s: int) -> tuple[Operator, Operator]:
    """Q_r x and the inverse of its diagonal, s systems for each column side by side."""
    wide = np.repeat(lam, s)
    pivot = np.repeat(D + prior.rows_diagonal[:, None] * lam, s, axis=1)

    def apply(X: Array) -> Array:
        return pivot * X + wide * prior.neighbours(X)

    return apply, lambda R: R / pivot


def lanczos_log(
    apply: Operator,
    precondition: Operator,
    rhs: Array,
    systems: int,
    steps: int = LANCZOS_STEPS,
    pool: Workers | None = None,
) -> Array:
    """bᵀP⁻¹b · e₁ᵀ log(T) e₁, an estimate of tr log(P⁻¹Q) when b = P^{½}ξ, ξ of random signs.

    The Lanczos matrix T of the preconditioned operator is read off the coefficients of
    conjugate gradients. One estimate for each of the `systems`, as in `conjugate_gradient`.
    """
    pool = pool or Workers(1)
    r = rhs
    z = precondition(r)
    rz = inner(pool, r, z, systems)
    size, p = rz, z.copy()
    active = rz > 0
    alphas, betas = [], []
    for _ in range(steps):
        q = apply(p)
        # A system that is done keeps a decoupled row in T, which e₁ does not see.
        alpha = np.where(active, rz / np.where(active, inner(pool, p, q, systems), 1.0), 1.0)
        redirect(pool, q, r, -alpha)  # r − αq, in the place of q
        r = q
        z = precondition(r)
        rz_next = inner(pool, r, z, systems)
        beta = np.where(active, rz_next / np.where(active, rz, 1.0), 0.0)
        active = active & (rz_next > QUADRATURE_TOL * size)
        alphas.append(alpha)
        betas.append(np.where(active, beta, 0.0))
        if not np.any(active):
            break
        redirect(pool, p, z, beta)
        rz = rz_next
    return size * _quadrature(np.asarray(alphas), np.asarray(betas))


def _quadrature(alphas: Array, betas: Array) -> Array:
    """e₁ᵀ log(T) e₁ of the Lanczos matrices given by CG coefficients (steps, ...)."""
    steps = len(alphas)
    T = np.zeros((*alphas.shape[1:], steps, steps))
    for j in range(steps):
        T[..., j, j] = 1.0 / alphas[j] + (betas[j - 1] / alphas[j - 1] if j else 0.0)
        if j + 1 < steps:
            off = np.sqrt(betas[j]) / alphas[j]
            T[..., j, j + 1] = T[..., j + 1, j] = off
    theta, vectors = np.linalg.eigh(T)
    logs = np.log(np.maximum(theta, np.finfo(float).tiny))
    return np.einsum("...j,...j->...", vectors[..., 0, :] ** 2, logs)
