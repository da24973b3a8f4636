"""Preconditioned conjugate gradients, for one system or many side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Operator = Callable[[Array], Array]
Inner = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Solution:
    """Where a solve ended.

    Attributes
    ----------
    x : ndarray
        The iterate, of the right-hand side's shape.
    steps : int
    gain : float
        How far ½xᵀQx − xᵀb fell from the start, summed over all systems.
    residual : float
        Largest ‖b − Qx‖ / ‖b‖ over the systems, in the preconditioner's norm.
    converged : bool
    """

    x: Array
    steps: int
    gain: float
    residual: float
    converged: bool


def one_system(a: Array, b: Array) -> Array:
    """Inner product when the whole array is one vector: a scalar."""
    # einsum, not BLAS: a threaded dot product would depend on the number of threads.
    return np.einsum("i,i->", a.ravel(), b.ravel())


def system_per_column(a: Array, b: Array) -> Array:
    """Inner products when each trailing index is a system of its own: (n, s) to (s,)."""
    return np.einsum("i...,i...->...", a, b)


def system_per_last(a: Array, b: Array) -> Array:
    """Inner products when each last index is a system of its own: (n, k, s) to (s,)."""
    return np.einsum("irs,irs->s", a, b)


def conjugate_gradient(
    apply: Operator,
    rhs: Array,
    *,
    start: Array | None = None,
    precondition: Operator = lambda r: r,
    inner: Inner = one_system,
    residual_tol: float = 1e-10,
    gain_tol: float = 0.0,
    max_steps: int = 200,
) -> Solution:
    """Solve Q x = b for a symmetric positive definite Q.

    Parameters
    ----------
    apply : callable
        x to Q x, any array shape.
    rhs : ndarray
    start : ndarray, optional
        Warm start; zero by default. Every step lowers ½xᵀQx − xᵀb from there.
    precondition : callable
        r to P⁻¹ r.
    inner : callable
        `one_system`, `system_per_column` or `system_per_last`.
    residual_tol : float
        Stop when every relative residual is below this.
    gain_tol : float
        Also stop when a step gains less than this share of the whole gain so far, which ties
        the accuracy of a warm-started solve to the progress still being made.
    max_steps : int

    Returns
    -------
    Solution
    """
    x = np.zeros_like(rhs) if start is None else start.copy()
    r = rhs.copy() if start is None else rhs - apply(x)
    scale = np.maximum(inner(rhs, precondition(rhs)), np.finfo(float).tiny)
    z = precondition(r)
    rz = inner(r, z)
    p, gain, steps, scratch = z.copy(), 0.0, 0, np.empty_like(rhs)
    small = bool(np.all(rz <= residual_tol**2 * scale))
    while not small and steps < max_steps:
        q = apply(p)
        curvature = inner(p, q)
        alpha = np.where(curvature > 0, rz / np.where(curvature > 0, curvature, 1.0), 0.0)
        # In place: with many systems side by side, passes over these arrays are the cost.
        x += np.multiply(p, alpha, out=scratch)
        r -= np.multiply(q, alpha, out=scratch)
        step_gain = 0.5 * float(np.sum(alpha * rz))
        gain += step_gain
        steps += 1
        z = precondition(r)
        rz_next = inner(r, z)
        small = bool(np.all(rz_next <= residual_tol**2 * scale)) or step_gain <= gain_tol * gain
        p *= np.where(rz > 0, rz_next / np.where(rz > 0, rz, 1.0), 0.0)
        p += z
        rz = rz_next
    return Solution(x, steps, gain, float(np.sqrt(np.max(rz / scale))), small)
