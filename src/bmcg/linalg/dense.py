"""Diagonals of inverses by dense algebra: for small graphs, and the truth the tests hold to."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends.packed import pack

Float = NDArray[np.float64]


class Pattern(Protocol):
    """CSR pattern of a graph precision: a `Precision`, a `Symbolic` or a SciPy CSR array."""

    @property
    def indptr(self) -> NDArray[np.integer]:
        """(n + 1,) row pointers."""

    @property
    def indices(self) -> NDArray[np.integer]:
        """(nnz,) column indices."""


class SelectedInverse(NamedTuple):
    """What the updates need of the inverses of posterior precisions.

    Attributes
    ----------
    diagonal : (n, k) or (n, k, k) array
        Diagonals, or diagonal blocks, of the inverses: variances and covariances.
    logdet : (k,) array or float
        Log-determinants of the precisions.
    edges : (nnz, k) array or None
        Inverse entries (of blocks: their diagonals) at the CSR entries of the graph precision.
    """

    diagonal: Float
    logdet: Float | float
    edges: Float | None


def check_columns(pattern: Pattern, data: Float, D: Float, lam: Float) -> tuple[Float, ...]:
    """Validate the arguments of a `columns` engine; returns them as float64 arrays."""
    data, D, lam = (np.asarray(a, np.float64) for a in (data, D, lam))
    n, nnz = len(pattern.indptr) - 1, len(pattern.indices)
    if D.ndim != 2 or D.shape[0] != n:
        raise ValueError(f"D: shape {D.shape}; pass one row for each of the {n} nodes, (n, k)")
    if lam.shape != (D.shape[1],):
        raise ValueError(f"lam: shape {lam.shape}; pass one value per column of D, {D.shape[1:]}")
    if data.shape != (nnz,):
        raise ValueError(f"data: shape {data.shape}; pass one value per pattern entry, ({nnz},)")
    return data, D, lam


def check_blocks(pattern: Pattern, data: Float, B: Float, lam: Float) -> tuple[Float, ...]:
    """Validate the arguments of a `blocks` engine; returns them as float64 arrays."""
    data, B, lam = (np.asarray(a, np.float64) for a in (data, B, lam))
    n, nnz = len(pattern.indptr) - 1, len(pattern.indices)
    if B.ndim != 3 or B.shape[0] != n or B.shape[1] != B.shape[2]:
        raise ValueError(f"B: shape {B.shape}; pass one square block per node, ({n}, k, k)")
    if lam.shape != (B.shape[1],):
        raise ValueError(f"lam: shape {lam.shape}; pass one value per factor, {B.shape[1:2]}")
    if data.shape != (nnz,):
        raise ValueError(f"data: shape {data.shape}; pass one value per pattern entry, ({nnz},)")
    return data, B, lam


def dense_columns(
    pattern: Pattern, data: Float, D: Float, lam: Float, *, edges: bool = False
) -> SelectedInverse:
    """Diagonals of (diag(D[:, r]) + lam[r] L)⁻¹ for every r.

    Parameters
    ----------
    pattern : Pattern
        CSR pattern of L, (n, n).
    data : (nnz,) array
        Values of L.
    D : (n, k) array
    lam : (k,) array
    edges : bool
        Also return the inverses' entries on the pattern.

    Returns
    -------
    SelectedInverse
        diagonal (n, k), logdet (k,), edges (nnz, k) or None.
    """
    data, D, lam = check_columns(pattern, data, D, lam)
    n, k = D.shape
    L = _to_dense(pattern, data)
    rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
    diagonal, logdet = np.empty((n, k)), np.empty(k)
    on_edges = np.empty((len(data), k)) if edges else None
    for r in range(k):
        inverse, logdet[r] = _invert(np.diag(D[:, r]) + lam[r] * L)
        diagonal[:, r] = np.diag(inverse)
        if on_edges is not None:
            on_edges[:, r] = inverse[rows, pattern.indices]
    return SelectedInverse(diagonal, logdet, on_edges)


def dense_blocks(
    pattern: Pattern, data: Float, B: Float, lam: Float, *, edges: bool = False
) -> SelectedInverse:
    """Diagonal blocks of (blockdiag(B) + L ⊗ diag(lam))⁻¹.

    Parameters
    ----------
    pattern : Pattern
        CSR pattern of L, (n, n).
    data : (nnz,) array
        Values of L.
    B : (n, k, k) array
        Symmetric blocks.
    lam : (k,) array
    edges : bool
        Also return the diagonals of the inverse's blocks on the pattern.

    Returns
    -------
    SelectedInverse
        diagonal (n, k, k), logdet float, edges (nnz, k) or None.
    """
    data, B, lam = check_blocks(pattern, data, B, lam)
    n, k = B.shape[:2]
    Q = np.asarray(np.kron(_to_dense(pattern, data), np.diag(lam)), np.float64)
    blocks = Q.reshape(n, k, n, k)
    nodes = np.arange(n)
    blocks[nodes, :, nodes, :] += B
    inverse, logdet = _invert(Q)
    blocks = inverse.reshape(n, k, n, k)
    on_edges = None
    if edges:
        rows = np.repeat(nodes, np.diff(pattern.indptr))
        on_edges = np.einsum("eaa->ea", blocks[rows, :, pattern.indices, :]).copy()
    return SelectedInverse(blocks[nodes, :, nodes, :], logdet, on_edges)


def dense_nodes(K: Float, B: Float, lam: Float, noise: Float) -> tuple[Float, float, Float]:
    """Of Q = blockdiag(B, 0) + K ⊗ diag(lam), whose first nodes alone have blocks.

    Parameters
    ----------
    K : (n + p, n + p) array
    B : (n, k, k) array
        Symmetric blocks.
    lam : (k,) array
    noise : ((n + p)k, s) array
        Standard normal numbers.

    Returns
    -------
    blocks : (n, k(k+1)/2) array
        Diagonal blocks of the first n nodes of Q⁻¹, packed.
    logdet : float
    draws : (n + p, k, s) array
        Of N(0, Q⁻¹).
    """
    n, k = B.shape[:2]
    Q = np.asarray(np.kron(K, np.diag(lam)), np.float64)
    blocks, nodes = Q.reshape(len(K), k, len(K), k), np.arange(n)
    blocks[nodes, :, nodes, :] += B
    root = scipy.linalg.cholesky(Q, lower=True, check_finite=False)
    draws = scipy.linalg.solve_triangular(root, noise, lower=True, trans="T", check_finite=False)
    inverse, logdet = _invert(Q)
    own = inverse.reshape(blocks.shape)[nodes, :, nodes, :]
    return pack(own), logdet, draws.reshape(len(K), k, noise.shape[1])


def _to_dense(pattern: Pattern, data: Float) -> Float:
    n = len(pattern.indptr) - 1
    return sp.csr_array((data, pattern.indices, pattern.indptr), shape=(n, n)).toarray()


def _invert(Q: Float) -> tuple[Float, float]:
    """Inverse and log-determinant of a positive definite matrix."""
    if len(Q) == 0:
        return Q, 0.0
    chol = scipy.linalg.cholesky(Q, lower=True, check_finite=False)
    lower, _ = scipy.linalg.lapack.dpotri(chol, lower=1)
    inverse = np.tril(lower) + np.tril(lower, -1).T
    return inverse, float(2.0 * np.log(np.diag(chol)).sum())
