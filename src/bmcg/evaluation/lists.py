"""Measures of lists: what the first k columns of each row hold of what was held out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends import open_backend
from ..base import MatrixCompleter
from ..checks import check_whole
from ..serving import ServingModel
from ..serving.ranking import Seen, best_columns
from .splits import Split

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Predictions held at a time while rows are ranked, 32 MiB.
BLOCK = 1 << 22


class ListMeasures(NamedTuple):
    """Of lists of k columns, means over the rows that have something relevant held out.

    Attributes
    ----------
    precision : float
        Share of a list that is relevant.
    recall : float
        Share of what is relevant that is in the list.
    ndcg : float
        Normalised discounted cumulative gain: hits count 1/log2(1 + place), against the best
        possible list.
    map : float
        Mean average precision: the precision at the place of each hit, over as many as could be.
    hit_rate : float
        Share of rows whose list has a hit.
    catalogue : float
        Share of all columns that are in any list.
    n_rows : int
    """

    precision: float
    recall: float
    ndcg: float
    map: float
    hit_rate: float
    catalogue: float
    n_rows: int


LIST_MEASURES = ListMeasures._fields[:-1]


def list_measures(lists: NDArray[Any], rows: Index, relevant: Seen, n_cols: int) -> ListMeasures:
    """Measures of lists.

    Parameters
    ----------
    lists : ndarray of int, shape (r, k)
        Columns, best first; −1 where a row has no more.
    rows : ndarray of shape (r,)
        The rows that they are for.
    relevant : Seen
        Relevant columns of every row of the matrix. Rows without any are left out.
    n_cols : int
        Columns there are.
    """
    there = np.diff(relevant.indptr)[rows] > 0
    if not there.any():
        raise ValueError("nothing relevant is held out in any of these rows: no list can be judged")
    found, at = np.asarray(lists)[there], np.asarray(rows)[there]
    count, k = np.diff(relevant.indptr)[at], found.shape[1]
    hits = relevant.holds(np.repeat(at, k), found.ravel()).reshape(found.shape) & (found >= 0)
    most = np.minimum(count, k)
    discount = 1.0 / np.log2(np.arange(2, k + 2))
    precision_here = np.cumsum(hits, axis=1) / np.arange(1, k + 1)
    n_hits = hits.sum(axis=1)
    shown = np.unique(found[found >= 0])
    return ListMeasures(
        float((n_hits / k).mean()),
        float((n_hits / count).mean()),
        float((hits @ discount / np.cumsum(discount)[most - 1]).mean()),
        float(((hits * precision_here).sum(axis=1) / most).mean()),
        float((n_hits > 0).mean()),
        len(shown) / n_cols,
        len(at),
    )


def lists_of(model: MatrixCompleter, rows: Index, k: int, seen: Seen) -> Index:
    """The k best columns of some rows, those seen left out, shape (r, k); −1 where none is left.

    Parameters
    ----------
    model : MatrixCompleter
        Fitted; any of `METHODS`.
    rows : ndarray of shape (r,)
    k : int
    seen : Seen
        Of every row.
    """
    n = model.shape_[1]
    k = min(k, n)
    out = np.full((len(rows), k), -1, dtype=np.intp)
    if isinstance(model, ServingModel):
        with open_backend(model.n_jobs) as backend:
            chosen = seen.of(rows)
            return best_columns(model.fitted_, rows, k, chosen, "mean", 0.0, backend)[0]
    step, cols = max(1, BLOCK // n), np.arange(n)
    for start in range(0, len(rows), step):
        at = rows[start : start + step]
        scores = model._mean(np.repeat(at, n), np.tile(cols, len(at))).reshape(len(at), n)
        skipped = seen.of(at)
        scores[np.repeat(np.arange(len(at)), np.diff(skipped.indptr)), skipped.indices] = -np.inf
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        left = np.isfinite(np.take_along_axis(scores, best, axis=1))
        out[start : start + step] = np.where(left, best, -1)
    return out


def judge_lists(
    model: MatrixCompleter, split: Split, k: int = 10, relevant: float | None = None
) -> ListMeasures:
    """Measures of a fitted model's lists, what it has learned from left out.

    Parameters
    ----------
    model : MatrixCompleter
    split : Split
        It was fitted on `split.train`.
    k : int
        Length of the lists.
    relevant : float, optional
        Held-out entries of at least this value are what a list should hold; all of them by
        default.
    """
    check_whole("k", k)
    wanted = np.ones(len(split.values), dtype=np.bool_)
    if relevant is not None:
        wanted = split.values >= relevant
        if not wanted.any():
            raise ValueError(
                f"relevant={relevant!r}: no held-out value is as large; they end at "
                f"{split.values.max():g}"
            )
    held = Seen.of_pairs(split.rows[wanted], split.cols[wanted], split.train.shape[0])
    rows = np.flatnonzero(np.diff(held.indptr))
    seen = Seen(split.train.by_row.indptr, split.train.by_row.indices)
    return list_measures(lists_of(model, rows, k, seen), rows, held, split.train.shape[1])
