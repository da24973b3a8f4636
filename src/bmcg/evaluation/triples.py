"""Any method as a regressor on a frame of triples, for scikit-learn's own model selection."""

from __future__ import annotations

from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from ..base import MatrixCompleter
from ..estimators import BMCG
from ..observations import Observations
from ..observations.frames import eager
from ..observations.labels import factorise
from ..serving.anyone import Anyone, known_places

Array = NDArray[np.float64]


class OnTriples(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """A method whose X is a frame with a row label and a column label a line, and y the values.

    scikit-learn cuts lines, not matrices: with this in between, `cross_val_score`,
    `GridSearchCV` and every scorer of regressors work on `BMCG` and all other methods.

    Parameters
    ----------
    model : estimator, optional
        `BMCG()` by default. Its parameters are ``model__rank`` and so on.
    row, col : str, optional
        Columns of X with the labels; by default its first two.

    Attributes
    ----------
    model_ : estimator
        The fitted one.

    Notes
    -----
    Folds are runs of lines unless they are shuffled: lines sorted by row would hold whole rows
    out. Labels that a fold has never seen are predicted as what the model expects of any row or
    column; of methods that cannot, as the mean of the values.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.model_selection import KFold, cross_val_score
    >>> from bmcg import BMCG
    >>> from bmcg.datasets import random_low_rank
    >>> from bmcg.evaluation import OnTriples
    >>> seen = random_low_rank(2, 0.8, shape=(30, 20)).observations
    >>> pairs = pd.DataFrame({"user": seen.row_indices, "item": seen.col_indices})
    >>> folds = KFold(3, shuffle=True, random_state=0)
    >>> score = cross_val_score(OnTriples(BMCG(random_state=0)), pairs, seen.values, cv=folds)
    >>> bool(score.mean() > 0.5)
    True
    """

    def __init__(
        self, model: MatrixCompleter | None = None, row: str | None = None, col: str | None = None
    ) -> None:
        self.model = model
        self.row = row
        self.col = col

    def fit(self, X: Any, y: Any, **known: Any) -> Self:
        """Fit the method on the lines.

        Parameters
        ----------
        X : data frame
            Labels, one entry a line.
        y : array_like of shape (n_lines,)
            The values.
        **known : row_graph, col_graph, row_features, col_features
            As the method's `fit` takes them, joined by label.
        """
        table, (row, col) = self._named(X)
        i, rows = factorise(table.get_column(row), None, "row", row)
        j, cols = factorise(table.get_column(col), None, "column", col)
        found = Observations.from_triples(i, j, y, row_labels=rows, col_labels=cols)
        model = BMCG() if self.model is None else clone(self.model)
        self.model_ = model.fit(found, **known)
        self.mean_ = float(found.values.mean())
        return self

    def predict(self, X: Any) -> Array:
        """Values at the lines of X, shape (n_lines,)."""
        check_is_fitted(self, "model_")
        table, names = self._named(X)
        rows, cols = (table.get_column(name).to_numpy() for name in names)
        if isinstance(self.model_, BMCG):
            return np.asarray(Anyone(self.model_).predict(rows, cols))
        i, j = known_places(self.model_, rows, cols)
        known, out = (i >= 0) & (j >= 0), np.full(len(rows), self.mean_)
        out[known] = self.model_._mean(i[known], j[known])
        return out

    def _named(self, X: Any) -> tuple[nw.DataFrame[Any], tuple[str, str]]:
        """The frame, and its columns with the labels."""
        table = eager(X, "X")
        names = table.columns
        found = [
            names[at] if given is None and at < len(names) else given
            for at, given in enumerate((self.row, self.col))
        ]
        for argument, name in zip(("row", "col"), found, strict=True):
            if name not in names:
                raise ValueError(
                    f"{argument}={name!r} is no column of X, which has {', '.join(names)}"
                )
        return table, (str(found[0]), str(found[1]))
