"""A smooth surface through the known pixels: thin-plate energy on the grid.

The surface f minimises Σ_known (x − f)²/ρ + Σ (f_xx² + 2 f_xy² + f_yy²) over the grid, the
posterior mean of a Gaussian field whose precision is the squared second differences. It knows
nothing of texture, but it is hard to beat where a picture is smooth.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..linalg.cg import conjugate_gradient

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

# Ratios of noise to curvature that are tried on held-out pixels.
RATIOS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2)
# A grid this small is where coarse-to-fine starts begin.
COARSEST = 32
# Share of its first residual that a solve may leave without a word: about one grey of 256.
VISIBLE = 4e-3


def bending(shape: tuple[int, int]) -> sp.csr_array:
    """The energy's matrix over the pixels of a grid, row by row, shape (h·w, h·w)."""
    h, w = shape
    parts = []
    if w > 2:
        parts.append(sp.kron(sp.eye_array(h), _second(w)))
    if h > 2:
        parts.append(sp.kron(_second(h), sp.eye_array(w)))
    if h > 1 and w > 1:
        parts.append(np.sqrt(2.0) * sp.kron(_first(h), _first(w)))
    if not parts:
        return sp.csr_array((h * w, h * w))
    D = sp.csr_array(sp.vstack(parts))
    return sp.csr_array(D.T @ D)


def smooth_field(
    values: Array,
    known: Bool,
    ratio: float,
    start: Array | None = None,
    *,
    max_steps: int = 400,
    final: bool = False,
) -> Array:
    """The surface, shape (h, w).

    Parameters
    ----------
    values : ndarray of shape (h, w)
        Anything where not known.
    known : ndarray of bool, shape (h, w)
    ratio : float
        ρ, the variance of the noise over that of the second differences.
    start : ndarray of shape (h, w), optional
        Where the solve starts; by default the surface of a picture half the size.
    max_steps : int
    final : bool
        Whether the surface is shown: one that only chooses or starts another may be rough.
    """
    level = float(values[known].mean())
    x = np.where(known, values - level, 0.0)
    guess = (_coarse_start(x, known, ratio) if start is None else start - level).ravel()
    K = bending(values.shape)
    # The tiny ridge settles what too few known pixels leave open, a tilt of the plane.
    weight = known.ravel() / ratio + 1e-9
    diagonal = K.diagonal() + weight
    solution = conjugate_gradient(
        lambda f: K @ f + weight * f,
        known.ravel() * x.ravel() / ratio,
        start=guess,
        precondition=lambda r: r / diagonal,
        gain_tol=1e-9,
        residual_tol=1e-7,
        max_steps=max_steps,
    )
    if final and solution.residual > VISIBLE:
        solution.told("the smooth surface of a picture", "it is usable, but not its smoothest")
    return solution.x.reshape(values.shape) + level


def best_ratio(values: Array, known: Bool, held: Bool) -> float:
    """The ratio whose surface through `known` comes nearest to the held-out pixels.

    From the smallest on, until errors have grown twice.
    """
    errors: list[float] = []
    surface: Array | None = None
    for ratio in RATIOS:
        surface = smooth_field(values, known, ratio, surface)
        errors.append(float(np.mean((surface[held] - values[held]) ** 2)))
        if len(errors) - 1 - int(np.argmin(errors)) == 2:
            break
    return RATIOS[int(np.argmin(errors))]


def _coarse_start(x: Array, known: Bool, ratio: float) -> Array:
    h, w = x.shape
    if min(h, w) < 4 or max(h, w) <= COARSEST:
        return np.zeros(x.shape)
    rows, cols = np.arange(h) // 2, np.arange(w) // 2
    cell = (rows[:, None] * ((w + 1) // 2) + cols).ravel()
    shape = ((h + 1) // 2, (w + 1) // 2)
    count = np.bincount(cell, known.ravel(), int(np.prod(shape))).reshape(shape)
    total = np.bincount(cell, (known * x).ravel(), int(np.prod(shape))).reshape(shape)
    seen = count > 0
    half = smooth_field(np.divide(total, count, where=seen, out=np.zeros(shape)), seen, ratio)
    return half[np.ix_(rows, cols)]


def _first(n: int) -> sp.dia_array:
    return sp.diags_array([-np.ones(n - 1), np.ones(n - 1)], offsets=[0, 1], shape=(n - 1, n))


def _second(n: int) -> sp.dia_array:
    ones = np.ones(n - 2)
    return sp.diags_array([ones, -2 * ones, ones], offsets=[0, 1, 2], shape=(n - 2, n))
