"""Angles between bounds a whole turn apart: the bounds only name a direction."""

import numpy as np
import pytest
from casadi import cos, pi, sin, sumsqr, vertcat

from trajopt import Problem, certify, free, solve
from trajopt.direct.whole_turns import within_bounds
from trajopt.statement.bounds import Bound
from trajopt.trajectory.curve import Curve


def spiral(low: float, high: float, cost_of_angle: float = 0.0) -> Problem:
    """Outwards in Cartesian coordinates: the direction of thrust turns with the orbit."""
    ocp = Problem("spiral")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(1, 30, guess=9))
    circle = lambda tau: [np.cos(9 * tau), np.sin(9 * tau)]  # noqa: E731
    r = ph.state("r", 2, start=[1, 0], guess=circle)
    v = ph.state("v", 2, start=[0, 1], guess=lambda tau: [-np.sin(9 * tau), np.cos(9 * tau)])
    a = ph.control("a", lower=low, upper=high)
    thrust = 0.05 * vertcat(cos(a), sin(a))
    ph.dynamics({r: v, v: -r / sumsqr(r) ** 1.5 + thrust})
    ocp.require(ph.final(sumsqr(v) / 2 - 1 / sumsqr(r) ** 0.5), equals=-0.32)
    ocp.minimize(ph.final(t) + (cost_of_angle * ph.integral(a**2) if cost_of_angle else 0))
    return ocp


@pytest.mark.parametrize(("low", "high"), [(-pi, pi), (0, 2 * pi), (-3.14159, 3.14159)])
def test_a_direction_passes_the_bounds_of_its_angle(low, high):
    best = solve(spiral(-20 * pi, 20 * pi)).check()
    solution = solve(spiral(low, high)).check()
    assert solution.objective == pytest.approx(best.objective, rel=1e-7)
    angle = solution["a"]
    assert angle.lower[0] == low
    assert angle.upper[0] == high
    inside = np.concatenate(angle.values)
    assert inside.min() > low - 1e-5
    assert inside.max() < high + 1e-5
    assert certify(solution).claim in ("extremal", "minimum")


def test_an_angle_that_costs_keeps_its_bounds():
    """Of an angle that counts itself no whole turn may be taken away."""
    solution = solve(spiral(-pi, pi, 1e-3)).check()
    assert np.concatenate(solution["a"].values).max() <= pi


def test_turns_are_taken_where_a_bound_is_passed():
    """A line from -3 pi to 3 pi has its breaks at odd multiples of pi, and one direction."""
    line = Curve.linear(np.array([0.0, 2.0, 6.0]), pi * np.array([[-3.0], [-1.0], [3.0]]))
    unlimited = Bound(np.array([-np.inf]), np.array([np.inf]))
    bound = Bound(np.array([-pi]), np.array([pi]))
    inside = within_bounds(line, bound, unlimited)
    assert inside.breaks == pytest.approx([0, 2, 4, 6])
    times = np.linspace(0.05, 5.95, 40)
    assert np.cos(inside(times)) == pytest.approx(np.cos(line(times)))
    assert np.sin(inside(times)) == pytest.approx(np.sin(line(times)))
    assert np.abs(inside(times)).max() <= pi
    assert inside.evaluate(np.array([2.0]), left=True)[0, 0] == pytest.approx(pi)


def test_an_angle_that_fits_its_bounds_is_only_shifted():
    line = Curve.linear(np.array([0.0, 1.0]), np.array([[5.0], [7.0]]))
    unlimited = Bound(np.array([-np.inf]), np.array([np.inf]))
    inside = within_bounds(line, Bound(np.array([-pi]), np.array([pi])), unlimited)
    assert inside.breaks.size == 2
    assert inside([0.0, 1.0]) == pytest.approx([5 - 2 * pi, 7 - 2 * pi])


def test_angles_with_a_rounded_bound_of_constant_direction_have_no_jumps():
    """Retrograde thrust is at both bounds: rounding does not choose between them."""
    wavering = np.array([[pi], [pi + 1e-9], [pi - 1e-9], [pi + 1e-9]])
    line = Curve.linear(np.arange(4.0), wavering)
    unlimited = Bound(np.array([-np.inf]), np.array([np.inf]))
    inside = within_bounds(line, Bound(np.array([-pi]), np.array([pi])), unlimited)
    assert np.ptp(np.concatenate(inside.values)) < 1e-8
