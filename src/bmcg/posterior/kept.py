"""Predictions from kept draws of a chain: averages over them, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inference.draws import Draws

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# What a file keeps of a chain.
DRAWS = ("rows", "cols", "tau")


def kept_means(draws: Draws, rows: Index, cols: Index) -> Array:
    """Means of u·v for all pairs of some rows and some columns, shape (n_rows, n_cols).

    All draws side by side are one product.
    """
    U, V = (
        np.ascontiguousarray(X[:, places].transpose(1, 0, 2), np.float64).reshape(len(places), -1)
        for X, places in ((draws.rows, rows), (draws.cols, cols))
    )
    found: Array = U @ V.T / len(draws)
    return found


def kept_variances(draws: Draws, rows: Index, cols: Index) -> Array:
    """Variances of u·v for all pairs of some rows and some columns, shape (n_rows, n_cols)."""
    total, squares = (np.zeros((len(rows), len(cols))) for _ in range(2))
    for U, V in zip(draws.rows[:, rows], draws.cols[:, cols], strict=True):
        product = U.astype(np.float64) @ V.T.astype(np.float64)
        total += product
        squares += product**2
    s = len(draws)
    return np.maximum(squares - total**2 / s, 0.0) / max(s - draws.ddof, 1)


def chosen(draws: Draws, n_draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Which draws stand for so many: each as often as any other, in random order."""
    rounds = -(-n_draws // len(draws))
    return np.concatenate([rng.permutation(len(draws)) for _ in range(rounds)])[:n_draws]


def read_draws(arrays: Mapping[str, NDArray[Any]]) -> Draws | None:
    """The draws of a model file, where it has any."""
    if "draws_tau" not in arrays:
        return None
    U, V, tau = (arrays[f"draws_{name}"] for name in DRAWS)
    return Draws(U, V, tau, parts_of(arrays, "draws_own_"))


def parts_of(arrays: Mapping[str, NDArray[Any]], head: str) -> dict[str, Array]:
    """Arrays whose names start with `head`, by the rest of their names."""
    return {name[len(head) :]: part for name, part in arrays.items() if name.startswith(head)}
