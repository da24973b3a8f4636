"""The best few entries of long rows, kept up to date while the row comes in pieces."""

from __future__ import annotations

import numpy as np

from ..kernels import exact


@exact
def keep_best(scores, first, indptr, indices, best, where):  # type: ignore[no-untyped-def]
    """Merge a piece of some rows into the best entries found so far, in place.

    A later entry must beat an earlier one to take its place: ties go to the left, whatever
    the pieces are.

    Parameters
    ----------
    scores : ndarray of shape (r, c)
        Columns ``first`` to ``first + c`` of r rows; NaN never wins.
    first : int
    indptr, indices : ndarray of shape (r + 1,) and (n_skipped,)
        Columns to leave out of each row, ascending.
    best, where : ndarray of shape (r, n)
        Scores in falling order, from −inf, and their columns, from −1.
    """
    n, width = best.shape[1], scores.shape[1]
    for i in range(scores.shape[0]):
        skip = indptr[i] + np.searchsorted(indices[indptr[i] : indptr[i + 1]], first)
        for j in range(width):
            if skip < indptr[i + 1] and indices[skip] == first + j:
                skip += 1
                continue
            score = scores[i, j]
            if not score > best[i, n - 1]:
                continue
            at = n - 1
            while at > 0 and score > best[i, at - 1]:
                best[i, at] = best[i, at - 1]
                where[i, at] = where[i, at - 1]
                at -= 1
            best[i, at] = score
            where[i, at] = first + j
