"""Diagonals of inverses by dense algebra: for small graphs, and the truth the tests hold to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Float = NDArray[np.float64]
# The two ends of every edge.
Ends = tuple[NDArray[Any], NDArray[Any]]
NO_ENDS: Ends = np.empty(0, np.int64), np.empty(0, np.int64)


class SelectedInverse(NamedTuple):
    """What the updates need of the inverses of posterior precisions.

    Attributes
    ----------
    diagonal : (n, k) or (n, k, k) array
        Diagonals, or diagonal blocks, of the inverses: variances and covariances.
    logdet : (k,) array or float
        Log-determinants of the precisions.
    between : (n_edges, k) array
        Inverse entries (of blocks: their diagonals) that join the two ends of each edge.
    """

    diagonal: Float
    logdet: Float | float
    between: Float


def invert_columns(K: Float, D: Float, lam: Float, ends: Ends = NO_ENDS) -> SelectedInverse:
    """Of (diag(D[:, r]) + lam[r] K)⁻¹ for every r: K (n, n), D (n, k), lam (k,)."""
    diagonal, logdet = np.empty(D.shape), np.empty(len(lam))
    between = np.empty((len(ends[0]), len(lam)))
    for r in range(len(lam)):
        inverse, logdet[r] = _invert(np.diag(D[:, r]) + lam[r] * K)
        diagonal[:, r], between[:, r] = np.diag(inverse), inverse[ends]
    return SelectedInverse(diagonal, logdet, between)


def invert_blocks(K: Float, B: Float, lam: Float, ends: Ends = NO_ENDS) -> SelectedInverse:
    """Of Q⁻¹, the inverse of `joint_precision`, over the n nodes that have blocks."""
    nodes, k = np.arange(len(B)), len(lam)
    inverse, logdet = _invert(joint_precision(K, B, lam))
    blocks = inverse.reshape(len(K), k, len(K), k)
    between = np.einsum("eaa->ea", blocks[ends[0], :, ends[1], :]).copy()
    return SelectedInverse(blocks[nodes, :, nodes, :], logdet, between)


def draw_joint(K: Float, B: Float, lam: Float, noise: Float) -> Float:
    """Draws of N(0, Q⁻¹), Q the `joint_precision`, from standard normal noise.

    noise (N k, s), the draws (N, k, s) for K over N nodes.
    """
    root = scipy.linalg.cholesky(joint_precision(K, B, lam), lower=True, check_finite=False)
    draws = scipy.linalg.solve_triangular(root, noise, lower=True, trans="T", check_finite=False)
    return draws.reshape(len(K), len(lam), -1)


def joint_precision(K: Float, B: Float, lam: Float) -> Float:
    """blockdiag(B, 0) + K ⊗ diag(lam) for symmetric blocks B (n, k, k) of the first n nodes."""
    Q = np.asarray(np.kron(K, np.diag(lam)), np.float64)
    nodes = np.arange(len(B))
    Q.reshape(len(K), len(lam), len(K), len(lam))[nodes, :, nodes, :] += B
    return Q


def _invert(Q: Float) -> tuple[Float, float]:
    """Inverse and log-determinant of a positive definite matrix."""
    if len(Q) == 0:
        return Q, 0.0
    chol = scipy.linalg.cholesky(Q, lower=True, check_finite=False)
    lower, _ = scipy.linalg.lapack.dpotri(chol, lower=1)
    inverse = np.tril(lower) + np.tril(lower, -1).T
    return inverse, float(2.0 * np.log(np.diag(chol)).sum())
