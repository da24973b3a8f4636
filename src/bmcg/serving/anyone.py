"""A model that also answers for rows and columns it does not know."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..likelihoods.outcomes import assembled
from ..observations.labels import Labels, as_label_array
from ..posterior import Distribution
from .model import ServingModel

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Anyone:
    """A fitted model whose unknown rows and columns are what it expects of any.

    Everything but the predictions of pairs is the model's own.

    Parameters
    ----------
    model : ServingModel
    """

    def __init__(self, model: ServingModel) -> None:
        self.model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def predict(
        self, rows: Any, cols: Any, return_std: bool = False, *, include_noise: bool = True
    ) -> Any:
        """As `BMCG.predict`."""
        if not return_std:
            return self._each(
                rows,
                cols,
                lambda model, i, j: (model.predict(i, j, include_noise=include_noise),),
                1,
            )[0]
        return self._each(
            rows,
            cols,
            lambda model, i, j: model.predict(i, j, return_std=True, include_noise=include_noise),
            2,
        )

    def predict_interval(
        self, rows: Any, cols: Any, level: float = 0.9, *, include_noise: bool = True
    ) -> Any:
        """As `BMCG.predict_interval`."""
        return self._each(
            rows,
            cols,
            lambda model, i, j: model.predict_interval(i, j, level, include_noise=include_noise),
            2,
        )

    def predictive(self, rows: Any, cols: Any, *, include_noise: bool = True) -> Distribution:
        """As `BMCG.predictive`."""
        found: list[tuple[Distribution, Index]] = []
        for model, names, here in self._groups(rows, cols):
            found.append((model.predictive(*names, include_noise=include_noise), here))
        limits = self.model.fitted_.limits_at(known_places(self.model, rows, cols)[1])
        return assembled(found, limits)

    def _each(
        self, rows: Any, cols: Any, ask: Callable[[Any, Any, Any], tuple[Array, ...]], n_parts: int
    ) -> tuple[Array, ...]:
        """Ask the model, or one with any row, any column or both in the place of its own."""
        n = len(known_places(self.model, rows, cols)[0])
        out = tuple(np.empty(n) for _ in range(n_parts))
        for model, names, here in self._groups(rows, cols):
            for part, found in zip(out, ask(model, *names), strict=True):
                part[here] = found
        return out

    def _groups(self, rows: Any, cols: Any) -> Iterator[tuple[Any, list[Any], Index]]:
        """Models that know all of some pairs, what they call these, and which they are."""
        i, j = known_places(self.model, rows, cols)
        given = as_label_array(rows), as_label_array(cols)
        for strange_row in (False, True):
            for strange_col in (False, True):
                here = np.flatnonzero(((i < 0) == strange_row) & ((j < 0) == strange_col))
                if len(here) == 0:
                    continue
                model: Any = self.model
                names = [part[here] for part in given]
                if strange_row:
                    model = model.fold_in(row_edges=sp.csr_array((1, model.shape_[0])))
                    names[0] = np.zeros(len(here), dtype=np.intp)
                if strange_col:
                    edges = sp.csr_array((1, model.shape_[1]))
                    model = model.fold_in(col_edges=edges, side="cols")
                    names[1] = np.zeros(len(here), dtype=np.intp)
                yield model, names, here


def known_places(model: Any, rows: Any, cols: Any) -> tuple[Index, Index]:
    """Positions of pairs in a model, −1 for what it does not know, shape (n_pairs,) each."""
    return (
        _find(rows, model.row_labels_, model.shape_[0]),
        _find(cols, model.col_labels_, model.shape_[1]),
    )


def _find(names: Any, labels: Labels | None, n: int) -> Index:
    given = as_label_array(names)
    if labels is not None:
        return labels.find(given)
    if given.dtype.kind not in "iu":
        return np.full(len(given), -1, dtype=np.intp)
    return np.where((given >= 0) & (given < n), given, -1).astype(np.intp)
