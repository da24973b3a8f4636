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

from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..graphs.precision import Precision
from ..kernels import passes
from ..kernels.passes import Side
from ..kernels.reference import packed_diagonal
from ..linalg.system import MeanSystem
from .state import Factors

Array = NDArray[np.float64]
Family = Literal["column", "row", "joint"]
FAMILIES: tuple[Family, ...] = ("column", "row", "joint")


class VarianceEngine(Protocol):
    """Diagonals of inverses of τ·blockdiag(G) + L⊗Λ, whole or column by column."""

    def columns(self, D: Array, lam: Array) -> tuple[Array, float]:
        """diag (diag(D_r) + λ_r L)⁻¹, (n, k), and the sum of the log-determinants."""

    def blocks(self, system: MeanSystem, B: Array) -> tuple[Array, float]:
        """Diagonal blocks (n, k(k+1)/2) of the system's inverse and its log-determinant.

        B (n, k(k+1)/2) is the system's block diagonal without the prior, τG.
        """


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
    precision: Precision,
    system: MeanSystem,
    G: Array,
    tau: float,
) -> tuple[Array, float, Array]:
    """Covariance kept by the family, log-determinant of the precision, and tr(L Σ_r).

    Returns
    -------
    cov : ndarray of shape (n, k) or (n, k(k+1)/2)
    log_det : float
    spread : ndarray of shape (k,)
        The trace term of ⟨u_rᵀ L u_r⟩.
    """
    lam, n = system.lam, len(G)
    diagonal = packed_diagonal(len(lam))
    if family == "column":
        D = tau * G[:, diagonal]
        var, log_det = engine.columns(D, lam)
        return var, log_det, (n - np.einsum("ir,ir->r", D, var)) / lam
    if family == "row":
        cov = system.inverse
        return cov, system.log_det, precision.diagonal @ cov[:, diagonal]
    cov, log_det = engine.blocks(system, tau * G)
    return cov, log_det, (n - tau * packed_product_diagonal(G, cov)) / lam


def packed_product_diagonal(G: Array, C: Array) -> Array:
    """Σ_i diag(G_i C_i) for packed symmetric blocks, shape (k,)."""
    width = G.shape[1]
    sums = np.einsum("it,it->t", G, C)
    r, s = np.tril_indices(int((np.sqrt(8 * width + 1) - 1) / 2 + 0.5))
    k = int(r[-1]) + 1
    below = r != s
    return np.bincount(r, sums, k) + np.bincount(s[below], sums[below], k)


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
