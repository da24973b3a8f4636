"""NumPy archives of data sets: arrays by name and shape, packed masks, similarities as graphs."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..observations import Observations
from ._files import DatasetFormatError, Source, locate
from .dataset import Dataset, Features

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
DataDir = str | os.PathLike[str] | None
RESEARCH = "none stated; research use"


class Archive:
    """The arrays of one ``.npz`` file.

    Parameters
    ----------
    source : Source
    file : str
        Path below the data folder.
    data_dir : path, optional
    """

    def __init__(self, source: Source, file: str, data_dir: DataDir = None) -> None:
        (self.path,) = locate(source, (file,), data_dir)

    def __getitem__(self, name: str) -> NDArray[np.generic]:
        try:
            with np.load(self.path, allow_pickle=False) as stored:
                return np.asarray(stored[name])
        except KeyError:
            raise DatasetFormatError(f"{self.path}: lacks the array {name!r}") from None
        except (ValueError, OSError, zipfile.BadZipFile) as error:
            raise DatasetFormatError(f"{self.path}: {error}") from None

    def floats(self, name: str, ndim: int = 2) -> Array:
        """An array of numbers with so many axes."""
        found = self[name]
        if found.ndim != ndim or found.dtype.kind not in "biuf":
            raise DatasetFormatError(
                f"{self.path}: {name} has {found.ndim} axes of {found.dtype}, "
                f"expected {ndim} of numbers"
            )
        return found.astype(np.float64)

    def bits(self, name: str, shape: tuple[int, ...]) -> Bool:
        """A packed mask."""
        size = int(np.prod(shape))
        bits = np.unpackbits(self[name].astype(np.uint8))
        if not size <= len(bits) < size + 8:
            raise DatasetFormatError(f"{self.path}: {name} holds {len(bits)} bits, not {size}")
        return bits[:size].reshape(shape).astype(bool)


def field_archive(title: str, file: str, publisher: str, data_dir: DataDir) -> Archive:
    """An archive below ``field/`` of the data folder."""
    return Archive(Source(title, publisher), f"field/{file}", data_dir)


def similarity(path: Path, name: str, S: Array, size: int) -> sp.csr_array:
    """A similarity matrix as a graph, (S + Sᵀ)/2 without its diagonal; pairs stay as they are."""
    if S.shape != (size, size):
        raise DatasetFormatError(f"{path}: {name} has shape {S.shape}, expected {(size, size)}")
    if not np.isfinite(S).all() or S.min() < 0:
        raise DatasetFormatError(f"{path}: {name} must be finite and not negative")
    W = (S + S.T) / 2
    np.fill_diagonal(W, 0.0)
    return sp.csr_array(W)


def entries_dataset(
    name: str,
    rows: NDArray[np.generic],
    cols: NDArray[np.generic],
    values: Array,
    held: Bool,
    shape: tuple[int, int],
    *,
    graphs: tuple[sp.csr_array | None, sp.csr_array | None] = (None, None),
    features: tuple[Features | None, Features | None] = (None, None),
    provenance: str,
    licence: str,
) -> Dataset:
    """A data set of listed entries, some of them held out.

    Parameters
    ----------
    name : str
    rows, cols : ndarray of int, shape (n,)
    values : ndarray of shape (n,)
    held : ndarray of bool, shape (n,)
    shape : (int, int)
    graphs, features : pairs
        Of rows and columns.
    provenance, licence : str
    """
    i, j = rows.astype(np.int64), cols.astype(np.int64)
    return Dataset(
        name=name,
        observations=Observations.from_triples(i[~held], j[~held], values[~held], shape=shape),
        test_rows=i[held],
        test_cols=j[held],
        test_values=values[held],
        row_graph=graphs[0],
        col_graph=graphs[1],
        row_features=features[0],
        col_features=features[1],
        truth=None,
        provenance=provenance,
        licence=licence,
    )


def matrix_dataset(name: str, X: Array, seen: Bool, held: Bool, **more: object) -> Dataset:
    """A data set cut out of a matrix: `seen` entries are observed, `held` ones held out."""
    rows, cols = np.nonzero(seen | held)
    return entries_dataset(
        name,
        rows,
        cols,
        X[rows, cols],
        held[rows, cols],
        X.shape,
        **more,  # type: ignore[arg-type]
    )


def indicators(codes: NDArray[np.generic], prefix: str) -> Features:
    """A column of zeros and ones for each code that occurs."""
    levels, number = np.unique(codes, return_inverse=True)
    values = np.zeros((len(codes), len(levels)))
    values[np.arange(len(codes)), number] = 1.0
    return Features(values, tuple(f"{prefix}_{level}" for level in levels))
