"""Small dense problems and brute-force formulas that the inference tests share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from benchmarks.paper import PaperState
from scipy.special import digamma, gammaln

from bmcg.backends import NumbaBackend, SparseRows
from bmcg.backends.packed import unpack
from bmcg.graphs import knn_graph
from bmcg.graphs.precision import graph_precision, identity_precision
from bmcg.inference.covariance import Diagonal
from bmcg.inference.elbo import elbo
from bmcg.inference.side import Prior, Side
from bmcg.inference.start import initial_state
from bmcg.inference.updates import expected_squared_error, sweep, update_factors
from bmcg.inference.updates import update_lambda as fast_lambda
from bmcg.likelihoods import Weighting
from bmcg.linalg.engines import DenseEngine, DiagonalEngine

PRIOR = Prior()


@dataclass(frozen=True)
class Problem:
    M: np.ndarray
    mask: np.ndarray
    rows: Side
    cols: Side

    @property
    def L_r(self):
        return self.rows.prior.precision.toarray()

    @property
    def L_c(self):
        return self.cols.prior.precision.toarray()


def make_problem(
    seed=0, m=9, n=7, graphs=True, density=0.6, ridge=0.1, noise=0.3, scales=(1.0, 1.0)
):
    rng = np.random.default_rng(seed)
    M = (rng.normal(size=(m, 2)) * scales) @ rng.normal(size=(2, n))
    M = M + noise * rng.normal(size=(m, n))
    mask = rng.random((m, n)) < density
    mask[0, 0] = True
    mask[2] = False
    M = np.where(mask, M, 0.0)
    pool = NumbaBackend(1)
    halves = []
    for data, size in ((mask, m), (mask.T, n)):
        view = sp.csr_array(data.astype(float))
        values = (M if data is mask else M.T)[data]
        side = SparseRows(view.indptr.astype(np.int64), view.indices.astype(np.int32), values, pool)
        if graphs:
            L = graph_precision(knn_graph(rng.normal(size=(size, 2)), n_neighbors=3), ridge)
        else:
            L = identity_precision(size)
        engine = DenseEngine(pool) if graphs else DiagonalEngine(pool)
        halves.append(Side(side, engine.prepare(L), engine))
    return Problem(M, mask.astype(float), halves[0], halves[1])


def start(problem, family, k=3, seed=0, sweeps=1):
    state = initial_state(problem.rows, problem.cols, family, k, seed)
    for _ in range(sweeps):
        state, _, _ = sweep(family, problem.rows, problem.cols, PRIOR, state, gain_tol=0.0)
    return state


def blocks(factors):
    """Covariance blocks (n, k, k) of any family."""
    if isinstance(factors.covariance, Diagonal):
        return np.einsum("ir,rs->irs", factors.cov, np.eye(factors.rank))
    return unpack(factors.cov)


def brute_error(problem, rows, cols):
    """⟨‖Ω∘(M − UVᵀ)‖²⟩ entry by entry."""
    C_u, C_v, total = blocks(rows), blocks(cols), 0.0
    for i, j in zip(*np.nonzero(problem.mask), strict=True):
        u, v = rows.mean[i], cols.mean[j]
        total += (problem.M[i, j] - u @ v) ** 2
        total += u @ C_v[j] @ u + v @ C_u[i] @ v + np.trace(C_u[i] @ C_v[j])
    return total


def brute_gamma_terms(q, shape, rate):
    """⟨ln p⟩ + entropy of Gamma distributions, from their definitions."""
    log_mean = digamma(q.shape) - np.log(q.rate)
    expected = shape * np.log(rate) - gammaln(shape) + (shape - 1) * log_mean - rate * q.mean
    entropy = q.shape - np.log(q.rate) + gammaln(q.shape) + (1 - q.shape) * digamma(q.shape)
    return float(np.sum(expected + entropy))


def dense_system(problem, state, tau, lam):
    """Q = τ·blockdiag(G) + L⊗Λ and τh of the row side, by loops."""
    m, k = state.rows.mean.shape
    C_v, V = blocks(state.cols), state.cols.mean
    Q = np.kron(problem.L_r, np.diag(lam))
    rhs = np.zeros(m * k)
    for i in range(m):
        at = slice(i * k, (i + 1) * k)
        for j in np.flatnonzero(problem.mask[i]):
            Q[at, at] += tau * (np.outer(V[j], V[j]) + C_v[j])
            rhs[at] += tau * problem.M[i, j] * V[j]
    return Q, rhs


def dense_covariance(family, Q, m, k):
    """Optimal covariance of each family: the inverse of Q cut to what it may hold."""
    row, column = np.divmod(np.arange(m * k), k)
    same = {
        "column": column[:, None] == column,
        "row": row[:, None] == row,
        "joint": np.ones((m * k, m * k), dtype=bool),
    }[family]
    cut = np.where(same, Q, 0.0)
    return np.linalg.inv(cut), np.linalg.slogdet(cut)[1]


def single_updates(problem, family, state):
    """The four updates one at a time; yields the state after each."""
    exact = {"gain_tol": 0.0, "max_steps": 500}
    tau, lam = float(state.tau.mean), state.lam.mean
    U = update_factors(family, problem.rows, state.cols, state.rows, Weighting(tau), lam, **exact)
    error = expected_squared_error(problem.rows, U, state.cols)
    state = replace(state, rows=U.factors, squared_error=error)
    yield "u", state
    V = update_factors(family, problem.cols, state.rows, state.cols, Weighting(tau), lam, **exact)
    error = expected_squared_error(problem.cols, V, state.rows)
    state = replace(state, cols=V.factors, squared_error=error)
    yield "v", state
    state = fast_lambda(PRIOR, state)
    yield "lambda", state
    n_observed = len(problem.rows.entries.values)
    state = replace(state, tau=PRIOR.likelihood.update_tau(n_observed, state.squared_error))
    yield "tau", state


def bound(problem, state):
    return elbo(state, problem.rows, problem.cols, PRIOR)


def as_literal(state):
    """A state of the `column` family as the literal algorithm keeps it.

    Off-diagonal covariances are left at zero: no update of means or variances reads them, and a
    sweep replaces them before λ does.
    """
    S_u, S_v = (
        np.stack([np.diag(F.cov[:, r]) for r in range(F.rank)]) for F in (state.rows, state.cols)
    )
    lam, tau = state.lam, state.tau
    return PaperState(
        state.rows.mean,
        state.cols.mean,
        S_u,
        S_v,
        lam.shape,
        lam.rate,
        float(tau.shape),
        float(tau.rate),
    )
