"""Models with tables: third derivatives jump at the knots, where the error of a step falls with a
lower power of its length.
"""

from itertools import pairwise

import casadi
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from trajopt import Problem, solve, table
from trajopt.indirect import grid
from trajopt.indirect.shooting import Shooting
from trajopt.trajectory.solution import Status

KNOTS = np.linspace(0.0, 3.0, 7)
RESISTANCE = table(KNOTS, values=[1.0, 2.5, 1.5, 2.0, 3.0, 1.4, 1.0], name="resistance")
DURATION = 1.2


@pytest.fixture(scope="module")
def crossing():
    """The form of: cross a resistance in a given time; and its solution by collocation."""
    ocp = Problem("crossing", symbols=casadi.MX)
    ph = ocp.phase()
    ph.time(start=0, end=DURATION)
    x, u = ph.state("x", start=0, end=3), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2 / 2 + RESISTANCE(x)))
    return ocp.finish(), solve(ocp)


def least_cost():
    """From the first integral u^2 / 2 - resistance = E, by quadrature from knot to knot."""
    x = casadi.MX.sym("x")
    resistance = casadi.Function("resistance", [x], [RESISTANCE(x)])

    def speed(place, energy):
        return np.sqrt(2 * (float(resistance(place)) + energy))

    def total(function):
        return sum(quad(function, a, b, epsabs=1e-13)[0] for a, b in pairwise(KNOTS))

    energy = brentq(lambda e: total(lambda s: 1 / speed(s, e)) - DURATION, 0.0, 10.0, xtol=1e-13)
    return total(lambda s: speed(s, energy)) - energy * DURATION


def test_steps_across_knots_are_shortened_until_their_error_is_within_the_tolerance(crossing):
    form, direct = crossing
    solution = Shooting().solve(form, direct)
    assert solution.status is Status.SOLVED
    assert solution.objective == pytest.approx(least_cost(), rel=1e-9)


def test_without_the_errors_of_steps_taken_before_the_tolerance_is_missed(crossing, monkeypatch):
    form, direct = crossing
    monkeypatch.setattr(grid, "_with_taken", lambda taken, tolerance, *found: found)
    assert Shooting(tolerance=1e-11).solve(form, direct).status is Status.COARSE
