"""BMCGImputer: the model as a scikit-learn transformer, missing values in, filled matrix out."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..backends import open_backend
from ..callbacks import CallbackSupport, with_callbacks
from ..checks import check_whole, is_auto, seed_of
from ..inference.families import Family
from ..linalg.engines import EngineName
from ..observations import Observations, View
from ..observations.frames import row_index
from ..observations.grouping import pointers
from ..observations.labels import Labels
from ..posterior import Posterior, simulated
from ..posterior.posterior import BATCH
from .bmcg import BMCG
from .scaling import ColumnScale, Scale, column_scale

Bool = NDArray[np.bool_]


class BMCGImputer(CallbackSupport, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill in missing values with `BMCG`, as a scikit-learn transformer.

    Observed entries are returned as they are. Missing ones get the posterior mean of the
    low-rank matrix: in `fit_transform` from the rows' own fitted factors, in `transform` from
    factors inferred for the rows given, with the learned columns held fixed. For the rows of
    the fit the two nearly agree, and more closely the better the fit has converged; a row
    graph, which `transform` does not use, widens the gap.

    Parameters
    ----------
    rank, posterior, ridge, max_sweeps, tol, engine, storage, bias, learn_graphs, selection, \
n_draws, likelihood, noise, local, value_range, random_state, n_jobs, device, verbose, checkpoint, \
resume
        As in `BMCG`.
    missing_values : number or NaN, default=NaN
        What marks a missing entry. None and the missing values of data frames count as NaN.
    scale : {"auto", True, False}, default="auto"
        Whether columns are brought to mean zero and deviation one for the fit, and back
        afterwards. The model has one noise level, which columns in different units cannot
        share; columns in one unit are better off as they are. "auto" asks the evidence: it
        makes a short fit of either. A `value_range` holds for all columns, so they share a
        unit and stay as they are.
    add_indicator : bool, default=False
        Append a column of zeros and ones for each column that had missing values in `fit`, as
        `sklearn.impute.MissingIndicator` makes them.
    col_graph : adjacency matrix, edge list, frame or networkx graph, optional
        Which columns are alike, by position or, for a frame, by name. The columns stay when
        new rows come, so this graph is part of the estimator; a graph of the rows belongs to
        the rows of one fit and is given to `fit`.

    Attributes
    ----------
    model_ : BMCG
        The fitted model, in the units of `scale_`.
    scale_ : ColumnScale
        What was taken from each column (`centre`), and what it was divided by (`size`).
    indicator_ : MissingIndicator or None
        Only with `add_indicator`.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only where the columns had names.

    Notes
    -----
    Every column is returned, also one without any observation in `fit` (what scikit-learn
    calls ``keep_empty_features=True``): it is filled from its graph or, without one, with what
    the rows have in common across columns. `transform` fills a row without observations with
    what the model expects of any row.

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
    scale_: ColumnScale
    indicator_: Any
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        rank: int = 100,
        posterior: Family | Literal["auto", "sampled", "variational"] = "auto",
        ridge: float | None = None,
        max_sweeps: int = 200,
        tol: float = 1e-5,
        *,
        engine: EngineName = "auto",
        storage: Literal["float64", "float32"] = "float64",
        bias: bool | str = "auto",
        learn_graphs: bool | str = "auto",
        selection: Any = True,
        n_draws: int = 100,
        likelihood: str = "gaussian",
        noise: str = "auto",
        local: Literal["auto", "rows", "cols", "both"] | None = None,
        value_range: Any = "auto",
        missing_values: float = np.nan,
        scale: Scale = "auto",
        add_indicator: bool = False,
        col_graph: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str = "auto",
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
        self.selection = selection
        self.n_draws = n_draws
        self.likelihood = likelihood
        self.noise = noise
        self.local = local
        self.value_range = value_range
        self.missing_values = missing_values
        self.scale = scale
        self.add_indicator = add_indicator
        self.col_graph = col_graph
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
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
    def fit_transform(
        self, X: Any, y: Any = None, row_graph: Any = None, return_std: bool = False
    ) -> Any:
        """Fit, and fill the same matrix from the rows' own factors.

        Parameters
        ----------
        X : array_like or data frame of shape (n_samples, n_features)
        y : ignored
        row_graph : optional
            As in `fit`.
        return_std : bool
            As in `transform`.

        Returns
        -------
        ndarray of shape (n_samples, n_features), or as `set_output` says
        """
        values, missing = self._fit(X, row_graph)
        std = np.zeros(values.shape) if return_std else None
        self._write(self.model_.fitted_, values, missing, std)
        filled = self._with_indicator(values, missing)
        return filled if std is None else (filled, std)

    def transform(self, X: Any, return_std: bool = False) -> Any:
        """Fill in the missing entries of any rows.

        Parameters
        ----------
        X : array_like or data frame of shape (n_samples, n_features)
        return_std : bool
            Also return the standard deviation of the value that would have been observed.

        Returns
        -------
        filled : ndarray of shape (n_samples, n_features), or as `set_output` says
            With `add_indicator`, the indicators are appended.
        std : ndarray of shape (n_samples, n_features), only with `return_std`
            Zero where the value was there.
        """
        check_is_fitted(self, "model_")
        values, missing = self._read(X, reset=False)
        std = np.zeros(values.shape) if return_std else None
        for part in self._parts(missing):
            filled, own = values[part], None if std is None else std[part]
            self._write(self._folded(filled, missing[part]), filled, missing[part], own)
            values[part] = filled
            if std is not None and own is not None:
                std[part] = own
        filled = self._with_indicator(values, missing)
        return filled if std is None else (filled, std)

    def sample(
        self,
        X: Any,
        n_draws: int = 5,
        random_state: Any = None,
        *,
        include_noise: bool = True,
    ) -> NDArray[np.float64]:
        """Several fillings of the same rows, drawn from the posterior: multiple imputation.

        Parameters
        ----------
        X : array_like or data frame of shape (n_samples, n_features)
        n_draws : int
        random_state : int, RandomState or None
        include_noise : bool
            True for values as they would have been observed; False for the low-rank matrix
            itself, which is smoother than data.

        Returns
        -------
        ndarray of shape (n_draws, n_samples, n_features)
            Values that were there are the same in every draw; those of one draw belong together.
        """
        check_is_fitted(self, "model_")
        check_whole("n_draws", n_draws)
        values, missing = self._read(X, reset=False)
        out = np.repeat(values[None].astype(np.float64), n_draws, axis=0)
        i, j = np.nonzero(missing)
        posterior = self._folded(values, missing)
        drawn = simulated(posterior, i, j, n_draws, seed_of(random_state), include_noise)
        out[:, i, j] = self.scale_.mean(drawn, j)
        return out

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns that come out, those of the indicators last."""
        names = super().get_feature_names_out(input_features)
        if self.indicator_ is None:
            return names
        return np.concatenate((names, self.indicator_.get_feature_names_out(names)))

    def _parts(self, missing: Bool) -> Iterator[NDArray[np.intp]]:
        """Rows with something missing, as many at a time as a batch may hold."""
        rows = np.flatnonzero(missing.any(axis=1))
        k = self.model_.rank_
        # Bounds the rows' k×k blocks, and the entries predicted, to what a batch may hold.
        step = max(1, 20 * BATCH // max(k * (k + 1) // 2, missing.shape[1]))
        for start in range(0, len(rows), step):
            yield rows[start : start + step]

    def _folded(self, values: NDArray[Any], missing: Bool) -> Posterior:
        """The posterior with these rows in the place of the fitted ones."""
        rows, cols = np.nonzero(~missing)
        seen = self.scale_.forward(values.astype(np.float64))[rows, cols]
        new = View(pointers(rows, len(values)), cols.astype(np.int32), seen)
        posterior = self.model_.fitted_
        with open_backend(self.n_jobs) as backend:
            factors = posterior.fold_in(new, backend)
        return posterior.with_rows(factors)

    def _write(
        self, posterior: Posterior, values: NDArray[Any], missing: Bool, std: Any = None
    ) -> None:
        """Write means of the missing entries into `values`, deviations into `std`, in place."""
        i, j = np.nonzero(missing)
        values[i, j] = self.scale_.mean(posterior.mean(i, j), j)
        if std is not None:
            std[i, j] = self.scale_.std(np.sqrt(posterior.variance(i, j)), j)

    def _with_indicator(self, values: NDArray[Any], missing: Bool) -> NDArray[Any]:
        if self.indicator_ is None:
            return values
        marks = self.indicator_.transform(np.where(missing, np.nan, 0.0))
        return np.hstack((values, marks.astype(values.dtype)))

    def _fit(self, X: Any, row_graph: Any) -> tuple[NDArray[Any], Bool]:
        values, missing = self._read(X, reset=True)
        if missing.all():
            raise ValueError("X: there are no observations, nothing can be learned")
        marked = np.where(missing, np.nan, values.astype(np.float64))
        self.scale_ = column_scale(marked, self._scale(), self.n_jobs)
        self.indicator_ = None
        if self.add_indicator:
            # Loaded where it is used: it brings scikit-learn's neighbours along.
            from sklearn.impute import MissingIndicator

            self.indicator_ = MissingIndicator(error_on_new=False).fit(marked)
        names = getattr(self, "feature_names_in_", None)
        observations = replace(
            Observations.from_any(np.ma.MaskedArray(self.scale_.forward(marked), missing)),
            row_labels=None if row_graph is None else row_index(X),
            col_labels=None if names is None else Labels(names, "column"),
        )
        own, shared = self.get_params(deep=False), BMCG._get_param_names()
        model = BMCG(**{name: own[name] for name in shared if name in own})
        self.model_ = model._fit_for(self, X, observations, row_graph, self.col_graph)
        return values, missing

    def _scale(self) -> Scale:
        """Whether to scale; one range for all columns says that they share a unit."""
        if self.likelihood not in ("gaussian", "student"):
            if self.scale is True:
                raise ValueError(
                    f"scale=True and likelihood={self.likelihood!r}: zeros and ones, levels and "
                    'counts stay as they are; pass scale="auto" or False'
                )
            return False
        if self.value_range is None or is_auto(self.value_range):
            return self.scale
        if self.scale is True:
            raise ValueError(
                f"scale=True and value_range={self.value_range!r}: a range holds for all columns, "
                'which then share a unit; pass scale="auto" or False, or no value_range'
            )
        return False

    def _read(self, X: Any, reset: bool) -> tuple[NDArray[Any], Bool]:
        """A copy of X, as float32 or float64, and where it is missing."""
        nan = self._missing_is_nan()
        if not nan and not isinstance(self.missing_values, numbers.Real):
            raise ValueError(
                f"missing_values={self.missing_values!r}: pass NaN or the number that marks a "
                "missing entry"
            )
        if hasattr(X, "columns") and np.shape(X)[1:] == (0,):
            raise ValueError(f"X: Found array with 0 feature(s) (shape={np.shape(X)})")
        try:
            values = validate_data(
                self,
                X,
                reset=reset,
                dtype=[np.float64, np.float32],
                ensure_all_finite="allow-nan" if nan else True,
                copy=True,
            )
        except nw.exceptions.DuplicateError as error:
            raise ValueError(f"X: columns must have distinct names; {error}") from None
        except (TypeError, ValueError) as error:
            if not any(words in str(error) for words in ("could not convert", "a real number")):
                raise
            # scikit-learn tells text (ValueError) from what is neither text nor a number.
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                f"X: {_text_column(X)}: encode such columns first, for example with "
                f"OrdinalEncoder or OneHotEncoder in a ColumnTransformer, or drop them ({error})"
            ) from None
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


def _text_column(X: Any) -> str:
    """Where there is text: the first such column and a value of it."""
    cells = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X, dtype=object)
    if cells.ndim != 2:
        return f"a {type(X).__name__} is no matrix of numbers"
    names = list(X.columns) if hasattr(X, "columns") else list(range(cells.shape[1]))
    for name, column in zip(names, cells.T, strict=True):
        for cell in column:
            try:
                float(cell if cell is not None else np.nan)
            except (TypeError, ValueError):
                return f"column {name!r} holds {cell!r}, which is no number"
    return "it holds text"
