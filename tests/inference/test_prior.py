"""The model on paper: its marginal prior, and the quadratic form behind the updates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma

C, D = 1.7, 0.6


def laplacian(m, rng):
    A = np.triu(rng.random((m, m)), 1)
    A = A + A.T
    return np.diag(A.sum(axis=0)) - A + 0.3 * np.eye(m)


def marginal(w, L, half):
    """Proposition 1 with ½ replaced by `half` and √L read as √|L|."""
    m = len(w)
    constant = D**C * np.sqrt(np.linalg.det(L)) * gamma(C + half)
    constant /= (2 * np.pi) ** (m / 2) * gamma(C)
    return constant * (D + w @ L @ w / 2) ** -(C + half)


def integrated(w, L):
    """∫ N(w | 0, (λL)⁻¹) Ga(λ | c, d) dλ by quadrature."""

    m, energy, log_det = len(w), w @ L @ w, np.linalg.slogdet(L)[1]

    def density(lam):
        normal = 0.5 * (m * np.log(lam / (2 * np.pi)) + log_det - lam * energy)
        return np.exp(normal + C * np.log(D) + (C - 1) * np.log(lam) - D * lam) / gamma(C)

    return quad(density, 0, np.inf, epsabs=0, epsrel=1e-9, limit=200)[0]


def total_mass(L, half):
    """Its integral over all w: radial, after L^½ w = z."""
    m = len(L)
    sphere = 2 * np.pi ** (m / 2) / gamma(m / 2)
    first = np.linalg.inv(np.linalg.cholesky(L).T)[:, 0]

    def shell(r):
        return sphere * r ** (m - 1) * marginal(r * first, L, half)

    return quad(shell, 0, np.inf, limit=400)[0] / np.sqrt(np.linalg.det(L))


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_the_marginal_prior_has_exponent_c0_plus_half_m(m):
    rng = np.random.default_rng(m)
    L = laplacian(m, rng)
    for w in rng.normal(size=(4, m)):
        assert marginal(w, L, m / 2) == pytest.approx(integrated(w, L), rel=1e-7)
    assert total_mass(L, m / 2) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("m", [2, 3, 4])
def test_the_printed_exponent_c0_plus_one_half_is_wrong_beyond_one_dimension(m):
    rng = np.random.default_rng(m)
    L = laplacian(m, rng)
    ratios = [marginal(w, L, 0.5) / integrated(w, L) for w in rng.normal(size=(4, m))]
    # Not a matter of the constant: even the shape is another one.
    assert np.ptp(np.log(ratios)) > 0.1
    assert abs(total_mass(L, 0.5) - 1.0) > 0.1


@pytest.mark.parametrize("seed", range(5))
def test_the_squared_error_is_a_quadratic_in_each_column_of_the_factors(seed):
    """Property 2, equation (26): the rest does not depend on the column."""
    rng = np.random.default_rng(seed)
    m, n, k = 7, 5, 3
    mask = (rng.random((m, n)) < 0.6).astype(float)
    M, V, U = (rng.normal(size=shape) for shape in ((m, n), (n, k), (m, k)))
    r = seed % k
    others = M - np.delete(U, r, 1) @ np.delete(V, r, 1).T
    rest = []
    for _ in range(4):
        U[:, r] = rng.normal(size=m)
        u, v = U[:, r], V[:, r]
        quadratic = u @ np.diag(mask @ (v * v)) @ u - 2 * u @ (mask * others) @ v
        rest.append(((mask * (M - U @ V.T)) ** 2).sum() - quadratic)
    np.testing.assert_allclose(rest, ((mask * others) ** 2).sum(), rtol=1e-12)
