"""Every likelihood's draws are those of its posterior, by ranks of what was planted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bmcg.backends import NumbaBackend, SparseRows
from bmcg.likelihoods import Drawn, likelihood_of

from .cases import TITLES, match_at, values_of


def entries_of(values):
    m, n = values.shape
    indptr = np.arange(0, m * n + 1, n, dtype=np.int64)
    indices = np.tile(np.arange(n, dtype=np.int32), m)
    return SparseRows(indptr, indices, values.ravel().copy(), NumbaBackend(1))


def chain(title, entries, y, n_cols, sweeps=300, seed=0, **start):
    """Own parameters drawn again and again, the entries known."""
    likelihood, rng = likelihood_of(title), np.random.default_rng(seed)
    noise = likelihood.first_draw(likelihood.start(entries, n_cols))
    match, kept = match_at(entries, y, np.zeros_like(y)), []
    for _ in range(sweeps):
        seen = likelihood.draw_weighting(noise, match, rng)
        noise = likelihood.draw(noise, match, seen, rng)
        kept.append(noise)
    return kept[sweeps // 3 :]


def test_scale_and_freedom_of_student_noise_are_found_by_sampling():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(60, 50))
    values = values_of("student", y, rng, size=0.5, freedom=5.0)
    kept = chain("student", entries_of(values), y.ravel(), 50)
    assert np.mean([noise.tau**-0.5 for noise in kept]) == pytest.approx(0.5, rel=0.05)
    assert np.mean([noise.own["freedom"] for noise in kept]) == pytest.approx(5.0, rel=0.2)


def test_the_share_of_gross_errors_and_their_size_are_found_by_sampling():
    rng = np.random.default_rng(5)
    y = rng.normal(size=(60, 50))
    values = values_of("student", y, rng, size=0.5, freedom=8.0)
    wrong = rng.random(y.shape) < 0.1
    values[wrong] = (y + 6.0 * rng.normal(size=y.shape))[wrong]
    kept = chain("student", entries_of(values), y.ravel(), 50)
    assert np.mean([noise.tau**-0.5 for noise in kept]) == pytest.approx(0.5, rel=0.06)
    assert np.mean([noise.own["gross"] for noise in kept]) == pytest.approx(0.1, rel=0.15)
    sizes = [np.sqrt(noise.own["far"] / noise.tau) for noise in kept]
    assert np.mean(sizes) == pytest.approx(6.0, rel=0.1)


def test_noise_of_rows_is_found_by_sampling():
    rng = np.random.default_rng(1)
    y, sizes = rng.normal(size=(40, 60)), np.exp(rng.normal(-1.0, 0.5, size=40))
    values = values_of("gaussian rows", y, rng, sizes=sizes)
    kept = chain("gaussian rows", entries_of(values), y.ravel(), 60)
    found = np.mean([noise.own["precisions"] ** -0.5 for noise in kept], axis=0)
    np.testing.assert_allclose(found, sizes, rtol=0.35)
    assert np.corrcoef(np.log(found), np.log(sizes))[0, 1] > 0.97


def test_a_draw_of_student_weights_averages_to_the_t_density():
    rng = np.random.default_rng(2)
    likelihood = likelihood_of("student")
    noise = Drawn(2.0, {"freedom": np.asarray(3.5)})
    # p(x) = p(x | w) p(w) / p(w | x) for every w: with draws from p(w | x), the spread is zero.
    n = 2000
    entries = entries_of(np.full((1, n), 1.3))
    match = match_at(entries, np.zeros(n), np.zeros(n))
    w = likelihood.draw_weighting(noise, match, rng).weights
    nu, tau, x = 3.5, 2.0, 1.3
    a, b = 0.5 * (nu + 1), 0.5 * (nu + tau * x * x)
    assert w.mean() == pytest.approx(a / b, rel=0.05)
    assert w.var() == pytest.approx(a / b**2, rel=0.15)
    one = replace(entries, indptr=np.array([0, 1]), values=entries.values[:1])
    exact = likelihood.log_density(noise, match_at(one, np.zeros(1), np.zeros(1)))
    from scipy.stats import t

    assert exact == pytest.approx(t.logpdf(x, nu, 0.0, tau**-0.5), rel=1e-10)


@pytest.mark.parametrize("title", TITLES)
def test_a_factor_is_drawn_from_its_posterior_by_numerical_integration(title):
    """One unknown u under N(0, 1), entries u·v_j: many short chains of it, and a grid."""
    rng, chains, n = np.random.default_rng(3), 600, 10
    # Not around zero: a target that is off would go unseen.
    v = 1.0 + 0.5 * rng.normal(size=n)
    x = values_of(title, 0.8 * v[None], rng)
    likelihood, one = likelihood_of(title), entries_of(x)
    drawn = likelihood.first_draw(likelihood.start(one, n))
    grid = np.linspace(-4.0, 4.0, 161)
    logs = np.array([likelihood.log_density(drawn, known(one, u * v)) for u in grid])
    mass = np.exp(logs - 0.5 * grid**2 - (logs - 0.5 * grid**2).max())
    mass /= mass.sum()
    mean = float(mass @ grid)
    std = float(np.sqrt(mass @ (grid - mean) ** 2))

    many = entries_of(np.repeat(x, chains, axis=0))
    if title == "gaussian rows":
        own = {key: np.repeat(part, chains) for key, part in drawn.own.items() if part.shape}
        drawn = drawn._replace(own={**drawn.own, **own})
    u, found = rng.normal(size=chains), []
    for step in range(40):
        match = known(many, np.outer(u, v).ravel())
        seen = likelihood.draw_weighting(drawn, match, rng)
        w = np.ones(chains * n) if seen.weights is None else seen.weights
        t = many.values if seen.targets is None else seen.targets
        w, t = seen.tau * w.reshape(chains, n), t.reshape(chains, n)
        precision = 1.0 + w @ v**2
        u = (w * t) @ v / precision + rng.normal(size=chains) / np.sqrt(precision)
        if step >= 30:
            found.append(u)
    assert np.mean(found) == pytest.approx(mean, abs=0.1 * std)
    assert np.std(found) == pytest.approx(std, rel=0.07)


def known(entries, y):
    return match_at(entries, y, np.zeros_like(y))
