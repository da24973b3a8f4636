"""Fields of a picture: a plate, a membrane, and one that follows its edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .field import RATIOS, Stiffness, channel_basis, smooth_field, steered_field

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
# A picture (channels, h, w) that is made when it is called for.
Later = Callable[[], Array]

# The largest part of a picture on which the ratio of noise to bending is chosen.
CROP = 128
# The share of slopes in the energy of a plate, a membrane, and in between.
PLATE, MEMBRANE, BETWEEN = 0.1, 10.0, 1.0
# Squared slope of an edge, over the picture's mean.
CONTRAST = 0.1
# The ratio where nothing is held out.
USUAL = 1e-2


@dataclass(frozen=True)
class Surfaces:
    """The fields of a picture, its channels turned to their mean and differences.

    Attributes
    ----------
    basis : ndarray of shape (channels, channels)
    ratios : tuple of float
        Of noise to bending, for each turned channel.
    """

    basis: Array
    ratios: tuple[float, ...]

    @classmethod
    def usual(cls, channels: int) -> Surfaces:
        """Where nothing tells how smooth a picture is."""
        return cls(channel_basis(channels), (USUAL,) * channels)

    @classmethod
    def chosen(cls, values: Array, kept: Bool, held: Bool) -> Surfaces:
        """The ratios by which held-out pixels are predicted best; values (channels, h, w)."""
        basis = channel_basis(len(values))
        return cls(basis, tuple(_chosen(part, kept, held) for part in _turn(basis.T, values)))

    def plate(self, values: Array, known: Bool, start: Array | None = None) -> Array:
        """What bends least, (channels, h, w)."""
        return self._smooth(values, known, PLATE, start)

    def membrane(self, values: Array, known: Bool, start: Array | None = None) -> Array:
        """What slopes least, (channels, h, w)."""
        return self._smooth(values, known, MEMBRANE, start)

    def steered(self, values: Array, known: Bool, guide: Array, rounds: int) -> Array:
        """What bends least along the edges of the guide, (channels, h, w)."""
        parts = zip(*(_turn(self.basis.T, x) for x in (values, guide)), self.ratios, strict=True)
        found = [
            steered_field(x, known, Stiffness(ratio, BETWEEN, CONTRAST), first, rounds=rounds)
            for x, first, ratio in parts
        ]
        return _turn(self.basis, np.stack(found))

    def all(self, values: Array, known: Bool) -> list[Array]:
        """Plate, membrane and what is steered."""
        plate = self.plate(values, known)
        return [plate, self.membrane(values, known), self.steered(values, known, plate, 1)]

    def again(self, values: Array, known: Bool, before: list[Array]) -> list[Later]:
        """Plate and membrane from those of nearly the same pixels, each made when called for."""
        return [
            lambda: self.plate(values, known, before[0]),
            lambda: self.membrane(values, known, before[1]),
        ]

    def _smooth(self, values: Array, known: Bool, membrane: float, start: Array | None) -> Array:
        turned = _turn(self.basis.T, values)
        starts = [None] * len(values) if start is None else list(_turn(self.basis.T, start))
        parts = zip(turned, self.ratios, starts, strict=True)
        found = [smooth_field(x, known, Stiffness(r, membrane), first) for x, r, first in parts]
        return _turn(self.basis, np.stack(found))


def _turn(basis: Array, values: Array) -> Array:
    return values if len(values) == 1 else np.einsum("cd,dhw->chw", basis, values)


def _chosen(channel: Array, kept: Bool, held: Bool) -> float:
    """Chosen on the part of the picture, no larger than `CROP`, that has most to say."""
    h, w = channel.shape
    tops, lefts = (range(0, max(n - CROP, 0) + 1, CROP) for n in (h, w))
    crops = [(slice(top, top + CROP), slice(left, left + CROP)) for top in tops for left in lefts]
    best = max(crops, key=lambda crop: min(held[crop].sum(), kept[crop].sum()))
    if not (held[best].any() and kept[best].any()):
        return USUAL
    return best_ratio(channel[best], kept[best], held[best])


def best_ratio(values: Array, known: Bool, held: Bool) -> float:
    """The ratio whose field through `known` comes nearest to the held-out pixels.

    From the smallest on, until errors have grown twice.
    """
    errors: list[float] = []
    found: Array | None = None
    for ratio in RATIOS:
        found = smooth_field(values, known, Stiffness(ratio, BETWEEN), found)
        errors.append(float(np.mean((found[held] - values[held]) ** 2)))
        if len(errors) - 1 - int(np.argmin(errors)) == 2:
            break
    return RATIOS[int(np.argmin(errors))]
