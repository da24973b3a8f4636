"""Entries to judge a model by: those it was not fitted on, and no others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..estimators import BMCG
from ..serving.anyone import known_places

# How many entries a message names.
NAMED = 3


class Entries(NamedTuple):
    """Entries that a model was not fitted on.

    Attributes
    ----------
    rows, cols : ndarray of positions or labels, shape (n,)
    values : ndarray of float64, shape (n,)
    """

    rows: NDArray[Any]
    cols: NDArray[Any]
    values: NDArray[np.float64]


def held_out(model: BMCG, given: Entries) -> tuple[Entries, tuple[str, ...]]:
    """Entries without those that the model was fitted on, and a sentence that names these.

    A model keeps which entries it was fitted on, though not their values.

    Parameters
    ----------
    model : BMCG
    given : Entries

    Returns
    -------
    Entries
    tuple of str
        Empty where nothing was left out.
    """
    i, j = known_places(model, given.rows, given.cols)
    known = (i >= 0) & (j >= 0)
    fitted = np.zeros(len(i), dtype=np.bool_)
    fitted[known] = model.seen_.holds(i[known], j[known])
    n = int(fitted.sum())
    if n == 0:
        return given, ()
    if n == len(fitted):
        raise ValueError(
            f"all {n:,} test entries are part of what the model was fitted on: how well it "
            "predicts can only be told from entries that were held out"
        )
    where = np.flatnonzero(fitted)[:NAMED]
    rows, cols = (np.asarray(part)[where].tolist() for part in given[:2])
    names = ", ".join(f"({row}, {col})" for row, col in zip(rows, cols, strict=True))
    more = ", ..." if n > NAMED else ""
    said = (
        f"{n:,} of the {len(fitted):,} test entries are part of what the model was fitted on, and "
        f"are left out here: {names}{more}."
    )
    return Entries(*(np.asarray(part)[~fitted] for part in given)), (said,)
