"""Tables of numbers and categories as points between which distances mean something."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

# Robust standard scores beyond it are pulled in: one outlier must not stretch all distances.
SCORE_LIMIT = 5.0


def encode_table(frame: Any) -> tuple[sp.csr_array, NDArray[np.bool_]]:
    """Columns as standard scores and indicators, each with the same say in distances.

    Parameters
    ----------
    frame : data frame (pandas, polars, arrow, ...) or numeric array, shape (n_lines, n_columns)

    Returns
    -------
    features : csr_array of shape (n_lines, n_features)
        A score for each numeric column that is not constant, an indicator for each category;
        all zero at a missing value.
    known : ndarray of bool, shape (n_lines,)
        Lines with at least one value.
    """
    columns = _columns(frame)
    n = len(next(iter(columns.values()))[0])
    known = np.zeros(n, dtype=bool)
    blocks = []
    for name, (values, missing) in columns.items():
        known |= ~missing
        numbers = as_numbers(values, f"frame column {name!r}")
        blocks.append(_indicators(values, missing) if numbers is None else _scores(numbers))
    return sp.hstack(blocks, format="csr"), known


def as_numbers(values: NDArray[Any], argument: str) -> NDArray[np.float64] | None:
    """Numbers as they are, dates and durations in seconds, missing as NaN; None for the rest.

    Parameters
    ----------
    values : ndarray of shape (n,)
    argument : str
        What to call the values in a message.

    Returns
    -------
    ndarray of shape (n,) or None
    """
    if values.dtype.kind in "mM":
        missing = np.isnat(values)
        unit = "timedelta64[us]" if values.dtype.kind == "m" else "datetime64[us]"
        numbers = values.astype(unit).astype(np.int64) / 1e6
        numbers[missing] = np.nan
        return numbers
    if values.dtype.kind not in "uif":
        return None
    if np.isinf(values).any():
        at = int(np.flatnonzero(np.isinf(values))[0])
        raise ValueError(f"{argument} must be finite, but entry {at} is {values[at]}")
    return values.astype(np.float64)


def _columns(frame: Any) -> dict[str, tuple[NDArray[Any], NDArray[np.bool_]]]:
    """Values of each column and where they are missing."""
    if isinstance(frame, np.ndarray):
        if frame.ndim != 2 or 0 in frame.shape or frame.dtype.kind not in "buif":
            raise ValueError(
                f"frame is an array of shape {frame.shape} and type {frame.dtype}: pass a data "
                "frame, or a two-dimensional array of numbers with at least one line"
            )
        return {str(at): (column, np.isnan(column)) for at, column in enumerate(frame.T)}
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise TypeError(
            f"frame is a {type(frame).__name__}: pass a data frame or a numeric array"
        ) from None
    if 0 in table.shape:
        raise ValueError(f"frame has shape {table.shape}: there is nothing to build a graph from")
    return {name: _values(name, table.get_column(name)) for name in table.columns}


def _values(name: str, series: nw.Series[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    if series.dtype.is_nested():
        raise ValueError(
            f"frame column {name!r} holds {series.dtype}: split it into columns of single values"
        )
    missing = series.is_null().to_numpy()
    if series.dtype.is_numeric():
        values = series.to_numpy().astype(np.float64)
        missing = missing | np.isnan(values)
    else:
        values = series.to_numpy()
    return values, missing


def _scores(x: NDArray[np.float64]) -> sp.csr_array:
    """Robust standard scores, shape (n, 1), or (n, 0) where all known values are equal."""
    known = x[~np.isnan(x)]
    if len(known) == 0 or known.min() == known.max():
        return sp.csr_array((len(x), 0))
    low, centre, high = np.quantile(known, [0.25, 0.5, 0.75])
    # The interquartile range of a normal distribution is 1.349 standard deviations.
    spread = (high - low) / 1.349 or known.std()
    score = np.clip((x - centre) / spread, -SCORE_LIMIT, SCORE_LIMIT)
    return sp.csr_array(np.nan_to_num(score, nan=0.0)[:, None])


def _indicators(values: NDArray[Any], missing: NDArray[np.bool_]) -> sp.csr_array:
    """One column for each category, shape (n, n_categories)."""
    at = np.flatnonzero(~missing)
    names, code = np.unique(np.asarray([str(v) for v in values[at]]), return_inverse=True)
    return sp.csr_array((np.ones(len(at)), (at, code)), shape=(len(values), len(names)))
