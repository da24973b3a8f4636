"""Entries left out, a part at a time, and what is kept of the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..observations import Observations

Array = NDArray[np.float64]

# Share of the entries that is left out at a time.
SHARE = 0.1
# Left-out entries that a verdict should rest on, and the most folds made to get them.
ENOUGH = 2000
MOST_FOLDS = 5
# Most entries that questions are asked on: of more, those of some rows.
MOST_ENTRIES = 200_000
# Fewer entries than this say nothing.
LEAST_ENTRIES = 40
# Errors of this share of the values' spread are none.
FINEST = 1e-4


@dataclass(frozen=True)
class Fold:
    """Some entries, and those left out of them.

    Attributes
    ----------
    kept : Observations
        On the whole matrix.
    rows, cols : ndarray of shape (n_left_out,)
    values : ndarray of shape (n_left_out,)
    """

    kept: Observations
    rows: NDArray[np.intp]
    cols: NDArray[np.intp]
    values: Array

    @cached_property
    def nothing(self) -> float:
        """A squared error as good as none: of data without noise the rest is arithmetic."""
        return float((FINEST * self.kept.values.std()) ** 2)


def make_folds(observations: Observations, seed: int) -> list[Fold]:
    """Disjoint tenths of the entries, each with what is left; several where entries are few."""
    rng = np.random.default_rng([seed, 3])
    some = np.arange(observations.shape[0])
    if len(observations) > MOST_ENTRIES:
        order = rng.permutation(observations.shape[0])
        counts = np.diff(observations.by_row.indptr)[order]
        some = order[: int(np.searchsorted(np.cumsum(counts), MOST_ENTRIES)) + 1]
    i, j, x = observations.of_rows(some)
    if len(x) < LEAST_ENTRIES:
        return []
    used = rng.permutation(len(x))
    size = int(SHARE * len(used))
    folds = []
    # That are not the commonest value: zeros among few ones say little.
    telling = max(1, int(SHARE * (len(x) - commonest(x))))
    for number in range(min(-(-ENOUGH // telling), MOST_FOLDS)):
        out = used[number * size : (number + 1) * size]
        kept = np.sort(np.concatenate((used[: number * size], used[(number + 1) * size :])))
        part = Observations.from_triples(i[kept], j[kept], x[kept], observations.shape)
        folds.append(Fold(part, i[out].astype(np.intp), j[out].astype(np.intp), x[out]))
    return folds


def commonest(values: Array) -> int:
    """How many are the value that most are."""
    return int(np.unique(values, return_counts=True)[1].max(initial=0))
