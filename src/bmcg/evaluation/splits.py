"""What was observed, cut into a part to learn from and a part to be judged by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import check_whole, seed_of
from ..observations import Observations

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Split:
    """Entries to learn from and entries to be judged by, in the matrix that both come from.

    Attributes
    ----------
    train : Observations
        With the shape and the labels of the whole.
    rows, cols : ndarray of shape (n_test,)
        Positions of the others.
    values : ndarray of shape (n_test,)
    """

    train: Observations
    rows: Index
    cols: Index
    values: Array

    def __repr__(self) -> str:
        return f"Split({len(self.train)} to learn from, {len(self.values)} to be judged by)"


def random_split(X: Any, share: float = 0.2, random_state: Any = 0) -> list[Split]:
    """One split at random.

    Parameters
    ----------
    X : Observations, or what `Observations.from_any` takes
    share : float
        Of the entries that are held out, between 0 and 1.
    random_state : int, RandomState or None

    Returns
    -------
    list of Split
        One.
    """
    whole = Observations.from_any(X)
    _check_share(share)
    rng = np.random.default_rng(seed_of(random_state))
    out = np.zeros(len(whole), dtype=np.bool_)
    out[rng.permutation(len(whole))[: round(share * len(whole))]] = True
    return [_cut(whole, out, "share", share)]


def k_folds(X: Any, k: int = 5, random_state: Any = 0) -> list[Split]:
    """Every entry is held out once, in one of k splits.

    Parameters
    ----------
    X : Observations, or what `Observations.from_any` takes
    k : int
        At least two.
    random_state : int, RandomState or None
    """
    whole = Observations.from_any(X)
    check_whole("k", k)
    if not 2 <= k <= len(whole):
        raise ValueError(f"k={k}: pass a number of folds from 2 to {len(whole)}, the entries")
    fold = np.random.default_rng(seed_of(random_state)).permutation(len(whole)) % k
    return [_cut(whole, fold == number, "k", k) for number in range(k)]


def leave_out(X: Any, k: int | float = 1, random_state: Any = 0) -> list[Split]:
    """Some entries of each row are held out: the split for lists.

    Parameters
    ----------
    X : Observations, or what `Observations.from_any` takes
    k : int or float
        How many of each row, or which share of them, rounded down. A row keeps at least one
        entry to learn from.
    random_state : int, RandomState or None

    Returns
    -------
    list of Split
        One.
    """
    whole = Observations.from_any(X)
    counts = np.diff(whole.by_row.indptr)
    if isinstance(k, (int, np.integer)) and not isinstance(k, bool):
        check_whole("k", k)
        wanted = np.full(len(counts), int(k))
    else:
        _check_share(k, "k")
        # A share such as 0.2 of 5 is one, whatever binary fractions make of it.
        wanted = np.floor(k * counts + 1e-9).astype(np.int64)
    wanted = np.minimum(wanted, np.maximum(counts - 1, 0))
    rng = np.random.default_rng(seed_of(random_state))
    rows = whole.row_indices
    order = np.lexsort((rng.random(len(rows)), rows))
    place = np.empty(len(rows), dtype=np.int64)
    place[order] = np.arange(len(rows)) - whole.by_row.indptr[:-1][rows[order]]
    return [_cut(whole, place < wanted[rows], "k", k)]


def time_split(X: Any, times: ArrayLike, share: float = 0.2) -> list[Split]:
    """The latest entries are held out.

    Parameters
    ----------
    X : Observations, or what `Observations.from_any` takes
    times : array_like of numbers or datetimes, shape (n_observed,)
        Of each entry, in row order (as `Observations.values` has them).
    share : float
        Of the entries that are held out. Entries of one moment stay together, so that it may
        come out smaller.

    Returns
    -------
    list of Split
        One.
    """
    whole = Observations.from_any(X)
    _check_share(share)
    when = np.asarray(times)
    if when.shape != (len(whole),):
        raise ValueError(
            f"times has shape {when.shape}, expected ({len(whole)},): one for each entry, in the "
            "order of Observations.values"
        )
    if when.dtype.kind not in "iufM" or _has_gaps(when):
        raise ValueError(f"times must be numbers or datetimes without gaps, got {when.dtype}")
    at = len(when) - max(1, round(share * len(when)))
    after = when > np.sort(when)[at - 1]
    return [_cut(whole, after, "share", share)]


def _cut(whole: Observations, out: Mask, argument: str, value: Any) -> Split:
    if not out.any() or out.all():
        which = "nothing is held out" if not out.any() else "nothing is left to learn from"
        raise ValueError(f"{argument}={value!r}: of {len(whole)} entries, {which}")
    i, j, x = whole.row_indices, whole.col_indices, whole.values
    train = Observations.from_triples(
        i[~out],
        j[~out],
        x[~out],
        whole.shape,
        row_labels=whole.row_labels,
        col_labels=whole.col_labels,
    )
    held = i[out].astype(np.intp), j[out].astype(np.intp), x[out]
    return Split(replace(train, backend=whole.backend), *held)


def _has_gaps(when: NDArray[Any]) -> bool:
    if when.dtype.kind == "M":
        return bool(np.isnat(when).any())
    return when.dtype.kind == "f" and not np.isfinite(when).all()


def _check_share(share: Any, argument: str = "share") -> None:
    if isinstance(share, bool) or not isinstance(share, (float, np.floating)) or not 0 < share < 1:
        raise ValueError(f"{argument}={share!r}: pass a share between 0 and 1, such as 0.2")
