"""The two prior figures of the paper, from the formulas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..files.storage import write_atomically

Array = NDArray[np.float64]

# The two scale matrices of the paper's figure.
GRAPH = np.array([[1.0, -0.8], [-0.8, 1.0]])
NO_GRAPH = np.eye(2)
N_GRID = 81
REACH = 2.0


def log_prior(w: Array, L: Array, shape: float, rate: float) -> Array:
    """Marginal prior of a column up to a constant: its precision integrated out.

    The paper's Proposition 1 prints the exponent for m = 1; this one holds for any m.

    Parameters
    ----------
    w : ndarray of shape (..., m)
    L : ndarray of shape (m, m)
        Laplacian with a ridge.
    shape, rate : float
        c0 and d0 of the Gamma prior of the column's precision.

    Returns
    -------
    ndarray of shape (...)
        −(c0 + m/2)·ln(d0 + wᵀLw/2).
    """
    return -(shape + 0.5 * w.shape[-1]) * np.log(rate + 0.5 * quadratic(w, L))


def quadratic(w: Array, L: Array) -> Array:
    """wᵀLw, shape (...)."""
    return np.einsum("...i,ij,...j->...", w, L, w)


def prior_rows() -> list[dict[str, Any]]:
    """Everything the figures show.

    Returns
    -------
    list of dict
        ``figure`` "density" (two priors on a grid of w1, w2) or "response" (two functions of
        the graph penalty G = wᵀLw).
    """
    axis = np.linspace(-REACH, REACH, N_GRID)
    w = np.stack(np.meshgrid(axis, axis), axis=-1)
    rows = []
    # c0 = d0 = 1e-6: as close to the limit of zero as the package goes.
    for name, L in (("graph", GRAPH), ("no graph", NO_GRAPH)):
        density = log_prior(w, L, 1e-6, 1e-6)
        rows += [
            {"figure": "density", "prior": name, "w1": a, "w2": b, "G": None, "value": value}
            for (a, b), value in zip(w.reshape(-1, 2).tolist(), density.ravel().tolist(),
                                     strict=True)
        ]  # fmt: skip
    G = np.linspace(0.02, 6.0, 300)
    for name, values in (("BMCG: G^(-1/2)", G**-0.5), ("Wishart: exp(-G)", np.exp(-G))):
        rows += [
            {"figure": "response", "prior": name, "w1": None, "w2": None, "G": g, "value": value}
            for g, value in zip(G.tolist(), values.tolist(), strict=True)
        ]
    return rows


def write_priors(path: Path) -> None:
    """Write the rows as Parquet."""
    table = pa.Table.from_pylist(prior_rows())
    write_atomically(path, lambda temporary: pq.write_table(table, temporary, compression="zstd"))


def priors_page(rows: list[dict[str, Any]]) -> str:
    """A short page beside the figures."""
    lines = ["| G | BMCG: G^(-1/2) | Wishart: exp(-G) |", "|---|---|---|"]
    curves: dict[str, dict[float, float]] = {}
    for row in rows:
        if row["figure"] == "response":
            curves.setdefault(row["prior"], {})[row["G"]] = row["value"]
    ours, other = curves.values()
    lines += [f"| {g:.2f} | {ours[g]:.3f} | {other[g]:.3f} |" for g in list(ours)[::50]]
    return "\n".join(
        [
            "# Priors",
            "",
            "Log density of a column w of length m = 2 under the marginal prior with a graph,",
            "L = [1, -0.8; -0.8, 1], and without, L = I, both with hyperparameters 1e-6; and how",
            "two priors answer to the graph penalty G = wᵀLw. Drawn from the formulas.",
            "Integrating the precision out gives the exponent -(c0 + m/2); Proposition 1 of the",
            "paper prints it for m = 1, and its figure of the response uses G^(-1/2), as here.",
            "",
            *lines,
            "",
        ]
    )
