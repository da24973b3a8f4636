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

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..kernels import passes
from ..kernels.passes import Side
from ..kernels.reference import packed_diagonal, packed_rank, unpack
from ..linalg.engines import VarianceEngine
from ..linalg.system import MeanSystem, SidePrior
from .state import Factors

Array = NDArray[np.float64]
Family = Literal["column", "row", "joint"]
FAMILIES: tuple[Family, ...] = ("column", "row", "joint")


def outer_packed(F: Array) -> Array:
    """f_i f_iᵀ, packed: (n, k) to (n, k(k+1)/2)."""
    r, s = np.tril_indices(F.shape[1])
    return F[:, r] * F[:, s]


def grams(family: Family, side: Side, other: Factors) -> Array:
    """G_i = Σ_{j∈Ω_i} ⟨v_j v_jᵀ⟩, packed (n, k(k+1)/2)."""
    if family == "column":
        G = passes.gram_blocks(side, other.mean)
        G[:, packed_diagonal(other.rank)] += passes.row_sums(side, other.cov)
        return G
    return passes.row_sums(side, outer_packed(other.mean) + other.cov)


def covariance(
    family: Family,
    engine: VarianceEngine,
    prior: SidePrior,
    system: MeanSystem,
    G: Array,
    tau: float,
) -> tuple[Array, float, Array, Array]:
    """Covariance kept by the family, log-determinants of its precision, and its energy.

    Returns
    -------
    cov : ndarray of shape (n, k) or (n, k(k+1)/2)
    log_det : float
    column_log_det : ndarray of shape (k,)
        What each column takes along when it is dropped.
    spread : ndarray of shape (k, k)
        What the covariance adds to ⟨Uᵀ L U⟩. Where Q Q⁻¹ = I is exact, it follows from the
        diagonal blocks alone: Λ·spread = n·I − τ Σ_i G_i C_i.
    """
    lam, n = system.lam, len(G)
    diagonal = packed_diagonal(len(lam))
    if family == "column":
        D = tau * G[:, diagonal]
        var, log_det = engine.columns(prior, D, lam)
        return (
            var,
            float(log_det.sum()),
            log_det,
            np.diag((n - np.einsum("ir,ir->r", D, var)) / lam),
        )
    conditionals = np.log(system.blocks[:, diagonal]).sum(axis=0)
    if family == "row":
        cov = system.inverse
        return cov, system.log_det, conditionals, unpack(prior.precision.diagonal @ cov)
    cov, log_det = engine.blocks(prior, system, tau * G)
    spread = (n * np.eye(len(lam)) - tau * product_sum(G, cov)) / lam[:, None]
    return cov, log_det, conditionals, (spread + spread.T) / 2


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
        out += np.einsum("irs,ist->rt", unpack(G[rows]), unpack(C[rows]))
    return out


def expected_quadratic(G: Array, factors: Factors) -> float:
    """Σ_i tr(G_i ⟨u_i u_iᵀ⟩) for packed G (n, k(k+1)/2)."""
    r, s = np.tril_indices(factors.rank)
    twice = np.where(r == s, 1.0, 2.0)
    total = np.einsum("it,it->t", G, outer_packed(factors.mean)) @ twice
    if is_column(factors):
        total += np.einsum("ir,ir->", G[:, packed_diagonal(factors.rank)], factors.cov)
    else:
        total += np.einsum("it,it->t", G, factors.cov) @ twice
    return float(total)


def is_column(factors: Factors) -> bool:
    """Whether the covariance holds variances only (for k = 1 both forms agree)."""
    return factors.cov.shape == factors.mean.shape
