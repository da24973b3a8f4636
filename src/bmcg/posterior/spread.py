"""Covariances of q once the fit has ended: exact where the side is small, else from many draws.

A fit can do with few draws, because what it learns are sums over all nodes. A user reads the
deviation of one entry.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend
from ..backends.packed import pack, unpack
from ..inference.families import Family
from ..linalg.monte_carlo import MonteCarloEngine
from ..linalg.prior import SidePrior
from ..linalg.system import mean_system

Array = NDArray[np.float64]

# Unknowns of one dense inverse, a second of work.
EXACT_UNKNOWNS = 2000
# Draws otherwise: what is drawn of a variance is off by a sixth.
DRAWS = 64


def sure_covariance(
    family: Family, prior: SidePrior, data: Array, lam: Array, backend: Backend
) -> Array:
    """Variances (n, k) of the `column` family, packed blocks (n, k(k+1)/2) of `joint`.

    Parameters
    ----------
    family : {"column", "joint"}
    prior : SidePrior
        K.
    data : ndarray of shape (n, k) or (n, k(k+1)/2)
        What the observations add to the prior precision.
    lam : ndarray of shape (k,)
    backend : Backend
    """
    unknowns = prior.n_nodes * (1 if family == "column" else len(lam))
    if unknowns <= EXACT_UNKNOWNS:
        return exact_covariance(family, prior, data, lam)
    engine = MonteCarloEngine(backend, 0, DRAWS, tol=1e-4)
    if family == "column":
        return engine.estimate_columns(prior, data, lam).value
    system = mean_system(data, 1.0, lam, prior)
    return engine.estimate_blocks(prior, system, data).value


def exact_covariance(family: Family, prior: SidePrior, data: Array, lam: Array) -> Array:
    """The same by dense inverses."""
    K, (n, k) = prior.product(np.eye(prior.n_nodes)), (len(data), len(lam))
    if family == "column":
        inverses = (np.linalg.inv(np.diag(data[:, r]) + lam[r] * K) for r in range(k))
        return np.column_stack([np.diag(inverse) for inverse in inverses])
    Q = np.einsum("ij,rs->irjs", K, np.diag(lam))
    at = np.arange(n)
    Q[at, :, at, :] += unpack(data)
    inverse = np.linalg.inv(Q.reshape(len(K) * k, -1)).reshape(Q.shape)
    return pack(inverse[at, :, at, :])
