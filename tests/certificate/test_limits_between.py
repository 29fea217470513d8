"""What the row of limits says about times between the points."""

import casadi
import numpy as np
import pytest

from tests.benchmarks.planted.by_hand import answer, phase
from trajopt import Problem, certify, solve
from trajopt.certificate.limits_between import proved
from trajopt.certificate.sampled_solution import along

LIMITS = "bounds and path constraints"
TERMS = (
    lambda t, x, u: x**2 + u**2,
    lambda t, x, u: casadi.sin(3 * x) * casadi.exp(u),
    lambda t, x, u: x / (2 + u**2) + casadi.cos(5 * t),
    lambda t, x, u: casadi.fabs(x - 0.3) + casadi.fmax(x, u),
)


def moved(rng, term, upper=None):
    """An answer with random polynomials, and a path constraint on it."""
    ocp = Problem("moved")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x, u = ph.state("x"), ph.control("u")
    ph.dynamics({x: u})
    ph.path(term(t, x, u), upper=upper or 1e3)
    ocp.minimize(ph.integral(u**2))
    curve = np.polynomial.Polynomial(rng.normal(size=5))
    breaks = np.linspace(0, 1, 4)
    given = answer(0.0, phase(breaks, {"x": curve}, {"u": curve.deriv()}, {"x": 0.0}))
    times = np.linspace(0, 1, 20001)
    xs, us = casadi.DM(curve(times)).T, casadi.DM(curve.deriv()(times)).T
    values = np.asarray(term(casadi.DM(times).T, xs, us)).ravel()
    return ocp, given, float(values.max())


@pytest.mark.parametrize("term", TERMS)
def test_what_is_proved_is_true_and_near_the_largest_value(term):
    for seed in range(8):
        most = moved(np.random.default_rng(seed), term)[2]
        size = max(abs(most), 1.0)
        for above, expected in ((1e-4, True), (-1e-4, False)):
            ocp, given, _ = moved(np.random.default_rng(seed), term, most + above * size)
            assert proved(along(ocp.finish(), given).phases[0], 1e-9) is expected


def test_a_jump_has_no_mean_value():
    """The middle of no box is in the stretch in which the limit is passed."""
    ocp = Problem("step")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x, u = ph.state("x"), ph.control("u")
    ph.dynamics({x: u})
    inside = casadi.logic_and(t > 0.4, t < 0.4 + 1e-9)
    ph.path(x + casadi.if_else(inside, 2, 0), upper=1)
    ocp.minimize(ph.integral(u**2))
    rest = answer(0.0, phase([0, 1], {"x": 0.0}, {"u": 0.0}, {"x": 0.0}))
    assert not proved(along(ocp.finish(), rest).phases[0], 1e-6)


def test_the_row_says_how_limits_and_the_least_h_are_known():
    ocp = Problem("between a wall and a table")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v, u = ph.state("x", start=0, end=0), ph.state("v", start=1, end=-1), ph.control("u")
    ph.dynamics({x: v, v: u})
    ph.path(x, upper=0.1, name="wall")
    ocp.minimize(ph.integral(u**2))
    certificate = certify(solve(ocp).check())
    assert certificate[LIMITS].remark.startswith("proved between all points")
    assert "least H proved" in certificate["minimum of H"].remark


def test_a_constraint_that_nothing_bounds_is_sampled():
    ocp = Problem("table")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=1), ph.control("u")
    ph.dynamics({x: u})
    table = casadi.interpolant("table", "bspline", [np.linspace(-1, 2, 8)], np.ones(8))
    ph.path(u * table(t), upper=5)
    ocp.minimize(ph.integral(u**4))
    certificate = certify(solve(ocp).check())
    assert certificate[LIMITS].remark.startswith("sampled at ")
    assert "least H sampled" in certificate["minimum of H"].remark
