"""The surface every method shares: fit, predict, complete, save, with labels and checks."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import memory
from .caller import user_level
from .files.storage import write_model
from .graphs.adjacency import as_adjacency
from .observations import Observations
from .observations.frames import like, wide_frame
from .observations.labels import Labels, as_label_array

Array = NDArray[np.float64]

# `complete` refuses to form a matrix larger than this unless told otherwise.
MEMORY_LIMIT = 4 * 2**30


@runtime_checkable
class Fitted(Protocol):
    """What a method learned: enough to predict any entry, without the training data."""

    def mean(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> Array:
        """Predicted entries at paired positions, shape (n_pairs,)."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays for a model file."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `to_arrays`."""


class MatrixCompleter(BaseEstimator):
    """Base of BMCG and of every method it is compared with.

    A method overrides `_fit` and, where it defines a predictive standard deviation,
    gives its fitted object a method ``variance(rows, cols, include_noise)``.
    """

    _uses_row_graph: ClassVar[bool] = True
    _uses_col_graph: ClassVar[bool] = True
    _fitted_type: ClassVar[type[Any]]

    fitted_: Any
    shape_: tuple[int, int]
    row_labels_: Labels | None
    col_labels_: Labels | None
    frame_backend_: str | None

    def fit(self, X: Any, row_graph: Any = None, col_graph: Any = None) -> Self:
        """Learn from the observed entries and the graphs.

        Parameters
        ----------
        X : Observations, ndarray with NaN, masked array, sparse matrix or wide data frame
            The matrix, shape (m, n). Stored entries of a sparse matrix are observed,
            stored zeros included.
        row_graph, col_graph : adjacency matrix, edge list, frame or networkx graph, optional
            Which rows, and which columns, are alike.

        Returns
        -------
        self
        """
        observations = Observations.from_any(X)
        self._check_parameters(observations)
        m, n = observations.shape
        A = self._adjacency(row_graph, m, observations.row_labels, "row_graph")
        B = self._adjacency(col_graph, n, observations.col_labels, "col_graph")
        fitted = self._fit(observations, A, B)
        # Nothing is set before the fit stands: old factors never get new labels.
        self._remember(observations)
        self.fitted_ = fitted
        return self

    def predict(
        self, rows: Any, cols: Any, return_std: bool = False, *, include_noise: bool = True
    ) -> Any:
        """Predicted entries at pairs of rows and columns.

        Parameters
        ----------
        rows, cols : array_like of positions or labels, shape (n_pairs,)
            Broadcast against each other. Labels where the data had them.
        return_std : bool
            Also return the standard deviation of a new observation.
        include_noise : bool
            False for the standard deviation of the entry itself; its mean is another only where
            the model has a range of values.

        Returns
        -------
        mean : ndarray of shape (n_pairs,), or a series like `rows` where that is one
            A pandas series keeps its index.
        std : likewise, only with `return_std`
        """
        i, j = self._pairs(rows, cols)
        mean = like(self._mean(i, j, include_noise), rows, cols)
        if not return_std:
            return mean
        return mean, like(np.sqrt(self._variance(i, j, include_noise)), rows, cols)

    def complete(self, *, memory_limit: int = MEMORY_LIMIT) -> Any:
        """The whole matrix, every entry predicted.

        Parameters
        ----------
        memory_limit : int
            Refuse to form a matrix of more bytes than this.

        Returns
        -------
        ndarray of shape (m, n), or a data frame with the labels where one was fitted
            Where the frame's library has no index, labels of rows are its first column.
        """
        check_is_fitted(self, "fitted_")
        m, n = self.shape_
        need = 8 * m * n
        if need > memory_limit:
            raise MemoryError(
                f"the complete {m} x {n} matrix needs {need / 2**30:.3g} GiB, over the limit of "
                f"{memory_limit / 2**30:.3g} GiB: predict the entries you need, "
                "or raise memory_limit"
            )
        memory.require(
            memory.matrix(m, n, self.frame_backend_ is not None),
            f"the complete {m} x {n} matrix",
            "predict the entries you need",
        )
        return self._framed(self._complete())

    def score(self, X: Any, y: None = None) -> float:
        """How much of the variance of entries the predictions explain: R², one at best.

        Parameters
        ----------
        X : Observations, or what `fit` takes
            Entries that the fit has not seen. Rows and columns are found by label where the
            model and X have labels, else by position.
        y : None
            Not used; scikit-learn passes it.

        Returns
        -------
        float
            1 − Σ(x − predicted)² / Σ(x − mean of x)².
        """
        check_is_fitted(self, "fitted_")
        i, j, x = self._entries_of(Observations.from_any(X))
        if x.min() == x.max():
            raise ValueError(
                f"X: its {len(x)} values are all {x[0]:g}, of which no share can be explained; "
                "use bmcg.evaluation"
            )
        left = x - self._mean(i, j)
        return 1.0 - float((left @ left) / ((x - x.mean()) @ (x - x.mean())))

    def _entries_of(self, found: Observations) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        """Where this model has the entries of other observations, and their values."""
        places = []
        for axis, (own, other) in enumerate(
            ((self.row_labels_, found.row_labels), (self.col_labels_, found.col_labels))
        ):
            at = (found.row_indices, found.col_indices)[axis].astype(np.intp)
            if own is not None and other is not None:
                names = other.values[at]
                places.append(own.positions(names, ("rows", "cols")[axis]))
                continue
            if found.shape[axis] != self.shape_[axis]:
                raise ValueError(
                    f"X is {found.shape[0]} x {found.shape[1]}, the model {self.shape_[0]} x "
                    f"{self.shape_[1]}: without labels, they must be of one size"
                )
            places.append(at)
        return places[0], places[1], found.values

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one safetensors file; `bmcg.load_model` reads it."""
        check_is_fitted(self, "fitted_")
        arrays, header = self._state()
        write_model(path, arrays, header)

    def _fit(
        self, observations: Observations, A: sp.csr_array | None, B: sp.csr_array | None
    ) -> Any:
        """Fit on checked input and return the fitted object."""
        raise NotImplementedError

    def _check_parameters(self, observations: Observations) -> None:
        """Raise before any work when a parameter makes no sense."""

    def _mean(self, i: NDArray[np.intp], j: NDArray[np.intp], include_noise: bool = True) -> Array:
        return self.fitted_.mean(i, j)

    def _variance(self, i: NDArray[np.intp], j: NDArray[np.intp], include_noise: bool) -> Array:
        if not hasattr(self.fitted_, "variance"):
            raise NotImplementedError(
                f"{type(self).__name__} defines no predictive standard deviation; "
                "use BMCG, VBMC, BPMF or BMCGPGAMP for one"
            )
        return self.fitted_.variance(i, j, include_noise)

    def _complete(self) -> Array:
        m, n = self.shape_
        out = np.empty((m, n))
        cols = np.arange(n)
        for i in range(m):
            out[i] = self._mean(np.full(n, i), cols)
        return out

    def _adjacency(
        self, graph: Any, n: int, labels: Labels | None, argument: str
    ) -> sp.csr_array | None:
        if graph is None:
            return None
        used = self._uses_row_graph if argument == "row_graph" else self._uses_col_graph
        if not used:
            warnings.warn(
                f"{type(self).__name__} cannot use a graph here: {argument} is not used",
                UserWarning,
                stacklevel=user_level(),
            )
            return None
        return as_adjacency(graph, n, labels, argument)

    def _remember(self, observations: Observations) -> None:
        self.shape_ = observations.shape
        self.row_labels_ = observations.row_labels
        self.col_labels_ = observations.col_labels
        self.frame_backend_ = observations.backend

    def _pairs(self, rows: Any, cols: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        check_is_fitted(self, "fitted_")
        i = locate(rows, self.row_labels_, self.shape_[0], "rows")
        j = locate(cols, self.col_labels_, self.shape_[1], "cols")
        try:
            i, j = np.broadcast_arrays(i, j)
        except ValueError:
            raise ValueError(
                f"rows and cols must pair up, got {len(i)} rows and {len(j)} cols"
            ) from None
        return i, j

    def _framed(self, matrix: Array) -> Any:
        if self.frame_backend_ is None or self.col_labels_ is None:
            return matrix
        return wide_frame(matrix, self.row_labels_, self.col_labels_, self.frame_backend_)

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays = dict(self.fitted_.to_arrays())
        for side in ("row", "col"):
            labels = getattr(self, f"{side}_labels_")
            if labels is not None:
                arrays[f"{side}_labels"] = labels.encode()
        header = {
            "method": type(self).__name__,
            "parameters": _plain(self.get_params(deep=False)),
            "shape": list(self.shape_),
            "frame_backend": self.frame_backend_,
        }
        return arrays, header

    @classmethod
    def _from_state(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> Self:
        model = cls(**header["parameters"])
        model.shape_ = (int(header["shape"][0]), int(header["shape"][1]))
        model.frame_backend_ = header["frame_backend"]
        for side, word in (("row", "row"), ("col", "column")):
            stored = arrays.pop(f"{side}_labels", None)
            labels = None if stored is None else Labels.decode(stored, word)
            if labels is not None and len(labels) != model.shape_[side == "col"]:
                raise ValueError(f"{len(labels)} {word} labels for a shape of {model.shape_}")
            setattr(model, f"{side}_labels_", labels)
        model.fitted_ = cls._fitted_type.from_arrays(arrays)
        return model


def locate(where: Any, labels: Labels | None, n: int, argument: str) -> NDArray[np.intp]:
    """Positions of labels or positions among n, checked; the argument's name is for messages."""
    given = np.atleast_1d(as_label_array(where))
    if given.ndim > 1:
        raise ValueError(f"{argument} must be one-dimensional, got shape {given.shape}")
    if given.size == 0:
        return np.empty(0, dtype=np.intp)
    if labels is not None:
        return labels.positions(given, argument)
    if given.dtype.kind not in "iu":
        raise KeyError(
            f"{argument}: the model was fitted without labels, pass whole numbers "
            f"from 0 to {n - 1}, not {given.dtype}"
        )
    outside = (given < 0) | (given >= n)
    if outside.any():
        raise KeyError(
            f"{argument}: {given[outside][0]} is outside the matrix, "
            f"positions run from 0 to {n - 1}"
        )
    return given.astype(np.intp)


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON can hold them; generators and paths are not part of a model."""
    out: dict[str, Any] = {}
    for name, value in parameters.items():
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, (str, int, float, bool, type(None), list, tuple, dict)):
            out[name] = value
    return out
