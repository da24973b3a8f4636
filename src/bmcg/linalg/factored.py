"""Exact draws of tied rows, by a factor of Q = τ·blockdiag(G_i) + L⊗Λ, where that is cheap.

Where L is banded, as along chains, so is Q: with nodes in that order, and the components of a node
side by side, what is tied lies at most width·k from the diagonal. One banded factor takes as long
as a few steps of conjugate gradients, of which a long chain needs hundreds. What is small has a
dense factor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpbtrf, dtbtrs

from ..backends.packed import lower, unpack
from .banded import Bands, find_bands
from .prior import GraphPrior
from .system import MeanSystem

Array = NDArray[np.float64]

# Widest band of unknowns; a factor costs its square.
WIDEST = 192
# Most unknowns of a dense factor, which costs their cube.
SMALL = 250
NOT_POSITIVE = (
    "the precision of a side is not positive definite; the data may span too many orders of "
    "magnitude: rescale it, or raise ridge"
)


def factored_draw(system: MeanSystem, rhs: Array, z: Array) -> Array | None:
    """Q⁻¹ b + R⁻ᵀ z with Q = R Rᵀ, from standard normal z: rhs and z of shape (n, k).

    None where a factor of Q would be too large.
    """
    prior, k = system.prior, len(system.lam)
    if not isinstance(prior, GraphPrior) or not isinstance(system.blocks, np.ndarray):
        return None
    strip = find_strip(prior, k)
    if strip is not None:
        return draw_along(strip, prior, system, rhs, z)
    return draw_whole(prior, system, rhs, z) if prior.n_nodes * k <= SMALL else None


def find_strip(prior: GraphPrior, k: int) -> Bands | None:
    """The order in which k components of a side are banded; None where they are not."""
    bands = find_bands(prior.precision)
    return bands if bands is not None and bands.width * k <= WIDEST else None


def draw_along(strip: Bands, prior: GraphPrior, system: MeanSystem, rhs: Array, z: Array) -> Array:
    """By a banded factor."""
    n, k = rhs.shape
    r, s = lower(k)
    # Entry [p, s, d] is that of unknown s of the p-th node with the one d places after it.
    A = np.zeros((n, k, max(strip.width, 1) * k + 1))
    A[:, s, r - s] = system.blocks[strip.order]
    ties = -prior.precision.weights[:, None] * system.lam
    A[strip.lower - strip.lag, :, strip.lag * k] = ties
    factor, failed = dpbtrf(A.reshape(n * k, -1).T, lower=1, overwrite_ab=1)
    if failed:
        raise FloatingPointError(NOT_POSITIVE)
    half, _ = dtbtrs(factor, rhs[strip.order].reshape(-1, 1), uplo="L")
    x, _ = dtbtrs(factor, half + z[strip.order].reshape(-1, 1), uplo="L", trans="T")
    out = np.empty((n, k))
    out[strip.order] = x.reshape(n, k)
    return out


def draw_whole(prior: GraphPrior, system: MeanSystem, rhs: Array, z: Array) -> Array:
    """By a dense factor."""
    (n, k), L = rhs.shape, prior.precision
    at, r = np.arange(n), np.arange(k)
    Q = np.zeros((n, k, n, k))
    Q[at, :, at, :] = unpack(system.blocks)
    ties = -L.weights[:, None] * system.lam
    Q[L.heads[:, None], r, L.tails[:, None], r] = ties
    Q[L.tails[:, None], r, L.heads[:, None], r] = ties
    try:
        R = np.linalg.cholesky(Q.reshape(n * k, n * k))
    except np.linalg.LinAlgError as error:
        raise FloatingPointError(NOT_POSITIVE) from error
    half = solve_triangular(R, rhs.ravel(), lower=True, check_finite=False)
    x = solve_triangular(R, half + z.ravel(), lower=True, trans="T", check_finite=False)
    found: Array = x.reshape(n, k)
    return found
