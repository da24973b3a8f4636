"""Rows that come after the fit: their factors, given what was learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..backends import SparseRows
from ..backends.packed import packed_diagonal
from ..likelihoods import Likelihood, Match, Noise, Weighting
from . import design
from .state import Factors

Array = NDArray[np.float64]

# Updates of new rows under weights that depend on them, and the relative change that ends them.
MOST_STEPS = 100
STILL = 1e-4


def fold_in_rows(
    rows: SparseRows,
    other: Factors,
    likelihood: Likelihood,
    noise: Noise,
    prior_precision: Array,
    pull: Array | None = None,
) -> Factors:
    """q(u_i) of new rows given q(V) and the noise: the update of a row, nothing else moved.

    Where weights or targets depend on the entries, the update is made again until it stays.

    u_i has precision P_i = τ Σ_{j∈Ω_i} ⟨v_j v_jᵀ⟩ + diag(prior_i) and mean
    P_i⁻¹ (τ Σ_{j∈Ω_i} x_ij ⟨v_j⟩ + pull_i). A row with edges to fitted rows has
    prior_i = (Σ_a w_ia + ridge)·λ and pull_i = λ Σ_a w_ia ⟨u_a⟩; given those rows, new rows are
    independent, so edges among new rows are not for this function.

    Parameters
    ----------
    rows : SparseRows
        Observed entries of the new rows, n of them, in the units of the fit.
    other : Factors
        q(V); the new rows get a covariance of its kind.
    likelihood : Likelihood
    noise : Noise
        Of these rows.
    prior_precision : ndarray of shape (k,) or (n, k)
    pull : ndarray of shape (n, k), optional
        Prior precision times prior mean; zero by default.

    Returns
    -------
    Factors
        Of n rows. Their energy is NaN: these rows have no part in what drives λ.
    """
    if likelihood.is_plain:
        seen = likelihood.weighting(noise, Match(rows))
        return _given(rows, other, seen, prior_precision, pull)
    zeros = np.zeros(len(rows.values))
    found = _step(rows, other, likelihood, noise, prior_precision, pull, (zeros, zeros))
    for _ in range(MOST_STEPS):
        at = design.pair_moments(rows, found, other)
        new = _step(rows, other, likelihood, noise, prior_precision, pull, at)
        moved, size = (np.abs(X).max(initial=0.0) for X in (new.mean - found.mean, new.mean))
        found = new
        if moved <= STILL * size:
            break
    return found


def _step(
    rows: SparseRows,
    other: Factors,
    likelihood: Likelihood,
    noise: Noise,
    prior: Array,
    pull: Array | None,
    at: tuple[Array, Array],
) -> Factors:
    """The update under the weights and targets of entries with the moments `at`."""
    seen = likelihood.weighting(noise, Match(rows, moments=lambda: at))
    return _given(rows, other, seen, prior, pull)


def _given(
    rows: SparseRows, other: Factors, seen: Weighting, prior: Array, pull: Array | None
) -> Factors:
    """The update given weights and targets."""
    k, tau = other.rank, seen.tau
    entries = rows if seen.targets is None else replace(rows, values=seen.targets)
    found = design.sums(entries, other, False, seen.weights, seen.zeros)
    P = tau * found.grams
    P[:, packed_diagonal(k)] += prior
    rhs = tau * found.targets
    if pull is not None:
        rhs += pull
    inverse, logs = rows.backend.invert_blocks(P)
    if not np.isfinite(logs).all():
        raise FloatingPointError(
            "the precision of a new row is not positive definite; its values may lie too many "
            "orders of magnitude from those of the fit: rescale them"
        )
    mean = rows.backend.block_product(inverse, rhs)
    covariance, log_det = type(other.covariance).of_precision(P, inverse, logs)
    return Factors(mean, covariance, log_det, np.full((k, k), np.nan))


def row_evidence(
    rows: SparseRows,
    other: Factors,
    tau: float,
    prior_precision: Array,
    pull: Array,
    biased: bool,
) -> Array:
    """log p(x_i) of new rows given q(V) and ⟨τ⟩, their factors integrated out, shape (n,).

    With P_i and r_i the precision of u_i and that times its mean, as in `fold_in_rows`, and
    prior precision Λ and mean μ, 2 log p is, up to moments of V taken at their expectation,
    log|Λ| − log|P_i| + r_iᵀP_i⁻¹r_i − μᵀΛμ − τ Σ_j ⟨(x_ij − c_j)²⟩ + |Ω_i| log(τ/2π).

    Parameters
    ----------
    rows, other, tau
        As in `fold_in_rows`.
    prior_precision, pull : ndarray of shape (k,)
        Λ's diagonal and Λμ, without the constant component.
    biased : bool
        Whether the rows' last component is the constant that meets the bias c of the columns.
    """
    k = len(prior_precision)
    found = design.sums(rows, other, False)
    free = k * (k + 1) // 2
    squares = rows.backend.weighted_sums(rows, np.ones((len(other.mean), 1)), rows.values**2)[:, 0]
    targets = found.targets[:, :k]
    if biased:
        last = found.grams[:, free:]
        squares = squares - 2.0 * found.targets[:, k] + last[:, k]
        targets = targets - last[:, :k]
    P = tau * found.grams[:, :free]
    P[:, packed_diagonal(k)] += prior_precision
    rhs = tau * targets + pull
    inverse, logs = rows.backend.invert_blocks(P)
    explained = np.einsum("ir,ir->i", rows.backend.block_product(inverse, rhs), rhs)
    prior = np.log(prior_precision).sum() - (pull**2 / prior_precision).sum()
    noise = rows.counts * np.log(tau / (2 * np.pi))
    return 0.5 * (prior - logs + explained - tau * squares + noise)
