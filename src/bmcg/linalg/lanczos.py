"""Log-determinants by stochastic Lanczos quadrature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend, default_backend
from .cg import Operator

Array = NDArray[np.float64]

LANCZOS_STEPS = 25
# Where the squared residual has fallen by this much, more steps change nothing that probes leave.
QUADRATURE_TOL = 1e-8


def lanczos_log(
    apply: Operator,
    precondition: Operator,
    rhs: Array,
    systems: int,
    steps: int = LANCZOS_STEPS,
    backend: Backend | None = None,
) -> Array:
    """bᵀP⁻¹b · e₁ᵀ log(T) e₁, an estimate of tr log(P⁻¹Q) when b = P^{½}ξ, ξ of random signs.

    The Lanczos matrix T of the preconditioned operator is read off the coefficients of
    conjugate gradients. One estimate for each of the `systems`, as in `conjugate_gradient`.
    """
    on = backend or default_backend()
    r = rhs
    z = precondition(r)
    rz = on.inner(r, z, systems)
    size, p = rz, z.copy()
    active = rz > 0
    alphas, betas = [], []
    for _ in range(steps):
        q = apply(p)
        # A system that is done keeps a decoupled row in T, which e₁ does not see.
        alpha = np.where(active, rz / np.where(active, on.inner(p, q, systems), 1.0), 1.0)
        on.redirect(q, r, -alpha)  # r − αq, in the place of q
        r = q
        z = precondition(r)
        rz_next = on.inner(r, z, systems)
        beta = np.where(active, rz_next / np.where(active, rz, 1.0), 0.0)
        active = active & (rz_next > QUADRATURE_TOL * size)
        alphas.append(alpha)
        betas.append(np.where(active, beta, 0.0))
        if not np.any(active):
            break
        on.redirect(p, z, beta)
        rz = rz_next
    return size * _quadrature(np.asarray(alphas), np.asarray(betas))


def _quadrature(alphas: Array, betas: Array) -> Array:
    """e₁ᵀ log(T) e₁ of the Lanczos matrices given by CG coefficients (steps, ...)."""
    steps = len(alphas)
    T = np.zeros((*alphas.shape[1:], steps, steps))
    for j in range(steps):
        T[..., j, j] = 1.0 / alphas[j] + (betas[j - 1] / alphas[j - 1] if j else 0.0)
        if j + 1 < steps:
            off = np.sqrt(betas[j]) / alphas[j]
            T[..., j, j + 1] = T[..., j + 1, j] = off
    theta, vectors = np.linalg.eigh(T)
    logs = np.log(np.maximum(theta, np.finfo(float).tiny))
    return np.einsum("...j,...j->...", vectors[..., 0, :] ** 2, logs)
