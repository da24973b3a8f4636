"""What features say of rows that were not part of a fit: U = F B + P, with B as it was learned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg
from numpy.typing import NDArray

from .side import SidePosterior

Array = NDArray[np.float64]

# Most features whose weights are solved for by a dense factor.
DENSE = 4096


class Explained(NamedTuple):
    """New rows as their features explain them.

    Attributes
    ----------
    expected : ndarray of shape (p, K)
        F ⟨B⟩ of the new rows.
    doubt : ndarray of shape (p,)
        f A⁻¹ fᵀ, the variance of F B given the fitted rows, in units of 1/λ.
    rest : ndarray of shape (m, K)
        P = U − F ⟨B⟩ of the fitted rows.
    """

    expected: Array
    doubt: Array
    rest: Array


def explained(side: SidePosterior, features: sp.csr_array) -> Explained:
    """What the learned weights make of new rows; features (p, n_features) are coded as F is.

    ⟨B⟩ = A⁻¹ Fᵀ L ⟨U⟩ with A = Fᵀ L F + β I.
    """
    F, U = side.features, side.factors.mean
    assert F is not None
    LF = sp.csr_array(side.precision.to_csr() @ F)
    A = sp.csr_array(F.T @ LF + side.beta * sp.eye_array(F.shape[1], format="csr"))
    n_new = features.shape[0]
    wanted = np.hstack((LF.T @ U, features.T.toarray()))
    solved = _solve(A, wanted)
    B, spread = solved[:, :-n_new], solved[:, -n_new:]
    doubt = np.einsum("pf,fp->p", features.toarray(), spread)
    return Explained(features @ B, np.maximum(doubt, 0.0), U - F @ B)


def _solve(A: sp.csr_array, X: Array) -> Array:
    """A⁻¹ X for A positive definite."""
    if A.shape[0] <= DENSE:
        return scipy.linalg.solve(A.toarray(), X, assume_a="pos")
    scale = sp.diags_array(1.0 / A.diagonal())
    found = [scipy.sparse.linalg.cg(A, x, rtol=1e-8, M=scale)[0] for x in X.T]
    return np.column_stack(found)
