"""Kinks of smooth controls: breaks go where a bound begins or ceases to hold."""

import casadi
import numpy as np
import pytest

from tests.benchmarks.fresh import families as fresh
from trajopt import Problem, certify, solve
from trajopt.direct.collocation import Collocation


def braked(limit=1.0):
    """Rest to rest with the least effort, the control bounded below: u = max(6 - 12 t shifted,
    -limit) with one kink.
    """
    ocp = Problem("braked")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-limit)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(u**2))
    return ocp


def closed_form(limit):
    """u falls from c to -limit on a straight line by time s, and stays: from x(1) = 1 and v(1) = 0.

    v(1) = c s - (c + limit) s / 2 - limit (1 - s) = 0; x(1) is the integral of (1 - t) u(t) = 1.
    """
    from scipy.optimize import brentq

    def speed(s):  # c as a function of s, by v(1) = 0
        return 2 * limit * (1 - s) / s + limit

    def reach(s):
        t = np.linspace(0, s, 2001)
        u = speed(s) - (speed(s) + limit) * t / s
        return np.trapezoid((1 - t) * u, t) - limit * (1 - s) ** 2 / 2 - 1

    return brentq(reach, 0.05, 0.999)


@pytest.mark.parametrize("limit", [4.5, 5.0, 5.7])
def test_a_break_settles_at_the_kink(limit):
    solution = solve(braked(limit), tolerance=1e-9).check()
    kink = closed_form(limit)
    breaks = solution.phases["main"].breaks
    assert np.abs(breaks - kink).min() < 1e-5
    assert len(solution.history) <= 5
    # With the kink at a break the control is a straight line and a constant: nothing else is
    # refined.
    assert breaks.size <= 13
    at = np.array([0.5 * kink, 0.5 * (1 + kink)])
    start = 2 * limit * (1 - kink) / kink + limit
    np.testing.assert_allclose(
        solution["u"](at), [start - 0.5 * (start + limit), -limit], atol=1e-5
    )


def test_two_kinks_in_one_interval():
    """A control that touches its bound for less than an interval of the first mesh."""
    ocp = Problem("touch")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x = ph.state("x", start=0)
    u = ph.control("u", upper=0.9)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral((u - 1 + 0.1 * ((t - 0.55) / 0.03) ** 2) ** 2))
    solution = solve(ocp, Collocation(tolerance=1e-7)).check()
    for kink in (0.52, 0.58):
        assert np.abs(solution.phases["main"].breaks - kink).min() < 1e-4
    assert solution["u"](0.55) == pytest.approx(0.9, abs=1e-7)
    # The part that is cut off: (0.1 (1 - s^2))^2, s from -1 to 1, in units of 0.03.
    assert solution.objective == pytest.approx(0.01 * 0.03 * 16 / 15, rel=1e-6)


def test_the_estimate_counts_what_a_bound_cuts_off_a_control():
    """The polynomial of a control leaves its bound between the end of an interval and the nearest
    point; the motion by the control within its bounds misses the states by more than the defects.
    """
    assert certify(solve(fresh.build(780, 3)).check()).claim == "minimum"


def test_the_points_of_a_short_interval_show_a_kink_better_than_a_wide_neighbour():
    """A temperature leaves its upper bound after a hundredth of the time."""
    ocp = Problem("reactor")
    ph = ocp.phase()
    ph.time(start=0, end=1.11591)
    a, b = ph.state("a", start=1, lower=0), ph.state("b", start=0, lower=0)
    T = ph.control("T", lower=298, upper=398)
    k1, k2 = 2251.21 * casadi.exp(-2500 / T), 426880 * casadi.exp(-5000 / T)
    ph.dynamics({a: -k1 * a**2, b: k1 * a**2 - k2 * b})
    ocp.maximize(ph.final(b))
    solution = solve(ocp).check()
    assert len(solution.history) <= 6
