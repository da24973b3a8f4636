"""BMCGImputer: the model as a scikit-learn transformer, missing values in, filled matrix out."""

from __future__ import annotations

import numbers
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..callbacks import CallbackSupport, with_callbacks
from ..inference.families import Family
from ..kernels.grouping import pointers
from ..kernels.threads import workers
from ..linalg.engines import EngineName
from ..observations import Observations, View
from ..observations.frames import row_index
from ..observations.labels import Labels
from ..posterior.posterior import BATCH
from .bmcg import BMCG

Bool = NDArray[np.bool_]


class BMCGImputer(CallbackSupport, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill in missing values with `BMCG`, as a scikit-learn transformer.

    Observed entries are returned as they are. Missing ones get the posterior mean of the
    low-rank matrix: in `fit_transform` from the rows' own fitted factors, in `transform` from
    factors inferred for the rows given, with the learned columns held fixed. For the rows of
    the fit the two nearly agree, and more closely the better the fit has converged; a row
    graph, which `transform` does not use, widens the gap.

    Columns of very different size share one noise level: put a scaler that passes NaN
    through, such as `StandardScaler`, in front.

    Parameters
    ----------
    rank, posterior, ridge, max_sweeps, tol, engine, storage, bias, learn_graphs, value_range, \
random_state, n_jobs, verbose, checkpoint, resume
        As in `BMCG`.
    missing_values : number or NaN, default=NaN
        What marks a missing entry. None and the missing values of data frames count as NaN.
    col_graph : adjacency matrix, edge list, frame or networkx graph, optional
        Which columns are alike, by position or, for a frame, by name. The columns stay when
        new rows come, so this graph is part of the estimator; a graph of the rows belongs to
        the rows of one fit and is given to `fit`.

    Attributes
    ----------
    model_ : BMCG
        The fitted model.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only where the columns had names.

    Notes
    -----
    Every column is returned, also one without any observation in `fit` (what scikit-learn
    calls ``keep_empty_features=True``): it is filled from its graph or, without one, with the
    prior mean, zero. A row without observations is filled with zeros by `transform`.

    Sparse matrices are refused: to scikit-learn an entry that is not stored is a zero, to a
    completion it is missing. `BMCG` takes sparse matrices and completes them.

    Examples
    --------
    >>> import numpy as np
    >>> from bmcg import BMCGImputer
    >>> X = np.outer(np.arange(1.0, 9.0), [1.0, 2.0, 3.0])
    >>> X[2, 1] = X[5, 0] = np.nan
    >>> BMCGImputer(random_state=0).fit_transform(X).shape
    (8, 3)
    """

    model_: BMCG
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        rank: int = 100,
        posterior: Family | Literal["auto"] = "auto",
        ridge: float = 1e-6,
        max_sweeps: int = 200,
        tol: float = 1e-5,
        *,
        engine: EngineName = "auto",
        storage: Literal["float64", "float32"] = "float64",
        bias: bool | str = "auto",
        learn_graphs: bool | str = "auto",
        value_range: Any = None,
        missing_values: float = np.nan,
        col_graph: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        checkpoint: Any = None,
        resume: bool = False,
    ) -> None:
        self.rank = rank
        self.posterior = posterior
        self.ridge = ridge
        self.max_sweeps = max_sweeps
        self.tol = tol
        self.engine = engine
        self.storage = storage
        self.bias = bias
        self.learn_graphs = learn_graphs
        self.value_range = value_range
        self.missing_values = missing_values
        self.col_graph = col_graph
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.resume = resume

    @with_callbacks
    def fit(self, X: Any, y: Any = None, row_graph: Any = None) -> Self:
        """Learn columns, noise and rank from the observed entries.

        Parameters
        ----------
        X : array_like or data frame of shape (n_samples, n_features)
        y : ignored
        row_graph : adjacency matrix, edge list, frame or networkx graph, optional
            Which of these rows are alike, by position or by the index of a pandas frame.

        Returns
        -------
        self
        """
        self._fit(X, row_graph)
        return self

    @with_callbacks
    def fit_transform(self, X: Any, y: Any = None, row_graph: Any = None) -> Any:
        """Fit, and fill the same matrix from the rows' own factors.

        Parameters
        ----------
        X : array_like or data frame of shape (n_samples, n_features)
        y : ignored
        row_graph : optional
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_features), or as `set_output` says
        """
        values, missing = self._fit(X, row_graph)
        i, j = np.nonzero(missing)
        values[i, j] = self.model_.fitted_.mean(i, j)
        return values

    def transform(self, X: Any) -> Any:
        """Fill in the missing entries of any rows.

        Parameters
        ----------
        X : array_like or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features), or as `set_output` says
        """
        check_is_fitted(self, "model_")
        values, missing = self._read(X, reset=False)
        rows = np.flatnonzero(missing.any(axis=1))
        k = self.model_.rank_
        # Bounds the rows' k×k blocks, and the entries predicted, to what a batch may hold.
        step = max(1, 20 * BATCH // max(k * (k + 1) // 2, values.shape[1]))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            filled = values[part]
            self._fill(filled, missing[part])
            values[part] = filled
        return values

    def _fill(self, values: NDArray[Any], missing: Bool) -> None:
        """Infer the rows' factors and write the missing entries, in place."""
        rows, cols = np.nonzero(~missing)
        seen = values[rows, cols].astype(np.float64)
        new = View(pointers(rows, len(values)), cols.astype(np.int32), seen)
        posterior = self.model_.fitted_
        with workers(self.n_jobs) as pool:
            factors = posterior.fold_in(new, pool)
        i, j = np.nonzero(missing)
        values[i, j] = posterior.with_rows(factors).mean(i, j)

    def _fit(self, X: Any, row_graph: Any) -> tuple[NDArray[Any], Bool]:
        values, missing = self._read(X, reset=True)
        if missing.all():
            raise ValueError("X: there are no observations, nothing can be learned")
        names = getattr(self, "feature_names_in_", None)
        observations = replace(
            Observations.from_any(np.ma.MaskedArray(values, missing)),
            row_labels=None if row_graph is None else row_index(X),
            col_labels=None if names is None else Labels(names, "column"),
        )
        own, shared = self.get_params(deep=False), BMCG._get_param_names()
        model = BMCG(**{name: own[name] for name in shared if name in own})
        self.model_ = model._fit_for(self, X, observations, row_graph, self.col_graph)
        return values, missing

    def _read(self, X: Any, reset: bool) -> tuple[NDArray[Any], Bool]:
        """A copy of X, as float32 or float64, and where it is missing."""
        nan = self._missing_is_nan()
        if not nan and not isinstance(self.missing_values, numbers.Real):
            raise ValueError(
                f"missing_values={self.missing_values!r}: pass NaN or the number that marks a "
                "missing entry"
            )
        values = validate_data(
            self,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if nan else True,
            copy=True,
        )
        # The mark is compared in the precision of the data.
        return values, np.isnan(values) if nan else values == values.dtype.type(self.missing_values)

    def _missing_is_nan(self) -> bool:
        value = self.missing_values
        return isinstance(value, numbers.Real) and bool(np.isnan(float(value)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._missing_is_nan()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
