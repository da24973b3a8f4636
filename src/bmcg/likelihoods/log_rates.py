"""A log rate z with a Gaussian prior N(y, 1/τ) and a Poisson count x ~ Poisson(e^{c + z}).

Its density is log-concave. Here are its mode, the Gaussian nearest to it, and draws of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Random

Array = NDArray[np.float64]

NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(16)
# Shares of ∫ f(t) dt = ∫ f(t) e^{t²/2} e^{−t²/2} dt over √(2π), which densities have anyway.
SHARES = _WEIGHTS / _WEIGHTS.sum()
STEPS = 60


def _root(x: Array, y: Array, c: Array | float, tau: float, half: float) -> Array:
    """v with v = c + y + (x − e^v)/τ + half/(τ + e^v): Newton's method, falling all the way."""
    # Steps end at digits that single precision does not have.
    x, y = (part.astype(np.float64, copy=False) for part in (x, y))
    # Right of the root the function is at most concave, and steps do not overshoot.
    v = np.maximum(c + y, np.log(x + 1.0)) + half / tau
    todo, at, goal = everywhere(v), v, c + y + x / tau
    for _ in range(STEPS):
        rate = np.exp(np.minimum(at, 600.0))
        share = 1.0 / (tau + rate)
        gap = goal - rate / tau + half * share - at
        step = gap / (rate / tau + half * rate * share**2 + 1.0)
        at = at + step
        v[todo] = at
        left = np.abs(step) > 1e-12 * (1.0 + np.abs(at))
        if not left.any():
            break
        # Few entries need many steps.
        todo, at, goal = todo[left], at[left], goal[left]
    return v


def everywhere(x: Array) -> NDArray[np.intp]:
    """All positions of an array, where it lies."""
    return np.flatnonzero(np.ones_like(x))


def mode(x: Array, y: Array, c: Array | float, tau: float) -> tuple[Array, Array]:
    """Where the density of z is highest, and the rate there, (n,) each."""
    v = _root(x, y, c, tau, 0.0)
    return v - c, np.exp(v)


def best(x: Array, y: Array, c: Array | float, tau: float) -> tuple[Array, Array, Array]:
    """Mean and variance of the Gaussian q(z) of the highest bound, and its ⟨e^{c+z}⟩."""
    v = _root(x, y, c, tau, 0.5)
    rates = np.exp(v)
    variance = 1.0 / (tau + rates)
    return v - c - 0.5 * variance, variance, rates


def draw_rates(x: Array, y: Array, c: Array | float, tau: float, rng: Random) -> Array:
    """z, by rejection: flat around the mode and exponential where tangents take over."""
    peak, rate = mode(x, y, c, tau)
    width = np.sqrt(2.0 / (tau + rate))
    # Left and right tangents of the log density at ± one width: height and slope.
    heights = [log_ratio(side * width, rate, tau) for side in (-1.0, 1.0)]
    slopes = [-tau * side * width - rate * np.expm1(side * width) for side in (-1.0, 1.0)]
    # Where a tangent is at the height of the mode.
    left, right = (
        side * width - height / slope
        for side, height, slope in zip((-1.0, 1.0), heights, slopes, strict=True)
    )
    areas = np.stack((1.0 / slopes[0], right - left, -1.0 / slopes[1]))
    ends = np.cumsum(areas, axis=0)
    out, todo = np.empty_like(peak), everywhere(peak)
    while len(todo):
        u, v, keep = (rng.random(todo.shape) for _ in range(3))
        u, v = u * ends[2, todo], np.maximum(v, 1e-30)
        tail = [np.log(v) / slope[todo] for slope in slopes]
        low, high = u < ends[0, todo], u > ends[1, todo]
        d = np.where(
            low,
            left[todo] + tail[0],
            np.where(high, right[todo] + tail[1], left[todo] + v * areas[1, todo]),
        )
        cover = np.where(low | high, np.log(v), 0.0)
        taken = np.log(np.maximum(keep, 1e-30)) + cover <= log_ratio(d, rate[todo], tau)
        out[todo[taken]] = peak[todo[taken]] + d[taken]
        todo = todo[~taken]
    return out


def log_ratio(d: Array, rate: Array, tau: float) -> Array:
    """ln of the density at a distance d from the mode over that at the mode."""
    return -0.5 * tau * d**2 - rate * (np.expm1(np.minimum(d, 600.0)) - d)
