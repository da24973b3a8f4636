from __future__ import annotations

import numpy as np
import pytest

from bmcg.linalg.cg import conjugate_gradient


def spd(rng, n):
    A = rng.normal(size=(n, n + 3))
    return A @ A.T


def objective(Q, b, x):
    return 0.5 * np.sum(x * (Q @ x)) - np.sum(x * b)


@pytest.mark.parametrize("systems", [1, 3])
def test_the_solution_solves_the_system(systems):
    rng = np.random.default_rng(0)
    Q, b = spd(rng, 12), rng.normal(size=(12, 3))
    found = conjugate_gradient(lambda x: Q @ x, b, systems=systems, residual_tol=1e-13)
    assert found.converged
    np.testing.assert_allclose(found.x, np.linalg.solve(Q, b), rtol=1e-8)


def test_the_exact_preconditioner_needs_one_step():
    rng = np.random.default_rng(1)
    Q, b = spd(rng, 12), rng.normal(size=12)
    found = conjugate_gradient(lambda x: Q @ x, b, precondition=lambda r: np.linalg.solve(Q, r))
    assert found.steps == 1


def test_every_step_lowers_the_objective_and_the_gain_says_by_how_much():
    rng = np.random.default_rng(2)
    Q, b, start = spd(rng, 15), rng.normal(size=15), rng.normal(size=15)
    values = [objective(Q, b, start)]
    for steps in range(1, 8):
        found = conjugate_gradient(lambda x: Q @ x, b, start=start, max_steps=steps)
        values.append(objective(Q, b, found.x))
        assert found.gain == pytest.approx(values[0] - values[-1], rel=1e-9)
    assert (np.diff(values) < 0).all()


def test_a_start_at_the_solution_takes_no_step():
    rng = np.random.default_rng(3)
    Q, b = spd(rng, 9), rng.normal(size=9)
    found = conjugate_gradient(lambda x: Q @ x, b, start=np.linalg.solve(Q, b))
    assert found.steps == 0
    assert found.converged


def test_running_out_of_steps_is_said():
    rng = np.random.default_rng(4)
    Q, b = spd(rng, 30), rng.normal(size=30)
    found = conjugate_gradient(lambda x: Q @ x, b, max_steps=2)
    assert not found.converged
    assert found.residual > 1e-10


def test_a_zero_right_hand_side_gives_zero():
    found = conjugate_gradient(lambda x: 2 * x, np.zeros((4, 2)), systems=2)
    np.testing.assert_array_equal(found.x, 0)


@pytest.mark.parametrize("systems", [1, 3])
@pytest.mark.parametrize("steps", [1, 4, 60])
def test_what_is_left_of_the_preconditioner_takes_the_same_steps(systems, steps):
    rng = np.random.default_rng(5)
    Q, b, start = spd(rng, 20) + np.eye(20), rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
    D = np.diag(Q)[:, None]
    options = {"start": start, "systems": systems, "max_steps": steps}
    plain = conjugate_gradient(lambda x: Q @ x, b, precondition=lambda r: r / D, **options)
    split = conjugate_gradient(
        lambda x: Q @ x,
        b,
        precondition=lambda r: r / D,
        remainder=lambda z: Q @ z - D * z,
        **options,
    )
    # One that is solved to the last digits may take one step more by rounding.
    assert abs(plain.steps - split.steps) <= (steps == 60)
    np.testing.assert_allclose(split.x, plain.x, rtol=1e-7, atol=1e-9)
    assert split.gain == pytest.approx(plain.gain, rel=1e-9)
