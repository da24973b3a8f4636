"""The local term S: what low rank leaves over, smooth along a graph within each row or column.

M = UVᵀ + biases + S + noise. A line of S (a row, along the graph of the columns; or a column, along
the graph of the rows) is Gaussian with precision K = aI + Σ_g b_g L_g, lines independent. Given the
rest, q of a line is Gaussian with precision K + diag(τw) at its observed entries: banded along a
chain, so that means, variances and log-determinants are exact and take time linear in the line.
a and b maximise the bound.

White noise is no part of S: the ridge a is held to a share of what the graphs put on the diagonal,
so that neighbours have a correlation of at least about one half. What is rougher is left to the
noise, and S dies by growing precisions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ..backends import Backend, SparseRows
from ..graphs.precision import GraphStack, Precision
from ..linalg.banded import WIDEST, Bands, find_bands

Array = NDArray[np.float64]
Index = NDArray[np.integer]
Along = Literal["rows", "cols"]

# Cells of the matrix up to which S is kept: a mean and a variance each, 512 MiB together.
MOST_CELLS = 1 << 25
# Largest ridge, as a share of the mean diagonal of the graphs. Along a path, where that is 2b,
# neighbours then have correlation one half.
ROUGHEST = 0.25
# Where the ridge starts, and what it cannot fall below, as shares of the largest.
FIRST_SHARE, LEAST_SHARE = 0.1, 1e-6
# Lines that are solved together, and steps of one search for the scales.
BATCH = 64
STEPS = 8
# How far a search may move the logarithms of scales at once.
REACH = 3.0
# A step of the scales is tried this many times as long, because steps given S as it is are small.
LONGER = 5.0
# Scales whose logarithms moved by less than this are left alone for so many updates.
STILL, REST = 0.02, 3


@dataclass(frozen=True, eq=False)
class Lines:
    """Where S is smooth: the lines of a matrix, and the graphs along each of them.

    Attributes
    ----------
    along : {"rows", "cols"}
        Whose graphs these are: "cols" smooths each row along the graph of the columns.
    shape : (int, int)
        Of the matrix.
    stack : GraphStack
    bands : Bands
    """

    along: Along
    shape: tuple[int, int]
    stack: GraphStack
    bands: Bands

    @property
    def count(self) -> int:
        """Lines, each with as many nodes as the graphs have."""
        return self.shape[0] if self.along == "cols" else self.shape[1]

    def places(self, rows: Index, cols: Index) -> tuple[Index, Index]:
        """Line and node of positions in the matrix."""
        return (rows, cols) if self.along == "cols" else (cols, rows)

    @property
    def diagonals(self) -> Array:
        """Mean diagonal of each graph's Laplacian, shape (n_graphs,)."""
        found: Array = 2.0 * self.stack.weights.sum(axis=1) / self.stack.n
        return found


def lines_of(along: Along, stack: GraphStack, shape: tuple[int, int]) -> Lines:
    """Lines along a side's graphs; those that are not narrow are refused."""
    word = {"rows": "row", "cols": "column"}[along]
    if shape[0] * shape[1] > MOST_CELLS:
        raise ValueError(
            f"local={along!r} keeps a number for every cell: {shape[0]} x {shape[1]} are more than "
            f"{MOST_CELLS}; pass local=None"
        )
    if not len(stack.heads):
        raise ValueError(f"local={along!r} is smooth along a {word} graph: pass {word[:3]}_graph")
    bands = find_bands(stack.precision(np.ones(len(stack.weights)), 1.0))
    if bands is None:
        raise ValueError(
            f"local={along!r} needs a {word} graph along a line, such as chain_graph or time_graph "
            f"without period: in no order are all neighbours within {WIDEST} of each other"
        )
    return Lines(along, shape, stack, bands)


@dataclass(frozen=True, eq=False)
class Local:
    """q(S).

    Attributes
    ----------
    lines : Lines
    scales : ndarray of shape (1 + n_graphs,)
        a and b.
    prior_log_det : float
        Of K, one line.
    mean, variance : ndarray of shape (m, n)
    log_det : float
        Of the posterior precisions of all lines together.
    energies : ndarray of shape (1 + n_graphs,)
        Σ ⟨sᵀs⟩ and Σ ⟨sᵀL_g s⟩ over the lines.
    evidence : float
        ln p of what S was updated with, S integrated out, as far as it depends on the scales.
    rest : int
        Updates for which the scales are left alone.
    """

    lines: Lines
    scales: Array
    prior_log_det: float
    mean: Array
    variance: Array
    log_det: float = np.nan
    energies: Array | None = None
    evidence: float = np.nan
    rest: int = 0

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
        inverse = _inverse(self.lines, _precision(self.lines, self.scales))
        return float(np.sqrt(inverse[0].mean()))


def first_local(lines: Lines, variance: float) -> Local:
    """S before its first update, with the given mean variance a priori."""
    graphs = np.ones(len(lines.stack.weights))
    scales = np.append(FIRST_SHARE * ROUGHEST * float(lines.diagonals @ graphs), graphs)
    inverse, _, _ = _inverse(lines, _precision(lines, scales))
    scales = scales * (float(inverse.mean()) / variance)
    zeros = np.zeros(lines.shape)
    return Local(lines, scales, _prior_log_det(lines, scales), zeros, zeros)


def update_local(
    local: Local, entries: SparseRows, precisions: Array, targets: Array, backend: Backend
) -> Local:
    """q(S) given the rest, exactly.

    Parameters
    ----------
    local : Local
    entries : SparseRows
        In row order.
    precisions, targets : ndarray of shape (n_observed,)
        τw, and what S would have to be for each entry, in row order.
    """
    lines, stack = local.lines, local.lines.stack
    line, node = lines.places(entries.owners, entries.indices)
    order = np.argsort(line, kind="stable")
    ends = np.searchsorted(line[order], np.arange(0, lines.count + BATCH, BATCH))
    K = _precision(lines, local.scales)
    mean, variance = np.empty((lines.count, stack.n)), np.empty((lines.count, stack.n))
    log_det, pull, energies = 0.0, 0.0, np.zeros(len(local.scales))
    for number, start in enumerate(range(0, lines.count, BATCH)):
        stop = min(start + BATCH, lines.count)
        here = order[ends[number] : ends[number + 1]]
        at = node[here], line[here] - start
        D, H = np.zeros((stack.n, stop - start)), np.zeros((stack.n, stop - start))
        D[at], H[at] = precisions[here], precisions[here] * targets[here]
        x, found = lines.bands.condition(K, D, H, np.ones(stop - start), backend.map)
        mean[start:stop], variance[start:stop] = x.T, found.diagonal.T
        log_det += float(np.sum(found.logdet))
        pull += float(np.einsum("ij,ij->", x, H))
        energies += _energies(stack, x, found.diagonal, found.between)
    if lines.along == "rows":
        mean, variance = np.ascontiguousarray(mean.T), np.ascontiguousarray(variance.T)
    # ln ∫ p(t | s) p(s) ds = ½(ln|K| − ln|Q| + hᵀQ⁻¹h) and what no scale changes.
    evidence = 0.5 * (lines.count * local.prior_log_det - log_det + pull)
    return replace(
        local,
        mean=mean,
        variance=variance,
        log_det=log_det,
        energies=energies,
        evidence=evidence,
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
        diagonal, between, log_det = _inverse(lines, _precision(lines, scales))
        traces = _energies(lines.stack, None, diagonal, between)
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
    return replace(local, scales=scales, prior_log_det=_prior_log_det(local.lines, scales))


def _energies(stack: GraphStack, x: Array | None, diagonal: Array, between: Array) -> Array:
    """Σ ⟨sᵀs⟩ and Σ ⟨sᵀL_g s⟩ over lines (columns) of means x and covariances."""
    i, j = stack.heads, stack.tails
    steps = (diagonal[i] + diagonal[j] - 2.0 * between).sum(axis=1)
    size = float(diagonal.sum())
    if x is not None:
        steps = steps + ((x[i] - x[j]) ** 2).sum(axis=1)
        size += float(np.einsum("ij,ij->", x, x))
    return np.append(size, stack.weights @ steps)


def _precision(lines: Lines, scales: Array) -> Precision:
    return lines.stack.precision(scales[1:], float(scales[0]))


def _inverse(lines: Lines, K: Precision) -> tuple[Array, Array, float]:
    """Variances (n, 1), covariances along edges (n_edges, 1) and log-determinant of K."""
    found = lines.bands.inverse(K, np.zeros((K.n, 1)), np.ones(1), map)
    return found.diagonal, found.between, float(np.sum(found.logdet))


def _prior_log_det(lines: Lines, scales: Array) -> float:
    return _inverse(lines, _precision(lines, scales))[2]
