"""The three shapes of q(U): what each keeps of the covariance.

=========  ==================  ==============================================
family     q(U)                kept
=========  ==================  ==============================================
column     Π_r q(u_r)          variances, (n, k); the paper's factorisation
row        Π_i q(u_i)          a k×k block for each row
joint      q(U)                the diagonal k×k blocks of the full covariance
=========  ==================  ==============================================
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.moments import expected_trace, log_diagonals
from ..kernels.reference import packed_diagonal, packed_rank, unpack
from ..kernels.threads import Workers
from ..linalg.engines import VarianceEngine
from ..linalg.spread import Spread
from ..linalg.system import MeanSystem
from .state import Factors

Array = NDArray[np.float64]
Family = Literal["column", "row", "joint"]
FAMILIES: tuple[Family, ...] = ("column", "row", "joint")


class Covariance(NamedTuple):
    """What a family keeps.

    Attributes
    ----------
    spread : Spread
    log_det : float
        Of the posterior precision, all columns together.
    column_log_det : ndarray of shape (k,)
        What each column takes along when it is dropped.
    energy : ndarray of shape (k, k)
        What the covariance adds to ⟨Uᵀ K U⟩.
    """

    spread: Spread
    log_det: float
    column_log_det: Array
    energy: Array


def outer_packed(F: Array) -> Array:
    """f_i f_iᵀ, packed: (n, k) to (n, k(k+1)/2)."""
    r, s = np.tril_indices(F.shape[1])
    # `take` keeps rows contiguous, which indexing does not: sums over rows run on this array.
    return F.take(r, axis=1) * F.take(s, axis=1)


def covariance(
    family: Family, engine: VarianceEngine, system: MeanSystem, G: Array, tau: float
) -> Covariance:
    """The optimal covariance of one side given its mean system.

    Where Q Q⁻¹ = I is exact, the energy follows from the diagonal blocks alone:
    Λ·energy = (n + p)·I − τ Σ_i G_i C_i.
    """
    prior, lam = system.prior, system.lam
    diagonal = packed_diagonal(len(lam))
    if family == "column":
        D = tau * G[:, diagonal]
        spread = engine.columns(prior, D, lam)
        energy = np.diag((prior.n_nodes - np.einsum("ir,ir->r", D, spread.cov)) / lam)
        return Covariance(spread, float(spread.log_det.sum()), spread.log_det, energy)
    conditionals = log_diagonals(system.pool, system.blocks, len(lam))
    if prior.feature_diagonal is not None:
        conditionals += np.log(prior.feature_diagonal).sum() + prior.n_nodes * np.log(lam)
        conditionals -= len(G) * np.log(lam)
    if family == "row":
        energy = unpack(prior.rows_diagonal @ system.inverse)
        # Where weights of features are nodes, each has the variance 1 / (K_ff λ_r).
        energy += np.diag((prior.n_nodes - len(G)) / lam)
        return Covariance(_row_spread(system), system.log_det, conditionals, energy)
    spread = engine.blocks(prior, system, tau * G)
    energy = (prior.n_nodes * np.eye(len(lam)) - tau * product_sum(G, spread.cov)) / lam[:, None]
    return Covariance(spread, float(spread.log_det), conditionals, (energy + energy.T) / 2)


def _row_spread(system: MeanSystem) -> Spread:
    return Spread(system.inverse, np.asarray(system.log_det), None, None)


def data_precision(family: Family, G: Array, tau: float) -> Array:
    """What draws from q need besides the prior: see `Fit`."""
    if family == "column":
        return tau * G[:, packed_diagonal(packed_rank(G.shape[1]))]
    return tau * G if family == "joint" else np.empty((0, 0))


def product_sum(G: Array, C: Array) -> Array:
    """Σ_i G_i C_i for packed symmetric blocks (n, k(k+1)/2), shape (k, k)."""
    k = packed_rank(G.shape[1])
    out = np.zeros((k, k))
    # Unpacked blocks are four times the memory: take them in slices.
    step = max(1, 2_000_000 // (k * k))
    for start in range(0, len(G), step):
        rows = slice(start, start + step)
        out += np.einsum("irs,ist->rt", unpack(G[rows]), unpack(C[rows]), optimize=True)
    return out


def expected_quadratic(pool: Workers, G: Array, factors: Factors) -> float:
    """Σ_i tr(G_i ⟨u_i u_iᵀ⟩) for packed G (n, k(k+1)/2)."""
    if not factors.is_column:
        return expected_trace(pool, G, factors.rows, factors.cov)
    r, s = np.tril_indices(factors.rank)
    twice = np.where(r == s, 1.0, 2.0)
    total = np.einsum("it,it->t", G, outer_packed(factors.rows)) @ twice
    total += np.einsum("ir,ir->", G[:, packed_diagonal(factors.rank)], factors.cov)
    return float(total)
