"""Guesses are moved off points where the model or its first derivatives do not exist."""

import casadi
import numpy as np
import pytest

from trajopt import Problem
from trajopt.guess.controls import start_guess
from trajopt.guess.motions import motions
from trajopt.guess.plain import plain_guess

NONE = np.zeros(0)
TAU = np.linspace(0, 1, 9)


def thrust(rate=None, symbols=None, **of_control):
    """A point mass in the plane, with a rate of fuel."""
    ocp = Problem("thrust", symbols=symbols) if symbols else Problem("thrust")
    ph = ocp.phase()
    ph.time(start=0, end=3)
    r = ph.state("r", 2, start=[0, 0], end=[1, 2])
    v = ph.state("v", 2, start=[0, 0], end=[0, 0])
    u = ph.control("u", 2, **of_control)
    ph.dynamics({r: v, v: u if rate is None else rate(r, v, u)})
    ocp.minimize(ph.integral(casadi.norm_2(u) ** 3 if rate is None else casadi.sumsqr(u)))
    return ocp.finish()


def curves(guess):
    start = guess.phases[0]
    times = start.times(TAU)
    return start.x.evaluate(times), start.u.evaluate(times)


@pytest.mark.parametrize("limits", [{}, {"lower": -2, "upper": 2}, {"lower": -1, "upper": 0}])
def test_controls_move_off_the_zero_of_a_norm_within_their_bounds(limits):
    form = thrust(**limits)
    x, u = curves(start_guess(form, NONE))
    assert np.all(np.linalg.norm(u, axis=1) > 0.01)
    assert np.all((u >= limits.get("lower", -np.inf)) & (u <= limits.get("upper", np.inf)))
    np.testing.assert_allclose(x[[0, -1]], [[0, 0, 0, 0], [1, 2, 0, 0]], atol=1e-12)


def test_controls_of_matrix_expressions_move_too():
    _, u = curves(start_guess(thrust(symbols=casadi.MX), NONE))
    assert np.all(np.linalg.norm(u, axis=1) > 0.01)


def test_states_move_off_the_zero_of_a_norm_but_not_their_fixed_ends():
    form = thrust(lambda r, v, u: u - 0.3 * v * casadi.norm_2(v))
    x, _ = curves(start_guess(form, NONE))
    assert np.all(np.linalg.norm(x[1:-1, 2:], axis=1) > 0.01)
    np.testing.assert_allclose(x[[0, -1], 2:], 0, atol=1e-12)


def test_a_line_through_a_centre_of_attraction_moves_past_it():
    ocp = Problem("half a turn")
    ph = ocp.phase()
    ph.time(start=0, end=3)
    r, u = ph.state("r", 2, start=[1, 0], end=[-1, 0]), ph.control("u", 2)
    ph.dynamics({r: u - r / casadi.norm_2(r) ** 3})
    ocp.minimize(ph.integral(casadi.sumsqr(u)))
    x, _ = curves(start_guess(ocp.finish(), NONE))
    assert np.all(np.linalg.norm(x, axis=1) > 0.2)


def test_a_power_leaves_its_bound():
    ocp = Problem("power")
    ph = ocp.phase()
    ph.time(start=0, end=3)
    k, c = ph.state("k", start=1, end=1), ph.control("c", lower=0)
    ph.dynamics({k: 0.3 * k - c})
    ocp.maximize(ph.integral(c**0.3))
    _, u = curves(start_guess(ocp.finish(), NONE))
    assert np.all(u > 0.01)


def test_a_regular_guess_stays():
    form = thrust(lambda r, v, u: u)
    for one, other in zip(curves(start_guess(form, NONE)), curves(plain_guess(form)), strict=True):
        np.testing.assert_array_equal(one, other)
    form = thrust(guess=[1, 1])
    np.testing.assert_array_equal(curves(start_guess(form, NONE))[1], np.ones((9, 2)))


def test_other_starts_leave_the_zero_of_a_norm_too():
    """A start without thrust ended NOT_A_NUMBER."""
    form = thrust(lower=-2, upper=2)
    found = list(motions(form, NONE, plain_guess(form)))
    assert found
    for motion in found:
        assert np.all(np.linalg.norm(curves(motion)[1], axis=1) > 0.01)
