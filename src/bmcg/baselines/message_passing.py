"""Generalised approximate message passing for Gaussian columns with a common precision.

Everything that lives on the observed entries is a vector: of a matrix Q z_j that is known by its
factors only those entries are ever computed, unless so many are observed that the whole product
is the quicker way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..backends import SparseRows
from ..observations.grouping import members

Array = NDArray[np.float64]

# Up to this share of observed entries, entry by entry is quicker than whole matrix products.
_SPARSE_SHARE = 0.1
# The smallest share of a message-passing step that is still taken when steps grow.
_LEAST_DAMPING = 0.02
_TINY = np.finfo(float).tiny


def is_sparse(n_observed: int, m: int, n: int) -> bool:
    """Whether products are better computed at the observed entries alone."""
    return n_observed <= _SPARSE_SHARE * m * n


@dataclass(frozen=True)
class Entries:
    """The observed entries, by column of the matrix.

    Attributes
    ----------
    side : SparseRows
        Its n rows are the matrix's columns; values y_ij.
    m : int
        Number of rows of the matrix.
    sparse : bool
        Compute products entry by entry.
    """

    side: SparseRows
    m: int
    sparse: bool

    @classmethod
    def of(cls, side: SparseRows, m: int) -> Entries:
        """The entries of a matrix with m rows, products computed the quicker way."""
        return cls(side, m, is_sparse(len(side.values), m, side.n))

    @property
    def places(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Column and row of every entry, each (n_observed,)."""
        return members(self.side.indptr), self.side.indices

    def at(self, Q: Array, Z: Array) -> Array:
        """(Q z_j)_i where observed, shape (n_observed,): Q (m, m), Z (n, m)."""
        if not self.sparse:
            return (Z @ Q.T)[self.places]
        return self.side.backend.entry_products(self.side, Z, Q)

    def sums(self, Q: Array, values: Array) -> Array:
        """Σ_i x_ij q_i over the observed entries of column j, shape (n, m)."""
        if self.sparse:
            return self.side.backend.weighted_sums(self.side, Q, values)
        X = np.zeros((self.side.n, self.m))
        X[self.places] = values
        return X @ Q


@dataclass(frozen=True)
class Messages:
    """Approximate posterior of all columns in the eigenbasis of ⟨Σ⟩ = Q diag(s) Qᵀ.

    Attributes
    ----------
    Q : ndarray of shape (m, m)
    s : ndarray of shape (m,)
    Z, var : ndarray of shape (n, m)
        Means and variances of Qᵀx_j, a row for each column of the matrix.
    S : ndarray of shape (n_observed,)
        Scaled residuals of the message passing.
    damping : float
        Share of a step that is taken.
    step : float
        ‖change of Z‖ of the last step, before damping.
    """

    Q: Array
    s: Array
    Z: Array
    var: Array
    S: Array
    damping: float
    step: float = np.inf


def start_messages(entries: Entries, prior: Array, weight: float, damping: float) -> Messages:
    """Zero means, and a first ⟨Σ⟩ from the zero-filled matrix with variance one everywhere."""
    m, n = entries.m, entries.side.n
    Y = np.zeros((n, m))
    Y[entries.places] = entries.side.values
    scales, Q = np.linalg.eigh(prior + Y.T @ Y + n * np.eye(m))
    s = weight / scales
    var = np.repeat(1.0 / s[None], n, axis=0)
    return Messages(Q, s, np.zeros((n, m)), var, np.zeros(len(entries.side.values)), damping)


def update_precision(messages: Messages, prior: Array, weight: float) -> Messages:
    """q(Σ): ⟨Σ⟩ = (ν + n)(W⁻¹ + Σ_j ⟨x_j x_jᵀ⟩)⁻¹, and the messages in its eigenbasis.

    The covariances of the columns are taken diagonal in the old eigenbasis.
    """
    Q = messages.Q
    X = messages.Z @ Q.T
    scatter = X.T @ X
    del X
    root = Q * np.sqrt(messages.var.sum(axis=0))
    scatter += root @ root.T
    scatter += prior
    del root
    scales, basis = np.linalg.eigh(scatter)
    del scatter
    turn = basis.T @ Q
    Z = messages.Z @ turn.T
    np.square(turn, out=turn)
    s = weight / np.maximum(scales, _TINY)
    return replace(messages, Q=basis, s=s, Z=Z, var=messages.var @ turn.T)


def gamp_step(
    messages: Messages, squares: Array, entries: Entries, gamma: float, damping: float
) -> Messages:
    """One damped step for y = Qz + noise on the observed entries, z ~ N(0, 1/s).

    A fixed point has the exact posterior means; its variances are approximate. `squares` is Q².
    """
    Q, Z, y = messages.Q, messages.Z, entries.side.values
    spread = entries.at(squares, messages.var)
    strength = 1.0 / (spread + 1.0 / gamma)
    S = strength * (y - entries.at(Q, Z) + spread * messages.S)
    S = messages.S + messages.damping * (S - messages.S)
    fit = entries.sums(squares, strength)
    var = 1.0 / (fit + messages.s)
    change = entries.sums(Q, S)
    fit *= Z
    change += fit
    change *= var
    change -= Z
    step = float(np.linalg.norm(change))
    share = messages.damping
    # Message passing may diverge where the eigenvectors are localised; shorter steps do not.
    share = (
        max(share / 2, _LEAST_DAMPING) if step > 2 * messages.step else min(1.25 * share, damping)
    )
    change *= messages.damping
    change += Z
    return replace(messages, Z=change, var=var, S=S, damping=share, step=step)


def entry_variances(messages: Messages, entries: Entries, gamma: float) -> Array:
    """Posterior variances of the entries of the matrix, shape (m, n)."""
    variances = messages.Q**2 @ messages.var.T
    cols, rows = entries.places
    seen = variances[rows, cols]
    variances[rows, cols] = seen / (1.0 + gamma * seen)
    return variances
