"""The local term S: what low rank leaves over, smooth along a graph within each row or column.

M = UVᵀ + biases + S + noise. S is smooth within each row along the graph of the columns, within
each column along that of the rows (`lines`), or both at once (`grid`). Its precision is
K = aI + Σ_g b_g L_g; given the rest, q(S) is Gaussian with precision K + diag(τw) at the observed
entries. a and b maximise the bound.

White noise is no part of S: the ridge a is held to a share of what the graphs put on the diagonal,
so that neighbours have a correlation of at least about one half. What is rougher is left to the
noise, and S dies by growing precisions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ..backends import Backend, SparseRows
from .grid import Grid
from .lines import Lines

Array = NDArray[np.float64]
Index = NDArray[np.integer]
Ground = Lines | Grid

# Largest ridge, as a share of the mean diagonal of the graphs. Along a path, where that is 2b,
# neighbours then have correlation one half.
ROUGHEST = 0.25
# Where the ridge starts, and what it cannot fall below, as shares of the largest.
FIRST_SHARE, LEAST_SHARE = 0.1, 1e-6
# Steps of one search for the scales, and how far it may move their logarithms at once.
STEPS = 8
REACH = 3.0
# A step of the scales is tried this many times as long, because steps given S as it is are small.
LONGER = 5.0
# Scales whose logarithms moved by less than this are left alone for so many updates.
STILL, REST = 0.02, 3


@dataclass(frozen=True, eq=False)
class Local:
    """q(S).

    Attributes
    ----------
    lines : Lines or Grid
    scales : ndarray of shape (1 + n_graphs,)
        a and b.
    prior_log_det : float
        Of K, one line; of a grid, the whole.
    mean, variance : ndarray of shape (m, n)
    log_det : float
        Of the posterior precisions of all lines together.
    energies : ndarray of shape (1 + n_graphs,)
        Σ ⟨sᵀs⟩ and Σ ⟨sᵀL_g s⟩ over the lines.
    evidence : float
        ln p of what S was updated with, S integrated out, as far as it depends on the scales.
    rest : int
        Updates for which the scales are left alone.
    draws : ndarray or None
        From which the next update's start, where variances are estimated.
    is_estimated : bool
        Whether they are.
    """

    lines: Ground
    scales: Array
    prior_log_det: float
    mean: Array
    variance: Array
    log_det: float = np.nan
    energies: Array | None = None
    evidence: float = np.nan
    rest: int = 0
    draws: Array | None = None
    is_estimated: bool = False

    def at(self, rows: Index, cols: Index) -> tuple[Array, Array]:
        """Mean and variance at paired positions, (n_pairs,) each."""
        return self.mean[rows, cols], self.variance[rows, cols]

    @property
    def bound(self) -> float:
        """⟨ln p(S)⟩ − ⟨ln q(S)⟩; the terms in ln 2π cancel."""
        assert self.energies is not None
        lines = self.lines
        prior = lines.count * self.prior_log_det - float(self.scales @ self.energies)
        return 0.5 * (prior + lines.count * lines.stack.n - self.log_det)

    @property
    def deviation(self) -> float:
        """Root mean variance of S a priori: zero where it has died."""
        return float(np.sqrt(self.lines.prior(self.scales)[1][0] / self.lines.stack.n))


def first_local(lines: Ground, variance: float) -> Local:
    """S before its first update, with the given mean variance a priori."""
    # Each graph begins with the same share of the diagonal.
    own = lines.diagonals
    graphs = own.mean() / np.where(own > 0.0, own, own.mean())
    scales = np.append(FIRST_SHARE * ROUGHEST * float(own @ graphs), graphs)
    scales = scales * (float(lines.prior(scales)[1][0]) / lines.stack.n / variance)
    zeros = np.zeros(lines.shape)
    return Local(lines, scales, lines.prior(scales)[0], zeros, zeros)


def update_local(
    local: Local, entries: SparseRows, precisions: Array, targets: Array, backend: Backend
) -> Local:
    """q(S) given the rest.

    Parameters
    ----------
    local : Local
    entries : SparseRows
        In row order.
    precisions, targets : ndarray of shape (n_observed,)
        τw, and what S would have to be for each entry, in row order.
    """
    lines, before = local.lines, (local.mean, local.draws)
    found = lines.condition(local.scales, entries, precisions, targets, backend, before)
    # ln ∫ p(t | s) p(s) ds = ½(ln|K| − ln|Q| + hᵀQ⁻¹h) and what no scale changes.
    evidence = 0.5 * (lines.count * local.prior_log_det - found.log_det + found.pull)
    return replace(
        local,
        mean=found.mean,
        variance=found.variance,
        log_det=found.log_det,
        energies=found.energies,
        evidence=evidence,
        draws=found.draws,
        is_estimated=found.is_estimated,
    )


def update_and_learn(
    local: Local, entries: SparseRows, precisions: Array, targets: Array, backend: Backend
) -> Local:
    """q(S) and its scales given the rest, as `update_local`; the bound does not fall.

    Of a step of the scales and one several times as long, the one with more evidence. Scales that
    hardly move are left alone for a while: a step costs four times what S does.
    """
    given = entries, precisions, targets, backend
    if local.rest:
        return replace(update_local(local, *given), rest=local.rest - 1)
    step = learn_scales(update_local(local, *given)).scales
    far = local.scales * (step / local.scales) ** LONGER
    far[0] = min(far[0], ROUGHEST * float(local.lines.diagonals @ far[1:]))
    tried = [update_local(_with_scales(local, scales), *given) for scales in (step, far)]
    best = max(tried, key=lambda found: found.evidence)
    still = np.abs(np.log(best.scales / local.scales)).max() < STILL
    return replace(best, rest=REST if still else 0)


def learn_scales(local: Local) -> Local:
    """a and b at which the bound is highest, S as it is; the bound does not fall."""
    lines, energies = local.lines, local.energies
    assert energies is not None
    own = lines.diagonals

    def scales_of(logs: Array) -> Array:
        b = np.exp(logs[1:])
        return np.append(np.exp(logs[0]) * ROUGHEST * float(own @ b), b)

    def loss(logs: Array) -> tuple[float, Array]:
        scales = scales_of(logs)
        log_det, traces = lines.prior(scales)
        slopes = 0.5 * (energies - lines.count * traces)
        value = 0.5 * (float(scales @ energies) - lines.count * log_det)
        # a is a share of what the graphs put on the diagonal.
        a, b = scales[0], scales[1:]
        return value, np.append(a * slopes[0], b * slopes[1:] + a * slopes[0] * own * b / (own @ b))

    share = local.scales[0] / (ROUGHEST * float(own @ local.scales[1:]))
    start = np.log(np.append(share, local.scales[1:]))
    bounds = [(np.log(LEAST_SHARE), 0.0)] + [(x - REACH, x + REACH) for x in start[1:]]
    start[0] = np.clip(start[0], *bounds[0])
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS}
    )
    new = _with_scales(local, scales_of(found.x))
    return new if new.bound >= local.bound else local


def _with_scales(local: Local, scales: Array) -> Local:
    return replace(local, scales=scales, prior_log_det=local.lines.prior(scales)[0])
