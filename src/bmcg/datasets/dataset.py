"""What a loader or generator hands over: one frozen object, the same for every data set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..observations import Observations

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Features:
    """What is known of each row (or column) beside the matrix.

    Attributes
    ----------
    values : ndarray of float64, shape (n_rows, n_features)
        In natural units; categories as one column of zeros and ones for each level.
    names : tuple of str, length n_features
    """

    values: Floats
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.names):
            raise ValueError(
                f"values of shape {self.values.shape} do not match {len(self.names)} names"
            )

    def __repr__(self) -> str:
        return f"Features({self.values.shape[0]} x {self.values.shape[1]})"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Observations, held-out entries and side information of one data set.

    Attributes
    ----------
    name : str
    observations : Observations
        The entries a method may see, on an m×n matrix.
    test_rows, test_cols : ndarray of int64, shape (n_test,)
        Positions of the held-out entries.
    test_values : ndarray of float64, shape (n_test,)
        Their values, free of noise where the truth is known.
    row_graph, col_graph : csr_array of shape (m, m) and (n, n), or None
        Symmetric adjacency without self-loops.
    row_features, col_features : Features or None
        With m and n rows.
    truth : ndarray of float64, shape (m, n), or None
        The complete matrix without noise, where it is known.
    provenance : str
        Where the entries come from, how they were split, and what each graph has seen.
    licence : str
    """

    name: str
    observations: Observations
    test_rows: NDArray[np.int64]
    test_cols: NDArray[np.int64]
    test_values: Floats
    row_graph: sp.csr_array | None
    col_graph: sp.csr_array | None
    row_features: Features | None
    col_features: Features | None
    truth: Floats | None
    provenance: str
    licence: str

    def __post_init__(self) -> None:
        shape = self.observations.shape
        if not len(self.test_rows) == len(self.test_cols) == len(self.test_values):
            raise ValueError("test_rows, test_cols and test_values must have the same length")
        sides = (
            ("row", shape[0], self.row_graph, self.row_features),
            ("col", shape[1], self.col_graph, self.col_features),
        )
        for side, size, graph, features in sides:
            if graph is not None and graph.shape != (size, size):
                raise ValueError(f"{side}_graph has shape {graph.shape}, expected {(size, size)}")
            if features is not None and len(features.values) != size:
                raise ValueError(f"{side}_features has {len(features.values)} rows, not {size}")
        if self.truth is not None and self.truth.shape != shape:
            raise ValueError(f"truth has shape {self.truth.shape}, expected {shape}")

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, {self.observations!r}, {len(self.test_values)} held out)"


def complete_dataset(
    name: str,
    truth: Floats,
    mask: NDArray[np.bool_],
    *,
    measured: Floats | None = None,
    row_graph: sp.csr_array | None = None,
    col_graph: sp.csr_array | None = None,
    provenance: str,
    licence: str,
) -> Dataset:
    """A data set cut out of a complete matrix: all that is not observed is held out.

    Parameters
    ----------
    name : str
    truth : ndarray of float64, shape (m, n)
    mask : ndarray of bool, shape (m, n)
        True where an entry is observed.
    measured : ndarray of float64, shape (m, n), optional
        The values that are observed where they differ from the truth (noise).
    row_graph, col_graph : csr_array, optional
    provenance, licence : str
    """
    if not mask.any():
        raise ValueError("the mask leaves no entry observed")
    rows, cols = np.nonzero(mask)
    test_rows, test_cols = np.nonzero(~mask)
    values = (truth if measured is None else measured)[rows, cols]
    return Dataset(
        name=name,
        observations=Observations.from_triples(rows, cols, values, shape=truth.shape),
        test_rows=test_rows.astype(np.int64),
        test_cols=test_cols.astype(np.int64),
        test_values=truth[test_rows, test_cols],
        row_graph=row_graph,
        col_graph=col_graph,
        row_features=None,
        col_features=None,
        truth=truth,
        provenance=provenance,
        licence=licence,
    )


def random_mask(
    shape: tuple[int, int], observed: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """A mask with exactly ``round(observed * m * n)`` entries, uniformly at random.

    Parameters
    ----------
    shape : (int, int)
    observed : float
        Share of observed entries, between 0 and 1, both excluded.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of bool, shape (m, n)
    """
    if not 0.0 < observed < 1.0:
        raise ValueError(f"observed={observed!r}: give a share between 0 and 1, such as 0.2")
    size = shape[0] * shape[1]
    mask = np.zeros(size, dtype=bool)
    mask[rng.permutation(size)[: round(observed * size)]] = True
    return mask.reshape(shape)


def add_noise(truth: Floats, snr_db: float | None, rng: np.random.Generator) -> Floats:
    """The matrix with i.i.d. Gaussian noise at a signal-to-noise ratio.

    The noise variance is var(vec X) / 10^(snr_db / 10), as in Section IV-A of the paper.

    Parameters
    ----------
    truth : ndarray of float64, shape (m, n)
    snr_db : float or None
        Decibels; None adds nothing.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of float64, shape (m, n)
    """
    if snr_db is None:
        return truth
    if not np.isfinite(snr_db):
        raise ValueError(f"snr_db={snr_db!r}: give decibels, or None for no noise")
    std = np.sqrt(truth.var() / 10.0 ** (snr_db / 10.0))
    return truth + std * rng.standard_normal(truth.shape)
