"""The rating sets as one file of arrays, for machines that have no data of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from bmcg import Observations, datasets

LOADERS = {
    "flixster": datasets.load_flixster,
    "douban": datasets.load_douban,
    "movielens-100k": datasets.load_monti_movielens,
    "movielens-1m": datasets.load_movielens_1m,
}


class Held(NamedTuple):
    """A set with what is held out of it.

    Attributes
    ----------
    data : Observations
    graphs : dict
        `row_graph` and `col_graph`, where there are any.
    rows, cols, values : ndarray
        The held-out entries.
    """

    data: Observations
    graphs: dict[str, sp.csr_array]
    rows: Any
    cols: Any
    values: Any


def write(path: Path) -> dict[str, Any]:
    """All sets into one file."""
    arrays: dict[str, Any] = {}
    for name, load in LOADERS.items():
        found = load()
        seen = found.observations
        parts = {
            "shape": np.array(seen.shape),
            "rows": seen.row_indices.astype(np.int32),
            "cols": seen.col_indices.astype(np.int32),
            "values": seen.values.astype(np.float32),
            "test_rows": found.test_rows.astype(np.int32),
            "test_cols": found.test_cols.astype(np.int32),
            "test_values": found.test_values.astype(np.float32),
        }
        for side in ("row", "col"):
            graph = getattr(found, f"{side}_graph")
            if graph is not None:
                coo = sp.coo_array(graph)
                ends = np.array((coo.row, coo.col), dtype=np.int32)
                parts |= {f"{side}_ends": ends, f"{side}_weights": coo.data.astype(np.float32)}
        arrays |= {f"{name}/{key}": array for key, array in parts.items()}
    np.savez_compressed(path, **arrays)
    return {"bytes": path.stat().st_size, "sets": list(LOADERS)}


def read(path: Path, name: str) -> Held:
    """One set out of that file."""
    with np.load(path) as file:
        part = {key.partition("/")[2]: file[key] for key in file if key.startswith(f"{name}/")}
    shape = int(part["shape"][0]), int(part["shape"][1])
    data = Observations.from_triples(part["rows"], part["cols"], part["values"], shape)
    graphs = {}
    for side, size in zip(("row", "col"), shape, strict=True):
        if f"{side}_ends" in part:
            given = part[f"{side}_weights"].astype(float), tuple(part[f"{side}_ends"])
            graphs[f"{side}_graph"] = sp.csr_array(given, shape=(size, size))
    return Held(data, graphs, part["test_rows"], part["test_cols"], part["test_values"])
