"""Gaussians of patches: conditioning, evidence and expected moments against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg.backends import Backend, NumbaBackend
from bmcg.inpainting.gathering import gather, scatter
from bmcg.inpainting.gaussians import Gaussians, evened


def some(n=120, w=9, kinds=2):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((kinds, w, w))
    S = A @ A.transpose(0, 2, 1) + np.eye(w)
    known = rng.random((n, w)) < rng.random((n, 1))
    known[0], known[1] = True, False
    return S, rng.standard_normal((n, w)) * known, known, rng.integers(kinds, size=n)


def dense(S, x, known):
    """Mean and covariance of a whole patch, and the log-density of what is known of it."""
    o, m = np.flatnonzero(known), np.flatnonzero(~known)
    inverse = np.linalg.inv(S[np.ix_(o, o)])
    mean, covariance = x.copy(), np.zeros_like(S)
    mean[m] = S[np.ix_(m, o)] @ inverse @ x[o]
    covariance[np.ix_(m, m)] = S[np.ix_(m, m)] - S[np.ix_(m, o)] @ inverse @ S[np.ix_(o, m)]
    return mean, covariance, -0.5 * (x[o] @ inverse @ x[o] - np.linalg.slogdet(inverse)[1])


@pytest.mark.parametrize("pool", [Backend(), NumbaBackend(1)], ids=["plain", "numba"])
def test_missing_pixels_are_those_of_dense_algebra(pool):
    S, x, known, kind = some()
    own = Gaussians.of(S)
    mean, variance = own.fill(x, known, kind, pool)
    evidence = own.evidence(x, known, kind, pool)
    again, second = own.moments(x, known, kind, pool)
    expected = np.zeros_like(S)
    for i, k in enumerate(kind):
        one, covariance, density = dense(S[k], x[i], known[i])
        np.testing.assert_allclose(mean[i], one, atol=1e-9)
        np.testing.assert_allclose(variance[i], np.diag(covariance), atol=1e-9)
        assert evidence[i] == pytest.approx(density)
        expected[k] += np.outer(one, one) + covariance
    np.testing.assert_allclose(again, mean)
    np.testing.assert_allclose(second, expected, atol=1e-8)


def test_whole_patches_have_the_density_of_their_kind():
    S, x, known, kind = some()
    own = Gaussians.of(S)
    every = own.evidence(x, np.ones_like(known), kind, NumbaBackend(1))
    np.testing.assert_allclose(own.of_whole(x)[np.arange(len(x)), kind], every, rtol=1e-4)


def test_steps_of_learning_raise_the_evidence_and_find_the_noise():
    rng = np.random.default_rng(1)
    V = 5.0 * rng.standard_normal((16, 3))
    whole = rng.standard_normal((4000, 3)) @ V.T + 2.0 * rng.standard_normal((4000, 16))
    known = rng.random(whole.shape) < 0.7
    x, kind, pool = np.where(known, whole, 0.0), np.zeros(4000, dtype=np.intp), NumbaBackend(1)
    own, before = Gaussians.of(25.0 * np.eye(16)[None]), -np.inf
    for _ in range(12):
        now = own.evidence(x, known, kind, pool).sum()
        assert now > before
        _, second = own.moments(x, known, kind, pool)
        own, before = Gaussians.of(second / len(x)), now
    learned = Gaussians.learned(second, np.array([len(x)]), 0.0)
    values = np.linalg.eigvalsh(learned.covariance[0])
    np.testing.assert_allclose(values[:10], values[0])
    assert values[0] == pytest.approx(4.0, rel=0.15)
    assert values[13] > 5 * values[12]


def test_kernels_take_and_add_what_plain_indexing_does():
    S, _, known, kind = some()
    at = np.array([np.argsort(row)[:4] for row in known])
    r, s = np.tril_indices(4)
    taken, sums, expected = np.empty((len(at), 10)), np.zeros_like(S), np.zeros_like(S)
    gather(S, kind, at, taken)
    np.testing.assert_array_equal(taken, S[kind[:, None], at[:, r], at[:, s]])
    scatter(taken, kind, at, sums)
    for k, pixels in zip(kind, at, strict=True):
        expected[k][np.ix_(pixels, pixels)] += S[k][np.ix_(pixels, pixels)]
    np.testing.assert_allclose(sums, expected)


def test_eigenvalues_of_noise_alone_are_evened_and_others_stay():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 40))
    values = np.linalg.eigvalsh(x.T @ x / 300)
    np.testing.assert_allclose(evened(values, 300), values.mean(), rtol=0.02)
    steep = np.sort(2.0 ** np.arange(40.0))
    assert (evened(steep, 300)[10:] == steep[10:]).all()
