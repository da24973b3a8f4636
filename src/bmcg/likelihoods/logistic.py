"""⟨ln(1 + e^ψ)⟩ of a Gaussian ψ, and the quadratic that stands for it.

Jaakkola and Jordan's quadratic bounds it everywhere, but far from ψ = 0 is many times steeper than
it is: large counts would hardly be learned from. The function's own curvature is right where a
value is as expected, and too small where it is a surprise. Weights are bold first: the curvature,
and the bound's for surprises. Where they lower the evidence `caution` grows, and at infinity they
are those of the bound, under which nothing falls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .polya_gamma import log_cosh
from .polya_gamma import mean as mean_polya_gamma

Array = NDArray[np.float64]

NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(12)
SHARES = _WEIGHTS / _WEIGHTS.sum()
LEAST = 1e-10


class Softplus(NamedTuple):
    """Averages over ψ ~ N(mean, variance), (n,) each.

    Attributes
    ----------
    value : ndarray
        ⟨ln(1 + e^ψ)⟩.
    slope : ndarray
        ⟨σ(ψ)⟩.
    curvature : ndarray
        ⟨σ(ψ)(1 − σ(ψ))⟩.
    """

    value: Array
    slope: Array
    curvature: Array


def softplus(mean: Array, variance: Array) -> Softplus:
    """Averages by quadrature, node by node: nothing of size n × nodes is formed."""
    value, slope, curvature = (np.zeros_like(mean) for _ in range(3))
    spread = np.sqrt(variance)
    for node, share in zip(NODES, SHARES, strict=True):
        psi = mean + node * spread
        p = expit(psi)
        slope += share * p
        curvature += share * (p * (1.0 - p))
        value += share * (np.maximum(psi, 0.0) + np.log1p(np.exp(-np.abs(psi))))
    return Softplus(value, slope, curvature)


def expected_softplus(mean: Array, variance: Array, caution: float) -> Array:
    """⟨ln(1 + e^ψ)⟩, or the bound of it, (n,)."""
    if np.isinf(caution):
        return 0.5 * mean + log_cosh(np.sqrt(mean**2 + variance))
    return softplus(mean, variance).value


def quadratic(x: Array, b: Any, psi: Array, variance: Array, caution: float) -> tuple[Array, Array]:
    """Weights and targets of xψ − b ln(1 + e^ψ) around ψ ~ N(psi, variance)."""
    steepest = mean_polya_gamma(b, np.sqrt(psi**2 + variance))
    if np.isinf(caution):
        return steepest, (x - 0.5 * b) / steepest
    found = softplus(psi, variance)
    gap = x - b * found.slope
    bold = b * found.curvature + np.minimum(np.abs(gap), b) / b * steepest
    w = np.maximum(np.minimum(steepest, caution * bold), LEAST)
    return w, psi + gap / w
