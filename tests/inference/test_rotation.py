"""A change of basis leaves the matrix alone and never costs evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bmcg.inference.families import FAMILIES
from bmcg.inference.rotation import best_basis, best_scales, change_basis, rotate
from bmcg.inference.updates import update_lambda
from tests.inference.small import PRIOR, blocks, bound, brute_error, make_problem, start


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_rotation_never_lowers_the_bound_and_leaves_the_predictions(family, seed):
    problem = make_problem(seed=seed)
    state = start(problem, family, seed=seed, sweeps=1 + seed)
    turned = rotate(state, PRIOR)
    assert bound(problem, turned) >= bound(problem, state) - 1e-9 * abs(bound(problem, state))
    np.testing.assert_allclose(
        turned.rows.mean @ turned.cols.mean.T, state.rows.mean @ state.cols.mean.T, atol=1e-9
    )
    # What the likelihood sees, covariances included, is the same.
    error = brute_error(problem, turned.rows, turned.cols)
    assert error == pytest.approx(state.squared_error, rel=1e-9)


@pytest.mark.parametrize("family", ["row", "joint"])
def test_the_best_basis_diagonalises_and_balances_both_energies(family):
    problem = make_problem()
    state = start(problem, family)
    turned = rotate(state, PRIOR)
    for factors in (turned.rows, turned.cols):
        off = factors.energy - np.diag(np.diag(factors.energy))
        assert np.abs(off).max() < 1e-9 * np.abs(factors.energy).max()
    ratio = np.diag(turned.rows.energy) / np.diag(turned.cols.energy)
    np.testing.assert_allclose(ratio, 9 / 7, rtol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_other_basis_has_a_higher_bound(family):
    """Hadamard's inequality and that of the means, against random changes of basis."""
    problem = make_problem()
    state = start(problem, family)
    best = bound(problem, rotate(state, PRIOR))
    rng = np.random.default_rng(0)
    for size in (0.03, 0.3, 1.0):
        A = best_scales if family == "column" else best_basis
        step = rng.normal(size=(3, 3)) if family != "column" else np.diag(rng.normal(size=3))
        A = A(state.rows, state.cols, 3) @ (np.eye(3) + size * step)
        rows, cols = change_basis(state.rows, A), change_basis(state.cols, np.linalg.inv(A).T)
        other = update_lambda(PRIOR, replace(state, rows=rows, cols=cols))
        assert bound(problem, other) < best


def test_a_changed_basis_has_the_covariances_of_the_product():
    state = start(make_problem(), "row")
    A = np.random.default_rng(1).normal(size=(3, 3))
    turned = change_basis(state.rows, A)
    np.testing.assert_allclose(blocks(turned), A.T @ blocks(state.rows) @ A, atol=1e-12)
    log_dets = -np.linalg.slogdet(blocks(turned))[1].sum()
    assert turned.log_det == pytest.approx(log_dets, rel=1e-9)


def test_a_state_in_its_best_basis_stays_as_it_is():
    """Signs too: a solve starts from what the sweep before has left."""
    state = rotate(start(make_problem(), "row"), PRIOR)
    np.testing.assert_allclose(best_basis(state.rows, state.cols, 3), np.eye(3), atol=1e-7)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_energy_below_zero_has_no_best_basis(family):
    """A step that was taken on may leave one, where a graph's strength has changed since."""
    state = start(make_problem(), family)
    energy = state.rows.energy.copy()
    energy[1, 1] = -0.1
    broken = replace(state, rows=replace(state.rows, energy=energy))
    assert rotate(broken, PRIOR) is broken
