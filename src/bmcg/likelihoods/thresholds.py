"""Thresholds between ordered levels: their density given the entries, its slopes, its maximum."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from .base import Array, Index

# Weight of the logarithms of the gaps: levels without entries keep a place.
KEEP_APART = 0.1
LOG_ROOT = 0.5 * np.log(2.0 * np.pi)


def looked_up(table: Array, codes: Index) -> Array:
    """Numbers of a table, (n,), wherever the codes lie: an index would bring them to the host."""
    found: Array = np.take_along_axis(table, codes, 0)
    return found


def window(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """ln Z, φ(a)/Z and φ(b)/Z with Z = Φ(b) − Φ(a), a < b, also far out in a tail."""
    flip = a > 0
    below, above = np.where(flip, -b, a), np.where(flip, -a, b)
    top = log_ndtr(above)
    gap = np.minimum(log_ndtr(below) - top, -1e-300)
    log_z = top + np.log(-np.expm1(gap))
    return log_z, np.exp(_log_density(a) - log_z), np.exp(_log_density(b) - log_z)


def _log_density(x: Array) -> Array:
    return -0.5 * x**2 - LOG_ROOT


def value(theta: Array, codes: Index, mean: Array) -> float:
    """Σ ln(Φ(θ_k − m) − Φ(θ_{k−1} − m)), and what keeps levels apart."""
    padded = np.concatenate(([-np.inf], theta, [np.inf]))
    log_z, _, _ = window(looked_up(padded, codes) - mean, looked_up(padded, codes + 1) - mean)
    return float(log_z.sum()) + KEEP_APART * float(np.log(np.diff(theta)).sum())


def slopes(theta: Array, codes: Index, mean: Array) -> tuple[Array, Array]:
    """Gradient (k,) and curvature (k, k) of `value`; thresholds meet their neighbours alone."""
    k = len(theta)
    padded = np.concatenate(([-np.inf], theta, [np.inf]))
    a, b = looked_up(padded, codes) - mean, looked_up(padded, codes + 1) - mean
    _, lower, upper = window(a, b)
    safe_a, safe_b = np.where(np.isfinite(a), a, 0.0), np.where(np.isfinite(b), b, 0.0)
    # Level c lies between thresholds c − 1 and c; those beyond the ends are dropped.
    ups = np.bincount(codes, upper, k + 1)[:k]
    downs = np.bincount(codes, lower, k + 1)[1:]
    own = np.bincount(codes, -safe_b * upper - upper**2, k + 1)[:k]
    own += np.bincount(codes, safe_a * lower - lower**2, k + 1)[1:]
    between = np.bincount(codes, lower * upper, k + 1)[1:k]
    gradient: Array = np.asarray(ups - downs, dtype=np.float64)
    curvature: Array = np.diag(own).astype(np.float64)
    at = np.arange(k - 1)
    curvature[at, at + 1] = curvature[at + 1, at] = between
    gaps = np.diff(theta)
    gradient[1:] += KEEP_APART / gaps
    gradient[:-1] -= KEEP_APART / gaps
    for i, gap in enumerate(gaps):
        part = KEEP_APART / gap**2
        curvature[i : i + 2, i : i + 2] -= part * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return gradient, curvature


def newton(theta: Array, codes: Index, mean: Array) -> Array:
    """Thresholds after a step that does not lower `value`."""
    gradient, curvature = slopes(theta, codes, mean)
    step, old = np.linalg.solve(-curvature, gradient), value(theta, codes, mean)
    for _ in range(12):
        new = theta + step
        if (np.diff(new) > 0).all() and value(new, codes, mean) >= old:
            return new
        step = step / 2
    return theta
