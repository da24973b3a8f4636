"""Which columns are alike in what the model has learned, and lists that are not all of a kind.

Two columns are alike where the same rows are predicted to have much of both: the correlation over
the rows of their predicted entries, biases left out. Factors alone would not tell: their basis and
its scale are arbitrary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from ..posterior import Posterior
from .top import keep_best

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Similarities held at a time, 32 MiB.
BLOCK = 1 << 22
# Candidates for each place of a list that is to be varied.
POOL = 5


@dataclass(frozen=True)
class Similar:
    """Columns that are alike, one a line, most alike first.

    Attributes
    ----------
    cols, others : ndarray of shape (n_found,)
        Labels where the model has them, else positions.
    rank : ndarray of int, shape (n_found,)
        From 1.
    similarity : ndarray of shape (n_found,)
        Correlation over the rows of the predicted entries, from −1 to 1.
    """

    cols: NDArray[Any]
    others: NDArray[Any]
    rank: NDArray[np.int64]
    similarity: Array

    def __len__(self) -> int:
        return len(self.rank)

    def to_frame(self, backend: Any = "pandas", name: str = "column") -> Any:
        """A long data frame.

        Parameters
        ----------
        backend : str
            Import name of the library: pandas, polars or pyarrow.
        name : str
            Title of the labels.
        """
        columns = {
            name: self.cols.tolist(),
            "similar": self.others.tolist(),
            "rank": self.rank,
            "similarity": self.similarity,
        }
        return nw.from_dict(columns, backend=backend).to_native()


def directions(posterior: Posterior) -> Array:
    """Columns as vectors of length one whose products are their similarities, shape (n, k).

    A column that is predicted alike for all rows is like no other: its vector is zero.
    """
    k = len(posterior.lam.shape)
    U, V = posterior.rows.factors.mean[:, :k], posterior.cols.factors.mean[:, :k]
    spread = np.atleast_2d(np.cov(U, rowvar=False, ddof=0)) if len(U) > 1 else np.zeros((k, k))
    values, vectors = np.linalg.eigh(spread) if k else (np.empty(0), np.empty((0, 0)))
    if not k or values[-1] <= 0.0:
        raise ValueError(
            "the model has no components that tell rows apart: no columns are alike in it"
        )
    F = V @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    length = np.linalg.norm(F, axis=1)
    tiny = 1e-12 * length.max(initial=0.0)
    return np.where(length[:, None] > tiny, F / np.maximum(length, tiny or 1.0)[:, None], 0.0)


def most_similar(
    F: Array, cols: Index, n: int, candidates: Index | None = None
) -> tuple[Index, Array]:
    """The n columns most like each of some, itself left out, and their similarities, (c, n) each.

    Parameters
    ----------
    F : ndarray of shape (n_cols, k)
        From `directions`.
    cols : ndarray of shape (c,)
    n : int
    candidates : ndarray of shape (n_candidates,), optional
        The columns to choose from, ascending; all by default.
    """
    chosen = np.arange(len(F)) if candidates is None else candidates
    shape = len(cols), min(n, len(chosen))
    where, best = np.full(shape, -1, dtype=np.intp), np.full(shape, -np.inf)
    own = np.searchsorted(chosen, cols)
    there = chosen[np.minimum(own, len(chosen) - 1)] == cols
    skipped = np.concatenate(([0], np.cumsum(there)))
    own, among = own[there].astype(np.int32), np.ascontiguousarray(F[chosen].T)
    step = max(1, BLOCK // len(chosen))
    for start in range(0, len(cols), step):
        at = slice(start, start + step)
        pointers = skipped[start : start + step + 1]
        keep_best(F[cols[at]] @ among, 0, pointers, own, best[at], where[at])
    return np.where(where < 0, -1, chosen[where]), best


def varied(where: Index, scores: Array, n: int, F: Array, diversity: float) -> tuple[Index, Array]:
    """Lists of n from longer ones, each place by its score and by how unlike it is to the others.

    Maximal marginal relevance: (1 − d)·score − d·similarity to the most alike already chosen, with
    scores between zero and one within each list.

    Parameters
    ----------
    where, scores : ndarray of shape (r, p)
        Columns best first, −1 where a row has no more, and their scores.
    n : int
    F : ndarray of shape (n_cols, k)
        From `directions`.
    diversity : float
        d.
    """
    out = np.full((len(where), min(n, where.shape[1])), -1, dtype=np.intp)
    kept = np.full(out.shape, -np.inf)
    for row, (line, score) in enumerate(zip(where, scores, strict=True)):
        left = np.flatnonzero(line >= 0)
        if len(left) == 0:
            continue
        low, high = score[left].min(), score[left].max()
        worth = (1.0 - diversity) * (score[left] - low) / max(high - low, 1e-300)
        alike = np.full(len(left), -1.0)
        free = np.ones(len(left), dtype=np.bool_)
        for place in range(min(out.shape[1], len(left))):
            merit = worth - diversity * (alike if place else 0.0)
            at = int(np.argmax(np.where(free, merit, -np.inf)))
            free[at] = False
            out[row, place], kept[row, place] = line[left[at]], score[left[at]]
            alike = np.maximum(alike, F[line[left]] @ F[line[left[at]]])
    return out, kept
