"""What is known of rows or columns as the lines of a linear map, coded alike for newcomers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..graphs.table import TableCode
from ..observations import View
from ..observations.frames import eager, is_frame, row_index
from ..observations.joining import by_position, join_table
from ..observations.labels import Labels, as_label_array


@dataclass(frozen=True)
class FeatureCode:
    """How what was given of a side became its features F.

    Attributes
    ----------
    kind : {"table", "matrix", "pattern"}
        A table of columns to be coded, a sparse matrix taken as it is, or the observation
        pattern.
    length : float
        Root mean square length of the fitted lines, which features are divided by: one β then
        suits any units.
    n_columns : int
        Of a sparse matrix.
    table : TableCode or None
    """

    kind: Literal["table", "matrix", "pattern"]
    length: float = 1.0
    n_columns: int = 0
    table: TableCode | None = None

    def encode(self, lines: Any, argument: str) -> sp.csr_array:
        """Features of lines in order, shape (n, p)."""
        if self.table is not None:
            if sp.issparse(lines):
                raise ValueError(f"{argument} is a sparse matrix, but the fit had a table")
            F, _ = self.table.encode(lines)
        elif not sp.issparse(lines) or lines.shape[1] != self.n_columns:
            raise ValueError(
                f"{argument}: pass a sparse matrix with {self.n_columns} columns, as the fit had"
            )
        else:
            F = sp.csr_array(lines, dtype=np.float64)
        if not np.isfinite(F.data).all():
            raise ValueError(f"{argument} must be finite; mark missing values in a data frame")
        return sp.csr_array(F / self.length)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for a model file."""
        table = None if self.table is None else self.table.to_json()
        return {**vars(self), "table": table}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> FeatureCode:
        """The inverse of `to_json`."""
        table = stored["table"]
        return cls(**{**stored, "table": None if table is None else TableCode.from_json(table)})


def learn_code(lines: Any, argument: str) -> tuple[FeatureCode, sp.csr_array]:
    """The code of features, and the features themselves, shape (n, p).

    Parameters
    ----------
    lines : data frame, array or sparse matrix
        One line for each node, in their order.
    argument : str
        For messages.
    """
    if sp.issparse(lines):
        raw = FeatureCode("matrix", n_columns=lines.shape[1])
    else:
        raw = FeatureCode("table", table=TableCode.learn(lines))
    F = raw.encode(lines, argument)
    length = float(np.sqrt((F.data**2).sum() / max(F.shape[0], 1))) or 1.0
    return FeatureCode(raw.kind, length, raw.n_columns, raw.table), sp.csr_array(F / length)


def in_order(features: Any, labels: Labels | None, n: int, argument: str) -> tuple[Any, str]:
    """Features with one line for each of n nodes, in their order, and how they were matched."""
    key = None
    if isinstance(features, tuple) and len(features) == 2 and is_frame(features[0]):
        features, key = features
    if is_frame(features):
        return join_table(features, labels, n, argument, key)
    lines = features if sp.issparse(features) else np.asarray(features)
    if len(lines.shape) != 2 or 0 in lines.shape:
        raise ValueError(f"{argument} has shape {lines.shape}: pass one line of numbers a node")
    return lines, by_position(lines.shape[0], n, argument)


def named_by_table(features: Any, own: Labels | None) -> tuple[Labels | None, int]:
    """Who a table speaks of, where nothing else says it: labels or None, and how many.

    Parameters
    ----------
    features : as `in_order` takes them
    own : Labels or None
        Of the fitted nodes; a column with their title holds labels.
    """
    key = None
    if isinstance(features, tuple) and len(features) == 2 and is_frame(features[0]):
        features, key = features
    if not is_frame(features):
        return None, features.shape[0] if hasattr(features, "shape") else len(features)
    frame = eager(features, "features")
    if key is None and own is not None and own.name in frame.columns:
        key = own.name
    if key is None:
        return row_index(features), len(frame)
    side = "row" if own is None else own.side
    return Labels(as_label_array(frame.get_column(key)), side, key), len(frame)


def pattern_features(view: View, p: int) -> sp.csr_array:
    """Which of p entries each node has, every line of unit length: implicit feedback, (n, p)."""
    counts: NDArray[np.int64] = np.diff(view.indptr)
    data = np.repeat(1.0 / np.sqrt(np.maximum(counts, 1)), counts)
    return sp.csr_array((data, view.indices, view.indptr), shape=(len(counts), p))
