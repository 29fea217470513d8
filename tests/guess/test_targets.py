"""What the cost wants states to be is their first guess."""

import casadi
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from trajopt import Problem, solve
from trajopt.guess.plain import plain_guess

TIMES = np.linspace(0, 2, 9)


def states(ocp, times=TIMES):
    return plain_guess(ocp.finish()).phases[0].x.evaluate(times)


def fitted(cost, **of_state):
    """Two states, of which one is measured, with an unknown rate."""
    ocp = Problem("fit")
    ph = ocp.phase()
    t = ph.time(start=0, end=2)
    x, y, k = ph.state("x", **of_state), ph.state("y", start=1), ocp.variable("k", guess=1)
    ph.dynamics({x: y, y: -k * x})
    ocp.minimize(cost(ph, t, x, y))
    return ocp


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_measurements_at_given_times_are_the_guess(unit):
    def cost(ph, t, x, y):
        inside = sum((2 * ph.at(at, x) - np.sin(3 * at)) ** 2 for at in TIMES[1:-1])
        return unit * (inside + (ph.final(x) - 0.7) ** 2 + (ph.initial(x) - 0.2) ** 2)

    x = states(fitted(cost))[:, 0]
    np.testing.assert_allclose(x[1:-1], np.sin(3 * TIMES[1:-1]) / 2, atol=0.05)
    np.testing.assert_allclose(x[[0, -1]], [0.2, 0.7], rtol=1e-9)


def test_a_course_in_an_integral_is_the_guess():
    x = states(fitted(lambda ph, t, x, y: ph.integral(3 * (x - casadi.cos(4 * t)) ** 2)))[:, 0]
    np.testing.assert_allclose(x[1:-1], np.cos(4 * TIMES[1:-1]), atol=1e-3)


def test_known_ends_bounds_and_guesses_come_before_targets():
    def cost(ph, t, x, y):
        return ph.integral((x - casadi.cos(4 * t)) ** 2) + (ph.final(x) - 9) ** 2

    x = states(fitted(cost, start=0.5, end=0, lower=-0.4))[:, 0]
    assert x[0] == pytest.approx(0.5)
    assert abs(x[-1]) < 1e-15
    assert x.min() == pytest.approx(-0.4, abs=1e-12)
    np.testing.assert_array_equal(states(fitted(cost, guess=3.0))[:, 0], 3.0)


def test_a_course_for_controls_leaves_the_line():
    ocp = Problem("tracking")
    ph = ocp.phase()
    t = ph.time(start=0, end=2)
    x, u = ph.state("x", start=1), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral((x - casadi.cos(9 * t)) ** 2))
    np.testing.assert_array_equal(states(ocp), 1.0)


@pytest.mark.parametrize(
    "cost",
    [
        lambda ph, t, x, y: ph.integral(x**2),  # a set point is no course
        lambda ph, t, x, y: ph.integral((x - casadi.cos(4 * t)) ** 4),
        lambda ph, t, x, y: (ph.at(1.0, x) - ph.at(0.5, x)) ** 2,  # determines neither
        lambda ph, t, x, y: -((ph.at(1.0, x) - 3) ** 2),  # not convex
    ],
)
def test_other_costs_leave_the_line(cost):
    line = states(fitted(lambda ph, t, x, y: ph.final(y)))
    np.testing.assert_allclose(states(fitted(cost)), line, atol=1e-12)


def test_a_fit_to_chaotic_measurements_is_found():
    """From a line it ends in a local minimum a thousand times as large."""

    def rates(x, p):
        return [p[0] * (x[1] - x[0]), x[0] * (p[1] - x[2]) - x[1], x[0] * x[1] - p[2] * x[2]]

    true, times = (10.0, 28.0, 8 / 3), np.linspace(0, 4, 81)
    motion = solve_ivp(lambda t, x: rates(x, true), (0, 4), [1, 1, 20], t_eval=times, rtol=1e-9)
    measured = motion.y.T + 0.1 * np.random.default_rng(2).normal(size=(81, 3))
    ocp = Problem("chaos")
    ph = ocp.phase()
    ph.time(start=0, end=4)
    x, p = ph.state("x", 3), ocp.variable("p", 3, lower=[1, 5, 0.5], upper=[30, 60, 10])
    ph.dynamics({x: casadi.vertcat(*rates([x[0], x[1], x[2]], [p[0], p[1], p[2]]))})
    inside = zip(times[1:-1], measured[1:-1], strict=True)
    ocp.minimize(sum(casadi.sumsqr(ph.at(at, x) - y) for at, y in inside))
    solution = solve(ocp).check()
    np.testing.assert_allclose(solution.variables["p"], true, rtol=0.02)
