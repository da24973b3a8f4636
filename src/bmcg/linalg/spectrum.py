"""The eigenvalues of one graph, which tell its precision's log-determinant at every strength.

With L = w G + ε I and the eigenvalues μ of G, log|L| = Σ log(w μ_i + ε), tr L⁻¹ = Σ 1/(w μ_i + ε).
One decomposition takes the place of a factor for each step of the strengths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from ..graphs.precision import Precision

Array = NDArray[np.float64]

# Most nodes of a dense decomposition.
MOST_NODES = 4096
# It pays where so many factors, about those of one fit that learns, take as long as so many cubes.
FACTORS, CUBES = 100.0, 3.0
# How far weights may be from a multiple of others, relative to each.
SAME = 1e-9


@dataclass(frozen=True)
class Spectrum:
    """A graph's Laplacian G = Σ_e w_e (e_a − e_b)(e_a − e_b)ᵀ.

    Attributes
    ----------
    weights : ndarray of shape (n_edges,)
    values : ndarray of shape (n,)
        Its eigenvalues; those of its connected parts' constants are nought.
    """

    weights: Array
    values: Array

    def of(self, precision: Precision) -> Array | None:
        """Eigenvalues of a precision, (n,), where its edges weigh a multiple of these."""
        at = int(np.argmax(self.weights))
        if len(precision.weights) != len(self.weights):
            return None
        scale = precision.weights[at] / self.weights[at]
        if not np.allclose(precision.weights, scale * self.weights, rtol=SAME, atol=0.0):
            return None
        found: Array = scale * self.values + precision.ridge
        return found


def spectrum_of(precision: Precision) -> Spectrum:
    """Of the graph of a precision."""
    G = precision.toarray()
    G[np.diag_indices(precision.n)] -= precision.ridge
    values = np.maximum(np.linalg.eigvalsh(G), 0.0)
    parts, _ = connected_components(precision.to_csr(), directed=False)
    # What rounding leaves of them would count beside a small ridge.
    values[:parts] = 0.0
    return Spectrum(precision.weights, values)


def pays(n: int, flops: float) -> bool:
    """Whether a decomposition of n nodes costs less than a fit's factors of so many operations."""
    return n <= MOST_NODES and FACTORS * flops > CUBES * float(n) ** 3
