"""Leading singular triplets of a sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

Array = NDArray[np.float64]


def truncated_svd(X: sp.csr_array, k: int, random_state: Any = 0) -> tuple[Array, Array, Array]:
    """The k leading singular triplets, largest first.

    Parameters
    ----------
    X : csr_array of shape (m, n)
    k : int
        At most min(m, n).
    random_state : int, Generator or None
        Start of the iteration; no influence beyond rounding.

    Returns
    -------
    U : ndarray of shape (m, k)
    s : ndarray of shape (k,)
    V : ndarray of shape (n, k)
    """
    m, n = X.shape
    if 3 * k >= min(m, n):
        # The dense matrix is then no larger than a few times the factors.
        U, s, Vt = np.linalg.svd(X.toarray(), full_matrices=False)
        return U[:, :k].copy(), s[:k], Vt[:k].T.copy()
    start = np.random.default_rng(random_state).standard_normal(min(m, n))
    U, s, Vt = svds(X, k=k, v0=start)
    down = np.argsort(-s)
    return U[:, down].copy(), s[down], Vt[down].T.copy()
