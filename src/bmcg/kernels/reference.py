"""The truth in plain NumPy: one twin for each kernel in `cpu`, same arguments, same writes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[Any]


def pack(blocks: Array) -> Array:
    """Lower triangles of symmetric blocks, row by row.

    Parameters
    ----------
    blocks : ndarray of shape (..., k, k)

    Returns
    -------
    ndarray of shape (..., k(k+1)/2)
    """
    r, s = np.tril_indices(blocks.shape[-1])
    return np.ascontiguousarray(blocks[..., r, s])


def unpack(packed: Array) -> Array:
    """The inverse of `pack`: (..., k(k+1)/2) to (..., k, k)."""
    k = packed_rank(packed.shape[-1])
    out = np.empty((*packed.shape[:-1], k, k))
    r, s = np.tril_indices(k)
    out[..., r, s] = packed
    out[..., s, r] = packed
    return out


def packed_rank(width: int) -> int:
    """k of a packed width k(k+1)/2."""
    return int((np.sqrt(8 * width + 1) - 1) / 2 + 0.5)


def packed_diagonal(k: int) -> NDArray[np.intp]:
    """Positions of the diagonal in a packed block, shape (k,)."""
    r = np.arange(k)
    return r * (r + 1) // 2 + r


def row_sums(indptr: Index, indices: Index, S: Array, out: Array, start: int, stop: int) -> None:
    """out_i = Σ_{j∈Ω_i} S_j."""
    for i in range(start, stop):
        out[i] = S[indices[indptr[i] : indptr[i + 1]]].astype(np.float64).sum(axis=0)


def gram_blocks(indptr: Index, indices: Index, F: Array, out: Array, start: int, stop: int) -> None:
    """out_i = Σ_{j∈Ω_i} f_j f_jᵀ, packed."""
    for i in range(start, stop):
        rows = F[indices[indptr[i] : indptr[i + 1]]]
        out[i] = pack(rows.T @ rows)


def weighted_sums(
    indptr: Index, indices: Index, values: Array, F: Array, out: Array, start: int, stop: int
) -> None:
    """out_i = Σ_{j∈Ω_i} x_ij f_j."""
    for i in range(start, stop):
        span = slice(indptr[i], indptr[i + 1])
        out[i] = values[span] @ F[indices[span]]


def affine_sums(
    indptr: Index,
    indices: Index,
    values: Array,
    F: Array,
    own: Array,
    X: Array,
    scale: float,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """out_i = own_i x_i + scale Σ_{j∈Ω_i} x_ij f_j."""
    weighted_sums(indptr, indices, values, F, out, start, stop)
    out[start:stop] = own[start:stop, None] * X[start:stop] + scale * out[start:stop]


def gram_product(
    indptr: Index, indices: Index, F: Array, X: Array, out: Array, start: int, stop: int
) -> None:
    """out_i = Σ_{j∈Ω_i} f_j (f_j·x_i)."""
    for i in range(start, stop):
        rows = F[indices[indptr[i] : indptr[i + 1]]]
        out[i] = rows.T @ (rows @ X[i])


def squared_residuals(
    indptr: Index,
    indices: Index,
    values: Array,
    U: Array,
    V: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """out_i = Σ_{j∈Ω_i} (x_ij − u_i·v_j)²."""
    for i in range(start, stop):
        span = slice(indptr[i], indptr[i + 1])
        out[i] = ((values[span] - V[indices[span]] @ U[i]) ** 2).sum()


def block_product(B: Array, X: Array, out: Array, start: int, stop: int) -> None:
    """out_i = B_i x_i for packed symmetric blocks."""
    out[start:stop] = np.einsum("irs,is->ir", unpack(B[start:stop]), X[start:stop])


def invert_blocks(P: Array, out: Array, logdet: Array, start: int, stop: int) -> None:
    """Inverse and log-determinant of packed SPD blocks; NaN where not positive definite."""
    for i in range(start, stop):
        block = unpack(P[i])
        if np.linalg.eigvalsh(block)[0] > 0:
            logdet[i] = np.linalg.slogdet(block)[1]
            out[i] = pack(np.linalg.inv(block).astype(np.float64, copy=False))
        else:
            logdet[i] = np.nan
            out[i] = np.nan


def cholesky_blocks(P: Array, out: Array, start: int, stop: int) -> None:
    """Lower Cholesky factors of packed positive semidefinite blocks; zeros give zeros."""
    k = packed_rank(P.shape[1])
    r, s = np.tril_indices(k)
    for i in range(start, stop):
        block = unpack(P[i])
        out[i] = np.linalg.cholesky(block)[r, s] if block.any() else 0.0


def block_products(B: Array, X: Array, out: Array, start: int, stop: int) -> None:
    """out_i = B_i X_i for packed symmetric blocks and many vectors."""
    out[start:stop] = unpack(B[start:stop]) @ X[start:stop]


def lower_products(L: Array, X: Array, out: Array, start: int, stop: int) -> None:
    """out_i = L_i X_i for packed lower triangles and many vectors."""
    out[start:stop] = np.tril(unpack(L[start:stop])) @ X[start:stop]
