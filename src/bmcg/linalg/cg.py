"""Preconditioned conjugate gradients, for one system or many side by side."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend, default_backend
from ..caller import user_level

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

    def told(self, what: str, way_out: str) -> Solution:
        """This, with a warning where it ran out of steps: what it is of, and what would help."""
        if not self.converged:
            warnings.warn(
                f"{what} ran out of {self.steps} steps of conjugate gradients at a relative "
                f"residual of {self.residual:.1e}: {way_out}",
                RuntimeWarning,
                stacklevel=user_level(),
            )
        return self


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
    apply, precondition : callable
        x to Q x, any array shape, and r to P⁻¹ r.
    rhs : ndarray
    start : ndarray, optional
        Warm start; zero by default. Every step lowers ½xᵀQx − xᵀb from there.
    remainder : callable, optional
        z to (Q − P) z, where that is cheaper than Q z: after z = P⁻¹ r, Q z is r plus this, and
        Q p follows by recurrence.
    systems : int
        One if the whole array is one vector; s if the last index modulo s tells s systems apart.
    backend : Backend, optional
        For the passes over the vectors; this thread alone by default.
    residual_tol, max_steps : float, int
        Stop when every relative residual is below this, or after so many steps.
    gain_tol : float
        Also stop when a step gains less than this share of the whole gain so far: a warm-started
        solve is as accurate as the progress still being made.

    Returns
    -------
    Solution
    """
    on = backend or default_backend()
    x, r = (np.zeros_like(rhs), rhs.copy()) if start is None else (start.copy(), rhs - apply(start))
    z = precondition(r)
    rz = on.inner(r, z, systems)
    # The size of b costs a product; a solve that ends by its gains can do without.
    whole = rz if start is None or gain_tol > 0 else on.inner(rhs, precondition(rhs), systems)
    scale = np.maximum(whole, np.finfo(float).tiny)
    p, before, gain, steps = z.copy(), rz, 0.0, 0
    q = apply(p) if remainder is None else r + remainder(z)
    small = bool(np.all(rz <= residual_tol**2 * scale))
    while not small and steps < max_steps:
        if steps:
            q = _turn(on, p, q, z, r, _ratio(rz, before), apply, remainder)
        alpha = _ratio(rz, on.inner(p, q, systems))
        on.advance(x, r, p, q, alpha)
        step_gain = 0.5 * float(np.sum(alpha * rz))
        gain, steps = gain + step_gain, steps + 1
        z = precondition(r)
        rz, before = on.inner(r, z, systems), rz
        small = bool(np.all(rz <= residual_tol**2 * scale)) or step_gain <= gain_tol * gain
    return Solution(x, steps, gain, float(np.sqrt(np.max(rz / scale))), small)


def _turn(
    on: Backend,
    p: Array,
    q: Array,
    z: Array,
    r: Array,
    beta: Array,
    apply: Operator,
    remainder: Operator | None,
) -> Array:
    """Set p to z + β p, and return Q p."""
    on.redirect(p, z, beta)
    if remainder is None:
        return apply(p)
    on.redirect(q, remainder(z), beta, r)
    return q


def _ratio(a: Array, b: Array) -> Array:
    """a / b where b is positive, else zero: a system that is solved stands still."""
    return np.where(b > 0, a / np.where(b > 0, b, 1.0), 0.0)
