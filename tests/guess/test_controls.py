"""Guesses of controls at a critical point of a path constraint: the length of a vector, or its
square, has no slope at zero.
"""

import numpy as np
import pytest
from casadi import sqrt
from numpy.testing import assert_allclose

from trajopt import Problem, free, solve
from trajopt.guess.controls import start_guess
from trajopt.guess.plain import plain_guess

LEAST = 64.278371895  # of the lander; the same with a tolerance of 1e-8
TAU = np.linspace(0, 1, 5)


def values(curve, tau):
    """Values at fractions of the duration."""
    return curve.evaluate(curve.breaks[0] + tau * (curve.breaks[-1] - curve.breaks[0]))


def lander(least=4.0, most=12.0, squared=False):
    """A landing in the plane by a thrust vector without bounds of its components, whose length is
    limited; least propellant.
    """
    ocp = Problem("lander")
    ph = ocp.phase()
    ph.time(start=0, end=free(2, 50))
    x, y = ph.state("x", start=100, end=0), ph.state("y", start=80, end=0)
    vx, vy = ph.state("vx", start=10, end=0), ph.state("vy", start=-5, end=0)
    ax, ay = ph.control("ax"), ph.control("ay")
    square = ax**2 + ay**2
    if squared:
        ph.path(square, lower=least**2, upper=most**2)
    else:
        ph.path(sqrt(square), lower=least, upper=most)
    ph.dynamics({x: vx, y: vy, vx: ax, vy: ay - 3.7})
    ocp.minimize(ph.integral(sqrt(square)))
    return ocp


def longest_range():
    """The longest range of a flight in two seconds (Bryson, Dynamic Optimization); the direction of
    thrust is a unit vector.
    """
    ocp = Problem("longest-range")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, y, v = ph.state("x", start=0), ph.state("y", start=0, end=0.1), ph.state("v", start=0)
    c, s = ph.control("c", lower=-1, upper=1), ph.control("s", lower=-1, upper=1)
    ph.dynamics({x: v * c, y: v * s, v: 0.5 - s})
    ph.path(c**2 + s**2, equals=1)
    ocp.maximize(ph.final(x))
    return ocp


@pytest.mark.parametrize("squared", [False, True])
def test_thrust_within_its_limits_follows_the_states(squared):
    form = lander(squared=squared).finish()
    a = values(start_guess(form, form.parameter_values()).phases[0].u, TAU)
    length = np.linalg.norm(a, axis=1)
    assert np.all((length > 3.99) & (length < 12.01))
    mean = np.array([0 - 10, 0 + 5]) / 26.0 + np.array(
        [0, 3.7]
    )  # the mean rates of vx and vy in 26 s, and gravity
    assert_allclose(a / length[:, None], np.tile(mean / np.linalg.norm(mean), (5, 1)), atol=0.2)


def test_unit_vector():
    form = longest_range().finish()
    u = values(start_guess(form, form.parameter_values()).phases[0].u, TAU)
    assert_allclose(np.linalg.norm(u, axis=1), 1.0, atol=1e-4)


def test_plain_guess_stays_where_path_constraints_have_slopes_or_are_met():
    ocp = Problem("sum")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, a, b = (
        ph.state("x", start=0, end=1),
        ph.control("a", lower=0, upper=1),
        ph.control("b", lower=0, upper=1),
    )
    ph.path(a + b, equals=1.5)
    ph.path(a**2 + b**2, upper=2)
    ph.dynamics({x: a - b})
    ocp.minimize(ph.integral(a**2))
    form = ocp.finish()
    expected = values(plain_guess(form).phases[0].u, TAU)
    assert_allclose(values(start_guess(form, form.parameter_values()).phases[0].u, TAU), expected)


@pytest.mark.parametrize("squared", [False, True])
def test_landing_by_a_thrust_vector_without_bounds(squared):
    solution = solve(lander(squared=squared)).check()
    assert_allclose(solution.objective, LEAST, rtol=1e-6)


def test_longest_range():
    """The plain guess led to a local optimum of 0.2523; PSOPT's published value is 1.712316."""
    assert_allclose(solve(longest_range()).check().objective, 1.7123148750, rtol=1e-6)
