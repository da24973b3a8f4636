"""A picture as a Gaussian field on the grid of its pixels.

The field f minimises Σ_known (x − f)²/ρ + c·(bending of f) + b·(slopes of f), and is the posterior
mean of a Gaussian field with precision cL² + bL, L the Laplacian of the grid: a thin plate where
b is small, a membrane where c is. What bends along an edge of the picture costs more than what
bends across it (`steered_field`): then the grid is a graph whose ties follow the picture.

Channels are neighbours of each other: in the eigenvectors of their complete graph, their mean and
their differences, they stand alone, each with a smoothness of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn

from ..linalg.cg import Operator, conjugate_gradient
from .steering import Steering

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

# Ratios of noise to bending that are tried on held-out pixels.
RATIOS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2)
# Share of its first residual that a solve may leave without a word: about one grey of 256.
VISIBLE = 4e-3
TOL, MAX_STEPS = 1e-4, 400


class Stiffness(NamedTuple):
    """How smooth a field is.

    Attributes
    ----------
    ratio : float
        ρ, the variance of the noise over that of second differences.
    membrane : float
        b, with c = 1.
    contrast : float
        Squared slope, over the picture's mean, from which on an edge is one; zero for none.
    """

    ratio: float
    membrane: float
    contrast: float = 0.0


@dataclass(frozen=True)
class Problem:
    """What is known of a picture.

    Attributes
    ----------
    values : ndarray of shape (h, w)
        Anything where not known.
    known : ndarray of bool, shape (h, w)
    """

    values: Array
    known: Bool

    def solve(
        self,
        energy: Operator | None,
        spectrum: Array,
        ratio: float,
        start: Array | None,
        max_steps: int,
    ) -> tuple[Array, float]:
        """The field of an energy, whose eigenvalues are about `spectrum`, and what is left.

        They are those of the energy itself where that is None.
        """
        shape, level = self.values.shape, float(self.values[self.known].mean())
        # The tiny ridge settles what too few known pixels leave open.
        weight = self.known / ratio + 1e-9
        pull = np.where(self.known, (self.values - level) / ratio, 0.0)
        turned = 1.0 / (spectrum + weight.mean())

        def apply(f: Array) -> Array:
            g = f.reshape(shape)
            own = _filtered(g, spectrum) if energy is None else energy(g)
            return (own + weight * g).ravel()

        def remainder(f: Array) -> Array:
            return ((weight - weight.mean()) * f.reshape(shape)).ravel()

        def precondition(r: Array) -> Array:
            return _filtered(r.reshape(shape), turned).ravel()

        found = conjugate_gradient(
            apply,
            pull.ravel(),
            start=None if start is None else (start - level).ravel(),
            precondition=precondition,
            remainder=remainder if energy is None else None,
            residual_tol=TOL,
            max_steps=max_steps,
        )
        if found.residual > VISIBLE:
            found.told("the smooth surface of a picture", "it is usable, but not its smoothest")
        return found.x.reshape(shape) + level, found.residual


def laplacian(shape: tuple[int, int]) -> Array:
    """Eigenvalues of the grid's Laplacian, in the cosines of `dctn`, shape (h, w)."""
    down, across = (2.0 - 2.0 * np.cos(np.pi * np.arange(n) / n) for n in shape)
    return np.asarray(down[:, None] + across)


def smooth_field(
    values: Array,
    known: Bool,
    stiffness: Stiffness,
    start: Array | None = None,
    *,
    max_steps: int = MAX_STEPS,
) -> Array:
    """The field alike in all directions, shape (h, w).

    Parameters
    ----------
    values : ndarray of shape (h, w)
        Anything where not known.
    known : ndarray of bool, shape (h, w)
    stiffness : Stiffness
    start : ndarray of shape (h, w), optional
        Where the solve starts.
    max_steps : int
    """
    L = laplacian(values.shape)
    spectrum = L**2 + stiffness.membrane * L
    return Problem(values, known).solve(None, spectrum, stiffness.ratio, start, max_steps)[0]


def steered_field(
    values: Array,
    known: Bool,
    stiffness: Stiffness,
    guide: Array,
    *,
    rounds: int = 2,
    max_steps: int = MAX_STEPS,
) -> Array:
    """The field that is smooth along the edges of the picture, shape (h, w).

    Parameters
    ----------
    values, known, stiffness
        As of `smooth_field`.
    guide : ndarray of shape (h, w)
        A first guess, whose edges are followed; then those of what was found.
    rounds : int
    max_steps : int
    """
    L, f = laplacian(values.shape), guide
    for _ in range(rounds):
        ties = Steering.of(f, stiffness.contrast)
        typical = float(np.sqrt(ties.along * ties.across).mean())
        spectrum = typical * (L**2 + stiffness.membrane * L)

        def energy(x: Array, ties: Steering = ties) -> Array:
            return ties.bending(x) + stiffness.membrane * ties.slopes(x)

        f, _ = Problem(values, known).solve(energy, spectrum, stiffness.ratio, f, max_steps)
    return f


def channel_basis(count: int) -> Array:
    """Eigenvectors of the complete graph of channels, columns: the mean, then differences."""
    level = np.full((count, 1), 1.0)
    basis, _ = np.linalg.qr(np.hstack((level, np.eye(count)[:, 1:])))
    return np.asarray(basis * np.sign(basis[0]))


def _filtered(f: Array, spectrum: Array) -> Array:
    turned = dctn(f, norm="ortho")
    turned *= spectrum
    return np.asarray(idctn(turned, norm="ortho", overwrite_x=True))
