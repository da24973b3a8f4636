"""Standard deviations as a table, for files whose own format has no place for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
from numpy.typing import NDArray

from ..files.storage import write_atomically
from .matrix import Filled


def write_wide(
    path: Path, filled: Filled, rows: NDArray[Any] | None, cols: NDArray[Any] | None
) -> None:
    """Write standard deviations with a row a line; places that were observed are empty.

    Parameters
    ----------
    path : Path
        .csv, .tsv or .parquet.
    filled : Filled
    rows, cols : ndarray of shape (m,) and (n,), optional
        Labels; positions by default.
    """
    m, n = filled.shape
    stds = filled.matrix(np.full((m, n), np.nan), filled.std)
    titles = [str(name) for name in (range(n) if cols is None else cols.tolist())]
    names = [str(name) for name in (range(m) if rows is None else rows.tolist())]
    columns = [pa.array(names), *(pa.array(column, from_pandas=True) for column in stds.T)]
    table = pa.table(columns, names=["", *titles])
    delimiter = "," if path.suffix.lower() == ".csv" else "\t"

    def write(temporary: str) -> None:
        if path.suffix.lower() == ".parquet":
            parquet.write_table(table, temporary)
        else:
            csv.write_csv(table, temporary, csv.WriteOptions(delimiter=delimiter))

    write_atomically(path, write)
