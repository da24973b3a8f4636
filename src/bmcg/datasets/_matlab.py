"""Strict readers for MATLAB files: version 7.3 (HDF5) through h5py, version 5 through SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from numpy.typing import NDArray

from ..graphs.adjacency import drop_loops
from ._files import DatasetFormatError
from .dataset import Floats


@dataclass(frozen=True, eq=False)
class Arrays:
    """Arrays of one file, in MATLAB's orientation.

    Attributes
    ----------
    path : Path
    values : dict of str to ndarray or csr_array
    """

    path: Path
    values: dict[str, Any]

    def dense(self, name: str, shape: tuple[int, int]) -> Floats:
        """A matrix of the file as an array of the given shape, or an error."""
        self._check_shape(name, shape)
        value = self.values[name]
        return np.asarray(value.toarray() if sp.issparse(value) else value, dtype=np.float64)

    def sparse(self, name: str, shape: tuple[int, int]) -> sp.csr_array:
        """A matrix of the file as a csr_array of the given shape, or an error."""
        self._check_shape(name, shape)
        return sp.csr_array(self.values[name], dtype=np.float64)

    def _check_shape(self, name: str, shape: tuple[int, int]) -> None:
        found = self.values[name].shape
        if found != shape:
            raise DatasetFormatError(f"{self.path}: {name} has shape {found}, expected {shape}")


def read_arrays(path: Path, names: list[str]) -> Arrays:
    """Arrays of a MATLAB file of version 7.3.

    Parameters
    ----------
    path : Path
    names : list of str
    """
    try:
        import h5py
    except ImportError:
        raise ImportError(
            f"{path} is a MATLAB 7.3 (HDF5) file and needs h5py: pip install 'bmcg[data]'"
        ) from None
    try:
        with h5py.File(path, "r") as file:
            _check_names(path, names, list(file))
            return Arrays(path, {name: _from_hdf5(file[name]) for name in names})
    except (OSError, KeyError, ValueError, RuntimeError) as error:
        if isinstance(error, DatasetFormatError):
            raise
        raise DatasetFormatError(
            f"{path} is not a complete MATLAB 7.3 (HDF5) file: {error}"
        ) from None


def read_arrays_v5(path: Path, names: list[str]) -> Arrays:
    """Arrays of a MATLAB file of version 5 to 7.

    Parameters
    ----------
    path : Path
    names : list of str
    """
    try:
        found = scipy.io.loadmat(path)
    except Exception as error:  # SciPy's reader fails in many ways on damaged files
        raise DatasetFormatError(f"{path} is not a complete MATLAB 5 file: {error}") from None
    _check_names(path, names, [name for name in found if not name.startswith("__")])
    return Arrays(path, {name: found[name] for name in names})


def mask(arrays: Arrays, name: str, shape: tuple[int, int], count: int) -> NDArray[np.bool_]:
    """An indicator matrix with a known number of ones.

    Parameters
    ----------
    arrays : Arrays
    name : str
    shape : (int, int)
    count : int

    Returns
    -------
    ndarray of bool, of the given shape
    """
    values = arrays.dense(name, shape)
    if not np.isin(values, (0.0, 1.0)).all():
        raise DatasetFormatError(f"{arrays.path}: {name} must hold zeros and ones only")
    chosen = values == 1.0
    if chosen.sum() != count:
        raise DatasetFormatError(
            f"{arrays.path}: {name} marks {chosen.sum()} entries, expected {count}"
        )
    return chosen


def adjacency(arrays: Arrays, name: str, n: int) -> tuple[sp.csr_array, int]:
    """A symmetric adjacency matrix without its self-loops, and how many there were.

    Parameters
    ----------
    arrays : Arrays
    name : str
    n : int

    Returns
    -------
    csr_array of shape (n, n)
    int
    """
    graph = arrays.sparse(name, (n, n))
    if not np.isfinite(graph.data).all() or (graph.data < 0.0).any():
        raise DatasetFormatError(f"{arrays.path}: {name} must hold finite weights of at least 0")
    if (graph != graph.T).nnz:
        raise DatasetFormatError(f"{arrays.path}: {name} is not symmetric")
    n_loops = int(np.count_nonzero(graph.diagonal()))
    drop_loops(graph)
    graph.sort_indices()
    return graph, n_loops


def _check_names(path: Path, names: list[str], found: list[str]) -> None:
    missing = [name for name in names if name not in found]
    if missing:
        raise DatasetFormatError(
            f"{path}: no {', '.join(missing)} in this file, found {', '.join(found) or 'nothing'}"
        )


def _from_hdf5(node: Any) -> Any:
    """HDF5 holds MATLAB's columns as rows; a sparse matrix is a group of its three arrays."""
    if hasattr(node, "keys"):
        indptr = node["jc"][:].astype(np.int64)
        n_rows = int(node.attrs["MATLAB_sparse"])
        parts = (node["data"][:], node["ir"][:].astype(np.int64), indptr)
        return sp.csc_array(parts, shape=(n_rows, len(indptr) - 1))
    return node[:].T
