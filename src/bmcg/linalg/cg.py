"""Preconditioned conjugate gradients, for one system or many side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend, default_backend

Array = NDArray[np.float64]
Operator = Callable[[Array], Array]


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
        Largest ‖b − Qx‖ / ‖b‖ over the systems, in the preconditioner's norm; with `gain_tol`,
        the residual at the start takes the place of b.
    converged : bool
        Whether it ended by a tolerance, not by running out of steps.
    """

    x: Array
    steps: int
    gain: float
    residual: float
    converged: bool


def conjugate_gradient(
    apply: Operator,
    rhs: Array,
    *,
    start: Array | None = None,
    precondition: Operator = lambda r: r,
    remainder: Operator | None = None,
    systems: int = 1,
    backend: Backend | None = None,
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
    remainder : callable, optional
        z to (Q − P) z, where that is cheaper than Q z: after z = P⁻¹ r, Q z is r plus this, and
        Q p follows by recurrence.
    systems : int
        One if the whole array is one vector; s if the last index modulo s tells s systems apart.
    backend : Backend, optional
        For the passes over the vectors; this thread alone by default.
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
    on = backend or default_backend()
    x = np.zeros_like(rhs) if start is None else start.copy()
    r = rhs.copy() if start is None else rhs - apply(x)
    z = precondition(r)
    rz = on.inner(r, z, systems)
    # The size of b costs a product; a solve that ends by its gains can do without.
    whole = rz if start is None or gain_tol > 0 else on.inner(rhs, precondition(rhs), systems)
    scale = np.maximum(whole, np.finfo(float).tiny)
    p, gain, steps = z.copy(), 0.0, 0
    q = None if remainder is None else r + remainder(z)
    small = bool(np.all(rz <= residual_tol**2 * scale))
    while not small and steps < max_steps:
        if remainder is None or q is None:
            q = apply(p)
        curvature = on.inner(p, q, systems)
        alpha = np.where(curvature > 0, rz / np.where(curvature > 0, curvature, 1.0), 0.0)
        on.advance(x, r, p, q, alpha)
        step_gain = 0.5 * float(np.sum(alpha * rz))
        gain += step_gain
        steps += 1
        z = precondition(r)
        rz_next = on.inner(r, z, systems)
        small = bool(np.all(rz_next <= residual_tol**2 * scale)) or step_gain <= gain_tol * gain
        beta = np.where(rz > 0, rz_next / np.where(rz > 0, rz, 1.0), 0.0)
        rz = rz_next
        if small:
            break
        on.redirect(p, z, beta)
        if remainder is not None:
            on.redirect(q, remainder(z), beta, r)
    return Solution(x, steps, gain, float(np.sqrt(np.max(rz / scale))), small)
