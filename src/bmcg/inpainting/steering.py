"""Where a picture's edges run, and an energy that spares what happens across them.

The averaged products of slopes around a pixel, the structure tensor, have an eigenvector across
the edge and one along it. Second differences in these directions are weighed by 1/(1 + λ/contrast)
each, λ the eigenvalue: across a strong edge a field may bend freely, along it hardly.
"""

from __future__ import annotations

from dataclasses import dataclass

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
        x, y = self.x, self.y
        xx, yy, xy = _second(f)
        nn = self.across * (x * x * xx + 2.0 * x * y * xy + y * y * yy)
        tt = self.along * (y * y * xx - 2.0 * x * y * xy + x * x * yy)
        mixed = 2.0 * np.sqrt(self.across * self.along)
        nt = mixed * ((x * x - y * y) * xy + x * y * (yy - xx))
        return _second_back(
            x * x * nn + y * y * tt - x * y * nt,
            y * y * nn + x * x * tt + x * y * nt,
            2.0 * x * y * (nn - tt) + (x * x - y * y) * nt,
        )

    def slopes(self, f: Array) -> Array:
        """The same of first differences, shape (h, w)."""
        x, y = self.x, self.y
        gx, gy = np.zeros_like(f), np.zeros_like(f)
        gx[:, :-1], gy[:-1] = f[:, 1:] - f[:, :-1], f[1:] - f[:-1]
        n, t = self.across * (x * gx + y * gy), self.along * (x * gy - y * gx)
        gx, gy = x * n - y * t, y * n + x * t
        out = np.zeros_like(f)
        out[:, 1:] += gx[:, :-1]
        out[:, :-1] -= gx[:, :-1]
        out[1:] += gy[:-1]
        out[:-1] -= gy[:-1]
        return out


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
