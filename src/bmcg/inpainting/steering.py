"""Where a picture's edges run, and an energy that spares what happens across them.

The averaged products of slopes around a pixel, the structure tensor, have an eigenvector across
the edge and one along it. Second differences in these directions are weighed by 1/(1 + λ/contrast)
each, λ the eigenvalue: across a strong edge a field may bend freely, along it hardly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

Array = NDArray[np.float64]

# Pixels over which slopes are taken, and over which their products are averaged.
FINE, COARSE = 0.7, 1.5


@dataclass(frozen=True)
class Steering:
    """Directions and weights, all of shape (h, w).

    Attributes
    ----------
    x, y : ndarray
        The unit vector across the edge.
    across, along : ndarray
        Weights of what bends in these directions.
    """

    x: Array
    y: Array
    across: Array
    along: Array

    @classmethod
    def of(cls, picture: Array, contrast: float) -> Steering:
        """The edges of a picture, (h, w); `contrast` over the mean squared slope."""
        gy, gx = np.gradient(gaussian_filter(picture, FINE))
        xx, xy, yy = (gaussian_filter(part, COARSE) for part in (gx * gx, gx * gy, gy * gy))
        level = contrast * max(float((xx + yy).mean()), 1e-300)
        half, gap = 0.5 * (xx + yy), 0.5 * np.sqrt((xx - yy) ** 2 + 4.0 * xy**2)
        turn = 0.5 * np.arctan2(2.0 * xy, xx - yy)
        across = 1.0 / (1.0 + (half + gap) / level)
        along = 1.0 / (1.0 + np.maximum(half - gap, 0.0) / level)
        return cls(np.cos(turn), np.sin(turn), across, along)

    def bending(self, f: Array) -> Array:
        """The gradient of half the weighted squares of second differences, shape (h, w)."""
        xx, yy, xy = _second(f)
        a, b, c, d, e, g = self._bends
        return _second_back(
            a * xx + b * yy + c * xy, b * xx + d * yy + e * xy, c * xx + e * yy + g * xy
        )

    def slopes(self, f: Array) -> Array:
        """The same of first differences, shape (h, w)."""
        gx, gy = np.zeros_like(f), np.zeros_like(f)
        gx[:, :-1], gy[:-1] = f[:, 1:] - f[:, :-1], f[1:] - f[:-1]
        a, b, c = self._slopes
        gx, gy = a * gx + b * gy, b * gx + c * gy
        out = np.zeros_like(f)
        out[:, 1:] += gx[:, :-1]
        out[:, :-1] -= gx[:, :-1]
        out[1:] += gy[:-1]
        out[:-1] -= gy[:-1]
        return out

    @cached_property
    def _bends(self) -> tuple[Array, ...]:
        """Weights of products of second differences (xx, yy, xy), the upper half of a matrix.

        Those across and along the edge are x² f_xx + y² f_yy + 2xy f_xy and y² f_xx + x² f_yy −
        2xy f_xy, the mixed one (x² − y²) f_xy + xy (f_yy − f_xx).
        """
        x, y = self.x, self.y
        parts = (
            (self.across, (x * x, y * y, 2.0 * x * y)),
            (self.along, (y * y, x * x, -2.0 * x * y)),
            (2.0 * np.sqrt(self.across * self.along), (-x * y, x * y, x * x - y * y)),
        )
        pairs = [(i, j) for i in range(3) for j in range(i, 3)]
        return tuple(np.asarray(sum(w * v[i] * v[j] for w, v in parts)) for i, j in pairs)

    @cached_property
    def _slopes(self) -> tuple[Array, ...]:
        """The same of products of slopes (x, y): x f_x + y f_y across, x f_y − y f_x along."""
        x, y, n, t = self.x, self.y, self.across, self.along
        return n * x * x + t * y * y, (n - t) * x * y, n * y * y + t * x * x


def _second(f: Array) -> tuple[Array, Array, Array]:
    """f_xx, f_yy and f_xy, zero where they would reach beyond the picture, (h, w) each."""
    xx, yy, xy = (np.zeros_like(f) for _ in range(3))
    xx[:, 1:-1] = f[:, 2:] - 2.0 * f[:, 1:-1] + f[:, :-2]
    yy[1:-1] = f[2:] - 2.0 * f[1:-1] + f[:-2]
    xy[:-1, :-1] = f[1:, 1:] - f[1:, :-1] - f[:-1, 1:] + f[:-1, :-1]
    return xx, yy, xy


def _second_back(xx: Array, yy: Array, xy: Array) -> Array:
    """The transpose of `_second`, shape (h, w)."""
    out = np.zeros_like(xx)
    a, b, c = xx[:, 1:-1], yy[1:-1], xy[:-1, :-1]
    out[:, 2:] += a
    out[:, 1:-1] -= 2.0 * a
    out[:, :-2] += a
    out[2:] += b
    out[1:-1] -= 2.0 * b
    out[:-2] += b
    out[1:, 1:] += c
    out[1:, :-1] -= c
    out[:-1, 1:] -= c
    out[:-1, :-1] += c
    return out
