"""Sparse matrices on disk, .npz and .mtx, from files that may be broken or made to break things.

SciPy trusts what it reads: positions outside a matrix lead out of memory, and its reader of
Matrix Market text ends the process.
"""

from __future__ import annotations

import bz2
import gzip
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..observations.checking import check_places

# Bytes that a file may unpack to, whatever its size.
LARGEST = 1 << 33
# Numbers of a line of coordinates, by the kind of the weights.
FIELDS = {"real": 3, "double": 3, "integer": 3, "unsigned-integer": 3, "pattern": 2}
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}


def read_npz(path: Path) -> Any:
    """A matrix that `scipy.sparse.save_npz` wrote."""
    with zipfile.ZipFile(path) as packed:
        need = sum(part.file_size for part in packed.infolist())
    if need > LARGEST:
        raise ValueError(f"it unpacks to {need / 2**30:.3g} GiB, more than {LARGEST >> 30} GiB")
    A = sp.load_npz(path)
    check_places(A, "what it holds")
    return sp.coo_array(A)


def read_market(path: Path) -> Any:
    """A matrix in Matrix Market text, compressed or not."""
    with OPENERS.get(path.suffix.lower(), open)(path, "rt", encoding="latin-1") as file:
        words = file.readline().lower().split()
        if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
            raise ValueError("it does not begin with %%MatrixMarket matrix")
        _, _, form, field, symmetry = words
        if field not in FIELDS or form not in ("coordinate", "array"):
            raise ValueError(f"weights of the kind {form} {field} cannot be used")
        line = "%"
        while line.startswith("%") or (line and not line.strip()):
            line = file.readline()
        sizes = [int(part) for part in line.split()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of no entries
            body = np.loadtxt(file, comments="%", ndmin=2)
    if len(sizes) != (3 if form == "coordinate" else 2) or min(sizes) < 0:
        raise ValueError(f"its line of sizes is {line.strip()[:60]!r}")
    symmetric = symmetry == "symmetric"
    if form == "array":
        i, j, x = _array(body, sizes, symmetric)
    else:
        i, j, x = _coordinates(body, sizes, field)
    if symmetric:
        off = i != j
        i, j, x = np.append(i, j[off]), np.append(j, i[off]), np.append(x, x[off])
    elif symmetry != "general":
        raise ValueError(f"a graph is symmetric or general, not {symmetry}")
    return sp.coo_array((x, (i, j)), shape=(sizes[0], sizes[1]))


def _coordinates(
    body: NDArray[np.float64], sizes: list[int], field: str
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Positions and values of a line each."""
    width = FIELDS[field]
    if (body.size and body.shape[1] != width) or len(body) != sizes[2]:
        raise ValueError(f"it has {len(body)} lines of {body.shape[1]}, not {sizes[2]} of {width}")
    ends = body.reshape(-1, width)[:, :2]
    if not ((ends >= 1) & (ends <= sizes[:2]) & (ends == np.floor(ends))).all():
        raise ValueError(f"positions must be whole numbers from 1 to {sizes[0]} and {sizes[1]}")
    i, j = ends.T.astype(np.intp) - 1
    return i, j, np.ones(len(i)) if width == 2 else body.reshape(-1, width)[:, 2]


def _array(
    body: NDArray[np.float64], sizes: list[int], symmetric: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Positions and values of every entry, column by column; of the lower triangle if symmetric."""
    m, n = sizes
    need = m * (m + 1) // 2 if symmetric else m * n
    if body.size != need or (symmetric and m != n):
        raise ValueError(f"it has {body.size} values, not those of {m} x {n}")
    # The upper triangle row by row is the lower one column by column.
    j, i = np.triu_indices(m) if symmetric else np.divmod(np.arange(need), max(m, 1))
    return i, j, body.ravel()
