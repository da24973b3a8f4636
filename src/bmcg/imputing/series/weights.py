"""What errors of left-out gaps say of each kind of gap: weights, widths, what is not needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from .outages import ALL_OUT

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# How much the log error of all gaps together may grow for a way to be left out.
SLIGHT = 0.01
# Gaps of each other kind that count at most for weights, and of all together for widths.
GAPS_OF_OTHERS, GAPS_OF_ALL = 20.0, 5.0
# Share of the left-out cells that widths are fitted to hold.
LEVEL, QUANTILE = 0.9, 1.6448536269514722


def weights_of(
    errors: Array, kind: Index, told: Array
) -> tuple[dict[int, Array], dict[int, float]]:
    """Weights of least squared error, none below zero, and errors, for every kind of gap.

    Kinds count by their gaps, not by their cells: a day on which all sensors were out is one. A
    kind hears others, in units of their errors: half as much for every step that they are deeper
    or less deep, or of the other class, and no more than `GAPS_OF_OTHERS` gaps of each.

    Parameters
    ----------
    errors : ndarray of shape (n_cells, n_ways)
    kind : ndarray of shape (n_cells,)
    told : ndarray of shape (n_cells,)
        How much a cell tells by itself.
    """
    weights: dict[int, Array] = {}
    spreads: dict[int, float] = {}
    grams, counts = {}, {}
    for own in np.unique(kind).tolist():
        part = errors[kind == own]
        size = max(float((part**2).mean()), 1e-300)
        grams[own], counts[own] = part.T @ part / len(part) / size, float(told[kind == own].sum())
    # Kinds that were not tried.
    weights[-1] = _least(np.sum([counts[own] * grams[own] for own in grams], axis=0))
    spreads[-1] = _spread(errors @ weights[-1])
    for own in grams:
        heard = counts[own] * grams[own]
        for other in grams.keys() - {own}:
            steps = abs(own % ALL_OUT - other % ALL_OUT) + abs(own // ALL_OUT - other // ALL_OUT)
            heard = heard + 0.5**steps * min(counts[other], GAPS_OF_OTHERS) * grams[other]
        weights[own] = _least(heard)
        spreads[own] = _spread(errors[kind == own] @ weights[own])
    return weights, spreads


def _classes(kind: Index) -> list[NDArray[np.bool_]]:
    """Which cells lie in gaps of one sensor, and which in gaps of all, as far as there are any."""
    return [here for here in (kind < ALL_OUT, kind >= ALL_OUT) if here.any()]


def _spread(error: Array) -> float:
    return max(float(np.sqrt((error**2).mean())), 1e-150)


def _least(gram: Array) -> Array:
    """The weights w ≥ 0 with sum one at which wᵀ gram w is least."""
    k = len(gram)
    size = float(np.trace(gram)) / k or 1.0
    root = np.linalg.cholesky(gram / size + 1e-9 * np.eye(k)).T
    rows = np.vstack((root, 1e4 * np.ones((1, k))))
    found, _ = nnls(rows, np.append(np.zeros(k), 1e4))
    return np.asarray(found / found.sum())


def needed(errors: Array, kind: Index, told: Array) -> list[int]:
    """Ways without which the log error of gaps, each kind by its cells, would grow."""
    left = list(range(errors.shape[1]))
    while len(left) > 1:
        now = _loss(errors[:, left], kind, told)
        fewer = [[k for k in left if k != gone] for gone in left]
        losses = [_loss(errors[:, few], kind, told) for few in fewer]
        best = int(np.argmin(losses))
        if losses[best] - now > SLIGHT:
            break
        left = fewer[best]
    return left


def _loss(errors: Array, kind: Index, told: Array) -> float:
    """Log of the error in each kind of gap, averaged over cells: the log score at best widths."""
    _, spreads = weights_of(errors, kind, told)
    own, counts = np.unique(kind, return_counts=True)
    logs = np.array([np.log(spreads[int(k)]) for k in own])
    return float(logs @ counts / counts.sum())


def widths_of(scores: Array, kind: Index) -> dict[int, float]:
    """What deviations are multiplied with, so that `LEVEL` of left-out cells lie in their bands.

    Cells of one gap go together: a kind counts as many gaps, `GAPS_OF_ALL` of them as all say.
    """
    found: dict[int, float] = {}
    for here in _classes(kind):
        whole = _width(scores[here])
        found.setdefault(-1, whole)
        for own in np.unique(kind[here]).tolist():
            part = scores[kind == own]
            # At a distance d from what is known, cells go together over about 2d.
            gaps = len(part) / 2.0 ** (own % ALL_OUT + 1)
            squares = gaps * _width(part) ** 2 + GAPS_OF_ALL * whole**2
            found[own] = float(np.sqrt(squares / (gaps + GAPS_OF_ALL)))
    return found


def _width(scores: Array) -> float:
    # Of n cells and one more, `LEVEL` are below this quantile.
    level = min(LEVEL * (1.0 + 1.0 / len(scores)), 1.0)
    return float(np.quantile(np.abs(scores), level)) / QUANTILE


def by_kind(what: dict[int, Any], kind: Index) -> Array:
    """For every cell; of a kind that was not tried, as the nearest one that was."""
    tried = sorted(key for key in what if key >= 0)
    first = np.asarray(what[-1])
    out = np.empty((len(kind), *first.shape))
    for own in np.unique(kind):
        same = [key for key in tried if (key >= ALL_OUT) == (own >= ALL_OUT)] or tried
        out[kind == own] = what[min(same, key=lambda key: abs(key - own))] if same else first
    return out
