"""Exposures of rows and columns: counts of a row that was watched twice as long are twice as large.

x_ij has the rate e_i f_j e^{c + y_ij} with e and f given. They stand in logarithms among the
likelihood's own parameters, where nothing updates them, so that models, files and chains carry
them along.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends import SparseRows
from .base import Array, Match, Noise, Own
from .linked import Linked, one

Index = NDArray[np.integer[Any]]

ROWS, COLS = "row_exposure", "col_exposure"
_TURNED = {ROWS: COLS, COLS: ROWS}
UNEXPOSED = (
    "the model was fitted with exposures, which new rows or columns have not been given: pass them "
    "to fold_in as row_exposure or col_exposure; an update adds no such rows or columns"
)


@dataclass(frozen=True)
class Exposed(Linked):
    """Base of counts.

    Attributes
    ----------
    exposures : mapping of str to ndarray
        Logarithms of those given, `ROWS` of shape (m,) and `COLS` of shape (n,); a side without
        any is not there. Only a fit starts from them: what was fitted has them among its own.
    """

    exposures: Own = field(default_factory=dict, compare=False, repr=False)

    def start(self, entries: SparseRows, n_cols: int) -> Noise:
        """Own parameters of entries that are all alike, for what each was exposed to."""
        if not self.exposures:
            return super().start(entries, n_cols)
        own = {**self.start_own(entries.values), **self.exposures}
        shift = self.shift(own, entries.owners, entries.indices)
        level = own["intercept"] - np.log(np.mean(np.exp(shift)))
        return Noise(one(), {**own, "intercept": np.asarray(level)})

    def shift(self, own: Own, rows: Index, cols: Index) -> Array:
        """ln e_i + ln f_j of paired positions, shape (n_pairs,); zero where none are given."""
        return _part(own, ROWS, rows) + _part(own, COLS, cols)

    def at_entries(self, own: Own, match: Match) -> Array | float:
        """c + ln e_i + ln f_j of the observed entries; a number without exposures."""
        if ROWS not in own and COLS not in own:
            return float(own["intercept"])
        entries = match.entries
        return float(own["intercept"]) + self.shift(own, entries.owners, entries.indices)

    def newcomers(self, noise: Noise, n: int) -> Noise:
        """New rows with the exposures that they were given."""
        if ROWS not in noise.own:
            return noise
        given = self.exposures.get(ROWS, np.zeros(0))
        if len(given) != n:
            raise ValueError(UNEXPOSED)
        return Noise(noise.tau, {**noise.own, ROWS: given})

    def joined(self, noise: Noise, n: int) -> Noise:
        """More rows would need exposures."""
        if ROWS in noise.own:
            raise ValueError(UNEXPOSED)
        return noise


def turned(own: Own) -> Own:
    """Own parameters where rows and columns have changed places."""
    return {_TURNED.get(name, name): part for name, part in own.items()}


def _part(own: Own, name: str, at: Index) -> Array:
    return own[name][at] if name in own else np.zeros(len(at))
