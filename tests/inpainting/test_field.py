"""Fields of pictures: dense algebra is their truth, and edges are followed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg.graphs.precision import graph_precision
from bmcg.inpainting import field
from bmcg.inpainting.field import Stiffness, channel_basis, smooth_field, steered_field
from bmcg.inpainting.gaps import are_deep
from bmcg.inpainting.picture import _combine
from bmcg.inpainting.steering import Steering
from bmcg.inpainting.surfaces import Surfaces, best_ratio


def some(h=14, w=11, share=0.4):
    rng = np.random.default_rng(1)
    return rng.standard_normal((h, w)), rng.random((h, w)) < share


def dense_laplacian(h, w):
    """Of the grid, the Kronecker sum of two chains, as the local term along both sides has it."""
    paths = (sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]) for n in (h, w))
    rows, cols = (graph_precision(sp.csr_array(path), 0.0).toarray() for path in paths)
    return np.kron(rows, np.eye(w)) + np.kron(np.eye(h), cols)


def unsteered(shape):
    return Steering(np.ones(shape), np.zeros(shape), np.ones(shape), np.ones(shape))


def dense_energy(operator, shape):
    """The matrix of a linear map of pictures."""
    size = shape[0] * shape[1]
    return np.stack([operator(e.reshape(shape)).ravel() for e in np.eye(size)], axis=1)


def test_a_field_is_the_dense_posterior_mean_on_the_grid(monkeypatch):
    monkeypatch.setattr(field, "TOL", 1e-10)
    x, known = some()
    L = dense_laplacian(*x.shape)
    Q = L @ L + 0.7 * L + np.diag(known.ravel() / 0.1 + 1e-9)
    level = x[known].mean()
    expected = np.linalg.solve(Q, (known * (x - level)).ravel() / 0.1).reshape(x.shape) + level
    found = smooth_field(np.where(known, x, 99.0), known, Stiffness(0.1, 0.7), max_steps=2000)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_steered_field_solves_its_own_equations(monkeypatch):
    monkeypatch.setattr(field, "TOL", 1e-10)
    x, known = some()
    guide = np.add.outer(np.arange(14.0), np.arange(11.0) ** 1.5)
    ties, own = Steering.of(guide, 0.3), Stiffness(0.1, 0.7, 0.3)
    K = dense_energy(lambda f: ties.bending(f) + 0.7 * ties.slopes(f), x.shape)
    level = x[known].mean()
    Q = K + np.diag(known.ravel() / 0.1 + 1e-9)
    expected = np.linalg.solve(Q, (known * (x - level)).ravel() / 0.1).reshape(x.shape) + level
    found = steered_field(x, known, own, guide, rounds=1, max_steps=2000)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_energies_are_sums_of_squares_and_spare_planes():
    f, _ = some()
    energy = (np.diff(f, 2, axis=0) ** 2).sum() + (np.diff(f, 2, axis=1) ** 2).sum()
    energy += 2 * (np.diff(np.diff(f, axis=0), axis=1) ** 2).sum()
    plain = unsteered(f.shape)
    assert (f * plain.bending(f)).sum() == pytest.approx(energy)
    slopes = (np.diff(f, axis=0) ** 2).sum() + (np.diff(f, axis=1) ** 2).sum()
    assert (f * plain.slopes(f)).sum() == pytest.approx(slopes)
    ties = Steering.of(f, 0.1)
    y, x = np.mgrid[: f.shape[0], : f.shape[1]]
    np.testing.assert_allclose(ties.bending(3.0 + 2.0 * x - y), 0.0, atol=1e-10)
    for part in (ties.bending, ties.slopes):
        K = dense_energy(part, f.shape)
        np.testing.assert_allclose(K, K.T, atol=1e-12)
        assert np.linalg.eigvalsh(K).min() > -1e-9


def test_a_step_edge_comes_back_sharper_where_its_direction_is_followed():
    y, x = np.mgrid[:60, :60]
    picture = 125.0 + 75.0 * np.tanh((2 * x + y - 90) / 4.0)
    known = np.random.default_rng(0).random(picture.shape) < 0.3
    own = Stiffness(1e-2, 1.0, 0.1)
    plain = smooth_field(picture, known, own)
    found = steered_field(picture, known, own, plain)
    errors = [np.mean((part - picture)[~known] ** 2) for part in (found, plain)]
    assert errors[0] < 0.7 * errors[1]


def test_a_field_that_runs_out_of_steps_is_told():
    x, known = some(30, 30, 0.2)
    with pytest.warns(RuntimeWarning, match="smooth surface of a picture ran out of 2 steps"):
        smooth_field(x, known, Stiffness(1e-2, 0.1), max_steps=2)


def test_channels_are_turned_to_their_mean_and_differences_and_back():
    for count in (1, 2, 3):
        basis = channel_basis(count)
        np.testing.assert_allclose(basis @ basis.T, np.eye(count), atol=1e-12)
        np.testing.assert_allclose(basis[:, 0], 1 / np.sqrt(count))
    x, known = some(20, 22)
    colours = np.stack([x, x + 0.1, 2 * x])
    own = Surfaces(channel_basis(3), (0.1, 0.1, 0.1))
    alone = [smooth_field(part, known, Stiffness(0.1, 0.1)) for part in colours]
    np.testing.assert_allclose(own.plate(colours, known), alone, atol=1e-2)


def test_channels_that_share_their_noise_free_part_help_each_other():
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:48, :48]
    grey = 100 + 40 * np.sin(x / 3.0) * np.sin(y / 4.0)
    colours = np.stack([grey, grey + 5, grey - 5]) + 10 * rng.standard_normal((3, 48, 48))
    kept = rng.random(grey.shape) < 0.5
    held = ~kept & (rng.random(grey.shape) < 0.3)
    together = Surfaces.chosen(colours, kept, held)
    alone = np.stack(
        [Surfaces.chosen(c[None], kept, held).plate(c[None], kept)[0] for c in colours]
    )
    truth, gone = np.stack([grey, grey + 5, grey - 5]), ~kept & ~held
    errors = [
        np.mean((part - truth)[:, gone] ** 2) for part in (together.plate(colours, kept), alone)
    ]
    assert together.ratios[1] > together.ratios[0]
    assert errors[0] < errors[1]


def test_noise_asks_for_a_larger_ratio():
    y, x = np.mgrid[:64, :64]
    picture = 100 + 40 * np.sin(x / 5.0) + 30 * np.cos(y / 6.0)
    rng = np.random.default_rng(0)
    known = rng.random(picture.shape) < 0.5
    held = known & (rng.random(picture.shape) < 0.1)
    noisy = picture + 30 * rng.standard_normal(picture.shape)
    ratios = [best_ratio(part, known & ~held, held) for part in (picture, noisy)]
    assert ratios[1] > 10 * ratios[0]


def test_a_combination_is_not_worse_than_the_best_of_few_pixels():
    rng = np.random.default_rng(0)
    truth = rng.normal(100, 20, (1, 80, 80))
    known = rng.random((80, 80)) < 0.1
    held = known & (rng.random(known.shape) < 0.1)
    ways = [truth + size * rng.normal(size=truth.shape) for size in (10.0, 3.0, 9.0)]
    _, mean = _combine(truth, known, held, ways, [lambda way=way: way for way in ways])
    errors = [np.mean((part - truth)[:, ~known] ** 2) for part in (*ways, mean)]
    assert errors[-1] < 1.05 * min(errors[:-1])


def test_scattered_pixels_are_no_deep_gap_and_a_hole_is():
    known = np.random.default_rng(0).random((120, 120)) < 0.1
    assert not are_deep(known)
    known = np.ones((120, 120), dtype=bool)
    known[30:70, 30:70] = False
    assert are_deep(known)
