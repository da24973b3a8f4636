"""The best columns for given rows, in blocks: memory does not grow with the columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..backends import NumbaBackend
from ..observations.grouping import transpose
from ..posterior import Posterior
from .top import keep_best

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Score = Literal["mean", "lower", "ucb"]
SCORES: tuple[Score, ...] = get_args(Score)

# A block of scores is 8 MiB, whatever the matrix; the cut depends on nothing else, so that
# results do not depend on the number of threads.
BLOCK_ROWS, BLOCK_COLS = 256, 4096


@dataclass(frozen=True)
class Seen:
    """Columns observed in each row, as compressed rows.

    Attributes
    ----------
    indptr : ndarray of int64, shape (m + 1,)
    indices : ndarray of int32, shape (n_observed,)
        Ascending within a row.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    def of(self, rows: Index) -> Seen:
        """The same for a choice of rows."""
        parts = [self.indices[self.indptr[i] : self.indptr[i + 1]] for i in rows]
        counts = [len(part) for part in parts]
        indptr = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
        return Seen(indptr, np.concatenate([np.empty(0, np.int32), *parts]))

    def among(self, candidates: Index) -> Seen:
        """The same in a matrix that has only some of the columns, ascending."""
        at = np.searchsorted(candidates, self.indices)
        kept = at < len(candidates)
        kept[kept] = candidates[at[kept]] == self.indices[kept]
        indptr = np.concatenate(([0], np.cumsum(kept)))[self.indptr]
        return Seen(indptr, at[kept].astype(np.int32))

    def __or__(self, other: Seen) -> Seen:
        """What either has."""
        row = [np.repeat(np.arange(len(s.indptr) - 1), np.diff(s.indptr)) for s in (self, other)]
        indices = np.concatenate((self.indices, other.indices))
        order = np.lexsort((indices, np.concatenate(row)))
        rows, indices = np.concatenate(row)[order], indices[order]
        first = np.ones(len(rows), dtype=np.bool_)
        first[1:] = (rows[1:] != rows[:-1]) | (indices[1:] != indices[:-1])
        counts = np.bincount(rows[first], minlength=len(self.indptr) - 1)
        return Seen(np.concatenate(([0], np.cumsum(counts, dtype=np.int64))), indices[first])

    @classmethod
    def of_pairs(cls, rows: Index, cols: Index, m: int) -> Seen:
        """From paired positions in m rows, in any order."""
        order = np.lexsort((cols, rows))
        counts = np.bincount(rows, minlength=m)
        indptr = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
        empty = cls(np.zeros(m + 1, np.int64), np.empty(0, np.int32))
        return empty | cls(indptr, cols[order].astype(np.int32))

    def holds(self, rows: Index, cols: Index) -> NDArray[np.bool_]:
        """Which of some paired positions are among them, shape (n_pairs,)."""
        n = 1 + max(int(self.indices.max(initial=0)), int(cols.max(initial=0)))
        row = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        # Rows ascend, and columns within a row: so do the numbers of the entries.
        return np.isin(rows * n + cols, row * n + self.indices)

    def transposed(self, m: int) -> Seen:
        """Rows and columns in each other's place; m is the number of columns before."""
        ones = np.ones(len(self.indices))
        indptr, indices, _ = transpose(self.indptr, self.indices, ones, m)
        return Seen(indptr, indices)


@dataclass(frozen=True)
class Recommendations:
    """What to recommend, one entry a line, best first within each row.

    Attributes
    ----------
    rows, cols : ndarray of shape (n_found,)
        Labels where the model has them, else positions. A row with fewer than n candidates
        has fewer lines.
    rank : ndarray of int, shape (n_found,)
        From 1.
    mean, std : ndarray of shape (n_found,)
    score : ndarray of shape (n_found,)
        What the order follows, before the limits of a model with a value range.
    """

    rows: NDArray[Any]
    cols: NDArray[Any]
    rank: NDArray[np.int64]
    mean: Array
    std: Array
    score: Array

    def __len__(self) -> int:
        return len(self.rank)

    def to_frame(self, backend: Any = "pandas", names: tuple[str, str] = ("row", "column")) -> Any:
        """A long data frame.

        Parameters
        ----------
        backend : str
            Import name of the library: pandas, polars or pyarrow.
        names : (str, str)
            Titles of the columns with the labels.
        """
        columns = {
            names[0]: self.rows.tolist(),
            names[1]: self.cols.tolist(),
            "rank": self.rank,
            "mean": self.mean,
            "std": self.std,
            "score": self.score,
        }
        return nw.from_dict(columns, backend=backend).to_native()


def best_columns(
    posterior: Posterior,
    rows: Index,
    n: int,
    seen: Seen | None,
    score: Score,
    width: float,
    backend: NumbaBackend,
    candidates: Index | None = None,
    bonus: Array | None = None,
) -> tuple[Index, Array]:
    """The n best columns of each row.

    Parameters
    ----------
    posterior : Posterior
    rows : ndarray of shape (r,)
    n : int
    seen : Seen or None
        Columns to leave out, for these rows.
    score : {"mean", "lower", "ucb"}
        The mean, or the mean minus or plus `width` standard deviations of the entry.
    width : float
    backend : NumbaBackend
    candidates : ndarray of shape (n_candidates,), optional
        The columns to choose from, ascending; all by default.
    bonus : ndarray of shape (n_cols,), optional
        Added to the score of each column.

    Returns
    -------
    where : ndarray of shape (r, n)
        Columns, best first; −1 where a row has no more.
    best : ndarray of shape (r, n)
        Their scores; −inf where there are none.
    """
    chosen = np.arange(len(posterior.cols.factors.mean)) if candidates is None else candidates
    n = min(n, len(chosen))
    best, where = np.full((len(rows), n), -np.inf), np.full((len(rows), n), -1, dtype=np.intp)
    seen = seen or Seen(np.zeros(len(rows) + 1, np.int64), np.empty(0, np.int32))
    if candidates is not None:
        seen = seen.among(candidates)
    bounds = np.append(np.arange(0, len(rows), BLOCK_ROWS), len(rows))
    sign = {"mean": 0.0, "lower": -width, "ucb": width}[score]

    def scan(start: int, stop: int) -> None:
        at = rows[start:stop]
        block = posterior.mean_block(at, cols)
        if sign:
            block += sign * np.sqrt(posterior.variance_block(at, cols))
        if bonus is not None:
            block += bonus[cols]
        pointers = seen.indptr[start : stop + 1]
        keep_best(block, first, pointers, seen.indices, best[start:stop], where[start:stop])

    with threadpool_limits(1):
        for first in range(0, len(chosen), BLOCK_COLS):
            cols = chosen[first : first + BLOCK_COLS]
            backend.over_rows(scan, bounds)
    return np.where(where < 0, -1, chosen[where]), best
