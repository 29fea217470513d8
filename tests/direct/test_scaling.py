"""A solve does not depend on the unit of its cost."""

import casadi
import pytest

from trajopt import Problem, free, solve


def least_effort(unit):
    ocp = Problem("least effort")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0, upper=1.2)
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.minimize(unit * ph.integral(u**2))
    return ocp


def least_time(unit):
    ocp = Problem("least time")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    a, w = ph.state("a", start=0, end=1), ph.state("w", start=0, end=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({a: w, w: u - 0.3 * casadi.sin(a)})
    ocp.minimize(unit * ph.final(t))
    return ocp


def tracking(unit):
    """Two terms that change by the same amount if all states do."""
    ocp = Problem("tracking")
    ph = ocp.phase()
    t = ph.time(start=0, end=5)
    x, y = ph.state("x", start=1), ph.state("y", start=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: y, y: u - x})
    ocp.minimize(unit * ph.integral((x - y) ** 2 + 0.1 * (u - casadi.sin(t)) ** 2))
    return ocp


@pytest.mark.parametrize("build", [least_effort, least_time, tracking])
def test_the_unit_of_the_cost_changes_neither_status_nor_objective(build):
    usual = solve(build(1.0))
    for unit in (1e-8, 1e-3, 1e8):
        other = solve(build(unit))
        assert other.status is usual.status
        assert other.objective / unit == pytest.approx(usual.objective, rel=1e-8)
        assert other.iterations <= 2.5 * usual.iterations
