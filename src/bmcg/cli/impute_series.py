"""Tables with times: which column holds them, and how their series are filled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.scaling import Scale
from ..imputing.columnar import ParquetSource
from ..imputing.matrix import Filled
from ..imputing.series import Blend, fill_series
from ..imputing.sources import Source
from ..imputing.tables import TextSource
from .impute_check import Alike, Files, Reading
from .outcome import UserError
from .times import parse_times

# A part of the cells of a column, which tells most columns that hold no times.
FIRST = 20


def column_of_times(source: Source, files: Files, reading: Reading, alike: Alike) -> str | None:
    """The first column of a table, where it holds dates, each once, and rows have no other graph.

    None where rows are named or tied otherwise.
    """
    tied = reading.time, reading.row, files.row_graph, alike.row_chain or None
    if any(given is not None for given in tied) or reading.time_format is not None:
        return None
    if isinstance(source, TextSource):
        name = source.table.names[0]
        if name in reading.skip or 0 in source.columns:
            return None
        texts = source.table.texts(0)
    elif isinstance(source, ParquetSource):
        name = source.table.column_names[0]
        if name in reading.skip or 0 in source.columns or source.row_names is not None:
            return None
        texts = [str(value) for value in source.table.column(0).to_pylist()]
    else:
        return None
    return name if _are_dates(texts[:FIRST], name) and _are_dates(texts, name) else None


def _are_dates(texts: list[str], name: str) -> bool:
    try:
        found = parse_times(np.array(texts, dtype=object), name)
    except UserError:
        return False
    return found.dtype.kind == "M" and len(np.unique(found)) == len(found) > 1


def is_series(files: Files, reading: Reading, parameters: dict[str, Any]) -> bool:
    """Whether a table is filled in several ways: it has times, and nothing asks for one model."""
    asks = [
        option
        for option, given in (
            ("--save-model", files.model is not None),
            ("--checkpoint", files.checkpoint is not None),
            ("--posterior", parameters["posterior"] != "auto"),
            ("--local", "local" in parameters),
            ("--device", parameters["device"] not in ("auto", "cpu")),
        )
        if given
    ]
    if reading.days is True and (asks or reading.time is None):
        what = f"{asks[0]} is for one model of the table" if asks else "pass --time NAME"
        raise UserError(f"--days yes lays the days of a table with times side by side: {what}")
    return reading.time is not None and not asks


def fill_with_times(
    source: Source,
    values: NDArray[np.float64],
    col_graph: Any,
    reading: Reading,
    scale: Scale,
    parameters: dict[str, Any],
) -> tuple[Filled, Blend] | None:
    """Fill the series of a table; None where there is too little to weigh ways by."""
    assert source.row_names is not None
    assert reading.time is not None
    times = parse_times(source.row_names, reading.time, reading.time_format)
    usual = {
        name: value
        for name, value in parameters.items()
        if name not in ("posterior", "checkpoint", "resume", "device")
    }
    return fill_series(values, times, col_graph, scale=scale, fold=reading.days, **usual)
