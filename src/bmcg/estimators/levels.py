"""What only values with levels have: probabilities of each, and sets of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..likelihoods.discrete import Levels
from ..likelihoods.predictive import check_level
from .fitting import FittingModel

Array = NDArray[np.float64]

# Entries of the fit that thresholds of sets are found on.
MOST_ENTRIES = 50_000


class LevelsModel(FittingModel):
    """Base of BMCG: what it says of zeros and ones, and of ordered levels."""

    def predict_proba(self, rows: Any, cols: Any) -> Array:
        """Probabilities of all levels, with `likelihood` "bernoulli" or "ordinal".

        Parameters
        ----------
        rows, cols : array_like of positions or labels, shape (n_pairs,)

        Returns
        -------
        ndarray of shape (n_pairs, n_levels)
            In the order of `levels_`.
        """
        return self._levels(*self._pairs(rows, cols)).probabilities

    def predict_set(self, rows: Any, cols: Any, level: float = 0.9) -> NDArray[np.bool_]:
        """Sets of levels that hold the one observed with a given probability, whichever it is.

        A level is in the set where it is likelier than in all but 1 − `level` of the entries that
        have it, as the model sees the entries that it was fitted on. Central intervals hold as
        much on the whole, but less of the rare levels and more of the frequent ones.

        Parameters
        ----------
        rows, cols : array_like of positions or labels, shape (n_pairs,)
        level : float

        Returns
        -------
        ndarray of bool, shape (n_pairs, n_levels)
            In the order of `levels_`.
        """
        check_level(level)
        table = self._levels(*self._pairs(rows, cols)).probabilities
        return table >= self._thresholds(level)

    @property
    def levels_(self) -> Array:
        """All values that there are, ascending, of a likelihood with levels; else empty."""
        check_is_fitted(self, "fitted_")
        found = self.fitted_.predictive(np.zeros(1, np.intp), np.zeros(1, np.intp))
        return found.levels if isinstance(found, Levels) else np.empty(0)

    def _thresholds(self, level: float) -> Array:
        """The least probability at which a level belongs to sets, shape (n_levels,)."""
        counts, cols = np.diff(self.seen_.indptr), self.seen_.indices
        rows = np.repeat(np.arange(len(counts)), counts)
        step = -(-len(cols) // MOST_ENTRIES)
        table = self._levels(rows[::step], cols[::step].astype(np.intp)).probabilities
        # The probability of a level is the weight of the entries that have it.
        ordered = -np.sort(-table, axis=0)
        held = np.cumsum(ordered, axis=0) / ordered.sum(axis=0)
        at = np.minimum((held < level).sum(axis=0), len(ordered) - 1)
        return ordered[at, np.arange(table.shape[1])]

    def _levels(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> Levels:
        found = self.fitted_.predictive(i, j)
        if not isinstance(found, Levels):
            raise ValueError(
                f"likelihood={self.fitted_.likelihood.name!r} has no levels: use predictive(rows, "
                'cols), or fit with likelihood="bernoulli" or "ordinal"'
            )
        return found
