"""Lists that are left out of a fit, and what a fit says of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..observations import Observations
from .fit import Fit, SideInput

Array = NDArray[np.float64]
Index = NDArray[np.integer[Any]]

# Share of a row that is left out.
SHARE = 0.2
# Most entries that are asked, those of some rows where there are more, and most rows ranked.
MOST_ENTRIES = 100_000
MOST_ROWS = 2_000
# Fewer left-out entries than this say nothing.
LEAST_ENTRIES = 40
# Length of the lists that are judged.
LENGTH = 20
# Scores held at a time, 32 MiB.
BLOCK = 1 << 22


@dataclass(frozen=True)
class Lists:
    """What some rows have seen, and what was left out of it.

    Attributes
    ----------
    kept : Observations
        Of these rows alone.
    left_out : csr-like pair of ndarray
        Pointers (n_rows + 1,) and columns of what was left out of each row.
    rows : ndarray of shape (n_rows,)
        Which rows of the data these are.
    n_rows : int
        Rows of the data.
    """

    kept: Observations
    left_out: tuple[Index, Index]
    rows: Index
    n_rows: int

    def part_of(self, sides: tuple[SideInput, SideInput]) -> tuple[SideInput, SideInput]:
        """What is known of these rows and of the columns.

        What was made of all entries is made anew of those kept, where these are of all rows.
        """
        if len(self.rows) == self.n_rows:
            rows, cols = (side.of(self.kept) for side in sides)
            return rows, cols
        rows, cols = sides
        features = None if rows.features is None else rows.features[self.rows]
        return replace(rows, stack=rows.stack.part(self.rows), features=features), cols


def leave_out(
    observations: Observations, seed: int, number: int = 0, most: int = MOST_ENTRIES
) -> Lists | None:
    """Lists to be judged by; None where too little could be left out.

    `number` tells draws apart, `most` is how many entries they are of.
    """
    rng = np.random.default_rng([seed, 4, number] if number else [seed, 4])
    indptr, indices, values = observations.by_row
    counts, order = np.diff(indptr), rng.permutation(observations.shape[0])
    # In the order of the data: with all rows, what is known of them goes with theirs.
    some = np.sort(order[: int(np.searchsorted(np.cumsum(counts[order]), most)) + 1])
    parts, out, sizes = [], [], []
    for i in some:
        n = int(counts[i])
        size = max(1, int(SHARE * n)) if n > 1 else 0
        at = indptr[i] + rng.permutation(n)
        out.append(np.sort(indices[at[:size]]))
        parts.append(np.sort(at[size:]))
        sizes.append(size)
    if sum(sizes) < LEAST_ENTRIES:
        return None
    at = np.concatenate(parts)
    rows = np.repeat(np.arange(len(some)), [len(part) for part in parts])
    shape = len(some), observations.shape[1]
    kept = Observations.from_triples(rows, indices[at], values[at], shape)
    return Lists(
        kept, (np.concatenate(([0], np.cumsum(sizes))), np.concatenate(out)), some, len(counts)
    )


def gains(fit: Fit, lists: Lists) -> Array:
    """Discounted gain of what was left out, of the most there could be, for each row ranked.

    At most `MOST_ROWS` of those that have something left out, evenly spread.
    """
    pointers, left = lists.left_out
    draws = [(fit.state.rows.rows, fit.state.cols.rows)]
    if fit.draws is not None:
        draws = list(zip(fit.draws.rows, fit.draws.cols, strict=True))
    rows = np.flatnonzero(np.diff(pointers))
    rows = rows[:: -(-len(rows) // MOST_ROWS)]
    n_cols = lists.kept.shape[1]
    length = min(LENGTH, n_cols)
    discount = 1.0 / np.log2(np.arange(2, length + 2))
    most, out = np.cumsum(discount), np.empty(len(rows))
    seen, step = lists.kept.by_row, max(1, BLOCK // n_cols)
    for start in range(0, len(rows), step):
        at = rows[start : start + step]
        scores = np.zeros((len(at), n_cols))
        for U, V in draws:
            scores += U[at] @ V.T
        for line, i in zip(scores, at, strict=True):
            line[seen.indices[seen.indptr[i] : seen.indptr[i + 1]]] = -np.inf
        best = np.argpartition(-scores, length - 1, axis=1)[:, :length]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
        best = np.take_along_axis(best, order, axis=1)
        for n, (i, line) in enumerate(zip(at, best, strict=True), start):
            wanted = left[pointers[i] : pointers[i + 1]]
            out[n] = np.isin(line, wanted) @ discount / most[min(len(wanted), length) - 1]
    return out
